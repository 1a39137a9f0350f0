# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# One file or device under two names: nothing is written, and inputs stay as they are.

claim "a graph" "$annex" graph gen kron --scale 8 -o g.csr
refused "a copy to one new file twice" "the same device" "$annex" copy g.csr 'file:one?size=2M' \
	file:one
refused "and to it by another name" "the same device" "$annex" copy g.csr file:one \
	"file:$dir/./one"
refused "and to a controller" "the same device" "$annex" copy g.csr pci:00:04.0 \
	pci:0000:00:04.0 --overwrite
truncate -s 4M one
ln one hard
ln -s one symbolic
cp one before
for name in ./one hard symbolic; do
	refused "a copy to one file twice, $name" "the same device" "$annex" copy g.csr file:one \
		"file:$name" --overwrite
	refused "replicas, $name" "the same device" "$annex" copy g.csr file:one "file:$name" \
		--layout replica --overwrite
	refused "a search on one file twice, $name" "the same device" "$annex" graph bfs g.csr \
		--device file:one --device "file:$name"
	holds "it is as before, $name" cmp one before
done
if loop=$(losetup --show -f one 2>/dev/null); then
	refused "a copy to a loop device and the file behind it" "the same device" "$annex" copy \
		g.csr "file:$loop" file:one --overwrite
	refused "a graph's own file, as a loop device" "the same device|is the input file" \
		"$annex" copy one "file:$loop" --overwrite
	losetup -d "$loop"
	holds "it is as before" cmp one before
fi
claim "two memories are two devices" "$annex" graph bfs g.csr --device mem:4M --device mem:4M
rm one hard symbolic before

printf '0 1\n1 2\n' >edges
ln edges hard
ln -s edges symbolic
cp edges before
for name in edges ./edges hard; do
	refused "a graph over its input, $name" "is also an input" \
		"$annex" graph import snap edges -o $name --overwrite
	refused "a graph over its standard input, $name" "is also an input" sh -c \
		"'$annex' graph import snap - -o $name --overwrite <edges"
done
refused "a graph over its input, by a link" "is also an input" "$annex" graph import snap symbolic \
	-o edges --overwrite
holds "the edges are as before" cmp edges before

echo 'o_orderkey|' >orders.csv
cp orders.csv before
refused "a range over a table" "is the file" "$annex" query load \
	--range 'shm:./orders.csv?size=64M&format=1' orders.csv
refused "a kernel's array over its file" "is also an input" "$annex" ndp time kernel.elf \
	file:orders.csv --save 1=./orders.csv --overwrite
holds "the table is as before" cmp orders.csv before
rm -f edges hard symbolic before orders.csv g.csr
