# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The module programs the same decoders as the kernel's own driver does for the same region, which
# makes one only where it sees no hypervisor: CPU=max,hypervisor=off.
# limit: 150
. /test/lib.sh
. /test/intree.sh

# registers - Base, size, control and list of each decoder in file `where`.
registers()
{
	while read -r at; do
		for i in 0 4 8 12 16 20 24; do
			word=$(word "$(printf '0x%x' $((at + i)))") && [ -n "$word" ] || return 1
			echo "$at+$i $word"
		done
	done <where
}

# same WORDS ADDRESSES WAYS GRANULARITY
same()
{
	with_hdm
	start hdm hold "$(echo "$2" | tr ' ' ,)" go
	claim "$1: annex has a range" hears 20 holding || exit 1
	decoders "$first" | sed -n 's/.* at \(0x[0-9a-f]*\) base .*/\1/p' >where
	for address in $2; do
		[ "$address" = "$first" ] ||
			decoders "$address" |
			sed -n "s/^$address .* at \(0x[0-9a-f]*\) base .*/\1/p" >>where
	done
	claim "$1: its decoders are read" eval 'registers >ours && grep . ours'
	echo end >&6
	ended 0
	for address in $(cxl_devices); do
		unbind_cxl "$address"
	done
	rmmod annex
	claim "$1: they are free then" eval 'registers >nobodys && ! grep -v " 0x0*$" nobodys'
	claim "$1: the kernel's driver has the devices" with_intree || exit 1
	claim "$1: and a region" commit_region decoder0.0 "$2" "$3" "$4" || exit 1
	registers >theirs
	claim "$1: every register is the same" diff ours theirs
}

refused_as_owned()
{
	modprobe annex && unbind_intree "$first" && bind_cxl "$first" &&
		refused "Device or resource busy" hdm fill "$first" 0 &&
		dmesg | grep "are another driver's: see above"
}

unbind_intree()
{
	echo "$1" >"/sys/bus/pci/devices/$1/driver/unbind"
}

needs_regions
mkfifo go
exec 6<>go
first=$(cxl 0)
if [ "$CXL_SHAPE" = tree ]; then
	# Window 0 is over both host bridges.
	four="$first $(cxl 2) $(cxl 1) $(cxl 3)"
	same "four ways, two bridges and a switch" "$four" 4 4096
	claim "the region is deleted" delete_region "$four"
	without_intree
	exit
fi
same "one device" "$first" 1 256
claim "the region is deleted" delete_region "$first"
without_intree
if [ "$CXL" -gt 1 ]; then
	same "two ways" "$first $(cxl 1)" 2 256
	claim "the region is deleted" delete_region "$first $(cxl 1)"
	claim "decoders of the kernel's driver are refused" refused_as_owned
	unbind_cxl "$first"
	rmmod annex
	without_intree
fi
