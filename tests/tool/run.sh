#!/bin/bash
# SPDX-License-Identifier: MIT
# The annex tool as a user meets it: run.sh ANNEX
# Every check is a claim about one command; the last line counts them.
set -u

# shellcheck disable=SC2034 # the parts use it
annex=$(realpath "$1") || exit 1
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) || exit 1
trap 'umount -l "$dir/full" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
passed=0
failed=0

ok()
{
	passed=$((passed + 1))
}

fail()
{
	echo "FAILED: $1"
	sed 's/^/    /' out err 2>/dev/null | head -n 20
	failed=$((failed + 1))
}

# Lines of stderr that are no fault of a command: this user may have no right to see writes.
warning='^$'
"$annex" doctor | grep -qE '^space +writes +missing' &&
	warning='^annex [a-z ]*: warning: space: writes are not seen'

# claim WORDS COMMAND... - The command succeeds and is silent on stderr, but for $warning.
claim()
{
	local words=$1
	shift
	if timeout 60 "$@" >out 2>err && ! grep -qvE "$warning" err; then
		ok
	else
		fail "$words: $*"
	fi
}

# refused WORDS PATTERN COMMAND... - It fails with one line on stderr besides $warning, which names
# the command and matches; no signal, no sanitizer report, no leftover.
refused()
{
	local words=$1 pattern=$2 rc before
	shift 2
	before=$(ls)
	timeout 60 "$@" >out 2>err
	rc=$?
	if [ $rc -ne 0 ] && [ $rc -lt 100 ] && [ "$(grep -cvE "$warning" err)" -eq 1 ] &&
		grep -q '^annex' err && grep -qE -- "$pattern" err &&
		[ "$(ls)" = "$before" ]; then
		ok
	else
		fail "$words (exit $rc): $*"
	fi
}

# holds WORDS TEST... - What a claim left behind is as it should be.
holds()
{
	local words=$1
	shift
	if "$@" >held 2>&1; then
		ok
	else
		fail "$words"
	fi
}

# number KEY - A number from the JSON of the last claim.
number()
{
	sed -n "s/^ *\"$1\": *\([-0-9.e+]*\),\{0,1\}$/\1/p" out | head -n 1
}

# value WORDS KEY NUMBER - The last claim's JSON says so.
value()
{
	if [ "$(number "$2")" = "$3" ]; then
		ok
	else
		fail "$1: $2 is $(number "$2"), not $3"
	fi
}

# patch FILE OFFSET HEX - A copy of the file with other bytes at the offset, called bad.csr.
patch()
{
	cp "$1" bad.csr
	# shellcheck disable=SC2001 # two characters at a time
	printf "%b" "$(sed 's/../\\x&/g' <<<"$3")" |
		dd of=bad.csr bs=1 seek="$2" conv=notrunc status=none
}

# What the first two parts make, the third one spoils.
for part in graph data trace gen plan report plan_files pci block hdm gpu ndp ndp_run query \
	truncated concurrent train same leftovers input warn selftest bad; do
	# shellcheck source=/dev/null
	. "$here/part_$part.sh"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
