# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Queries of TPC-H and SSB on columns in a memory range: by hand, by DuckDB and by Polars.

claim "query has help" "$annex" query --help
claim "query load has help" "$annex" query load --help
holds "with an example" grep -q "annex query load --range" out
claim "query run has help" "$annex" query run --help
holds "with an example" grep -q "annex query run --range" out

mkdir -p q
cat >q/lineitem.csv <<-END
	l_orderkey,l_partkey,l_suppkey,l_quantity,l_extendedprice,l_discount,l_shipdate,l_comment
	7,1,1,23,100.00,0.05,1994-01-01,"first day, all borders"
	7,2,1,23.99,10.50,0.07,1994-12-31,"last ""day"""
	3,1,1,24,1000.00,0.06,1994-06-01,as much as too much
	3,2,1,1,1000.00,0.04,1994-06-01,a discount below
	3,2,1,1,1000.00,0.08,1994-06-01,a discount above
	7,1,1,1,1000.00,0.06,1993-12-31,the day before
	7,1,1,1,1000.00,0.06,1995-01-01,the day behind
	7,1,1,30,-0.01,0.1,1995-09-30,"two
	lines"
	3,9,1,30,50,0,1995-09-15,a part that is none
	3,2,1,30,299.99,0.00,1995-09-01,not promoted
END
printf 'p_partkey,p_type\r\n1,PROMO BRUSHED TIN\r\n2,NOT PROMO STEEL\r\n3,PROMO\r\n' >q/part.csv
r=shm:q.range
claim "load" "$annex" query load --range "$r?size=4M" q/lineitem.csv q/part.csv --json
holds "ten lines" grep -q '"rows": 10' out
value "rows of the first table" rows 3
claim "q6 by hand" "$annex" query run --range $r q6 --json
value "two rows" passed 2
holds "100 * 0.05 + 10.5 * 0.07" grep -q '"revenue": "5.7350"' out
claim "q14 by hand" "$annex" query run --range $r q14 --json
value "two rows that have a part" passed 2
holds "299.99 - 0.01 * 0.9" grep -q '"revenue": "299.9810"' out
holds "of it -0.01 * 0.9" grep -q '"promo_revenue": "-0.0090"' out
claim "a month without any" "$annex" query run --range $r q14 --year 1901
holds "its share is nothing" grep -q "their share *-" out
claim "the same in JSON" "$annex" query run --range $r q14 --year 1901 --json
holds "null" grep -q '"promo_share": null' out
claim "one discount, no quantity" "$annex" query run --range $r q6 --discount 6 --quantity 1000000 \
	--year 1993 --json
holds "1000 * 0.06" grep -q '"revenue": "60.0000"' out
claim "quantities from and to" "$annex" query run --range $r q6 --quantity 24..24 --json
holds "1000 * 0.06" grep -q '"revenue": "60.0000"' out
refused "SSB without orders" "no column d_year" "$annex" query run --range $r ssb1.1

sed -i 's/23\.99/23/' q/lineitem.csv
printf 'o_orderkey,o_orderdate\n7,1993-01-01\n3,1994-02-10\n' >q/orders.csv
claim "load with orders" "$annex" query load --range $r --overwrite q/*.csv
claim "ssb1.1 by hand" "$annex" query run --range $r ssb1.1 --discount 5..7 --json
value "four lines of order 7" passed 4
holds "10000 * 5 + 1050 * 7 + 2 * 100000 * 6" grep -q '"revenue": "1257350"' out
claim "ssb1.2 by hand" "$annex" query run --range $r ssb1.2 --month 2 --discount 0 --json
holds "no discount is no revenue" grep -q '"revenue": "0"' out
value "two lines of order 3" passed 2
claim "day 41 is in week 6" "$annex" query run --range $r ssb1.3 --quantity 1..24 --json
value "one line of order 3" passed 1
holds "100000 * 6" grep -q '"revenue": "600000"' out
claim "day 1 is in week 1" "$annex" query run --range $r ssb1.3 --week 1 --year 1993 --quantity 99 \
	--runs 1 --threads 1 --json
value "four lines of order 7" passed 4

# Rows that end anywhere in a byte, in a line and in what a micro-thread does.
for n in 1 7 8 9 63 65 255 257 1000 4099; do
	awk -v n=$n 'BEGIN {
		print "l_orderkey,l_partkey,l_quantity,l_extendedprice,l_discount,l_shipdate"
		for (i = 0; i < n; i++)
			printf "1,1,%d,1,0.06,1994-01-%02d\n", i % 2 ? 5 : 50, i % 28 + 1
	}' >q/n.csv
	claim "$n rows" "$annex" query load --range $r --overwrite q/n.csv
	claim "q6 of $n rows" "$annex" query run --range $r q6 --runs 2 --json
	value "half of $n rows" passed $((n / 2))
done
rm q/n.csv

refused "no command" "no command: see" "$annex" query
refused "no range to load into" "--range" "$annex" query load q/part.csv
refused "no files" "name CSV files" "$annex" query load --range $r
refused "an existing table" "--overwrite replaces" "$annex" query load --range $r q/lineitem.csv
refused "two files of a table" "both of the table part" "$annex" query load --range $r q/part.csv \
	q/part.csv
refused "orders alone" "name lineitem" "$annex" query load --range $r q/orders.csv
refused "four files" "too many" "$annex" query load --range $r q/{part,orders,lineitem}.csv q/x
refused "a range without size" "size= makes it" "$annex" query load --range shm:none q/part.csv
refused "no query" "name a query" "$annex" query run --range $r
refused "no such query" "no query \"q7\"" "$annex" query run --range $r q7
refused "two queries" "too many" "$annex" query run --range $r q6 q14
refused "no range to ask" "--range" "$annex" query run q6
refused "a year that is none" "--year 199x: give" "$annex" query run --range $r q6 --year 199x
refused "a year too far" "from 1 to 9999" "$annex" query run --range $r q6 --year 10000
refused "half a month" "--month 13" "$annex" query run --range $r q14 --month 13
refused "no week in q6" "no condition on a week" "$annex" query run --range $r q6 --week 6
refused "no discount in q14" "no condition on a discount" "$annex" query run --range $r q14 \
	--discount 5
refused "discounts backwards" "below the first" "$annex" query run --range $r q6 --discount 7..5
refused "half a span" "--discount 5..:" "$annex" query run --range $r q6 --discount 5..
refused "more than all" "--discount 101" "$annex" query run --range $r q6 --discount 101
refused "less than nothing" "--quantity -1" "$annex" query run --range $r q6 --quantity -1
refused "parts of a piece" "--quantity 2.5" "$annex" query run --range $r q6 --quantity 2.5
refused "no runs" "--runs 0" "$annex" query run --range $r q6 --runs 0
refused "too many threads" "--threads 5000" "$annex" query run --range $r q6 --threads 5000
refused "no such device" "cannot use device" "$annex" query run --range $r q6 --device ndp:none
refused "a device that is not there" "cannot use device pci:0000:99:00.0" \
	"$annex" query run --range $r q6 --device 'pci:0000:99:00.0?m2func=2M'
refused "a device without memory for calls" "cannot use device pci:" \
	"$annex" query run --range $r q6 --device pci:0000:99:00.0
refused "no address" "cannot use device pci:nowhere" \
	"$annex" query run --range $r q6 --device 'pci:nowhere?m2func=2M'
refused "no size" "cannot use device pci:.*m2func" \
	"$annex" query run --range $r q6 --device 'pci:0000:99:00.0?m2func=some'
refused "no device at all" "cannot use device" "$annex" query run --range $r q6 --device tpu

# broken WORDS PATTERN LINES - A file of lineitem with these lines behind the first is refused.
columns=l_orderkey,l_partkey,l_quantity,l_extendedprice,l_discount,l_shipdate,l_comment
broken()
{
	printf '%b' "$columns\n$3" >q/bad.csv
	refused "$1" "q/bad.csv.*$2" "$annex" query load --range $r --overwrite q/bad.csv
}
line=1,1,17,100.50,0.06,1994-03-13,some
broken "no rows" " has no rows" ""
broken "a field too few" ", line 3: 6 fields, the first line has 7" "$line\n1,1,1,1,1,x\n"
broken "a field too many" ", line 2: 8 fields" "$line,1\n"
broken "behind an empty line" ", line 4: 1 fields" "\n$line\nx\n"
broken "lines that end in CR LF" ", line 4: 1 fields" "$line\r\n\r\nx\r\n"
broken "lines that end in CR" ", line 3: 1 fields" "$line\rx\r"
broken "behind a field of two lines" ", line 4: 1 fields" '1,1,1,1,0,1994-01-01,"a\nb"\nx\n'
broken "a quote that does not end" ", line 3: a quoted field does not end" "$line\n1,\"\n\n"
broken "a quote in a field" ", line 2: unexpected quote" '1,1,1"7,1,0,1994-03-13,\n'
broken "something behind a quote" ", line 2: unexpected quote" '1,1,"17"0,1,0,1994-03-13,\n'
broken "no number" ", line 2: l_quantity \"x\" is not a decimal" '1,1,x,1,0,1994-03-13,\n'
broken "nothing at all" ", line 2: l_quantity \"\" is not a decimal" '1,1,,1,0,1994-03-13,\n'
broken "a blank" ", line 2: l_quantity \" 7\" is not a decimal" '1,1, 7,1,0,1994-03-13,\n'
broken "a NUL" ", line 2: l_quantity .* is not a decimal" '1,1,1\0007,1,0,1994-03-13,\n'
broken "half a decimal" ", line 2: l_discount \"0.\" is not a decimal" '1,1,17,1,0.,1994-03-13,\n'
broken "three decimals" "more than two digits" '1,1,17,1,0.055,1994-03-13,\n'
broken "a price beyond decimals" "more than 13 digits" '1,1,17,12345678901234,0,1994-03-13,\n'
broken "a key with a point" "l_partkey \"1.0\" is not a whole" '1,1.0,17,1,0,1994-03-13,\n'
broken "a key beyond 32 bits" "l_partkey \"2147483648\" does not fit" \
	'1,2147483648,1,1,0,1994-03-13,\n'
broken "a number beyond all" "does not fit" '1,99999999999999999999999,1,1,0,1994-03-13,\n'
broken "no leap year" "\"1994-02-29\" is not a day" '1,1,17,1,0,1994-02-29,\n'
broken "a month 13" "\"1994-13-01\" is not a day" '1,1,17,1,0,1994-13-01,\n'
broken "a date that is none" "is not a date like 1994-12-31" '1,1,17,1,0,13.03.1994,\n'
broken "a huge field" ", line 2: a field of more than 64 KiB" "1,1,$(printf '%0100000d' 1),1\n"
broken "a huge quoted field" ", line 3: a field of more" "$line\n1,\"$(printf '%0100000d' 1)\n"
broken "many fields" ", line 2: more than 1024 fields" "$(printf '%02000d' 1 | sed 's/./1,/g')\n"
printf '%s\n' "$columns,l_quantity" "$line,1" >q/bad.csv
refused "a column twice" "line 1: two columns are called" "$annex" query load --range $r q/bad.csv
printf '%s\n' l_quantity,l_tax 1,1 >q/bad.csv
refused "columns that lack" "line 1: no column l_orderkey" "$annex" query load --range $r q/bad.csv
printf '%s\n' c_custkey,c_name 1,x >q/bad.csv
refused "another table" "line 1: no name of a column" "$annex" query load --range $r q/bad.csv
: >q/bad.csv
refused "an empty file" "is empty" "$annex" query load --range $r q/bad.csv
refused "no such file" "No such file" "$annex" query load --range $r q/none.csv
refused "a directory" "Is a directory" "$annex" query load --range $r q
refused "a binary" "line 1: " "$annex" query load --range $r "$annex"
printf 'p_partkey,p_type\n1,a\n1,b\n' >q/bad.csv
refused "a part twice" "line 3: p_partkey 1 occurs twice" "$annex" query load --range $r \
	--overwrite q/bad.csv
printf 'p_partkey,p_type\n1,a type that is longer than 25\n' >q/bad.csv
refused "a text too long" "line 2: p_type .* is longer" "$annex" query load --range $r \
	--overwrite q/bad.csv
printf 'p_partkey,p_type\n0,a\n' >q/bad.csv
refused "part 0" "line 2: p_partkey 0" "$annex" query load --range $r --overwrite q/bad.csv
printf 'p_partkey,p_type\n2147483647,a\n-1,a\n' >q/bad.csv
refused "a part below 0" "line 3: p_partkey -1" "$annex" query load --range $r --overwrite q/bad.csv
printf 'o_orderkey,o_orderdate\n7,1993-01-01\n3,1994-01-01\n7,1993-01-01\n' >q/bad.csv
refused "an order twice" "o_orderkey 7 occurs twice" "$annex" query load --range $r --overwrite \
	q/bad.csv q/lineitem.csv
printf 'o_orderkey,o_orderdate\n7,1993-01-01\n' >q/bad.csv
refused "no such order" "line 4: l_orderkey 3 is not in orders" "$annex" query load --range $r \
	--overwrite q/bad.csv q/lineitem.csv
printf '%s\n' "$columns" 7,1,1.5,1,0,1994-01-01,x >q/bad.csv
refused "half a piece in SSB" "line 2: l_quantity is not a whole number" \
	"$annex" query load --range $r --overwrite q/bad.csv q/orders.csv
claim "the old table is still there" "$annex" query run --range $r q6 --json
value "as before" passed 2049

# A range without room for it stays as it was.
awk -v names="$columns" 'BEGIN {
	print names
	for (i = 0; i < 20000; i++)
		print "1,1,17,1,0.06,1994-01-01,x"
}' >q/big.csv
claim "a small range" "$annex" query load --range 'shm:q.small?size=256K' q/part.csv
refused "no room" "q.small" "$annex" query load --range shm:q.small q/big.csv
refused "no table came of it" "no table lineitem" "$annex" query run --range shm:q.small q6
claim "and nothing is left of it" "$annex" query load --range shm:q.small q/lineitem.csv
claim "which has room" "$annex" query run --range shm:q.small q6 --json
value "as before" passed 2

# The same by a device of another process, which has the range too.
claim "load once more" "$annex" query load --range $r --overwrite q/{lineitem,orders,part}.csv
coproc serve { exec timeout 300 "$annex" ndp serve --threads 2 --socket "$dir/q/sock" $r 2>&1; }
server=$serve_PID # which bash forgets when it ends
read -r -t 60 ready <&"${serve[0]}"
holds "a device is ready" test "${ready#ready}" != "$ready"
for query in q6 q14 ssb1.1 ssb1.2 ssb1.3; do
	claim "$query on it" "$annex" query run --range $r --device "ndp:$dir/q/sock" $query --json
	holds "it says so" grep -q '"device": "ndp:' out
done
refused "a range that it does not have" "cannot reach" "$annex" query run \
	--range shm:q.small --device "ndp:$dir/q/sock" q6
kill "$server"
wait "$server" 2>/dev/null
refused "a device that has gone" "cannot use device" "$annex" query run --range $r \
	--device "ndp:$dir/q/sock" q6

# Others can write to the range: a spoiled table is refused without a crash.
at=$(LC_ALL=C grep -obUa anquery2 q.small | sed 's/:.*//' | tail -n 1)
cp q.small q/whole
for spoiled in "8 another id" "16 more rows than there are" "24 another size" \
	"32 a column elsewhere" "72 another column elsewhere"; do
	printf '\377\377\377\377' |
		dd of=q.small bs=1 seek=$((at + ${spoiled%% *})) conv=notrunc status=none
	refused "${spoiled#* }" "is damaged" "$annex" query run --range shm:q.small q6
	cp q/whole q.small
done
printf 'X' | dd of=q.small bs=1 seek="$at" conv=notrunc status=none
refused "a head that is none" "is damaged" "$annex" query run --range shm:q.small q14

# The same data as everybody has, and the answers of two engines.
tree=$(cd "$here/../.." && pwd)
build=${BUILD:-build}
[[ $build = /* ]] || build=$tree/$build
if data=$("$tree/tests/models/query/data.sh" "$build" 0.1 2>err); then
	claim "load TPC-H, scale 0.1" "$annex" query load --range 'shm:q.tpch?size=64M' \
		"$data"/*.csv
	claim "TPC-H q6" "$annex" query run --range shm:q.tpch q6 --json
	value "the rows that everybody gets" passed 11618
	holds "the revenue that everybody gets" grep -q '"revenue": "11803420.2534"' out
	timeout 300 "$build/query/venv/bin/python" "$tree/tests/models/query/engines.py" \
		answers "$data" >q/answers 2>err
	holds "two engines answered" test "$(wc -l <q/answers)" -eq 16
	while read -r engine query rows revenue promo; do
		# shellcheck disable=SC2086 # words are wanted
		claim "${query//,/ }" "$annex" query run --range shm:q.tpch ${query//,/ } \
			--runs 1 --json
		value "$engine, $query: as many rows" passed "$rows"
		holds "$engine, $query: the same sum" grep -q "\"revenue\": \"$revenue\"" out
		[ -z "$promo" ] || holds "$engine, $query: the same of promoted parts" \
			grep -q "\"promo_revenue\": \"$promo\"" out
	done <q/answers
elif [ $? -eq 3 ]; then
	echo "SKIP: TPC-H's data and the engines: $data"
else
	fail "TPC-H's data: $(cat err)"
fi
rm -rf q q.range q.small q.tpch
