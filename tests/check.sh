#!/bin/bash
# SPDX-License-Identifier: MIT
# One step of the check, run and reported in one line; tests/check.mk says which there are.
#
#   check.sh step NAME SECONDS INPUTS COMMAND...   a step, unless it has passed with these inputs
#   check.sh end                                   what failed, once more, and the sum of all
#
# INPUTS are files and folders whose contents decide what the command does; with none, it is run
# each time. A step that prints "N passed, N failed" last, or CUnit's summary, counts as its tests;
# any other counts as one. BUILD and V come from the Makefile.
set -u
cd "$(dirname "$0")/.." || exit 1

build=${BUILD:-build}
logs=$build/check

# Tests fail on what the sanitizers find, however the program ends.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# Print "passed failed" of a step that ended so.
count()
{
	awk -v rc="$2" '
	$1 == "tests" && NF == 6 { p += $4; f += $5; seen = 1; next }
	/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; seen = 1 }
	END {
		if (!seen)
			p = f = 0
		if (rc && !f)
			f = 1
		if (!seen && !rc)
			p = 1
		print p + 0, f + 0
	}' "$1"
}

# The digest of a command, its inputs, what is installed, and how tests count.
digest()
{
	local inputs=$1
	shift
	{
		echo "$*"
		# shellcheck disable=SC2086 # words are wanted
		find $inputs tests/deps.sh tests/claim.sh -name __pycache__ -prune -o \
			-type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum | cut -d ' ' -f 1
}

# What failed may stand far above what came last; of a long report often the end alone is kept.
excerpt()
{
	{ tail -n "$2" "$1"; grep -a '^not ok\|^FAILED' "$1" | head -n 20; } |
		cut -c 1-200 | sed 's/^/    | /'
}

step()
{
	local name=$1 limit=$2 inputs=$3 of='' child rc p f line
	local at=$logs/${1//[ \/:,]/-} start=$SECONDS
	shift 3
	mkdir -p "$logs" || exit 1
	if [ -n "$inputs" ]; then
		of=$(digest "$inputs" "$@")
		if [ "$of" = "$(sed -n 1p "$at.passed" 2>/dev/null)" ]; then
			printf '%-34s as before\n' "$name"
			sed -n "2s/^/$name\t0\t/p" "$at.passed" >"$at.end"
			return 0
		fi
	fi
	rm -f "$at.passed" "$at.end"
	[ -z "${V:-}" ] || echo "+ $*"
	# What runs in the background does not hear a Ctrl-C by itself.
	trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
	timeout -k 10 "$limit" "$@" </dev/null >"$at.log" 2>&1 &
	child=$!
	wait "$child"
	rc=$?
	[ $rc -ne 124 ] || echo "did not end within $limit s" >>"$at.log"
	read -r p f < <(count "$at.log" "$rc")
	printf '%s\t%s\t%s\n' "$name" "$f" "$p" >"$at.end"
	line=$(printf '%-34s' "$name")
	if [ "$f" -eq 0 ]; then
		[ -z "$of" ] || printf '%s\n%s\n' "$of" "$p" >"$at.passed"
		printf '%sok    %4d passed  %4d s\n' "$line" "$p" $((SECONDS - start))
		[ -z "${V:-}" ] || cat "$at.log"
		return 0
	fi
	printf '%sFAIL  %4d passed, %d failed  %4d s\n%s\n    whole log: %s\n' "$line" "$p" "$f" \
		$((SECONDS - start)) "$(excerpt "$at.log" 20)" "$at.log"
	[ -z "${V:-}" ] || cat "$at.log"
	return 1
}

# What failed is said at the end of a long report too.
end()
{
	local name p f passed=0 failed=0 file
	for file in "$logs"/*.end; do
		[ -e "$file" ] || continue
		IFS=$'\t' read -r name f p <"$file"
		passed=$((passed + p))
		failed=$((failed + f))
		[ "$f" -eq 0 ] || { echo "failed: $name"; excerpt "${file%.end}.log" 10; }
	done
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ] && [ $passed -gt 0 ]
}

case ${1:-} in
step | end) "$@" ;;
*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
