#!/bin/bash
# SPDX-License-Identifier: MIT
# The annex tool as a user meets it: run.sh [ANNEX] [PART]..., ANNEX being build/annex.
# Each part, of part_PART.sh, makes its files in a folder of its own. Every check is a claim
# about one command; the last line counts them.
set -u

here=$(cd "$(dirname "$0")" && pwd)
annex=$here/../../build/annex
parts=$(printf '%s\n' "$here"/part_*.sh "$here"/../models/tool/part_*.sh)
# part NAME - The file of a part.
part()
{
	grep "/part_$1\.sh$" <<<"$parts"
}
[ $# -eq 0 ] || part "$1" >/dev/null || { annex=$1; shift; }
annex=$(realpath -e "$annex") || exit 1
top=$(mktemp -d) || exit 1
trap 'umount -l "$top"/*/full 2>/dev/null; rm -rf "$top"' EXIT
cd "$top" || exit 1
# shellcheck source=tests/claim.sh
. "$here/../claim.sh"

claim_says()
{
	cat out err 2>/dev/null | head -n 20
}

# Lines of stderr that are no fault of a command: this user may have no right to see writes.
warning='^$'
"$annex" doctor | grep -qE '^space +writes +missing' &&
	warning='^annex [a-z ]*: warning: space: first writes are not detected'

# A command that succeeds is silent on stderr, but for $warning. Sanitizers make plans ten times as
# slow.
limit=60
[[ $annex != */*san-* ]] || limit=600
claim_run()
{
	timeout $limit "$@" >out 2>err && ! grep -qvE "$warning" err
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

# shellcheck source=tests/tool/fixtures.sh
. "$here/fixtures.sh"

# patch FILE OFFSET HEX - A copy of the file with other bytes at the offset, called bad.csr.
patch()
{
	cp "$1" bad.csr
	# shellcheck disable=SC2001 # two characters at a time
	printf "%b" "$(sed 's/../\\x&/g' <<<"$3")" |
		dd of=bad.csr bs=1 seek="$2" conv=notrunc status=none
}

chosen=("$@")
if [ $# -eq 0 ]; then
	mapfile -t chosen < <(sed 's,.*/part_\(.*\)\.sh$,\1,' <<<"$parts" | sort)
fi
for part in "${chosen[@]}"; do
	file=$(part "$part") || { echo "tool: there is no part $part" >&2; exit 2; }
	dir=$top/$part
	mkdir "$dir" && cd "$dir" && : >out 2>err || exit 1
	began=$SECONDS
	# shellcheck source=/dev/null
	. "$file"
	echo "# $part: $((SECONDS - began)) s"
	cd "$top" || exit 1
	umount -l "$dir/full" 2>/dev/null
	rm -rf "$dir"
done
claims_end
