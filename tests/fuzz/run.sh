#!/bin/bash
# SPDX-License-Identifier: MIT
# Run fuzz targets, two at a time: run.sh DIR-OF-TARGETS WORK-DIR SECONDS
# Each starts from tests/fuzz/seeds/NAME and keeps what it finds under WORK-DIR/NAME.
set -u

bin=$1
work=$2
seconds=$3
here=$(dirname "$0")
mkdir -p "$work" || exit 1

run_one()
{
	local target=$1 name=$2 seeds=()
	mkdir -p "$work/$name/corpus" || return 1
	[ ! -d "$here/seeds/$name" ] || seeds=("$here/seeds/$name")
	# Twice the time for the whole, because reading a grown corpus is not counted. In the
	# foreground, so that what ends this script ends them too.
	timeout --foreground -k 10 $((seconds * 2 + 60)) "$target" \
		-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$work/$name/" \
		"$work/$name/corpus" "${seeds[@]}" >"$work/$name/log" 2>&1
}

passed=0
failed=0
declare -A name_of=()
reap()
{
	local pid rc
	wait -n -p pid "${!name_of[@]}"
	rc=$?
	local name=${name_of[$pid]}
	unset "name_of[$pid]"
	if [ $rc -eq 0 ]; then
		sed -n "s/^stat::number_of_executed_units: */$name: runs: /p" "$work/$name/log"
		passed=$((passed + 1))
	else
		echo "$name: FAILED ($rc), log and input in $work/$name"
		tail -n 30 "$work/$name/log"
		failed=$((failed + 1))
	fi
}

for source in "$here"/fuzz_*.c; do
	[ -e "$source" ] || continue
	name=$(basename "$source" .c)
	[ ${#name_of[@]} -lt 2 ] || reap
	run_one "$bin/$name" "${name#fuzz_}" &
	name_of[$!]=${name#fuzz_}
done
while [ ${#name_of[@]} -gt 0 ]; do
	reap
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
