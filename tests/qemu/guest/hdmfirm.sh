# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A table of windows that is broken, and decoders that are locked or in use, are refused with a line
# in the log, and left as they are.
# machines: flat
# limit: 150
. /test/lib.sh

# Offsets in the CEDT's entries: of a host bridge, and of a window.
uid=4 version=8 base=16
type=0 length=2 start=8 size=16 ways=24 granularity=28 restrictions=32 target=36

# told WORDS - The log has had them since it was `marked`.
told()
{
	dmesg | tail -n +$((marked + 1)) >/run/told
	grep -e "$1" /run/told || { tail -n 3 /run/told; return 1; }
}

marked()
{
	dmesg | wc -l
}

# put AT BYTES VALUE ENTRIES - Into each of these entries; keep the old bytes for put_back.
put()
{
	for entry in $4; do
		echo "$((entry + $1)) $2 $(hdmfirm table $((entry + $1)) "$2")" >>kept
		hdmfirm table $((entry + $1)) "$2" "$3" || return 1
	done
}

put_back()
{
	while read -r at bytes value; do
		hdmfirm table "$at" "$bytes" "$value" || return 1
	done <kept
	rm kept
}

# broken WORDS AT BYTES VALUE ENTRIES ERROR LINE
broken()
{
	marked=$(marked)
	put "$2" "$3" "$4" "$5"
	claim "$1: refused" refused "$6" hdm fill "$first" 0
	claim "and said" told "$7"
	put_back
}

# decoder N - Of the first device: at this offset of its BAR 0.
decoder()
{
	printf '0x%x' $((hdm_at + 0x10 + 0x20 * $1))
}

registers()
{
	hdmfirm registers "$first" 0 "$hdm_at" 36
}

# dvsec - Where the first device's configuration space has the DVSEC of CXL devices.
dvsec()
{
	at=256
	while [ $at -ge 256 ]; do
		# shellcheck disable=SC2046 # words are wanted
		set -- $(od -An -tu4 -j$at -N12 "$config")
		if [ $(($1 & 0xffff)) -eq $((0x23)) ] && [ $(($2 & 0xffff)) -eq $((0x1e98)) ] &&
			[ $(($3 & 0xffff)) -eq 0 ]; then
			echo $at
			return
		fi
		at=$(($1 >> 20))
	done
	return 1
}

# set_lock BIT - Of the first device's configuration.
set_lock()
{
	printf "\\$1" | dd of="$config" bs=1 seek=$(($(dvsec) + 0x14)) conv=notrunc 2>/dev/null
	is "$(od -An -tu1 -j$(($(dvsec) + 0x14)) -N1 "$config" | tr -d ' ')" "$1"
}

# left_alone WORDS ERROR LINE - The first device, with registers as they are now. A device that was
# bound once goes on answering to its addresses.
left_alone()
{
	marked=$(marked)
	registers >was
	claim "$1: it is bound" bind_cxl "$first"
	claim "but has no range" refused "$2" hdm fill "$first" 0
	claim "and says why" told "$3"
	claim "it is unbound" unbind_cxl "$first"
	claim "its registers are as they were" eval 'registers | diff was -'
}

# set_decoder N CTRL - And nothing else of it.
set_decoder()
{
	hdmfirm register "$first" 0 "$(printf '0x%x' $(($(decoder "$1") + 0x10)))" "$2"
}

with_hdm
nodev="No such device" inval="Invalid argument" unsupported="Operation not supported"
claim "the table is found" eval 'windows=$(hdmfirm entries 1) && bridges=$(hdmfirm entries 0)'
claim "it has windows" [ -n "$windows" ]
claim "and bridges" [ -n "$bridges" ]
broken "no windows" $type 1 9 "$windows" "$nodev" "no CXL window (none in the CEDT)"
broken "an entry of no length" $length 2 0 "$windows" "$inval" "the CEDT cannot be read: error -22"
broken "windows that are cut off" $length 2 0xffff "$windows" "$nodev" "a truncated window"
broken "a reserved number of ways" $ways 1 5 "$windows" "$nodev" "invalid windows"
broken "a reserved granularity" $granularity 4 7 "$windows" "$nodev" "invalid windows"
broken "sizes that wrap" $size 8 0xffffffffffffffff "$windows" "$nodev" "invalid windows"
broken "no size" $size 8 0 "$windows" "$nodev" "invalid windows"
broken "addresses that the machine has not" $start 8 0x8000000000000000 "$windows" "$nodev" \
	"invalid windows in the CEDT: [1-9]*, the first at 0x8000000000000000"
broken "addresses between granules" $start 8 0x1001000 "$windows" "$nodev" "invalid windows"
broken "windows for memory that devices cache" $restrictions 2 0xd "$windows" "$unsupported" \
	"no window for 1"
broken "windows for neither kind of memory" $restrictions 2 3 "$windows" "$unsupported" \
	"no window for 1"
broken "windows that are fixed" $restrictions 2 0x1e "$windows" "$unsupported" "no window for 1"
broken "windows of another bridge" $target 4 99 "$windows" "$unsupported" "no window for 1"
broken "a bridge without registers" $uid 4 99 "$bridges" "No such device or address" \
	"has no registers of CXL 2.0"
broken "a bridge of CXL 1.1" $version 4 0 "$bridges" "No such device or address" \
	"has no registers of CXL 2.0"
broken "a bridge in memory" $base 8 0x1000000 "$bridges" "$inval" \
	"cannot have registers at 0x1000000"
broken "a bridge nowhere" $base 8 0xfffffffffffff000 "$bridges" "$inval" "cannot have registers at"
put $restrictions 2 0xe "$windows"
claim "windows for memory that only the host caches: there is a range" hdm fill "$first" 0
put_back
# Two windows at the same place: the second is left out, and the first can be used.
set -- $windows
if [ $# -gt 2 ]; then
	put $start 8 "$(hdmfirm table $(($2 + start)) 8)" "$3"
	marked=$(marked)
	claim "a window upon another: the other is used" hdm fill "$first" 0
	claim "and said" told "invalid windows"
	put_back
fi
claim "with its table again, there is a range" hdm fill "$first" 0

for address in $(cxl_devices); do
	claim "$address is unbound" unbind_cxl "$address"
done
hdm_at=
# The capabilities of CXL.mem, at 0x1000, point to the decoders.
for i in 1 2 3 4 5 6 7 8; do
	entry=$(hdmfirm register "$first" 0 $((0x1000 + 4 * i)))
	[ $((entry & 0xffff)) -ne 5 ] || hdm_at=$((0x1000 + (entry >> 20)))
done
claim "the decoders are found" [ -n "$hdm_at" ] || exit 1
# The kernel's driver, which an earlier test may have had, leaves a bit behind.
for i in 0 1 2 3; do
	set_decoder $i 0
done
registers >nobodys
claim "the first decoder is locked" set_decoder 0 0x100
left_alone "locked" "Operation not permitted" "decoder 0 is locked by firmware"
set_decoder 0 0
claim "the third is committed" set_decoder 2 0x200
left_alone "out of order" "Device or resource busy" \
	"decoder 2 is committed, but not decoder 0"
set_decoder 2 0
for i in 0 1 2 3; do
	set_decoder $i 0x200
done
left_alone "all in use" "No space left" "all 4 decoders are in use"
for i in 3 2 1 0; do
	set_decoder $i 0
done
config=/sys/bus/pci/devices/$first/config
claim "it is locked without CXL.mem" set_lock 1
left_alone "without CXL.mem" "Operation not permitted" "firmware has locked it without CXL.mem"
claim "and no more" set_lock 0
claim "the registers are free again" eval 'registers | diff nobodys -'
for address in $(cxl_devices); do
	claim "$address is bound" bind_cxl "$address"
done
claim "there is a range" hdm fill "$first" 0
claim "it unloads" rmmod annex
