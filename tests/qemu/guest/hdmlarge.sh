# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A range of 64 GiB is made soon, and other users do not wait for each of its pages: of 4 GiB of
# memory, one is for the kernel's data on these pages. Run with MEM=4G CXL_BYTES=64G COUNTED=1
# APPEND=preempt=full; tests/bench/qemu.sh reads the lines that begin with "# bench".
# limit: 900
. /test/lib.sh

ROUNDS=${ROUNDS:-3}

measured()
{
	side=$1
	shift
	hdmlarge "$@" >numbers || return
	cat numbers >>"$side"
	report "# bench $side $(cat numbers)"
}

# least FILE COLUMN - Of all rounds.
least()
{
	sort -g -k "$2,$2" "$1" | awk -v column="$2" 'NR == 1 { print $column }'
}

# at_most NUMBER NUMBER - The smoke form of a benchmark judges no times.
at_most()
{
	awk "BEGIN { print \"$1 of $2\"; exit !(${SMOKE:-0} || $1 <= $2) }"
}

[ "$CXL_BYTES" = 64G ] || skip "there are no 64 GiB of CXL memory"
with_hdm
for round in $(seq "$ROUNDS"); do
	claim "round $round: 4 GiB are opened" \
		measured large-4 open "$first" 0x100000000 || exit 1
	claim "round $round: 64 GiB are opened" \
		measured large-64 open "$first" 0x1000000000 || exit 1
	claim "round $round: others open and close meanwhile" \
		measured large-hold hold "$first" || exit 1
done
claim "64 GiB take at most 20 times as long as 4" \
	at_most "$(least large-64 1)" "20 * $(least large-4 1)"
claim "no user waits for pages that are made" at_most "$(least large-hold 2)" 0.001
claim "nor for pages that are looked at, the last of which is held" \
	at_most "$(least large-hold 3)" 0.001
claim "nor for pages that go" at_most "$(least large-hold 4)" 0.001
claim "it unloads" rmmod annex
