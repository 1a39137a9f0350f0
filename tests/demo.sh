#!/bin/bash
# SPDX-License-Identifier: MIT
# Two graphs, searched from storage with less memory than their edges take, and a training
# iteration planned for less memory than it takes: demo.sh BUILD
set -eu -o pipefail

annex=$1/annex
data=$1/demo
scale=${SCALE:-20}
mkdir -p "$data"

say()
{
	printf '\n\033[1m%s\033[0m\n' "$*"
}
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

run()
{
	echo "\$ annex $*"
	"$annex" "$@"
}

# One eighth of the bytes of a graph's edges, in whole KiB.
eighth()
{
	"$annex" graph info "$1" --json | sed -n 's/^ *"edge_bytes": \([0-9]*\).*/\1/p' |
		awk '{ printf "%dK\n", $1 / 8 / 1024 }'
}

start=$SECONDS
say "1. The dependencies of this machine's Debian packages, as a graph"
awk=$(realpath "$(dirname "$0")/../docs/examples/packages.awk")
(cd "$data" && { apt-cache dumpavail || cat /var/lib/dpkg/status; } | awk -f "$awk") \
	>"$data/packages.snap"
run graph import snap "$data/packages.snap" -o "$data/packages.csr" --overwrite
cache=$(eighth "$data/packages.csr")

say "2. What apt pulls in, searched from storage (cache: $cache, one eighth of the edges)"
# On a machine without apt's package the search starts where the most edges are.
line=$(grep -nx apt "$data/packages.txt" | cut -d: -f1) && apt=(--source $((line - 1)))
run graph bfs "$data/packages.csr" ${apt[@]+"${apt[@]}"} --cache "$cache" --verify

say "3. Which packages hang together"
run graph cc "$data/packages.csr" --cache "$cache" --verify

say "4. A Kronecker graph of scale $scale"
[ -s "$data/kron$scale.csr" ] || run graph gen kron --scale "$scale" -o "$data/kron$scale.csr"
cache=$(eighth "$data/kron$scale.csr")

say "5. Searched from storage (cache: $cache, one eighth of the edges)"
run graph bfs "$data/kron$scale.csr" --cache "$cache" --cold --verify

say "6. A training iteration that takes 36 GiB, planned for a GPU of 24 GiB"
run trace gen bert-base --batch 256 -o "$data/bert.json" --overwrite
run simulate "$data/bert.json" --policy uvm,g10,annex --gpu 24G --host 32G

say "Two graphs searched and verified, one iteration planned: $((SECONDS - start)) seconds."
