# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The module programs the same decoders as the kernel's own driver does for the same region, which
# makes one only where it sees no hypervisor: CPU=max,hypervisor=off.
# limit: 150
. /test/lib.sh

devices=/sys/bus/cxl/devices

# word ADDRESS - 32 bits of physical memory, as the machine has them. With a blank written so, it is
# one word for the line to the outside.
word()
{
	host human-monitor-command "command-line=\"xp\\u0020/1xw\\u0020$1\"" |
		grep -o '0x[0-9a-f]*\\' | tr -d '\\'
}

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

# intree ADDRESSES WAYS GRANULARITY - A region of the kernel's own driver.
intree()
{
	root=$devices/decoder0.0
	name=$(cat $root/create_ram_region) && echo "$name" >$root/create_ram_region || return 1
	region=$devices/$name
	echo "$3" >"$region/interleave_granularity" && echo "$2" >"$region/interleave_ways" &&
		echo $(($2 * 268435456)) >"$region/size" || return 1
	n=0
	for address in $1; do
		decoder=$(endpoint "$address") && echo ram >"$devices/$decoder/mode" &&
			echo 268435456 >"$devices/$decoder/dpa_size" &&
			echo "$decoder" >"$region/target$n" || return 1
		n=$((n + 1))
	done
	echo 1 >"$region/commit"
}

no_intree()
{
	echo 0 >"$region/commit"
	echo "$name" >$root/delete_region
	for address in $1; do
		echo 0 >"$devices/$(endpoint "$address")/dpa_size" || return 1
	done
}

# endpoint ADDRESS - The first decoder of a device.
endpoint()
{
	for port in "$devices"/endpoint*; do
		case $(readlink -f "$port/uport") in
		*/"$1"/mem*)
			for decoder in "$port"/decoder*.0; do
				echo "${decoder##*/}"
				return
			done
			;;
		esac
	done
	return 1
}

# same WORDS ADDRESSES WAYS GRANULARITY
same()
{
	with_hdm
	start hdm hold "$(echo "$2" | tr ' ' ,)" go
	claim "$1: annex has a range" hears 20 holding || exit 1
	sed -n 's/.* at \(0x[0-9a-f]*\) base .*/\1/p' "/sys/class/annex/annex!$first/hdm/decoders" \
		>where
	for address in $2; do
		[ "$address" = "$first" ] ||
			sed -n "s/^$address .* at \(0x[0-9a-f]*\) base .*/\1/p" \
				"/sys/class/annex/annex!$address/hdm/decoders" >>where
	done
	claim "$1: its decoders are read" eval 'registers >ours && grep . ours'
	echo end >&6
	ended 0
	for address in $(cxl_devices); do
		unbind_cxl "$address"
	done
	rmmod annex
	claim "$1: they are free then" eval 'registers >nobodys && ! grep -v " 0x0*$" nobodys'
	modprobe -a cxl_acpi cxl_pci cxl_port cxl_mem
	for address in $(cxl_devices); do
		echo "$address" >/sys/bus/pci/drivers_probe
	done
	within 10 endpoint "$first" >/dev/null
	claim "$1: the kernel's driver has a region" intree "$2" "$3" "$4" || exit 1
	registers >theirs
	claim "$1: every register is the same" diff ours theirs
}

without_intree()
{
	claim "the region is deleted" no_intree "$1"
	rmmod_intree
}

rmmod_intree()
{
	for module in cxl_mem cxl_port cxl_pci cxl_acpi; do
		within 5 rmmod $module 2>/dev/null
	done
}

refused_as_owned()
{
	modprobe annex && unbind_intree "$first" && bind_cxl "$first" &&
		refused "Device or resource busy" hdm fill "$first" 0 &&
		dmesg | grep "are another driver's, see /proc/iomem"
}

unbind_intree()
{
	echo "$1" >"/sys/bus/pci/devices/$1/driver/unbind"
}

! grep -q hypervisor /proc/cpuinfo || skip "it is seen that this is a virtual machine"
[ "$KERNEL" != 6.1 ] || skip "Linux 6.1 makes no volatile regions"
[ "$CXL_KIND" != persistent ] || skip "there is no volatile memory"
mkfifo go
exec 6<>go
first=$(cxl 0)
if [ "$CXL_SHAPE" = tree ]; then
	# Window 0 is over both host bridges.
	four="$first $(cxl 2) $(cxl 1) $(cxl 3)"
	same "four ways, two bridges and a switch" "$four" 4 4096
	without_intree "$four"
	exit
fi
same "one device" "$first" 1 256
without_intree "$first"
if [ "$CXL" -gt 1 ]; then
	same "two ways" "$first $(cxl 1)" 2 256
	claim "the region is deleted" no_intree "$first $(cxl 1)"
	claim "decoders of the kernel's driver are refused" refused_as_owned
	unbind_cxl "$first"
	rmmod annex
	rmmod_intree
fi
