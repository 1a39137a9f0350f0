# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Memory ranges: caches in them, and their speed beside ordinary memory.

make_graph
claim "bench hdm has help" "$annex" bench hdm --help
holds "with an example" grep -q "annex bench hdm" out
claim "bench of a shared file" "$annex" bench hdm shm:range?size=8M --seconds 0.01 --json
value "its size" range_bytes 8388608
holds "nothing to persist" grep -q '"flush": "none"' out
holds "and no figure of it" test -z "$(number persist_line_s)"
holds "all was right" grep -q '"verified": true' out
holds "latency under load" test -n "$(number memory_loaded_latency_s)$(nproc | grep -x 1)"
claim "the range is still there" "$annex" bench hdm shm:range --seconds 0.01 --threads 1 \
	--bytes 1M --json
value "as much as was asked for" bytes 1048576
holds "one thread has no load beside it" test -z "$(number loaded_latency_s)"
claim "of a persistent one" "$annex" bench hdm 'shm:range?persistent=1' --seconds 0.01 --json
holds "it takes time" test -n "$(number persist_line_s)"
claim "many threads" "$annex" bench hdm shm:range --seconds 0.01 --threads 9 --bytes 2M
if "$annex" bench hdm numa:0?size=4M --seconds 0.01 >out 2>err; then
	holds "memory of a node" grep -q "NUMA node *0" out
	claim "a cache on a node" "$annex" graph bfs k.csr --verify --cache 1M \
		--cache-in numa:0?size=8M
else
	holds "no NUMA policies here" grep -q "NUMA policies" err
fi

claim "a cache in a range" "$annex" graph bfs k.csr --verify --cache 256K \
	--cache-in shm:range --json
holds "it says so" grep -q '"cache_in": "shm:range"' out
for a in cc pagerank sssp; do
	claim "$a with a cache in a range" "$annex" graph $a k.csr --verify --cache 1M --line 64K \
		--cache-in shm:range
done
claim "several caches in one range" "$annex" vadd gen va.bin --size 80K
claim "and another vector" "$annex" vadd gen vb.bin --size 80K --seed 2
claim "vadd with its caches in a range" "$annex" vadd va.bin vb.bin -o vc.bin --cache 1M \
	--cache-in shm:range --verify

refused "no range named" "name the range" "$annex" bench hdm
refused "two ranges" "too many" "$annex" bench hdm shm:a shm:b
refused "a range that is not there" "size= makes it" "$annex" bench hdm shm:nothing
refused "a range without room for it" "no room for" "$annex" bench hdm shm:range --bytes 1G
refused "too few bytes" "--bytes 4K" "$annex" bench hdm shm:range --bytes 4K
refused "too many threads" "too few for 300 threads" "$annex" bench hdm shm:range --threads 300
refused "a file with other data" "format=1" "$annex" bench hdm shm:k.csr
refused "no range at all" "unknown scheme" "$annex" bench hdm mem:1M
refused "no devdax" "no devdax" "$annex" bench hdm dax:/dev/null
refused "no such node" "numa:1023" "$annex" bench hdm numa:1023?size=1M
refused "a controller" "there is no such device|annex.ko" "$annex" bench hdm pci:0000:0d:00.0
refused "a cache in no range" "cannot open the range" "$annex" graph bfs k.csr --cache-in shm:none
refused "a cache larger than its range" "no memory" "$annex" graph bfs k.csr --cache 16M \
	--line 256K --cache-in shm:range
refused "a mapping needs no cache" "--cache-in" "$annex" graph bfs k.csr --access mmap \
	--cache-in shm:range
cp range bad
printf X | dd of=bad bs=1 seek=4100 conv=notrunc status=none
refused "a table that is damaged" "damaged at granule" "$annex" bench hdm shm:bad
printf X | dd of=bad bs=1 seek=8 conv=notrunc status=none
refused "a head that is damaged" "damaged" "$annex" bench hdm shm:bad
claim "given up" "$annex" bench hdm shm:bad?format=1 --seconds 0.01
rm -f range bad va.bin vb.bin vc.bin

claim "a CXL-SSD as a range" "$annex" bench hdm 'cxlssd:ssd?size=16M&window=4M' --bytes 8M \
	--seconds 0.01 --json
holds "it was fenced" grep -q "endpoint's fence" out
holds "all of it was right" grep -q '"verified": true' out
claim "a cache in it" "$annex" graph bfs k.csr --verify --cache 256K --cache-in cxlssd:ssd
refused "of another size" "made with size=16777216" "$annex" bench hdm 'cxlssd:ssd?size=32M'
refused "no backing file" "no backing file" "$annex" bench hdm cxlssd:k.csr
refused "flash of no kind" "no flash is called" "$annex" bench hdm 'cxlssd:x?size=16M&media=paper'
rm -f ssd
