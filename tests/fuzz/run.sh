#!/bin/bash
# SPDX-License-Identifier: MIT
# Run fuzz targets, two at a time: run.sh DIR-OF-TARGETS WORK-DIR [SECONDS]
# Each starts from tests/fuzz/seeds/NAME. With SECONDS it runs for so long, with a new seed, and
# keeps the inputs that it finds under WORK-DIR/NAME/corpus. Without, it tries the same inputs each
# time: so a failure is due to a change.
set -u

bin=$1
work=$2
seconds=${3:-}
here=$(dirname "$0")
mkdir -p "$work" || exit 1

# Inputs to try where no time is given: some 20 seconds for each target.
declare -A runs=([csr]=150000 [cxl]=40000 [elf]=2000000 [emu]=60000 [hdm]=12000 [import]=400000
	[m2call]=7000 [plan]=500000 [query]=50000 [trace]=500000 [uri]=1500000)

# Paths in the folders, with commas.
list()
{
	find "$@" -type f | sort | paste -sd ,
}

run_one()
{
	local target=$1 name=$2 seeds=() limit=300
	local options=(-timeout=10 -rss_limit_mb=2048 -print_final_stats=1
		-artifact_prefix="$work/$name/")
	mkdir -p "$work/$name" || return 1
	[ ! -d "$here/seeds/$name" ] || seeds=("$here/seeds/$name")
	if [ -n "$seconds" ]; then
		mkdir -p "$work/$name/corpus" || return 1
		seeds=("$work/$name/corpus" ${seeds[@]+"${seeds[@]}"})
		options+=(-max_total_time="$seconds")
		# Twice the time for the whole, because reading a grown corpus is not counted.
		limit=$((seconds * 2 + 60))
	else
		# New inputs would go to the first folder that is named.
		[ ${#seeds[@]} -eq 0 ] || seeds=(-reload=0 -seed_inputs="$(list "${seeds[@]}")")
		options+=(-seed=1 -runs="${runs[$name]:-10000}")
	fi
	# In the foreground, so that what ends this script ends them too.
	timeout --foreground -k 10 $limit "$target" "${options[@]}" \
		${seeds[@]+"${seeds[@]}"} >"$work/$name/log" 2>&1
}

passed=0
failed=0
declare -A name_of=()
reap()
{
	local pid rc
	wait -n -p pid "${!name_of[@]}"
	rc=$?
	local name=${name_of[$pid]} unit
	unset "name_of[$pid]"
	if [ $rc -eq 0 ]; then
		sed -n "s/^stat::number_of_executed_units: */$name: runs: /p" "$work/$name/log"
		passed=$((passed + 1))
	else
		echo "$name: FAILED ($rc), log and input in $work/$name"
		unit=$(sed -n "s/.*Test unit written to //p" "$work/$name/log")
		echo "repeat: $bin/fuzz_$name $unit"
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
