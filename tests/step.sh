#!/bin/bash
# SPDX-License-Identifier: MIT
# One step of the check: step.sh NAME SECONDS INPUTS COMMAND... runs the command, for so many
# seconds at most, unless it has passed with these inputs; tests/check.mk has the steps.
#
# INPUTS are the files and folders that the command depends on; debug information of programs does
# not count. A step without inputs runs each time. A step that prints "N passed, N failed"
# last, and perhaps ", N skipped", or CUnit's summary, counts as its tests; any other as one. The
# results are in build/check: NAME.log, NAME.passed (digest of the inputs, numbers of tests), and
# NAME.end and NAME.time, for check.sh. BUILD and V come from the Makefile.
set -u
cd "$(dirname "$0")/.." || exit 1
[ $# -ge 4 ] || { sed -n '3,11s/^# //p' "$0" >&2; exit 2; }

name=$1 limit=$2 inputs=$3
shift 3
logs=${BUILD:-build}/check
at=$logs/${name//[ \/:,]/-}
start=$SECONDS
mkdir -p "$logs" || exit 1

# Tests fail on what the sanitizers find, however the program ends.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# Print "failed passed skipped" of a step that ended so.
count()
{
	awk -v rc="$1" '
	$1 == "tests" && NF == 6 { p += $4; f += $5; seen = 1; next }
	/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; s += $5; seen = 1 }
	END {
		if (!seen)
			p = f = 0
		if (rc && !f)
			f = 1
		if (!seen && !rc)
			p = 1
		print f + 0, p + 0, s + 0
	}' "$at.log"
}

# without_debug SUM FILE - The digest of a program without what debuggers alone read, so that a
# comment changes nothing; SUM, its whole digest, tells whether that is known. Programs of other
# machines are taken as they are.
without_debug()
{
	local known=$logs/stripped/$1 bare
	if [ ! -e "$known" ]; then
		mkdir -p "${known%/*}"
		bare=$(mktemp)
		if objcopy --strip-debug --remove-section=.note.gnu.build-id "$2" "$bare" \
			2>/dev/null; then
			sha256sum <"$bare"
		else
			echo "$1"
		fi >"$known.$$"
		rm -f "$bare"
		mv "$known.$$" "$known"
	fi
	cat "$known"
}

read_by_tests='^(ANNEX_[A-Z]+|CXL(_[A-Z]+)?|KERNEL|IOMMU|NVME|NAMESPACES|PAIR|QEMU|CPU|MEM'
read_by_tests+='|ALL|HALF|LONG|APPEND|COUNTED)='
# Programs that run and build others, and variables that tests read.
surroundings()
{
	uname -r
	for tool in gcc clang qemu-system-x86_64 qemu-riscv64 ldd "${PYTHON:-/usr/bin/python3}"; do
		"$tool" --version
	done
	dpkg-query -W python3-torch
	env | LC_ALL=C sort | grep -E "$read_by_tests"
} 2>/dev/null

# The digest of a command, its inputs, its surroundings, and the counting of tests.
digest()
{
	local sum file
	{
		echo "$*"
		surroundings
		# shellcheck disable=SC2086 # words are wanted
		find $inputs tests/deps.sh tests/claim.sh tests/step.sh -name __pycache__ -prune \
			-o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum |
			while read -r sum file; do
				case $(head -c 4 "$file" | tr -d '\0') in
				$'\x7fELF' | '!<ar') sum=$(without_debug "$sum" "$file") ;;
				esac
				echo "$sum $file"
			done
	} | sha256sum | cut -d ' ' -f 1
}

# ended FAILED PASSED SKIPPED SECONDS - Written for check.sh, which prints it.
ended()
{
	printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$@" >"$at.end"
	tests/check.sh step "$at.end"
}

of=
[ -z "$inputs" ] || of=$(digest "$@")
if [ -n "$of" ] && [ "$of" = "$(sed -n 1p "$at.passed" 2>/dev/null)" ]; then
	read -r passed skipped < <(sed -n 2p "$at.passed")
	ended 0 "$passed" "$skipped" before
	exit
fi
rm -f "$at.passed" "$at.end"
[ -z "${V:-}" ] || echo "+ $*"
# A background job does not receive Ctrl-C by itself.
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
timeout -k 10 "$limit" "$@" </dev/null >"$at.log" 2>&1 &
wait $!
rc=$?
[ $rc -ne 124 ] || echo "did not end within $limit s" >>"$at.log"
read -r failed passed skipped < <(count $rc)
[ "$failed" -ne 0 ] || [ -z "$of" ] ||
	printf '%s\n%s %s\n' "$of" "$passed" "$skipped" >"$at.passed"
seconds=$((SECONDS - start))
# Of its processes: user, system.
times >"$at.time"
processor=$(sed -E '1d; s/([0-9]+)m([0-9]+)\.[0-9]+s/\1*60+\2/g; s/ /+/' "$at.time")
printf '%s\t%s\t%s\n' "$seconds" $((processor)) "$name" >"$at.time"
ended "$failed" "$passed" "$skipped" "$seconds"
[ -z "${V:-}" ] || cat "$at.log"
[ "$failed" -eq 0 ]
