# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Files and NVMe controllers go into CXL memory and out of it without a copy elsewhere.
# machines: tree both
# limit: 240
. /test/lib.sh

# When it is opened, memory of a provider is tried out, with a block of the process for comparison.
pins_nothing()
{
	! recorded "annex_map: .* kind=0" | grep "kind=0" | grep -v " bytes=16384 "
}

with_hdm
modprobe nvme
claim "the kernel's driver has a disk" within 5 disk 0 || exit 1
! takes_range_pages || claim "O_DIRECT, both ways" hdm direct "$first" "$(disk 0)"
if [ "$CXL" -gt 1 ] && takes_range_pages; then
	claim "and with a range of two devices" hdm direct "$first,$(cxl 1)" "$(disk 0)"
fi
address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
record
claim "its queues and data are in CXL memory" hdm dmabuf "$first" "pci:$address"
claim "they are reached as a dma-buf" recorded 'annex_map: .* kind=3 .* err=0'
claim "lists too: only the block of the trial is pinned" pins_nothing
claim "vectors are made" vectors
claim "their sum is written to its disk from caches in CXL memory, and read again" \
	sum "pci:$address" --cache-in "pci:$first?format=1"
claim "whose lines are reached as a dma-buf" \
	recorded 'annex_map: .* kind=3 bytes=262144 err=0'
claim "and not pinned" eval '! recorded "annex_map: .* kind=0 bytes=262144"'
no_record
claim "nothing of it is left" no_range "$first"
claim "it is unbound" annex unbind "$address"
claim "the kernel's driver has the disk again" within 5 disk 0
! takes_range_pages || claim "io_uring reads from it into CXL memory, by O_DIRECT" \
	sum "file:$(disk 0)?direct=1" --cache-in "pci:$first?format=1"
rmmod nvme
claim "it unloads" rmmod annex
