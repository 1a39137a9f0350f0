#!/bin/bash
# SPDX-License-Identifier: MIT
# Messages of commits: commits.sh [FILE]. FILE is the message of the staged changes, as git gives it
# to the hook commit-msg, which `git config core.hooksPath tests/lint/hooks` installs. Without FILE:
# messages since the last release, or since 2026-11-29, when these rules began.
set -u
cd "$(dirname "$0")/../.." || exit 1

began=a261925768d93d1e83638d31e825295ab5f60a14

# judge NAME LINES - The message on standard input, of a commit that changes so many lines.
judge()
{
	awk -v name="$1" -v lines="$2" '
	function say(words) { printf "%s: %s: %s\n", name, words, subject; bad = 1 }
	/^#/ { next }
	!subject { subject = $0; next }
	NF && !/^(Signed-off-by|Co-authored-by|Fixes|Reported-by): / { body = 1 }
	END {
		if (length(subject) > 72)
			say("the subject has " length(subject) " characters, of 72")
		if (subject ~ /;/)
			say("a semicolon: two changes are two commits")
		if (subject ~ /^Merge /)
			say("a merge: rebase")
		if (subject !~ /^[A-Za-z0-9_.\/-]+(, [A-Za-z0-9_.\/-]+)*: ./)
			say("the subject begins with no folder and colon")
		if (lines > 30 && !body)
			say(lines " changed lines and no body that says why")
		exit bad
	}'
}

# changed - Lines that git diff --numstat lists, without files that only move.
changed()
{
	awk '{ sum += $1 + $2 } END { print sum + 0 }'
}

if [ $# -gt 0 ]; then
	judge "commit" "$(git diff --cached -M --numstat | changed)" <"$1"
	exit
fi
from=$(git describe --tags --abbrev=0 2>/dev/null) || from=$began
# A shallow clone has the newest commits alone.
git rev-parse -q --verify "$from^{commit}" >/dev/null || from=
rc=0
for commit in $(git rev-list --min-parents=1 HEAD ${from:+"^$from"}); do
	git log -1 --format=%B "$commit" |
		judge "${commit:0:12}" \
			"$(git show -M --numstat --format= "$commit" | changed)" || rc=1
done
exit $rc
