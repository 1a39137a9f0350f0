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

# fail WORDS [COMMAND...] - What is not so, and by which command.
fail()
{
	local words="$1"
	shift
	failed=$((failed + 1))
	printf '%.300s\n' "FAILED: $words${1:+: $*}"
	claim_says | sed 's/^/    /'
}

# claim WORDS COMMAND... - The command succeeds; what it said is shown when it does not.
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

# How a command is run, and what is worth showing of its log; a runner may have its own.
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
