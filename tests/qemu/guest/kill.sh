# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# An owner that is killed with 256 commands in flight leaves nothing behind.
# machines: cross
# limit: 180
# long: 900
. /test/lib.sh

rounds=3
[ "${LONG:-0}" != 1 ] || rounds=200
flying=256

in_flight()
{
	[ "${heard#flying }" -ge $flying ] || { echo "$heard"; return 1; }
}

# Its memory is pinned, and counted.
holds_memory()
{
	kb=$(awk '/^VmPin:/ { print $2 }' "/proc/$pid/status")
	[ "$(pinned)" -gt "$pins" ] && [ "$kb" -gt 16384 ] || { echo "VmPin $kb"; return 1; }
}

no_pins()
{
	left=$(($(pinned) - pins))
	[ $left -eq 0 ] || { echo "$left pages stay pinned"; return 1; }
}

# One life: 64 commands more, since some end before they are counted. Words only where it fails.
round()
{
	throttle 0 10 || return 1
	start life flight "$uri" $((flying + 64)) wait
	hears 30 flying && in_flight && holds_memory && kill -KILL $pid && ended 137 || return 1
	throttle 0 0 && no_pins && life check "$uri"
}

rounds()
{
	for i in $(seq "$1"); do
		round || { echo "in round $i"; return 1; }
	done
}

# Free memory goes up and down by 100 KiB by itself; a debug kernel keeps freed memory for a while.
# A life has pinned 20 MiB in 4 queues' rings of 80 KiB each, and data. In the long form a page that
# each life leaves behind would be 800 KiB.
memory_is_back()
{
	now=$(free_kb)
	slack=400
	[ "$SLOW" -eq 1 ] || slack=16384
	[ "$now" -gt $((before - slack)) ] || { echo "free KiB: $before before, $now"; return 1; }
}

with_module
claim "a pattern is written" life fill "$uri"
pins=$(pinned)
# The first ones fill caches that nothing empties.
claim "owners are killed, and the next ones work at once" rounds $((1 + rounds / 10)) || exit 1
before=$(free_kb)
claim "$rounds owners are killed" rounds $rounds
claim "free memory is back where it was" within 10 memory_is_back
report "# free: $before KiB before, $now after"
claim "no page stays pinned" no_pins
claim "the controller was reset for each" [ "$(count resets)" -ge $rounds ]
claim "the data is whole" life check "$uri"
claim "it unloads" rmmod annex
