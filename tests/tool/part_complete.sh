# shellcheck shell=bash disable=SC2154 # run.sh sets annex
# SPDX-License-Identifier: MIT
# What completion offers, all of it from annex --help.

# completes WORDS... - The candidates for the last of the words; the words do not include annex.
completes()
{
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _annex
		echo "${COMPREPLY[*]}"' - "$here/../../tools/completion.bash" "$annex" "$@" 2>&1
}

# offers WANTED WORDS...
offers()
{
	local wanted=$1
	shift
	holds "completion of annex $*" test "$(completes "$@")" = "$wanted"
}

devices='mem: file: ng: nvme: unix: pci:'
ranges='shm: dax: numa: pci:'
offers "graph" gr
offers "import gen info bfs cc pagerank sssp" graph ''
offers "import gen" scan ''
offers "show" plan ''
offers "gen" vadd ''
offers "--json" vadd --js
offers "$devices" graph bfs k.csr --device ''
offers "$devices" graph bfs k.csr --device = ''
offers "file:" graph bfs k.csr --device = f
offers "$ranges" graph bfs k.csr --cache-in ''
offers "array mmap memory" graph bfs k.csr --access ''
offers "stripe replica" copy k.csr --layout ''
offers "$devices" verify ''
offers "$devices" bench block ''
offers "random sequential" bench block mem:1M --order ''
offers "$ranges" bench hdm ''
offers "queues cold hot" bench cuda ''
offers "$devices" serve ''
offers "add set remove" part ''
offers "$ranges cxlssd:" ndp serve ''
offers "q6 q14 ssb1.1 ssb1.2 ssb1.3" query run ''
offers "local ndp: pci:" query run --device ''
offers "$ranges cxlssd:" query load --range ''
offers "f64 f32 i64 i32 u64 u32" vadd a b --type ''
offers "f64 f32 i64 i32 u64 u32" vadd gen --type ''
offers "fp32 tf32 fp16 bf16" trace gen gpt2 --dtype ''
offers "sgd momentum adam" trace gen gpt2 --optimizer ''
offers "a10 a100-40 a100-80" trace gen gpt2 --gpu a1
offers "bert-base bert-large" trace gen bert
offers "queues cache spaces ranges" selftest --only ''
offers "$devices" selftest --overwrite ''
offers "$ranges" selftest --range ''
offers "simulate" cxl ''
offers "cxl-gpu conv3 cfd" cxl simulate c
offers "mkfs mount fsck stat" fs ''
offers "--design= --force --inodes= --size= --json --help" fs mkfs --
offers "" fs mount ''
offers "dram dynamic ds" cxl simulate --config d
offers "store store-p99" cxl simulate --show st
offers "link= link-rate=" cxl simulate --sweep link
offers "annex" plan t.json --policy a
offers "annex all" simulate t.json --policy a
offers "gpu= gpus=" simulate t.json --sweep g
offers "snap" graph import ''
offers "kron urand" graph gen ''
offers "4 8" graph gen kron --ids ''
offers "" plan t.json --output ''

# The header that becomes the manual has a line on each.
for scheme in $devices $ranges; do
	holds "the manual describes $scheme" grep -q "^ \*	${scheme}[A-Z]" \
		"$here/../../include/annex/uri.h"
done

# helps COMMAND - Each example is on a line of its own, and none ends in blanks.
helps()
{
	"$annex" $1 --help >out
	holds "the help of $1 has no blanks at the ends of lines" test -z "$(grep -n ' $' out)"
	holds "the examples of $1 are whole" test -z "$(sed '1,/^Examples\{0,1\}[:,]/d' out |
		grep -v '^  ')"
}
for command in "bench block" verify "graph bfs" "graph sssp" list serve "part set" vadd; do
	helps "$command"
done
