# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Claims about commands, counted; sourced by test runners, which say before where the log of the
# last command goes: claim_log=FILE.
passed=0
failed=0

# claim WORDS COMMAND... - The command succeeds; what it said is shown when it does not.
claim()
{
	local words=$1
	shift
	if "$@" >"$claim_log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf '%.160s\n' "FAILED: $words: $*"
		claim_says | sed 's/^/    /'
	fi
}

# What is worth showing of the log; a runner may have its own.
claim_says()
{
	cat "$claim_log"
}

# The last words of a runner: its status is that of all claims.
claims_end()
{
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ]
}
