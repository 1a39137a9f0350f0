# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Commands that write to one thing at once: one wins, the other says so, and nothing is lost.

mkdir -p both
awk 'BEGIN {
	print "l_orderkey,l_partkey,l_quantity,l_extendedprice,l_discount,l_shipdate"
	for (i = 0; i < 9000; i++)
		printf "1,1,5,1,0.06,1994-01-%02d\n", i % 28 + 1
}' >both/l.csv
claim "a table" "$annex" query load --range 'shm:both/range?size=2M' both/l.csv
lost=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	"$annex" query load --range shm:both/range both/l.csv --overwrite >/dev/null 2>both/err1 &
	first=$!
	"$annex" query load --range shm:both/range both/l.csv --overwrite >/dev/null 2>both/err2
	second=$?
	wait $first || second=1
	"$annex" query run --range shm:both/range q6 --runs 1 --json >out 2>err
	[ "$second $(number passed)" = "0 9000" ] || lost=$((lost + 1))
done
holds "two loads that overwrite a table leave it: $lost of 10 did not" test $lost -eq 0

# While a process holds the device, other commands are refused and change nothing.
cp both/l.csv both/image
"$annex" bench block file:both/dev --bytes 1M --write --seconds 60 --threads 1 >/dev/null 2>&1 &
holder=$!
until grep -q " OFDLCK .* WRITE .*:$(stat -c %i both/dev 2>err) 0 EOF" /proc/locks; do
	kill -0 $holder || break
done
for command in "copy both/image file:both/dev --overwrite" "verify file:both/dev --overwrite" \
	"bench block file:both/dev --write --overwrite --seconds 0.01"; do
	# shellcheck disable=SC2086 # words are wanted
	refused "${command%% file*} meanwhile" "another process writes to both/dev" \
		"$annex" $command
done
for command in "verify file:both/dev --read-only" "bench block file:both/dev?readonly=1" \
	"vadd file:both/dev file:both/image -o both/sum --type f64"; do
	# shellcheck disable=SC2086 # words are wanted
	refused "a reader meanwhile: ${command%% file*}" "something else writes to it" \
		"$annex" $command
done
refused "a reader meanwhile: copy" "another process writes to both/dev" \
	"$annex" copy both/dev file:both/copied
holds "the device is there" test -e both/dev
kill -TERM $holder
wait $holder 2>/dev/null
holds "it removes its file when it is interrupted" test ! -e both/dev

# Readers share a device and keep writers out.
truncate -s 1M both/dev
"$annex" bench block "file:both/dev?readonly=1" --seconds 60 --threads 1 >/dev/null 2>&1 &
holder=$!
until grep -q " OFDLCK .* READ .*:$(stat -c %i both/dev 2>err) 0 " /proc/locks; do
	kill -0 $holder || break
done
for command in "copy both/image file:both/dev --overwrite" "verify file:both/dev --overwrite" \
	"bench block file:both/dev --write --overwrite --seconds 0.01"; do
	# shellcheck disable=SC2086 # words are wanted
	refused "${command%% file*} beside a reader" "another process reads both/dev" \
		"$annex" $command
done
refused "serve beside a reader" "something else uses it" "$annex" serve file:both/dev \
	--socket both/sock --table both/table --overwrite
claim "another reader" "$annex" bench block "file:both/dev?readonly=1" --seconds 0.01
refused "a writer that may not write" "leave out readonly=1" \
	"$annex" copy both/image "file:both/dev?readonly=1" --overwrite
kill -TERM $holder
wait $holder 2>/dev/null
claim "writers come again" "$annex" verify file:both/dev --overwrite

# A part of what a daemon has is claimed through the daemon.
"$annex" serve mem:64M --socket both/sock >/dev/null 2>both/err1 &
server=$!
until "$annex" part add both/sock a 16M >/dev/null 2>err; do
	kill -0 $server || break
done
uri="unix:both/sock?part=a"
"$annex" bench block "$uri" --write --overwrite --seconds 60 --threads 2 >/dev/null 2>both/err2 &
holder=$!
until "$annex" serve --status both/sock --json 2>err | grep -q '"commands": [1-9]'; do
	kill -0 $holder || break
done
for command in "copy both/image $uri" "verify $uri" "bench block $uri --write --seconds 0.01"; do
	# shellcheck disable=SC2086 # words are wanted
	refused "${command%% unix*} meanwhile, of a part" "something else uses it" \
		"$annex" $command --overwrite
done
claim "the speed of reads is measured meanwhile" "$annex" bench block "$uri" --seconds 0.01
refused "a reader of the part meanwhile" "something else writes to it" \
	"$annex" verify "$uri&readonly=1" --read-only
kill -TERM $holder
wait $holder 2>/dev/null
"$annex" bench block "$uri&readonly=1" --seconds 60 --threads 1 >/dev/null 2>both/err2 &
holder=$!
had=$("$annex" serve --status both/sock --json | sed -n 's/.*"commands": \([0-9]*\).*/\1/p')
until "$annex" serve --status both/sock --json 2>err | grep -vq "\"commands\": $had"; do
	kill -0 $holder || break
done
refused "copy to a part beside a reader" "something else uses it" "$annex" copy both/image "$uri" \
	--overwrite
claim "another reader of the part" "$annex" bench block "$uri&readonly=1" --seconds 0.01
kill -TERM $holder
wait $holder 2>/dev/null
claim "a part is free again" "$annex" copy both/image "$uri" --overwrite
claim "and at once" "$annex" verify "$uri" --overwrite
kill -TERM $server
wait $server

if timeout 500 "$here/pairs.py" "$annex" >out 2>err; then
	ok
else
	fail "$(cat out)"
fi
sed -n 's/^pairs of/# &/p' out
rm -rf both
