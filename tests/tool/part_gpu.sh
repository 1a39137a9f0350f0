# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# What GPU threads do, or the one line that says why they do not.

make_graph
for c in "bench cuda" "graph bfs" "graph cc" "graph pagerank" vadd; do
	# shellcheck disable=SC2086
	claim "$c has help" "$annex" $c --help
	holds "which tells of GPUs" grep -q -- "--gpu" out
	holds "with an example" grep -q "annex $c" out
done
for c in "graph bfs" "graph cc" "graph pagerank" scan vadd; do
	# shellcheck disable=SC2086
	claim "$c has help" "$annex" $c --help
	holds "which says what --gpu excludes" sh -c \
		"tr -s ' \n' ' ' <out | grep -q -- '--gpu[^;]*; excludes --threads'"
done
refused "no such part" "queues, cold, hot" "$annex" bench cuda warm
refused "two parts" "too many" "$annex" bench cuda hot cold
refused "more queues than there is room for" "from 1 to 16" "$annex" bench cuda --queues 17
refused "a GPU of no number" "--gpu" "$annex" bench cuda --gpu x
refused "threads of the host, search" "leave it out with --gpu" \
	"$annex" graph bfs k.csr --gpu --threads 2
for c in cc pagerank; do
	refused "threads of the host, $c" "leave it out with --gpu" \
		"$annex" graph $c k.csr --gpu --threads 2
done
claim "rows to sum" "$annex" scan gen --rows 100K --selectivity 0.01 -o taxi
question=(scan --columns taxi --where 'distance>=30' --sum 'total,tolls' --gpu)
refused "threads of the host, scan" "leave out --threads" "$annex" "${question[@]}" --threads 2
refused "another access" "leave out --access" "$annex" graph bfs k.csr --gpu --access mmap
refused "a device that is empty beside one that is not" "do not mix them" "$annex" graph bfs k.csr \
	--gpu --device mem:4M --device file:k.csr
refused "a cache elsewhere" "leave out --cache-in" "$annex" graph bfs k.csr --gpu \
	--cache-in shm:none?size=1M
refused "threads of the host, sums" "leave them out with --gpu" \
	"$annex" vadd x.f64 y.f64 -o gpu.f64 --gpu --threads 2
refused "sums that would be gone" "keep their data" "$annex" vadd x.f64 y.f64 -o mem:1M --gpu
why='built without CUDA: build it with make CUDA=1|cannot use GPU 0: CUDA: '
if "$annex" bench cuda queues --threads 256 --commands 1 >out 2>err; then
	claim "search by a GPU" "$annex" graph bfs k.csr --gpu --cache 1M --verify
	claim "search of a mem: device by a GPU" "$annex" graph bfs k.csr --gpu --cache 1M \
		--device mem:4M --verify
	for c in cc pagerank; do
		claim "$c by a GPU" "$annex" graph $c k.csr --gpu --cache 1M --device mem:4M \
			--device mem:4M --verify
	done
	for layout in stripe replica; do
		claim "search of three devices by a GPU, $layout" "$annex" graph bfs k.csr --gpu \
			--cache 1M --device mem:4M --device mem:4M --device mem:4M \
			--layout $layout --verify
	done
	claim "sums of rows by a GPU" "$annex" "${question[@]}" --cache 1M --verify
	claim "numbers for a GPU" "$annex" vadd gen ga.f64 --size 1M
	claim "numbers to add" "$annex" vadd gen gb.f64 --size 1M --seed 2
	claim "sums by a GPU" "$annex" vadd ga.f64 gb.f64 -o gc.f64 --gpu --cache 768K --verify
else
	refused "no GPU to measure" "$why" "$annex" bench cuda
	for c in bfs cc pagerank; do
		refused "no GPU for $c" "$why" "$annex" graph $c k.csr --gpu
	done
	refused "no GPU to scan" "$why" "$annex" "${question[@]}"
	claim "numbers for no GPU" "$annex" vadd gen ga.f64 --size 64K
	refused "no GPU to add" "$why" "$annex" vadd ga.f64 ga.f64 -o gc.f64 --gpu
fi
