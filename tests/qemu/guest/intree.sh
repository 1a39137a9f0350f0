# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Regions of the kernel's own driver, for tests beside it: `. /test/intree.sh`. One is committed
# only where the kernel sees no hypervisor (CPU=max,hypervisor=off); Linux 6.1 makes none of
# volatile memory.

cxl=/sys/bus/cxl/devices

# needs_regions - Skips the test where there cannot be any.
needs_regions()
{
	! grep -q hypervisor /proc/cpuinfo || skip "it is seen that this is a virtual machine"
	[ "$KERNEL" != 6.1 ] || skip "Linux 6.1 makes no volatile regions"
	[ "$CXL_KIND" != persistent ] || skip "there is no volatile memory"
}

# with_intree - Its drivers have all devices.
with_intree()
{
	modprobe -a cxl_acpi cxl_pci cxl_port cxl_mem
	for address in $(cxl_devices); do
		[ -e "/sys/bus/pci/devices/$address/driver" ] ||
			echo "$address" >/sys/bus/pci/drivers_probe
	done
	for address in $(cxl_devices); do
		within 10 endpoint "$address" >/dev/null || return 1
	done
}

without_intree()
{
	for module in cxl_mem cxl_port cxl_pci cxl_acpi; do
		within 5 rmmod $module 2>/dev/null
	done
}

# endpoint ADDRESS - The first decoder of a device.
endpoint()
{
	for port in "$cxl"/endpoint*; do
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

# reserve ROOT KIND WAYS GRANULARITY BYTES - A region, which is $name at $region, takes addresses of
# the window that is $root: decoder0.0 is that of the first one. KIND is ram or pmem.
reserve()
{
	root=$cxl/$1
	name=$(cat "$root/create_$2_region") && echo "$name" >"$root/create_$2_region" || return 1
	region=$cxl/$name
	[ "$2" = ram ] || cat /proc/sys/kernel/random/uuid >"$region/uuid" || return 1
	echo "$4" >"$region/interleave_granularity" && echo "$3" >"$region/interleave_ways" &&
		echo "$5" >"$region/size"
}

# commit_region ROOT ADDRESSES WAYS GRANULARITY - One over the first 256 MiB of each of these.
commit_region()
{
	reserve "$1" ram "$3" "$4" $(($3 * 268435456)) || return 1
	n=0
	for address in $2; do
		decoder=$(endpoint "$address") && echo ram >"$cxl/$decoder/mode" &&
			echo 268435456 >"$cxl/$decoder/dpa_size" &&
			echo "$decoder" >"$region/target$n" || return 1
		n=$((n + 1))
	done
	echo 1 >"$region/commit"
}

# delete_region ADDRESSES
delete_region()
{
	echo 0 >"$region/commit"
	echo "$name" >"$root/delete_region" || return 1
	for address in $1; do
		echo 0 >"$cxl/$(endpoint "$address")/dpa_size" || return 1
	done
}

# make_dax - Make the committed region a devdax, $dax. kmem would make ordinary memory of it.
make_dax()
{
	modprobe -a device_dax dax_cxl
	echo "$name" >/sys/bus/cxl/drivers/cxl_region/bind && within 10 find_dax
}

# find_dax - From Linux 7 on it is there some time after that.
find_dax()
{
	dax=$(basename "$cxl/$name/dax_$name"/dax*.*) && [ -e "/sys/bus/dax/devices/$dax" ]
}

# free_dax - No driver has it: from Linux 7 on device_dax may have taken it by itself.
free_dax()
{
	[ ! -e "/sys/bus/dax/devices/$dax/driver" ] ||
		echo "$dax" >/sys/bus/dax/drivers/device_dax/unbind
}

# take_dax - The driver device_dax has it.
take_dax()
{
	echo "$dax" >/sys/bus/dax/drivers/device_dax/new_id &&
		[ -e "/sys/bus/dax/devices/$dax/driver" ]
}
