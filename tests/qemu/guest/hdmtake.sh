# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A range through the library: it is there soon, and hands out no page that is poisoned, also when
# that comes while it is open. Later than hdmpoison by its name, since QEMU keeps its list until it
# ends.
# limit: 120
. /test/lib.sh

POISONED=40 # runs of pages, more than the library asks for at first

poison()
{
	host cxl-inject-poison path=/machine/peripheral/cxl0 "start=$1" length=64 >/dev/null
}

poison_all()
{
	for i in $(seq "$POISONED"); do
		poison $((0x6800000 + i * 0x2000)) || return 1
	done
}

media_event()
{
	host cxl-inject-general-media-event path=/machine/peripheral/cxl0 log=failure flags=1 \
		dpa=4096 descriptor=3 type=2 transaction-type=1
}

says()
{
	echo "$1" >&6
	hears 60 "$2"
}

# soon - A whole range was stored to soon after nothing: the least of three times, since others use
# this machine too.
soon()
{
	for i in 1 2 3; do
		benchhdm open "$first" || return 1
	done >opened
	cat opened
	sort -n opened | awk -v slow="$SLOW" '$2 != 268435456 { wrong = 1 }
		NR == 1 && $1 >= 0.5 * slow { wrong = 1 } END { exit wrong }'
}

# known PAGE - The module lists it as poisoned.
known()
{
	hdm poison "$first" >poisoned && grep "0x$(printf %x "$1") " poisoned
}

[ "$CXL_KIND" != persistent ] || skip "there is no volatile memory"
with_hdm
mkfifo go
exec 6<>go
claim "256 MiB are usable within 0.5 s" soon
report "# open to usable range: $(sort -n opened | head -n 1)"
start hdmtake hold "pci:$first?format=1" go
claim "a range is open" hears 20 open || exit 1
claim "a small piece of it is taken" says small "at "
page=$((${heard#at } / 4096 * 4096 + 4096))
claim "the page behind it is poisoned" poison $page
claim "and others" poison_all
claim "a media event comes" media_event
claim "the module knows of it" within 10 known $page
# The poison of other tests is there too.
runs=$(wc -l <poisoned)
claim "all are listed" [ "$runs" -gt "$POISONED" ]
pages=$(awk '{ n += $2 / 4096 } END { print n }' poisoned)
claim "new pieces are not poisoned" says all "took "
took=${heard#took }
claim "but it is all the rest" [ "${took% poisoned*}" -gt 64000 ]
# One is in a piece that was taken before.
claim "without the poisoned pages" is "${took#*poisoned }" $((pages - 1))
claim "they are cleared" says clear "cleared 0 poisoned 0"
claim "and all are allocated" says all "took "
claim "without an exception" is "${heard#*poisoned }" 0
echo end >&6
claim "its user ends" ended 0
claim "it unloads" rmmod annex
