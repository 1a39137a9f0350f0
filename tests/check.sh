#!/bin/bash
# SPDX-License-Identifier: MIT
# Prints what steps of the check have left in build/check (tests/step.sh):
#
#   check.sh step FILE.end   a line for a step that has ended; the last output of a failed one
#   check.sh times           the seconds of each step's last run, and its processor seconds
#   check.sh end             the failures once more, and the sum; fails if a step has failed
#
# BUILD comes from the Makefile.
set -u
cd "$(dirname "$0")/.." || exit 1

# excerpt FILE LINES - Failures may stand far above the last lines, and of a long report often the
# end alone is kept.
excerpt()
{
	{ tail -n "$2" "$1"; grep -a '^not ok\|^FAILED' "$1" | head -n 20; } |
		sed -E 's/^(.{98}).*(.{98})$/\1 ... \2/; s/^/    | /'
}

# skips N - What to say of so many tests that could not be made.
skips()
{
	[ "$1" -eq 0 ] || echo ", $1 skipped"
}

step()
{
	local name failed passed skipped seconds log=${1%.end}.log
	IFS=$'\t' read -r name failed passed skipped seconds <"$1"
	if [ "$seconds" = before ]; then
		printf '%-34s as before\n' "$name"
	elif [ "$failed" -eq 0 ]; then
		printf '%-34s ok    %4d passed%s  %4d s\n' "$name" "$passed" \
			"$(skips "$skipped")" "$seconds"
	else
		printf '%-34s FAIL  %4d passed, %d failed  %4d s\n%s\n    whole log: %s\n' "$name" \
			"$passed" "$failed" "$seconds" "$(excerpt "$log" 20)" "$log"
	fi
}

end()
{
	local name failed passed skipped all=0 bad=0 left=0 file
	for file in "${BUILD:-build}"/check/*.end; do
		[ -e "$file" ] || continue
		IFS=$'\t' read -r name failed passed skipped _ <"$file"
		all=$((all + passed))
		left=$((left + skipped))
		bad=$((bad + failed))
		[ "$failed" -eq 0 ] || { echo "failed: $name"; excerpt "${file%.end}.log" 10; }
	done
	echo "$all passed, $bad failed$(skips $left)"
	[ $bad -eq 0 ] && [ $all -gt 0 ]
}

times()
{
	echo "    time  processors  step"
	sort -rn "${BUILD:-build}"/check/*.time |
		awk -F '\t' -v n="$(nproc)" '
		{ printf "%6d s %9d s  %s\n", $1, $2, $3; sum += $1; cpu += $2 }
		END {
			printf "%6d s %9d s  all\n", sum, cpu
			printf "%6d s              at least, on %d processors\n", cpu / n, n
		}'
}

case ${1:-} in
step | end | times) "$@" ;;
*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
