#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Graphs searched straight from storage: demo.sh ANNEX DIR
# ANNEX is the tool, DIR is where the files go (a few hundred MiB; kept, and used again).
set -u

annex=$1
dir=$2
mkdir -p "$dir" || exit 1
if [ -t 1 ]; then
	bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
	bold='' dim='' plain=''
fi
step=0

heading()
{
	step=$((step + 1))
	printf '\n%s%d. %s%s\n' "$bold" $step "$1" "$plain"
}

# Show the command as one would type it, then run it.
run()
{
	printf '%s$ annex %s%s\n' "$dim" "$*" "$plain"
	"$annex" "$@" || {
		echo "demo: the command above failed" >&2
		exit 1
	}
}

number()
{
	"$annex" graph info "$1" --json | sed -n "s/^ *\"$2\": *\([0-9]*\),*$/\1/p"
}

# A cache of the N-th part of the edge bytes, in whole lines of 4096.
share()
{
	echo $(($(number "$1" edge_bytes) / $2 / 4096 * 4096))
}

start=$SECONDS
debian=$dir/debian.csr
kron=$dir/kron20.csr
rm -f "$debian" "$kron"

heading "The dependency graph of this machine's Debian package lists"
run graph import debian -o "$debian"
source=$("$annex" graph info "$debian" --json | sed -n 's/^ *"degree_max_vertex": *"\(.*\)",*$/\1/p')
cache=$(share "$debian" 8)

heading "What installing $source may pull in: a search with $((cache >> 10)) KiB of cache"
run graph bfs "$debian" --source "$source" --cache "$cache" --line 512 --verify

heading "Which packages hang together at all"
run graph cc "$debian" --cache "$cache" --line 512 --verify

heading "A Kronecker graph of a million vertices"
run graph gen kron --scale 20 --degree 16 -o "$kron"
cache=$(share "$kron" 8)

heading "Searched from the file, with a cache of one eighth of its edges ($((cache >> 20)) MiB)"
run graph bfs "$kron" --cache "$cache" --cold --verify

printf '\n%sAll results were verified against in-memory runs. %d s.%s\n' "$bold" \
	$((SECONDS - start)) "$plain"
