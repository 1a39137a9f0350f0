# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Every command that writes into a file or device asks first. The first list has each of them with
# a file that holds a file system, the second one the commands that write into none that is there.
# A command is in one of them.

# COMMAND | WORDS OF ITS REFUSAL | ARGUMENTS
writers="
graph import|img already exists|snap edges -o img
graph gen|img already exists|kron --scale 8 -o img
scan import|l_orderkey.i64 already exists|rows.csv -o columns
scan gen|distance.f64 already exists|--rows 100 -o columns
query load|no range of Annex|--range shm:img rows.csv
query load|no range of Annex|--range shm:img --overwrite rows.csv
trace gen|img already exists|synthetic -o img
plan|img already exists|trace.json -o img
vadd|img holds data: give --overwrite|a.f64 a.f64 -o img
vadd|img holds data: give --overwrite|a.f64 a.f64 -o file:img
vadd gen|img already exists|img --size 4096
copy|img holds data: give --overwrite|g.csr file:img
verify|img holds data: give --overwrite|file:img
bench block|img holds data: give --overwrite|file:img --write --seconds 0.01
bench hdm|no range of Annex|shm:img --seconds 0.01
ndp serve|no range of Annex|shm:img
fs mkfs|no backing file of a CXL-SSD|img
fs mount|no backing file of a CXL-SSD|img m
fs fsck|no backing file of a CXL-SSD|img
cxl simulate|img already exists|vadd --plot img
serve|img holds data: give --overwrite|--socket sock --table table file:img
"

# Commands that look, that write new files or memory alone, or whose target is consented to by its
# name: the device of selftest --overwrite, the module's, a part of a table that serve has made.
# Arrays of ndp time --save are in part_ndp.sh.
others="graph info,graph bfs,graph cc,graph pagerank,graph sssp,scan,query run,trace show,plan show
simulate,ndp run,ndp time,ndp list,fs stat,part add,part set,part remove,bench cuda
list,bind,unbind,health,poison,doctor,selftest"

# commands [WORDS] - All that can be typed, from the help: groups of commands are none.
commands()
{
	local name found
	found=$("$annex" "$@" --help 2>err |
		sed -n '/^COMMAND is one of:$/,/^$/s/^  \([a-z0-9]*\) .*/\1/p')
	[ $# -eq 0 ] || [ "$("$annex" "$@" --help 2>err |
		grep -c "^Usage: annex $* COMMAND ")" -gt 0 ] || echo "$*"
	for name in $found; do
		commands "$@" "$name"
	done
}

commands >all
holds "there are commands" test "$(wc -l <all)" -gt 30
while read -r name; do
	holds "annex $name is in a list of part_target.sh" grep -qxF "$name" <(
		cut -d '|' -f 1 <<<"$writers"
		tr , '\n' <<<"$others"
	)
done <all
while read -r name; do
	holds "annex $name is a command" grep -qxF "$name" all
done < <({ cut -d '|' -f 1 <<<"$writers"; tr , '\n' <<<"$others"; } | grep . | sort -u)

mkdir columns m
truncate -s 8M img
if PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -Fq img 2>err; then
	ok
else
	skip "a file system to keep (no mkfs.ext4)"
	printf data | dd of=img conv=notrunc status=none
fi
ln img columns/l_orderkey.i64
ln img columns/distance.f64
claim "a graph" "$annex" graph gen kron --scale 8 -o g.csr
claim "a trace" "$annex" trace gen synthetic -o trace.json
truncate -s 8K a.f64
printf '1 2\n' >edges
printf 'l_orderkey,l_partkey,l_quantity,l_extendedprice,l_discount,l_shipdate\n%s\n' \
	1,1,5,1,0.06,1994-01-01 >rows.csv
small="--steps 1 --layers 1 --width 32 --heads 2 --batch 1 --context 16"
before=$(sha256sum <img)
while IFS='|' read -r name words arguments; do
	[ "$name" ] || continue
	# shellcheck disable=SC2086 # words are wanted
	refused "annex $name writes into a file system" "$words" "$annex" $name \
		${arguments/SMALL/$small} </dev/null
	holds "annex $name leaves it as it was" test "$(sha256sum <img)" = "$before"
done <<<"$writers"
rm -rf all columns m img g.csr trace.json a.f64 edges rows.csv
