# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A namespace of the kernel's driver with metadata, or with blocks of more than 16 KiB, is refused,
# with a line; protection information and blocks of 4096 and 16384 bytes work.
# machines: kernel
# limit: 90
. /test/lib.sh

# formatted INDEX - As in blocks.sh, and the driver has seen it.
formatted()
{
	format "$(ctrl 0)" "$1" && within 5 disk 0
}

# node - The generic device, whatever number it has got.
node()
{
	for node in /dev/ng*n*; do
		[ -c "$node" ] && return
	done
}

refuses()
{
	within 5 node && refused "$1" annex verify "ng:$node" --read-only
}

facts()
{
	disk=$(disk 0) || return 1
	largest=$(($(cat "/sys/block/${disk#/dev/}/queue/max_hw_sectors_kb") * 1024))
	is "$(ng facts "ng:$(generic "$disk")" 2>&1)" "$1, $largest"
}

gone() { ! node; }

large()
{
	node && annex verify "ng:$node" --overwrite --bytes 8M --size 64K
}

# other_blocks BYTES - The same disk, in a controller with such blocks.
other_blocks()
{
	NVME_OPTIONS=$NVME_OPTIONS,logical_block_size=$1,physical_block_size=$1 within 5 plug 0
}

[ "$NVME" -eq 1 ] || skip "there are several controllers"
modprobe nvme
claim "the disk is there" within 10 disk 0 || exit 1
claim "it is formatted, with metadata" format "$(ctrl 0)" 1
claim "opening it fails with the reason" \
	refuses "format 1 has blocks of 2^9 bytes, with 8 of .*; nvme format /dev/nvme.* --lbaf=0"
claim "so by the controller" refused "with 8 of metadata" \
	annex verify "nvme:$(ctrl 0)" --read-only
claim "it is formatted, with blocks of 4096 bytes" formatted 4
claim "they are seen" within 5 facts "1 of 65536 x 4096"
claim "random commands agree with a model, and with the block device" \
	ng agree "ng:$(generic "$(disk 0)")" "$(disk 0)"
# As in blocks.sh. Behind an IOMMU the driver of Linux 6.1 gives separate metadata a wrong address,
# and that of 7.3 cannot map it.
formats="33 53"
[ "$IOMMU" = 0 ] || [ "$KERNEL" = 6.12 ] || formats=53
for index in $formats; do
	claim "it is formatted with protection information: $index" formatted $index
	claim "random commands agree" ng agree "ng:$(generic "$(disk 0)")" "$(disk 0)"
done
claim "it is formatted as it was" formatted 0
claim "which is seen" within 5 facts "1 of 524288 x 512"

claim "the controller is pulled" pull 0
claim "it disappears" within 15 gone
claim "one with blocks of 16384 bytes is plugged in" other_blocks 16384
claim "commands work, which the block device may not know" within 5 large
claim "it is pulled" pull 0
claim "it disappears" within 15 gone
claim "one with blocks of 32768 bytes is plugged in" other_blocks 32768
claim "opening it fails with the reason" refuses "blocks of 2^15 bytes, with 0 of metadata"
claim "it is pulled" pull 0
claim "it disappears" within 15 gone
claim "the first is plugged in again" within 5 plug 0
claim "the disk comes back" within 5 disk 0
claim "the driver unloads" within 5 rmmod nvme
