# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A program that maps and unmaps for long keeps no page that it does not use, also without an IOMMU,
# where queue pairs could still reach it.
# machines: cross
# limit: 90
. /test/lib.sh

# Its queues have some, and at most 64 MiB are given back late.
few_pins()
{
	kb=$((($(pinned) - pins) * 4))
	[ $kb -lt $((96 * 1024)) ] || { echo "$kb KiB stay pinned"; return 1; }
}

with_module
pins=$(pinned)
start remap "$uri" 40
claim "a program maps and unmaps 320 MiB" hears 60 "mapped 40"
report "# $((($(pinned) - pins) * 4)) KiB are pinned then; resets $(count resets)"
claim "most of it is not pinned any more" few_pins
claim "the controller was not reset for that" is "$(count resets)" 0
claim "it is killed" kill -KILL "$pid"
claim "and it ends" ended 137
claim "no page stays pinned" is "$(pinned)" "$pins"
claim "it unloads" rmmod annex
