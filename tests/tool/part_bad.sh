# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Bad input: one clear line, no success, nothing left behind.

make_victims >out 2>&1
make_trace
refused "no command" "no command: see" "$annex"
refused "unknown command" "unknown command" "$annex" grpah
refused "unknown subcommand" "unknown command" "$annex" graph bsf
refused "unknown option" "option" "$annex" graph bfs k.csr --cashe 1M
refused "option without value" "option" "$annex" graph bfs k.csr --cache
refused "two files" "too many" "$annex" graph bfs k.csr u.csr
refused "no file" "no graph: name" "$annex" graph bfs

refused "cache of 0" "--cache 0" "$annex" graph bfs k.csr --cache 0
refused "cache larger than memory" "--cache 900T" "$annex" graph bfs k.csr --cache 900T
refused "cache beyond 64 bits" "--cache" "$annex" graph bfs k.csr --cache 99999999999999999999
refused "cache that is no number" "--cache lots" "$annex" graph bfs k.csr --cache lots
refused "cache of less than a line" "cache" "$annex" graph bfs k.csr --cache 512 --line 4096
refused "cache too small for the threads" "cache" "$annex" graph bfs k.csr --cache 4096 --threads 8
refused "odd line" "line" "$annex" graph bfs k.csr --line 5000
refused "line of 256" "line" "$annex" graph bfs k.csr --line 256
refused "line of 2M" "line" "$annex" graph bfs k.csr --line 2M
refused "line below the block" "smaller than a block of 4096" \
	"$annex" graph bfs k.csr --device 'mem:4M?block=4096' --line 512
refused "0 threads" "--threads" "$annex" graph bfs k.csr --threads 0
refused "0 queues" "--queues" "$annex" graph bfs k.csr --queues 0
refused "depth of 1" "--depth" "$annex" graph bfs k.csr --depth 1
refused "unknown layout" "stripe, replica" "$annex" graph bfs k.csr --layout raid5
refused "unknown access" "array, mmap, memory" "$annex" graph bfs k.csr --access disk
refused "advice without mmap" "mmap" "$annex" graph bfs k.csr --advise random
refused "device without array" "array" "$annex" graph bfs k.csr --access mmap --device mem:4M

refused "unknown scheme" "nvme:" "$annex" graph bfs k.csr --device nvme:0
refused "no scheme" "scheme" "$annex" graph bfs k.csr --device 4M
refused "unknown parameter" "colour" "$annex" graph bfs k.csr --device 'mem:4M?colour=red'
refused "device too small" "mem:|size|device" "$annex" graph bfs k.csr --device mem:64K
refused "mem: and file: mixed" "mix" "$annex" graph bfs k.csr --device mem:4M --device file:a.img
refused "device that is a directory" "irectory" "$annex" graph bfs k.csr --device file:.
refused "device that is not there" "nowhere" "$annex" graph bfs k.csr --device file:nowhere.img
refused "device of odd size" "" sh -c "head -c 1000 k.csr >odd.img; '$annex' graph bfs k.csr \
	--device file:odd.img; rc=\$?; rm odd.img; exit \$rc"
refused "another graph's image" "no image" "$annex" graph bfs k.csr --device file:a.img \
	--device file:b.img
refused "devices in the wrong order" "no image" "$annex" graph bfs k2.csr --device file:b.img \
	--device file:a.img
refused "another line size" "no image" "$annex" graph bfs k2.csr --device file:a.img \
	--device file:b.img --line 16K
refused "a read error" "" "$annex" graph bfs k.csr \
	--device 'mem:4M?fault=error,op=read,after=2,count=0'

refused "missing graph" "nowhere" "$annex" graph bfs nowhere.csr
refused "graph that is a directory" "directory" "$annex" graph bfs .
refused "text as a graph" "not a graph file" "$annex" graph bfs path.txt
refused "unknown vertex" "0 to 4095" "$annex" graph bfs k.csr --source 4096
refused "unknown name" "201" "$annex" graph bfs ids.csr --source 201
: >bad.csr
refused "empty graph file" "header" "$annex" graph info bad.csr
head -c 4096 k.csr >bad.csr
refused "header only" "truncated" "$annex" graph info bad.csr
head -c -4096 k.csr >bad.csr
refused "cut by a page" "truncated" "$annex" graph bfs bad.csr
# section FILE OFFSET - Where the section is whose offset is there.
section()
{
	od -An -t u8 -j "$2" -N 8 "$1" | tr -d ' '
}
head -c $(($(section k.csr 72) + $(section k.csr 80) - 1)) k.csr >bad.csr
refused "cut by the last byte of its weights" "truncated" "$annex" graph bfs bad.csr
# FILE|OFFSET|BYTES|WORDS|PATTERN|COMMAND - A graph file with other bytes there.
while IFS='|' read -r -u 3 file at bytes words pattern command; do
	patch "$file" "$at" "$bytes"
	# shellcheck disable=SC2086 # words
	refused "$words" "$pattern" "$annex" graph $command bad.csr
done 3<<END
k.csr|0|42|other magic|not a graph file|info
k.csr|8|07|other version|version 7|info
k.csr|12|80|unknown flags|flags|info
k.csr|16|05|ids of 5 bytes|ids|info
k.csr|24|0000000000000000|no vertices|vertices|info
k.csr|24|ffffffffffffffff|2^64 vertices|vertices|info
k.csr|32|ffffffffffffff7f|2^63 edges|edges|info
k.csr|40|0100000000000000|section off its alignment|begin at byte 1|info
k.csr|56|0010000000000000|sections that overlap|overlap|info
k.csr|56|00f0ffffffffffff|section at the end of 64 bits|past the end|info
k.csr|4096|0100000000000000|first offset|first row offset|info
k.csr|8192|ffffff7f00000000|offsets that descend|decrease at vertex|info
k.csr|$(section k.csr 56)|ffffff7f|id out of range|neighbour 2147483647|bfs
k.csr|$(section k.csr 56)|ffffff7f|id out of range, mapped|neighbour|cc --access mmap
wide.csr|$(section wide.csr 56)|0000000001000000|wide id out of range|neighbour 4294967296|pagerank
ids.csr|$(section ids.csr 88)|00|one name too many|names|info
END

cp k.csr secret.csr
refused "import without output" "-o FILE" "$annex" graph import snap path.txt
refused "unknown format" "snap" "$annex" graph import dot path.txt -o x.csr
refused "missing input" "nowhere" "$annex" graph import snap nowhere -o x.csr
refused "input that is a directory" "irectory" "$annex" graph import snap . -o x.csr
refused "output in no directory" "nowhere" "$annex" graph import snap path.txt -o nowhere/x.csr
echo "1 two" >bad.txt
refused "snap, no id" "line 1" "$annex" graph import snap bad.txt -o x.csr
refused "snap, no weight" "line 2.*third" "$annex" graph import snap ids.txt --weights -o x.csr
echo "# nothing" >bad.txt
refused "snap, no edges" "no edges" "$annex" graph import snap bad.txt -o x.csr
echo "1 2 -5" >bad.txt
refused "negative weight" "line 1.*weight -5" "$annex" graph import snap bad.txt --weights -o x.csr
refused "gen over a graph" "already exists.*--overwrite" "$annex" graph gen kron -o k.csr
refused "import over a graph" "already exists.*--overwrite" "$annex" graph import snap path.txt \
	-o k.csr
holds "the graph is as it was" cmp k.csr secret.csr
mkdir -p kinds/dir
ln -s ../k.csr kinds/link
ln -s nowhere kinds/dangling
mkfifo kinds/fifo
mknod kinds/null c 1 3 2>/dev/null
for kind in kinds/*; do
	was=$(stat -c %i-%f "$kind")
	refused "gen over $kind" "not a regular file" "$annex" graph gen kron -o "$kind"
	refused "gen over $kind when told to" "not a regular file" "$annex" graph gen kron \
		--scale 4 -o "$kind" --overwrite
	refused "import over $kind" "not a regular file" "$annex" graph import snap path.txt \
		-o "$kind" --overwrite
	holds "$kind is unchanged" test "$(stat -c %i-%f "$kind")" = "$was"
done
# The name becomes a link during the work: the command checks its output before it opens the input.
mkfifo late
timeout 30 "$annex" graph import snap late -o changed.csr --overwrite >out 2>err &
timeout 30 sh -c 'exec >late; ln -s k.csr changed.csr
	echo 1 2'
wait $!
holds "a link made meanwhile is not replaced" test -L changed.csr
holds "and it is told" grep -q "not a regular file" err
rm -f changed.csr late
holds "the graph is as it was" cmp k.csr secret.csr
refused "graph beyond memory" "memory" "$annex" graph gen urand --scale 31 --degree 4096 -o x.csr
refused "vector beyond the disk" "no space" "$annex" vadd gen q.f64 --size 1024T
refused "table beyond the disk" "no space" "$annex" scan gen --rows 1T -o x
refused "scale of 60" "--scale" "$annex" graph gen kron --scale 60 -o x.csr
refused "unknown kind" "kron, urand" "$annex" graph gen grid -o x.csr

refused "copy over data" "overwrite" "$annex" copy k.csr file:c.img
refused "copy to itself" "the input file" "$annex" copy k.csr file:k.csr --overwrite
refused "copy to memory" "lost" "$annex" copy k.csr mem:4M
refused "copy of nothing" "nowhere" "$annex" copy nowhere file:x.img
refused "copy to one and a bad one" "scheme" "$annex" copy k.csr file:x.img what
refused "copy with a write error" "" "$annex" copy k.csr \
	'file:x.img?fault=error,op=write,count=0'

refused "no condition" "where" "$annex" scan --columns trips
refused "no columns" "--columns" "$annex" scan --where 'a>1'
refused "no operator" "--where" "$annex" scan --columns trips --where distance
refused "one = for two" "==" "$annex" scan --columns trips --where distance=30
refused "something behind the number" "number" "$annex" scan --columns trips --where 'tax>1,'
refused "no name to sum" "--sum" "$annex" scan --columns trips --where 'tax>1' --sum ''
refused "a name too few to sum" "--sum" "$annex" scan --columns trips --where 'tax>1' --sum tax,
refused "no name before the operator" "--where" "$annex" scan --columns trips --where ' >=1'
refused "unknown operator" "operator" "$annex" scan --columns trips --where 'distance=>30'
refused "no number" "number" "$annex" scan --columns trips --where 'distance>=far'
refused "unknown column" "no column" "$annex" scan --columns trips --where 'height>1'
refused "unknown column to sum" "no column" "$annex" scan --columns trips --where 'tax>1' --sum x
refused "directory that is not there" "nowhere" "$annex" scan --columns nowhere --where 'a>1'
refused "file as a directory" "directory" "$annex" scan --columns t.csv --where 'a>1'
mkdir -p short
head -c 4096 trips/tax.f64 >short/a.f64
head -c 512 trips/tax.f64 >short/b.f64
refused "columns of two lengths" "64 elements" "$annex" scan --columns short --where 'a>1' --sum b
head -c 1001 trips/tax.f64 >short/a.f64
refused "a column with a part of an element" "1001 bytes are not whole elements of 8" \
	"$annex" scan --columns short --where 'a>1'
refused "a vector with a part of an element" "1001 bytes are not whole elements of 8" \
	"$annex" vadd short/a.f64 short/a.f64 -o sum
echo 3x >short/rows
refused "rows that are no number" "rows" "$annex" scan --columns short --where 'a>1'
# TEXT|WORDS|PATTERN|COMMAND - A CSV file of this text; nothing stays in the temporary directory.
while IFS='|' read -r -u 3 text words pattern command; do
	printf '%b' "$text" >bad.csv
	# shellcheck disable=SC2086 # words
	refused "$words" "$pattern" env TMPDIR="$dir/temp" "$annex" scan $command
	holds "$words: the temporary directory is empty" test -z "$(ls temp)"
done 3<<'END'
a,b\n1,2\n1\n|CSV with a short line|line 3|import bad.csv -o x
a,b\n1,"2\n|CSV with an open quote|quoted|import bad.csv -o x
a,b\n1,"2\n|CSV with an open quote, in one go|quoted|--csv bad.csv --where a>1
a,b\n1,2\n3,4"\n|CSV with a stray quote|line 3: unexpected quote|import bad.csv -o x
a/b\n1\n|CSV column that is a path|name|import bad.csv -o x
a\nb\n|CSV without numbers|numbers|import bad.csv -o x
a,b,a\n1,2,2.5\n|CSV with one name twice|bad.csv: two columns are called "a"|import bad.csv -o x
a,b,a\n1,2,2.5\n|CSV with one name twice, in one go|bad.csv: two columns|--csv bad.csv --where b>1
END
refused "CSV without the column" 't.csv has no column .*"cost", but id, fare' "$annex" scan \
	--csv t.csv --where 'cost>1'
refused "CSV whose column is text" "t.csv has no.*left out" "$annex" scan --csv t.csv \
	--where 'id>1' --sum name
: >bad.csv
refused "empty CSV" "empty" "$annex" scan import bad.csv -o x
refused "table that exists" "already" "$annex" scan import t.csv -o t

refused "vadd of two lengths" "elements" "$annex" vadd x.f64 trips/tax.f64 -o q.f64
mkdir npy
while IFS='|' read -r words type shape pattern; do
	npy x.f64 "$type" "$shape" >npy/a.npy
	refused "$words" "$pattern" "$annex" vadd npy/a.npy x.f64 -o q.f64
done <<-END
	vadd of another type|<f4|(307200,)|use --type f32
	bytes in the other order|>f8|(153600,)|type '>f8'
	an array that is truncated|<f8|(153601,)|truncated
	an array beyond 64 bits|<f8|(18446744073709551615, 2)|shape
	a negative shape|<f8|(-1,)|shape
	no shape|<f8|3|shape
END
npy x.f64 '<f8' '(300, 512)' >npy/a.npy
refused "a matrix as a column" "2 dimensions" "$annex" scan --columns npy --where 'a>0'
head -c 60 npy/a.npy >npy/b.npy
refused "half of a header" "ends in its header" "$annex" scan --columns npy --where 'b>0'
{ printf '\x93NUMPY\x01\0\x75\0' && tail -c +12 npy/a.npy; } >npy/b.npy
refused "elements that are not aligned" "not aligned" "$annex" scan --columns npy --where 'b>0'
cp x.f64 npy/b.npy
refused "elements called .npy" "no .npy file" "$annex" scan --columns npy --where 'b>0'
rm -r npy
refused "vadd over data" "overwrite" "$annex" vadd x.f64 y.f64 -o z.f64
cp x.f64 in.f64
ln -s in.f64 in.link
ln in.f64 in.hard
for name in in.f64 in.link in.hard file:in.f64; do
	refused "vadd onto its input $name" "is an input" "$annex" vadd in.f64 y.f64 -o "$name" \
		--overwrite
	refused "vadd onto its second input" "is an input" "$annex" vadd y.f64 "$name" -o in.f64 \
		--overwrite
done
holds "the input is as it was" cmp x.f64 in.f64
refused "vadd of an unknown type" "f64, f32" "$annex" vadd x.f64 y.f64 -o q.f64 --type f16
refused "vadd with little cache" "cache" "$annex" vadd x.f64 y.f64 -o q.f64 --cache 16K
refused "vadd without output" "output" "$annex" vadd x.f64 y.f64
refused "vadd gen of a part of an element" "8 bytes" "$annex" vadd gen q.f64 --size 5001

# No permission: root always has it, so become another user where that is possible.
chmod 755 .
chmod 000 secret.csr
as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=65534 --clear-groups)
if "${as[@]}" test -x "$annex" 2>/dev/null; then
	refused "graph that may not be read" "ermission" "${as[@]}" "$annex" graph info secret.csr
	refused "device that may not be read" "ermission" "${as[@]}" "$annex" graph bfs u.csr \
		--device file:secret.csr
fi
if [ "$(id -u)" -eq 0 ] && "${as[@]}" test -x "$annex" 2>/dev/null; then
	refused "output that may not be written" "ermission" "${as[@]}" "$annex" graph gen kron \
		-o x.csr
fi

# A full disk: a file system of its own, where one can be mounted.
if mkdir -p full && mount -t tmpfs -o size=256K none full 2>/dev/null; then
	refused "graph on a full disk" "space" "$annex" graph gen kron --scale 12 -o full/x.csr
	refused "vadd on a full disk" "" "$annex" vadd x.f64 y.f64 -o full/x.f64
	refused "table on a full disk" "space" "$annex" scan gen --rows 100000 -o full/x
	head -c 150K x.f64 >full.bin
	refused "copy to a full disk" "no space" "$annex" copy k.csr file:full/x.img
	refused "copies that together fill the disk" "no space" "$annex" copy full.bin \
		file:full/x.img file:full/y.img --layout replica
	refused "vadd gen on a full disk" "no space" "$annex" vadd gen full/x.f64 --size 1M
	head -c 252K x.f64 >full/fill
	refused "plan on a full disk" "full/x.plan: .*No space" "$annex" plan chain.json \
		"${machine[@]}" -o full/x.plan
	if command -v gnuplot >/dev/null; then
		refused "plot on a full disk" "full/x.svg: No space" "$annex" plan chain.json \
			"${machine[@]}" -o x.plan --plot full/x.svg
	fi
	rm full/fill
	holds "nothing is left on the full disk" test -z "$(ls full)"
	# Lazily: the kernel may take a moment to close the rings of the last command.
	umount -l full
fi
refused "a version that cannot be written" "write" sh -c "'$annex' --version >/dev/full"
refused "a report that cannot be written" "report" sh -c "'$annex' graph info k.csr >/dev/full"
