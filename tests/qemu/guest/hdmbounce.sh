# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Where the kernel puts a buffer of its own between devices and all memory (swiotlb=force), nothing
# is mapped for a controller that would be a copy: it is refused, by name.
# limit: 60
. /test/lib.sh

# Refused by the module, which says why in the log.
logged()
{
	dmesg | grep "$1"
}

grep -q 'swiotlb=force' /proc/cmdline || skip "devices reach memory themselves"
with_hdm
address=$(controllers | head -n 1)
claim "a controller is bound: its own queues are made for it" annex bind "$address" || exit 1
claim "memory of a process: refused" refused "Operation not supported" \
	annex bench block "pci:$address" --seconds 1
claim "as it would be bounced" logged "map: bounced, or not coherent"
claim "CXL memory as a dma-buf: refused" refused "Operation not supported" \
	hdm dmabuf "$first" "pci:$address"
claim "as the controller does not reach it" logged "it does not reach CXL memory itself"
claim "the range itself serves" hdm fill "$first" 0
claim "nothing of it is left" no_range "$first"
claim "nor pinned" within 10 no_pins
claim "it unloads" rmmod annex
