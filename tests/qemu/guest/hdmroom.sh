# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Where the kernel's own driver has a region in a window, a range lies beside it.
# machines: tree
# limit: 180
. /test/lib.sh
. /test/intree.sh

hex()
{
	printf '0x%x' "$(cat "$1")"
}

apart()
{
	base=$(range "$first" base) end=$(($(range "$first" base) + $(range "$first" bytes)))
	from=$(hex "$region/resource") to=$(($(hex "$region/resource") + $(hex "$region/size")))
	echo "range $base to $end, region $from to $to"
	[ $((end)) -gt $((base)) ] && [ $((to)) -gt $((from)) ] &&
		{ [ $((base)) -ge $((to)) ] || [ $((end)) -le $((from)) ]; }
}

same_window()
{
	start=$(hex "$root/start") size=$(hex "$root/size")
	base=$(range "$first" base)
	[ $((base)) -ge $((start)) ] && [ $((base)) -lt $((start + size)) ]
}

stored()
{
	hdm fill "$first" 0 && is "$(host peek "file=$file" offset=0 bytes=2097152)" \
		"$(md5sum <member0 | cut -d ' ' -f 1)"
}

# owner_told - The log says where the registers are that another driver has, and whose, as
# /proc/iomem does: Linux 6.1 may have claimed more than them.
owner_told()
{
	at=$(dmesg | sed -n "s/.*its decoders at 0x\([0-9a-f]*\) are another driver's.*/\1/p" |
		tail -n 1)
	[ -n "$at" ] || return
	last=
	while read -r range _ owner; do
		[ $((0x${range%-*})) -gt $((0x$at)) ] || [ $((0x${range#*-})) -lt $((0x$at)) ] ||
			last=$owner
	done </proc/iomem
	echo "$at is of: $last"
	case $last in
	port* | endpoint* | mem*) dmesg | grep "resource collision: .* conflicts with $last " ;;
	*) return 1 ;;
	esac
}

# Bridges with several root ports have decoders, which the kernel's driver holds while it is there.
no_bridge()
{
	claim "the bridge is another driver's: refused" refused "Device or resource busy" \
		hdm fill "$first" 0
	claim "the log says whose" owner_told
	claim "the region is as it was" grep " : $name$" /proc/iomem
	echo "$name" >"$root/delete_region"
	without_intree
	start hdm hold "$first" go
	claim "when it has gone, there is a range" hears 20 holding
	first_come
}

# From Linux 6.18 on it holds them only while it has an endpoint below.
with_region()
{
	start hdm hold "$first" go
	claim "annex has a range" hears 20 holding
	claim "it is beside the region" apart
	first_come
}

# The first driver to come has the bridge: annex, which holds a range.
first_come()
{
	other=$(cxl 1)
	modprobe -a cxl_acpi cxl_port cxl_pci cxl_mem
	claim "the kernel's driver gets another device of the bridge" annex unbind "$other"
	claim "but not the bridge" within 5 eval 'dmesg | grep "Failed to request region"'
	claim "so it has no endpoint" eval '! endpoint "$other"'
	echo end >&6
	claim "its user ends" ended 0
	without_intree
	claim "data is in the device's memory" stored
	modprobe -a cxl_acpi cxl_port cxl_pci cxl_mem
	echo "$other" >/sys/bus/pci/drivers_probe
	claim "now the kernel's driver has the bridge" within 10 endpoint "$other"
	claim "the bridge is another driver's: refused" refused "Device or resource busy" \
		hdm fill "$first" 0
	claim "the log says whose" owner_told
	without_intree
	claim "when it has gone, there is a range" hdm fill "$first" 0
}

# Where there is one root port only the window is shared.
share_window()
{
	start hdm hold "$first" go
	claim "annex has a range" hears 20 holding
	claim "it is beside the region" apart
	claim "in the same window" same_window
	echo end >&6
	claim "its user ends" ended 0
	claim "data is in the device's memory, beside it as well" stored
	claim "the region is as it was" grep " : $name$" /proc/iomem
	echo "$name" >"$root/delete_region"
	start hdm hold "$first" go
	claim "annex has a range first" hears 20 holding
	claim "the kernel's driver has a region then" reserve $window $kind 1 256 268435456
	claim "it is beside the range" apart
	echo end >&6
	claim "its user ends" ended 0
	echo "$name" >"$root/delete_region"
	all=$(hex "$root/size")
	claim "the kernel's driver has all of the window" \
		reserve $window $kind 1 256 $((all)) || exit 1
	claim "there is no room: refused" refused "No space left" hdm fill "$first" 0
	claim "the log says so, and where to look" eval 'dmesg |
		grep "no window has 0x.* free: see /proc/iomem"'
	claim "whose it is, is there" grep " : $name$" /proc/iomem
	echo "$name" >"$root/delete_region"
	claim "then there is room again" hdm fill "$first" 0
	without_intree
}

kind=ram window=decoder0.0 file=cxl0
[ "$KERNEL" != 6.1 ] || kind=pmem
[ "$CXL_KIND" != persistent ] || kind=pmem file=pmem0
[ "$CXL_SHAPE" != tree ] || window=decoder0.1 # of one bridge
with_hdm
modprobe -a cxl_acpi cxl_port
claim "the kernel's driver has a region" reserve $window $kind 1 256 268435456 || exit 1
claim "its addresses are taken" grep " : $name$" /proc/iomem
mkfifo go
exec 6<>go
case $CXL:$KERNEL in
1:*) share_window ;;
*:6.1 | *:6.12*) no_bridge ;;
*) with_region ;;
esac
claim "it unloads" rmmod annex
