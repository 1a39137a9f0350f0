# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# GPU threads fill queue pairs whose rings lie in memory that only they and the drive reach.
# machines: iommu
# limit: 300
. /test/lib.sh

[ -e /dev/udmabuf ] || skip "this kernel makes no dma-bufs of process memory" # Debian's 6.1

resets_since()
{
	[ "$(count resets)" -gt "$1" ]
}

# The disk gets stuck, for as long as it takes commands to be late, and goes on.
stuck()
{
	before=$(count resets)
	throttle 0 1 && within 10 resets_since "$before" && throttle 0 0
}

with_module
pins=$(pinned)
claim "settings that cannot be met are refused" rings refused "$uri"
record
claim "arrays are read and changed, before and after resets" rings work "$uri" 64 4096
claim "the rings are reached as a dma-buf" recorded 'annex_map: .* kind=3 bytes=24576 err=0'
no_record
claim "the same in rings of two entries" rings work "$uri" 2 4096
if [ "${LONG:-0}" = 1 ]; then
	claim "the same with lists of addresses" rings work "$uri" 7 32768
	# Without an IOMMU, a ring is in one piece.
	[ "$IOMMU" = 0 ] || claim "the same in long rings" rings work "$uri" 1000 4096
fi

start rings late "$uri" 500
claim "a program with GPU threads begins" hears 20 "[rings: "
report "# $heard"
claim "they are at work" hears 20 working
claim "the disk gets stuck, and the controller is reset" stuck
claim "they go on with the same rings" hears 40 recovered
report "# $heard; resets $(count resets)"
claim "all of it is on the disk" ended 0
claim "no page stays pinned" [ "$(pinned)" -eq "$pins" ]
claim "the module unloads" rmmod annex
