# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Poison of a CXL device reaches only processes that access it, until it is cleared; events reach
# their readers.
# limit: 120
. /test/lib.sh

poison()
{
	host cxl-inject-poison path=/machine/peripheral/cxl0 "start=$(($1))" length=64
}

media_event()
{
	host cxl-inject-general-media-event path=/machine/peripheral/cxl0 "log=$1" flags=1 \
		dpa=4096 descriptor=3 type=2 transaction-type=1
}

says()
{
	echo "$1" >&6
	hears 20 "$2"
}

listed()
{
	is "$(hdm poison "$1")" "$2"
}

# The same device, as the second of two.
interleaved()
{
	listed "$(cxl 1),$first" "0xc801000 0x1000
0xc80a000 0x1000"
}

# shows BYTES COMMAND... - The tool reports so many poisoned bytes.
shows()
{
	bytes=$1
	shift
	"$@" --json >shown && grep "\"poisoned_bytes\": $bytes\>" shown
}

# cleared - The tool clears a device that is not in use.
cleared()
{
	claim "poison is injected" poison 0x640c000
	claim "users are told" shows 64 nobody annex poison "pci:$first"
	claim "with its place" grep -A 1 '"offset": 104906752' shown
	claim "they do not clear it" refused "not cleared: Permission denied" \
		nobody annex poison "pci:$first" --clear
	claim "root does" shows 0 annex poison "pci:$first" --clear
	claim "which is told" grep '"cleared_bytes": 64' shown
	claim "again there is nothing to do" shows 0 annex poison "pci:$first" --clear
	claim "the device does not list it" listed "$first" ""
}

# The owner of a piece, without rights, clears its poison.
private_pieces()
{
	echo 0 >/sys/module/annex/parameters/shared
	start nobody hdm hold "$first" go
	claim "a piece is held" hears 20 holding
	claim "poison is injected into it" poison 0x8040
	claim "and into another page" poison 0xa000
	claim "both are listed" listed "$first" "0x8000 0x1000
0xa000 0x1000"
	claim "the page is not accessible" says "touch 0x8000" SIGBUS
	claim "another user does not clear it" \
		refused "Permission denied" nobody hdm clear "$first" 0x8000
	claim "its owner does" says "clear 0x8000" "cleared 0"
	claim "the page is accessible, and zeroed" says "touch 0x8040" "byte 0"
	claim "the other one is not" says "touch 0xa000" SIGBUS
	echo end >&6
	claim "the piece is given up" ended 0
	claim "root clears a page that is in no piece" hdm clear "$first" 0xa000
	start nobody hdm hold "$first" go
	claim "a piece is held" hears 20 holding
	claim "which has the page" says "touch 0xa000" "byte 0"
	echo end >&6
	claim "the piece is given up" ended 0
	cleared
	poisoned_table
	echo 1 >/sys/module/annex/parameters/shared
}

# The table of uncached pieces, which only these need.
poisoned_table()
{
	start nobody hdm hold "$first" go 0x200000
	claim "a range with an uncached part is held" hears 20 holding
	claim "an uncached piece is taken" says "piece 0" "piece 0"
	table=$(($(range "$first" bytes) - 0x200000))
	claim "poison is injected into the table" poison $table
	claim "a media event comes" media_event failure
	claim "poll() says that there is new poison" says "news 20000" "news 1"
	claim "no other uncached piece is taken" says "piece 0" "piece -5"
	claim "a cacheable one is" says "piece 1" "piece 0"
	echo end >&6
	claim "the range is given up" ended 0
	claim "root clears the page in another range" hdm clear "$first" $table
}

# QEMU keeps its lists until it ends: these pages are not what other tests touch.
with_hdm
mkfifo go
exec 6<>go
start hdm hold "$first" go
claim "a range is held" hears 20 holding || exit 1
claim "its memory can be read" says "touch 0x6405000" byte
claim "its poison so far is none" says list "listed 0"
claim "nothing is new" says "news 0" "news 0"
hdm wait "$first" >events &
waiter=$!
claim "an event is waited for" within 10 grep -q waiting events
claim "poison is injected" poison 0x6405040
claim "the module does not know of it" says "touch 0x6405000" byte
# It sleeps in poll() until there is.
echo "news 20000" >&6
claim "a media event comes" media_event failure
claim "it reaches the waiting process" within 10 grep -q "^event 2 seq [0-9]* lost 0" events
claim "annex list counts it" eval 'annex list --json | grep "\"failure\": [1-9]"'
claim "poll() says that there is new poison" hears 20 "news 1"
claim "until it is asked for" says list "listed 1"
claim "and then no more" says "news 0" "news 0"
claim "an access to the page gets SIGBUS" says "touch 0x6405000" SIGBUS
claim "the page before it is not" says "touch 0x6404fff" byte
claim "nor the one behind" says "touch 0x6406000" byte
claim "the page is in the list" listed "$first" "0x6405000 0x1000"
claim "another event, in another log" media_event informational
claim "that one too" within 10 grep -q "^event 0 seq [0-9]* lost 0" events
claim "interrupts announce them" grep -q "annex!$first" /proc/interrupts
echo end >&6
claim "the range is given up" ended 0
claim "the next one knows the poison from the beginning" listed "$first" "0x6405000 0x1000"
if [ "$CXL" -gt 1 ] && [ "$CXL_SHAPE" = flat ]; then
	claim "poison at the end of 4 KiB" poison 0x6400fc0
	# By 256 bytes each page of a range of two has 2 KiB of each.
	claim "where it is in a range of two" interleaved
	claim "one page is cleared" hdm clear "$(cxl 1),$first" 0xc801000
	claim "the other is not" listed "$(cxl 1),$first" "0xc80a000 0x1000"
fi
chmod 666 go "/dev/annex/$first"
start hdm hold "$first" go
claim "a range is held" hears 20 holding
claim "the poisoned page is not accessible" says "touch 0x6405000" SIGBUS
claim "a user of a shared range clears nothing" \
	refused "Permission denied" nobody hdm clear "$first" 0x6405000
claim "nor root with the tool, while it is in use" refused "is in use" \
	annex poison "pci:$first" --clear
claim "it is still poisoned" says "touch 0x6405000" SIGBUS
claim "root clears it" says "clear 0x6405000" "cleared 0"
claim "the page is accessible, and zeroed" says "touch 0x6405040" "byte 0"
claim "no poison is listed" says list "listed 0"
claim "the kernel reports a bad page, which no device lists" says "break 0x6406000" "broke 0"
claim "it is not accessible" says "touch 0x6406000" SIGBUS
claim "it is cleared too" says "clear 0x6406000" "cleared 0"
claim "and accessible" says "touch 0x6406000" "byte 0"
claim "the device lists none either" listed "$first" ""
echo end >&6
claim "the range is given up" ended 0
cleared

[ "$CXL_KIND" = persistent ] || private_pieces
kill $waiter
wait $waiter

msi=/sys/bus/pci/devices/$first/msi_bus
claim "the device is bound without interrupts" eval 'unbind_cxl "$first" && echo 0 >"$msi" &&
	bind_cxl "$first" && ! grep "annex!$first" /proc/interrupts'
hdm wait "$first" >polled &
waiter=$!
claim "an event is waited for" within 10 grep -q waiting polled
claim "a media event comes" media_event warning
claim "it reaches the process in poll()" within 10 grep -q "^event 1 seq" polled
kill $waiter
wait $waiter
# A process that never reads an event gets poison by POLLPRI alone; of two devices, that of the
# member that is not the file's.
members=$first
if [ "$CXL" -gt 1 ] && [ "$CXL_SHAPE" = flat ]; then
	members="$(cxl 1),$first"
fi
start hdm hold "$members" go
claim "a range is held" hears 20 holding
claim "a media event comes" media_event failure
# What the device lists already was told with the range, or is now.
claim "poll() has it fetched" says "news 0" news
claim "all poison is known" says list listed
claim "nothing is new" says "news 0" "news 0"
claim "poison is injected, further on" poison 0x6407040
claim "a media event comes, and no event was read" media_event failure
claim "poll() says that there is new poison" says "news 0" "news 1"
claim "it is told" says list listed
claim "and then no more" says "news 0" "news 0"
claim "poison is injected once more" poison 0x6409040
echo "news 20000" >&6
claim "a media event comes" media_event failure
claim "poll() that sleeps says it" hears 20 "news 1"
echo end >&6
claim "the range is given up" ended 0
echo 1 >"$msi"
claim "it unloads" within 5 rmmod annex
