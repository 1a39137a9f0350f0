#!/bin/bash
# SPDX-License-Identifier: MIT
# Run fuzz targets, two at a time: run.sh DIR-OF-TARGETS WORK-DIR [SECONDS | save | ''] [NAME]...
# Without a NAME: all. Each starts from seeds/NAME and from the inputs in corpus/NAME.tar.xz, beside
# its source. With SECONDS it runs for so long, with a new seed, and keeps the
# inputs that it finds under WORK-DIR/NAME/corpus; save reduces these to what reaches more code, and
# packs them. Otherwise it tries the same inputs each time: so a failure is due to a change.
set -eu

bin=$1
work=$2
seconds=${3:-}
shift $(($# < 3 ? $# : 3))
cd "$(dirname "$0")/../.."
mkdir -p "$work"

# Inputs to try where no time is given, besides the saved ones: some seconds for each target.
declare -A runs=([csr]=30000 [cxl]=8000 [cxlssd]=3000 [elf]=400000 [emu]=12000 [fs]=1500 [hdm]=2400
	[import]=80000 [m2call]=1400 [plan]=100000 [query]=10000 [trace]=100000 [uri]=300000)

run_one()
{
	local target=$1 name=$2 limit=300 list folder=$work/$2
	local beside=tests/fuzz seeds=("$folder/saved")
	[ -e "$beside/fuzz_$name.c" ] || beside=tests/models/fuzz
	local corpus=$beside/corpus/$name.tar.xz
	local options=(-timeout=10 -rss_limit_mb=2048 -print_final_stats=1
		-artifact_prefix="$folder/")
	rm -rf "$folder/saved"
	mkdir -p "$folder/saved" "$folder/corpus" || return 1
	[ ! -e "$corpus" ] || tar -xJf "$corpus" -C "$folder/saved" || return 1
	[ ! -d "$beside/seeds/$name" ] || seeds+=("$beside/seeds/$name")
	case $seconds in
	save)
		rm -rf "$folder/least"
		mkdir -p "$folder/least" || return 1
		seeds=(-merge=1 "$folder/least" "${seeds[@]}" "$folder/corpus")
		limit=1800
		;;
	'')
		# New inputs would go to the first folder that is named.
		list=$folder/list
		find "${seeds[@]}" -type f | sort >"$list.lines"
		options+=(-seed=1 -runs=$((${runs[$name]:-10000} + $(wc -l <"$list.lines"))))
		paste -sd , "$list.lines" >"$list"
		seeds=(-reload=0)
		[ ! -s "$list.lines" ] || seeds+=(-seed_inputs="@$list")
		;;
	*)
		seeds=("$folder/corpus" "${seeds[@]}")
		options+=(-max_total_time="$seconds")
		# Twice the time for the whole, because reading a grown corpus is not counted.
		limit=$((seconds * 2 + 60))
		;;
	esac
	# In the foreground, so that what ends this script ends them too.
	timeout --foreground -k 10 $limit "$target" "${options[@]}" "${seeds[@]}" \
		>"$folder/log" 2>&1 || return
	[ "$seconds" != save ] || tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
		-cJf "$corpus" -C "$folder/least" .
}

passed=0
failed=0
declare -A name_of=()
reap()
{
	local pid rc=0
	wait -n -p pid "${!name_of[@]}" || rc=$?
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

names=("$@")
for source in tests/fuzz/fuzz_*.c tests/models/fuzz/fuzz_*.c; do
	name=${source##*/fuzz_}
	[ $# -gt 0 ] || names+=("${name%.c}")
done
for name in "${names[@]}"; do
	[ ${#name_of[@]} -lt 2 ] || reap
	run_one "$bin/fuzz_$name" "$name" &
	name_of[$!]=$name
done
while [ ${#name_of[@]} -gt 0 ]; do
	reap
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
