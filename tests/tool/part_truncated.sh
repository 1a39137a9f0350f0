# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Ranges and graphs that another process truncates while they are used: an error, and no SIGBUS.

mkdir -p cut
awk 'BEGIN {
	print "l_orderkey,l_partkey,l_quantity,l_extendedprice,l_discount,l_shipdate"
	for (i = 0; i < 20000; i++)
		printf "1,1,%d,1,0.06,1994-01-%02d\n", i % 2 ? 5 : 50, i % 28 + 1
}' >cut/lineitem.csv
# Large, so that its reader still runs when it is truncated.
claim "a graph to cut" "$annex" graph gen kron --scale 20 --degree 8 -o cut/g.csr
claim "a smaller one" "$annex" graph gen kron --scale 16 --degree 8 -o cut/small.csr

# until_true COMMAND... - Wait for it to succeed, however slow this machine is.
until_true()
{
	local end=$((SECONDS + 60))
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
	done
}

# maps PID FILE - Whether the process has it mapped.
maps()
{
	grep -q "$2" "/proc/$1/maps"
}

# has_open PID FILE - Whether the process has it open.
has_open()
{
	local fd
	for fd in "/proc/$1"/fd/*; do
		[ ! "$fd" -ef "$2" ] || return 0
	done
	return 1
}

# ended WORDS PATTERN PID - The process, whose stderr is err, ends with one line that matches.
ended()
{
	local rc
	wait "$3"
	rc=$?
	if [ $rc -ne 0 ] && [ $rc -lt 100 ] && [ "$(wc -l <err)" -eq 1 ] &&
		grep -q '^annex' err && grep -qE -- "$2" err; then
		ok
	else
		fail "$1 (exit $rc)"
	fi
}

# cut_short WORDS FILE SIZES PATTERN HOW COMMAND... - FILE is truncated to each of SIZES, in turn,
# when the command maps it or has_open it: HOW.
cut_short()
{
	local words=$1 file=$2 sizes=$3 pattern=$4 how=$5 pid size
	shift 5
	timeout -s KILL 100 "$@" >out 2>err &
	pid=$!
	# The child of timeout is the command itself.
	until_true pgrep -P $pid >cut/pid
	if until_true "$how" "$(cat cut/pid)" "$file"; then
		for size in $sizes; do
			truncate -s "$size" "$file"
		done
	fi
	ended "$words" "$pattern" $pid
}

load_cut()
{
	rm -f "$1"
	claim "a range to cut" "$annex" query load --range "shm:$1?size=4M" cut/lineitem.csv
}

range=$(mktemp -u /dev/shm/annex-cut.XXXXXX)
for sizes in 0 8K 600K "0 4M" "2M 4M"; do
	load_cut "$range"
	cut_short "a query whose range is cut to $sizes" "$range" "$sizes" \
		"truncated|no table|damaged|gone" maps \
		"$annex" query run --range "shm:$range" q6 --runs 10000 --threads 2
done
rm -f "$range"
{
	cat cut/lineitem.csv
	for _ in {1..20}; do
		tail -n +2 cut/lineitem.csv
	done
} >cut/large.csv
cut_short "a range that is cut while it is loaded" "$range" "0" "truncated|no room" maps \
	"$annex" query load --range "shm:$range?size=64M" cut/large.csv
rm -f "$range" cut/large.csv
cut_short "a range that is cut while it is measured" "$range" "1M 64M" "truncated" maps \
	"$annex" bench hdm "shm:$range?size=64M"
rm -f "$range"
for how in array mmap; do
	cp cut/g.csr cut/h.csr
	cut_short "a graph that is cut, by $how" cut/h.csr "8K" \
		"truncated|shorter|cannot read|rror|gone|not fit" has_open "$annex" graph pagerank \
		cut/h.csr --access $how --iterations 1000000 --cache 64K --threads 2
done
cut_short "a cache in a range that is cut" "$range" "1M" "truncated" maps \
	"$annex" graph pagerank cut/small.csr --iterations 300 --cache 1M --threads 2 \
	--cache-in "shm:$range?size=4M"
rm -f "$range"

# A server lives on, says so to its clients, and in the end.
serve_cut()
{
	: >cut/ready
	timeout -s KILL 100 "$annex" ndp serve --socket cut/sock "shm:$range" \
		"shm:$range.2?size=4M" >cut/ready 2>cut/server &
	server=$!
	until_true grep -q ready cut/ready
	until_true pgrep -P $server >cut/server.pid
}
for sizes in 0 600K "0 4M"; do
	load_cut "$range"
	rm -f "$range.2"
	serve_cut
	cut_short "a query of a server whose range is cut to $sizes" "$range" "$sizes" \
		"truncated|no table|damaged|device" maps \
		"$annex" query run --range "shm:$range" q6 --runs 10000 --threads 2 \
		--device ndp:cut/sock
	claim "the server serves on" "$annex" ndp list cut/sock
	claim "another range of it" "$annex" query load --range "shm:$range.2" cut/lineitem.csv
	claim "its queries" "$annex" query run --range "shm:$range.2" q6 --device ndp:cut/sock \
		--json
	value "half of the rows" passed 10000
	kill -INT "$(cat cut/server.pid)"
	wait $server
	rc=$?
	cp cut/server err
	holds "the server names the truncated file" \
		test "$rc $(grep -c "^annex.*$range.*truncated" err) $(wc -l <err)" = "1 1 1"
done
rm -rf "$range" "$range.2" cut
