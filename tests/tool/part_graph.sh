# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Graphs that are right: making, importing, searching.

claim "help lists the commands" "$annex" --help
cp out help
for words in -h help; do
	claim "likewise $words" "$annex" $words
	holds "the same list" cmp out help
done
claim "help of a command" "$annex" graph bfs --help
cp out help
for words in "graph bfs -h" "help graph bfs"; do
	# shellcheck disable=SC2086
	claim "likewise $words" "$annex" $words
	holds "the same help" cmp out help
done
refused "help of no command" "unknown command \"nonsense\"" "$annex" help nonsense
claim "version by its name" "$annex" version
cp out version
claim "version" "$annex" --version
holds "the same version" cmp out version
rm help version
holds "the version is told" grep -q "^annex [0-9]" out
for c in "graph import" "graph gen" "graph info" "graph bfs" "graph cc" "graph pagerank" \
	"graph sssp" scan "scan import" "scan gen" vadd "vadd gen" copy; do
	# shellcheck disable=SC2086
	claim "$c has help" "$annex" $c --help
	holds "the help of $c has an example" grep -q "annex $c" out
done

claim "kron" "$annex" graph gen kron --scale 12 --weights -o k.csr --json
value "kron vertices" vertices 4096
claim "one thread" "$annex" graph gen kron --scale 12 --weights --threads 1 -o k1.csr
holds "a graph does not depend on the number of threads" cmp k.csr k1.csr
claim "wide ids" "$annex" graph gen kron --scale 12 --weights --ids 8 -o wide.csr
claim "another seed" "$annex" graph gen kron --scale 12 --weights --seed 2 -o k2.csr
holds "another seed makes another graph" test ! "$(cmp k.csr k2.csr)" = ""
claim "urand" "$annex" graph gen urand --scale 10 --degree 4 -o u.csr
claim "gen over a graph when told to" "$annex" graph gen urand --scale 10 --degree 4 -o u.csr \
	--overwrite
claim "info" "$annex" graph info k.csr --json
edges=$(number edges)
edge_bytes=$((edges * 8))
value "edge bytes count ids and weights" edge_bytes $edge_bytes

for g in k.csr wide.csr u.csr; do
	for a in bfs cc pagerank sssp; do
		claim "$a of $g" "$annex" graph $a $g --verify --cache 256K --threads 3
		claim "$a of $g, small and odd" "$annex" graph $a $g --verify --cache 64K --line 512
		claim "$a of $g, long lines" "$annex" graph $a $g --verify --cache 1M --line 64K
	done
done
claim "a small graph" "$annex" graph gen kron --scale 8 --degree 8 --weights -o tiny.csr
for a in bfs cc sssp; do
	for way in none cache coalesce reuse ahead; do
		claim "$a with $way" "$annex" graph $a tiny.csr --mechanisms $way --cache 64K \
			--verify
	done
	claim "$a, all in the cache" "$annex" graph $a k.csr --warm --cache 8M --verify --json
	value "nothing is read" bytes_read 0
done
refused "no room to warm" "--warm" "$annex" graph bfs k.csr --warm --cache 64K
refused "a cache for mmap" "--mechanisms" "$annex" graph bfs k.csr --mechanisms cache --access mmap
refused "two devices without a cache" "one --device" "$annex" graph bfs k.csr --mechanisms none \
	--device mem:4M --device mem:4M
refused "no such mechanism" "ahead" "$annex" graph bfs k.csr --mechanisms warp
for a in bfs sssp; do
	claim "$a from memory" "$annex" graph $a k.csr --access memory --verify
	claim "$a by mmap" "$annex" graph $a k.csr --access mmap --advise random --cold --verify
	claim "$a from a vertex" "$annex" graph $a k.csr --source 7 --verify
done

claim "mem:" "$annex" graph bfs k.csr --device mem:4M --verify
claim "two mem:, striped" "$annex" graph cc k.csr --device mem:2M --device mem:2M --verify
claim "two mem:, replicated" "$annex" graph sssp k.csr --device mem:4M --device mem:4M \
	--layout replica --verify
claim "blocks of 4096" "$annex" graph bfs k.csr --device 'mem:4M?block=4096' --verify
claim "copy, striped" "$annex" copy k.csr file:a.img file:b.img
claim "search on the stripes" "$annex" graph pagerank k.csr --device file:a.img \
	--device file:b.img --cache 128K --verify
claim "copy, replicated" "$annex" copy k.csr file:c.img file:d.img --layout replica
claim "search on the replicas" "$annex" graph bfs k.csr --device file:c.img \
	--device file:d.img --layout replica --verify
claim "copy over data when told to" "$annex" copy k2.csr file:a.img file:b.img --overwrite
claim "search on the new image" "$annex" graph bfs k2.csr --device file:a.img --device file:b.img \
	--verify
claim "copy with long lines" "$annex" copy k.csr file:e.img file:f.img --line 16K
claim "search with long lines" "$annex" graph bfs k.csr --device file:e.img --device file:f.img \
	--line 16K --verify
# Files of any size. k.csr ends with zeroes behind its last weight, which are not needed.
cp k.csr longer.csr
printf more >>longer.csr
read -r offset length < <(od -An -t u8 -j 72 -N 16 k.csr)
head -c $((offset + length)) k.csr >shorter.csr
for file in longer shorter; do
	chmod 444 $file.csr
	claim "a $file file" "$annex" graph sssp $file.csr --verify
	claim "a $file file, without a cache" "$annex" graph bfs $file.csr --mechanisms none \
		--verify
	claim "a $file file in memory" "$annex" graph sssp $file.csr --device mem:4M --verify
	claim "copy of a $file file" "$annex" copy $file.csr file:one.img
	holds "it is the same" cmp $file.csr one.img
	claim "search on it" "$annex" graph sssp $file.csr --device file:one.img --verify
	head -c 3000001 /dev/zero | tr '\0' Z >two.img
	cp two.img want.img
	claim "copy over a longer one" "$annex" copy $file.csr file:one.img file:two.img \
		--layout replica --overwrite --line 16K
	holds "it is the same" cmp $file.csr one.img
	holds "the longer one keeps its size" test "$(stat -c %s two.img)" -eq 3000001
	holds "and its end" cmp <(tail -c 4096 two.img) <(tail -c 4096 want.img)
	claim "copy of a $file file, striped" "$annex" copy $file.csr file:one.img file:two.img \
		--overwrite
	claim "search on the stripes" "$annex" graph sssp $file.csr --device file:one.img \
		--device file:two.img --verify
	rm one.img two.img want.img
done
cp k.csr 'od?d&%.csr'
claim "a path with ? and & and %" "$annex" graph bfs 'od?d&%.csr' --verify

# A path of eight vertices: what the answers are is known.
make_path
claim "import a path" "$annex" graph import snap path.txt --weights --undirected -o path.csr --json
value "edges both ways" edges 14
claim "bfs of the path" "$annex" graph bfs path.csr --source 0 --json --verify
value "levels of the path" levels 7
claim "sssp of the path" "$annex" graph sssp path.csr --source 0 --json --verify
value "length of the path" farthest 70
claim "cc of the path" "$annex" graph cc path.csr --json --verify
value "one component" components 1
claim "import it one way" "$annex" graph import snap path.txt -o way.csr
claim "bfs from the end" "$annex" graph bfs way.csr --source 7 --json --verify
value "nothing lies behind the end" reached 1
claim "cc is weak" "$annex" graph cc way.csr --json --verify
value "still one component" components 1

make_ids
claim "ids with gaps" "$annex" graph import snap ids.txt -o ids.csr --json
value "gaps are closed" vertices 3
value "a loop is dropped" self_loops 1
value "a duplicate is dropped" duplicates 1
claim "ids stay as names" "$annex" graph bfs ids.csr --source 200 --json --verify
value "200 leads to 300" reached 2

claim "a ranking has names" "$annex" graph pagerank ids.csr
holds "which are ids" grep -qE "ranked first *[1-3]00" out

cat >m.mtx <<-END
	%%MatrixMarket matrix coordinate real symmetric
	% a comment
	4 4 3
	2 1 1.5
	3 2 2.4
	3 3 9
END
claim "a matrix by awk" sh -c "awk '!/^%/ && n++' m.mtx |
	'$annex' graph import snap - --undirected --weights -o m.csr --json"
value "symmetric entries count twice" edges 4
claim "sssp over rounded weights" "$annex" graph sssp m.csr --source 1 --json --verify
value "2 and 2" farthest 4
claim "import over a graph when told to" "$annex" graph import snap ids.txt -o m.csr --overwrite

cat >packages <<-END
	Package: editor
	Version: 1.0
	Depends: libc (>= 2.36), spell-dictionary | dict-en, missing-package
	Recommends: help
	Description: edits
	 a long text: with colons, and | bars

	Package: libc
	Version: 2.36

	Package: dict-en
	Provides: spell-dictionary (= 1), words
	Depends: libc:any

	Package: help
	Pre-Depends: libc
END
awk -f "$here/../../docs/examples/packages.awk" packages >packages.snap
claim "packages by awk" "$annex" graph import snap packages.snap -o deb.csr --json
value "packages, virtual packages and missing ones" vertices 7
value "dependencies, alternatives, providers" edges 9
claim "what an editor pulls in" "$annex" graph bfs deb.csr --json --verify \
	--source $(($(grep -nx editor packages.txt | cut -d: -f1) - 1))
value "all of them" reached 6
