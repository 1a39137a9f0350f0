# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Memory that the kernel's own driver has: ranges on a devdax, and on the NUMA node that it becomes.
# limit: 300
. /test/lib.sh
. /test/intree.sh

memory=/sys/devices/system/memory

bench()
{
	annex bench hdm "$1" --seconds 0.01 --bytes 256K --json >measures &&
		grep '"verified": true' measures
}

# seen_outside - The stored data is in the devices, interleaved by 4 KiB where there are two.
seen_outside()
{
	at=$(sed -n 's/^offset \([0-9]*\) .*/\1/p' filled) && [ -n "$at" ] || return 1
	if [ $ways = 1 ]; then
		is "$(host peek file=cxl0 "offset=$at" bytes=1048576)" \
			"$(md5sum <stored | cut -d ' ' -f 1)"
		return
	fi
	for page in 0 1 2 3 254 255; do
		n=$((at / 4096 + page))
		is "$(host peek "file=cxl$((n % 2 * 2))" "offset=$((n / 2 * 4096))" bytes=4096)" \
			"$(dd if=stored bs=4096 skip=$page count=1 2>/dev/null | md5sum |
				cut -d ' ' -f 1)" || return 1
	done
}

# becomes_memory - Whether the kernel has taken it as its own, on a node of its own.
becomes_memory()
{
	echo online_movable >$memory/auto_online_blocks
	echo "$dax" >/sys/bus/dax/drivers/device_dax/unbind
	echo "$dax" >/sys/bus/dax/drivers/device_dax/remove_id
	modprobe kmem && [ -e "/sys/bus/dax/drivers/kmem/$dax" ] &&
		grep "MemTotal: *[1-9]" "/sys/devices/system/node/node$node/meminfo"
}

# no_memory - The kernel gives it back. A block goes offline when its pages have moved.
no_memory()
{
	echo offline >$memory/auto_online_blocks
	for block in "/sys/devices/system/node/node$node"/memory[0-9]*; do
		[ ! -d "$block" ] || within 10 offline "$block" || return 1
	done
	echo "$dax" >/sys/bus/dax/drivers/kmem/unbind
	rmmod kmem && ! grep 'System RAM (kmem)' /proc/iomem
}

offline()
{
	echo offline >"$1/state"
	is "$(cat "$1/state")" offline
}

on_devdax()
{
	uri=dax:/dev/$dax
	claim "no driver has it" free_dax
	claim "a driver does not have it: refused" \
		refused "the kernel's driver device_dax does not have it" hdmdax open "$uri"
	claim "device_dax has it" take_dax || exit 1
	claim "no devdax: refused" refused "no devdax device" hdmdax open dax:/dev/null
	claim "no such file: refused" refused "No such file" hdmdax open dax:/dev/dax9.9
	claim "a piece of it is filled and persisted" eval 'hdmdax fill "$uri" stored >filled'
	claim "it is volatile, which needs no flush" grep "flush none$" filled
	claim "its node is told" grep " node $node " filled
	claim "the data is in the device's memory, where it belongs" seen_outside
	claim "another process finds it" hdmdax verify "$uri"
	claim "it is measured" bench "$uri"
	claim "vectors are added with their caches in it" sum sum.f64 --cache-in "$uri"
	claim "an NVMe controller reads into it" sum "pci:$nvme" --cache-in "$uri"
	claim "it is the kernel's no less" [ -e "/sys/bus/dax/drivers/device_dax/$dax" ]
}

on_node()
{
	uri="numa:$node?size=4M"
	claim "it becomes ordinary memory of node $node" becomes_memory || exit 1
	claim "every page is on it" hdmdax on "$uri" "$node"
	claim "pages of ordinary memory are on node 0" hdmdax on "numa:0?size=2M" 0
	claim "more than it has: refused" refused "it has no 1073741824 bytes left" \
		hdmdax open "numa:$node?size=1G"
	claim "another node: refused" refused "no such node with memory" \
		hdmdax open "numa:$((node + 1))?size=1M"
	claim "no size: refused" refused "how much? Give size=" hdmdax open "numa:$node"
	claim "a piece of it is filled" hdmdax fill "$uri" stored
	claim "it is measured" bench "$uri"
	claim "vectors are added with their caches in it" sum sum.f64 --cache-in "$uri"
	claim "an NVMe controller reads into it" sum "pci:$nvme" --cache-in "$uri"
	claim "the kernel gives it back" no_memory
	claim "the node has no memory then: refused" refused "no such node with memory" \
		hdmdax open "$uri"
}

needs_module
[ "$CXL" -gt 0 ] || skip "there is no CXL memory"
needs_regions
first=$(cxl 0)
members=$first ways=1
[ "$CXL_SHAPE" != tree ] || members="$first $(cxl 2)" ways=2 # window 0 is over both bridges
claim "the kernel's driver has the devices" with_intree || exit 1
claim "and a region" commit_region decoder0.0 "$members" $ways 4096 || exit 1
claim "which is a devdax" make_dax || exit 1
node=$(cat "/sys/bus/dax/devices/$dax/target_node")
claim "the module loads" modprobe annex allow_no_iommu=1 || exit 1
nvme=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$nvme" || exit 1
claim "vectors are made" vectors
on_devdax
on_node
modprobe nvme
claim "the controller is given back" annex unbind "$nvme"
echo "$name" >/sys/bus/cxl/drivers/cxl_region/unbind
claim "the region is deleted" delete_region "$members"
without_intree
rmmod nvme
claim "it unloads" rmmod annex
with_hdm
claim "annex.ko has the memory as before" hdm fill "$first" 0
claim "it unloads" rmmod annex
