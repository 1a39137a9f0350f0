# shellcheck shell=sh disable=SC3043 # busybox has local
# SPDX-License-Identifier: MIT
# Claims about commands; sourced by test runners, and in guests, whose shell is busybox's. A runner
# says before where the log of the last command goes: claim_log=FILE.
passed=0
failed=0
skipped=0

ok()
{
	passed=$((passed + 1))
}

# fail WORDS [COMMAND...] - Count a false claim, and print it with its command and the log.
fail()
{
	local words="$1"
	shift
	failed=$((failed + 1))
	printf '%.300s\n' "FAILED: $words${1:+: $*}"
	claim_says | sed 's/^/    /'
}

# claim WORDS COMMAND... - The command succeeds; otherwise its output is shown.
claim()
{
	local words="$1"
	shift
	if claim_run "$@"; then
		ok "$words"
	else
		fail "$words" "$@"
		return 1
	fi
}

# skip WORDS - A claim that cannot be made here.
skip()
{
	skipped=$((skipped + 1))
	echo "skipped: $1"
}

# Run a command; show the useful part of its log. A runner may have functions of its own.
claim_run()
{
	"$@" >"$claim_log" 2>&1
}

claim_says()
{
	cat "$claim_log"
}

# The last words of a runner: its status is that of all claims.
claims_end()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed -eq 0 ]
}
