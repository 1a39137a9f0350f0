#!/bin/bash
# SPDX-License-Identifier: MIT
# Random unit tests with other seeds than their own: seeds.sh OUT [ROUNDS]
#
# OUT is as in run.sh. Without ROUNDS: the seeds of tests/unit/seeds, each with its suite. With
# ROUNDS: all suites that draw random numbers, so many times with a new seed each; a seed with which
# a suite fails is added to tests/unit/seeds.
set -u

out=$1
rounds=${2:-0}
here=$(dirname "$0")
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
passed=0
failed=0

# try SEED SUITE... - CUnit tells how often each suite has failed.
try()
{
	local seed=$1
	shift
	if ANNEX_SEED=$seed "$here/run.sh" "$out" "$@" >"$log" 2>&1; then
		passed=$((passed + 1))
		return 0
	fi
	failed=$((failed + 1))
	grep -E '^ *[0-9]+\. |^repeat: ' "$log" | sed 's/ \[.*//' || tail -n 20 "$log"
	return 1
}

# Suites whose files, or the files that these share, call random_seed().
random_suites()
{
	grep -lE 'random_seed\(|(kernels|gpu)_rig\.h' \
		"$here"/*/*.c "$here"/../kernel/*.c |
		xargs sed -n 's/^UNIT_SUITE(\([a-z0-9_]*\),.*/\1/p'
}

if [ "$rounds" -eq 0 ]; then
	while read -r suite seed; do
		[[ $suite == \#* ]] || try "$seed" "$suite"
	done <"$here/seeds"
else
	mapfile -t suites < <(random_suites)
	for ((i = 0; i < rounds; i++)); do
		seed=$(od -An -N 7 -t u8 /dev/urandom | tr -d ' ')
		try "$seed" "${suites[@]}" && continue
		sed -n "s/^repeat: .* \([a-z0-9_]*\)\$/\1 $seed/p" "$log" | tee -a "$here/seeds"
	done
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
