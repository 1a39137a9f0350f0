# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Columns and vectors that are right.

claim "scan gen" "$annex" scan gen --rows 100000 --selectivity 0.01 -o trips
claim "count" "$annex" scan --columns trips --where 'distance>=30' --verify
claim "sums" "$annex" scan --columns trips --where 'distance>=30' --cache 512K \
	--sum total,surcharge,fee,tolls,tax --verify --json
holds "only some lines of the summed columns are read" \
	test "$(number bytes_read)" -lt "$(number bytes_columns)"
first=$(grep '"sum"' out)
claim "sums by one thread" "$annex" scan --columns trips --where 'distance>=30' --threads 1 \
	--sum total,surcharge,fee,tolls,tax --json
holds "sums do not depend on the number of threads" test "$first" = "$(grep '"sum"' out)"
claim "everything passes" "$annex" scan --columns trips --where 'distance>=0' --sum tax --verify
claim "nothing passes" "$annex" scan --columns trips --where 'distance<0' --sum tax --verify --json
value "none" passed 0

make_csv
claim "scan import" "$annex" scan import t.csv -o t --json
value "rows of the CSV" rows 3
value "columns of numbers" columns 3
value "columns of text" texts 1
claim "quoted names" "$annex" scan --columns t --where 'id>1' --sum id --verify --json
value "rows behind the first" passed 2
claim "CSV in one go" "$annex" scan --csv t.csv --where 'id!=2' --sum id,empty --verify --json
value "all but one" passed 2
mkdir -p temp
claim "CSV leaves nothing behind" env TMPDIR="$dir/temp" "$annex" scan --csv t.csv --where 'id==3'
holds "the temporary directory is gone" test -z "$(ls temp)"
for op in '>2' '>=2' '<2' '<=2' '==2' '!=2' '>1.5' '<2.5' '==1.5' '!=1.5' '>=-3' '<1e30'; do
	claim "id$op" "$annex" scan --columns t --where "id$op" --sum id --verify
done

cat >s.csv <<-END
	trip distance,total,big,odd,same,same
	1.5,0.1,9007199254740993,nan,x,1
	2.5,0.2,9007199254740993,1,y,2
	3.5,0.3,-1,inf,z,3
END
claim "names with spaces" "$annex" scan --csv s.csv --where 'trip distance >= 2' --json \
	--sum 'total, odd,trip distance' --verify
value "names with spaces" passed 2
{ printf '\xef\xbb\xbf' && sed '1s/^[^,]*/"trip distance"/' s.csv; } >mark.csv
claim "a byte order mark" "$annex" scan --csv mark.csv --where 'trip distance >= 2'
holds "is no part of a name" grep -q "^  where  *trip distance >= 2" out
printf 'n,\xe9\n1,2\n' >latin.csv
claim "a sum of a name in Latin-1" "$annex" scan --csv latin.csv --where 'n==1' --sum $'\xe9'
refused "in JSON" "needs names in UTF-8" "$annex" scan --csv latin.csv --where 'n==1' \
	--sum $'\xe9' --json
claim "sums of integers are exact" "$annex" scan --csv s.csv --where 'total<0.25' --sum big --verify
holds "every digit is printed" grep -q "sum 18014398509481986, mean" out
claim "sums of integers are exact" "$annex" scan --csv s.csv --where 'total<0.25' --json \
	--sum big,total,odd
value "every digit is in the JSON" sum 18014398509481986
holds "every digit of a fraction is" grep -q '"sum": 0.300000000000000[0-9]' out
holds "a sum that is no number is null" grep -q '"sum": null' out
claim "a sum that is no number" "$annex" scan --csv s.csv --where 'total<0.25' --sum odd,total
holds "it has no sign" grep -q "odd *sum nan, mean nan" out
holds "a sum has the digits it needs and no more" \
	grep -q "total *sum 0.30000000000000004, mean 0.15000000000000002" out
claim "an infinite sum" "$annex" scan --csv s.csv --where 'total>0.25' --sum odd --json
holds "an infinite sum is null" grep -q '"sum": null' out
for sign in '' -; do
	printf 'a,b\n1,%s1e308\n2,%s1e308\n3,%s-1e308\n' "$sign" "$sign" "$sign" |
		sed s/--// >large.csv
	claim "a sum beyond doubles" "$annex" scan --csv large.csv --where 'a<3' --sum b --verify
	holds "is infinite" grep -q "b *sum ${sign}inf, mean ${sign}inf" out
	refused "a sum that is only on its way" "b is ${sign}1e.308, but .* overflow a double" \
		"$annex" scan --csv large.csv --where 'a>0' --sum b --verify
done

# Every type, with numbers at its ends, in files as numpy's tofile() makes them.
mkdir -p ends
le()
{
	printf "%b" "$(for h in "$@"; do echo "$h" | sed 's/../&\n/g' | tac | tr -d '\n' |
		sed 's/../\\x&/g'; done)"
}
le ffffffffffffffff 0000000000000001 7fffffffffffffff >ends/a.u64
le ffffffffffffffff 0000000000000001 7fffffffffffffff >ends/b.i64
le ffffffff 00000001 7fffffff >ends/c.u32
le ffffffff 00000001 7fffffff >ends/d.i32
le 3f800000 bf800000 7f7fffff >ends/e.f32
for where in 'a>=9223372036854775808' 'a<18446744073709551615' 'b<0' 'b>=9223372036854775807' \
	'c>2147483647' 'd<0' 'e>1' 'e!=1' 'd>4294967296' 'c>=-1'; do
	claim "$where" "$annex" scan --columns ends --where "$where" --sum a,b,c,d,e --verify
done

claim "sums beyond 64 bits" "$annex" scan --columns ends --where 'a>=0' --sum a,b --json
holds "such a sum loses no digit" grep -q '"sum": "27670116110564327423"' out
value "others are numbers" sum 9223372036854775807

# A command with ./ends on a read-only mount.
on_readonly=(unshare -m sh -ec
	'mount --bind ends ends; mount -o remount,bind,ro ends; exec "$@"' -)
if unshare -m true 2>/dev/null; then
	claim "columns on a read-only mount" "${on_readonly[@]}" "$annex" scan --columns ends \
		--where 'a>=0' --sum a,e --verify
	claim "a vector there" "${on_readonly[@]}" "$annex" vadd ends/b.i64 ends/b.i64 -o sum.i64 \
		--type i64 --verify
	refused "a device there" "use readonly=1" "${on_readonly[@]}" \
		"$annex" bench block file:ends/a.u64
	rm sum.i64
else
	skip "a read-only mount: it needs root"
fi

# The same behind headers, as numpy's save() makes them.
mkdir npy
for column in a.u64:u8 b.i64:i8 c.u32:u4 d.i32:i4 e.f32:f4; do
	file=${column%:*}
	npy "ends/$file" "<${column#*:}" '(3,)' >"npy/${file%.*}.npy"
done
"$annex" scan --columns ends --where 'b>=-1' --sum a,c,d,e --json | grep '"sum"' >sums
claim "columns in .npy files" "$annex" scan --columns npy --where 'b>=-1' --sum a,c,d,e --verify \
	--json
holds "their sums are the same" test "$(cat sums)" = "$(grep '"sum"' out)"
rm -r npy

cp -r ends padded
echo 3 >padded/rows
truncate -s 4096 padded/*.*
claim "columns with more than their rows" "$annex" scan --columns padded --where 'b>=-1' \
	--sum a,b,c,d,e --verify --json
value "only the rows count" passed 3
rm -r padded

for type in f64 f32 i64 u32; do
	claim "vadd gen $type" "$annex" vadd gen x.$type --size 1200K --type $type
	claim "vadd gen $type" "$annex" vadd gen y.$type --size 1200K --type $type --seed 2
	claim "vadd $type" "$annex" vadd x.$type y.$type -o z.$type --type $type --cache 384K \
		--verify
done
holds "the sum is on the disk" test "$(stat -c %s z.f64)" -eq 1228800
claim "vadd over data when told to" "$annex" vadd x.f64 y.f64 -o z.f64 --overwrite --line 16K \
	--cache 3M --threads 3 --verify
claim "vadd of a device" "$annex" vadd file:x.f64 'mem:1200K' -o file:w.f64 --verify
holds "x and zeroes are x" cmp x.f64 w.f64

npy x.f64 '<f8' '(300, 512)' >x.npy
npy y.f64 '<f8' '(300, 512)' >y.npy
claim "vadd of .npy files" "$annex" vadd x.npy y.npy -o w.f64 --overwrite --cache 384K --verify
holds "is the sum of the elements" cmp z.f64 w.f64
claim "vadd of one" "$annex" vadd x.f64 y.npy -o w.f64 --overwrite --line 16K --verify
holds "is the same" cmp z.f64 w.f64

# Vectors that end inside a block, in files without permission to write.
for size in 8 4104 8000152; do
	claim "vadd gen of $size bytes" "$annex" vadd gen odd.f64 --size "$size"
	chmod 444 odd.f64
	claim "vadd of $size bytes" "$annex" vadd odd.f64 odd.f64 -o two.f64 --verify --json
	value "each element" elements $((size / 8))
	holds "the sum has their size" test "$(stat -c %s two.f64)" -eq "$size"
	head -c "$((size + 4))" /dev/urandom >four.f64
	claim "vadd over more than it needs" "$annex" vadd two.f64 two.f64 -o four.f64 --overwrite \
		--verify --line 16K
	holds "it keeps its size" test "$(stat -c %s four.f64)" -eq $((size + 4))
	rm -f odd.f64 two.f64 four.f64
done

# A line of the data has one place in a cache: 512K each, 64 lines more, and three caches.
truncate -s 512K a.zero b.zero
claim "a cache larger than vectors" "$annex" vadd a.zero b.zero -o c.zero --cache 1G --threads 2 \
	--json
value "takes as much as they can use" cache_bytes $((3 * (512 + 64 * 4) * 1024))
mkdir zeroes
mv a.zero zeroes/a.f64
claim "a cache larger than columns" "$annex" scan --columns zeroes --where 'a==0' --cache 1G \
	--threads 2 --json
value "takes as much as they can use" cache_bytes $(((512 + 64 * 4) * 1024))
make_graph
claim "a cache larger than a graph" "$annex" graph bfs k.csr --cache 1G --threads 2 --json
holds "takes as much as it can use" test "$(number cache_bytes)" -le \
	$(($(stat -c %s k.csr) + 65 * 4096))
rm -r b.zero c.zero zeroes
