#!/bin/bash
# SPDX-License-Identifier: MIT
# clang-tidy over every C file that has changed, or whose headers have: tidy.sh DIR [analyzer]
#
# DIR keeps an empty file for each clean source, named by the digest of the source and its headers.
# Without analyzer, the checks that look at one statement after the other; with it, also the checks
# that follow paths, which take thirty times as long.
set -u
cd "$(dirname "$0")/../.." || exit 1

dir=$1
checks="--checks=-clang-analyzer-*"
[ "${2:-}" != analyzer ] || checks=--checks=
mkdir -p "$dir" || exit 1
export dir checks
flags=(-std=gnu11 -DANNEX_VERSION='""' -Iinclude -I. -Ilib)
# Kernel code, and code compiled with its headers, has other rules; tests/module checks it.
# Near-data kernels and programs on harts are of another machine, and fio's engine has its headers;
# their tests build them.
mapfile -t files < <(git ls-files -co --exclude-standard '*.c' ':!kernel/' ':!tests/kernel/' \
	':!docs/models/examples/kernels/' ':!tests/models/tool/rv/' ':!tools/fio/' |
	while read -r file; do [ -f "$file" ] && echo "$file"; done)

# one FILE FLAGS... - Print its findings and fail if there are any.
one()
{
	local file=$1 of
	shift
	of=$({ echo "$checks"; clang -MM "$@" "$file" | tr -d '\\' | cut -d : -f 2 |
		xargs cat .clang-tidy; } | sha256sum)
	of=$dir/${of%% *}
	[ ! -e "$of" ] || return 0
	clang-tidy --quiet "$checks" "$file" -- "$@" 2>&1 |
		grep -v '^[0-9]* warnings\? generated\|^Suppressed\|^Use -header'
	[ "${PIPESTATUS[0]}" -eq 0 ] || { echo "FAILED: $file"; return 1; }
	: >"$of"
}
export -f one

n=$(printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I '{}' \
	bash -c 'one "$@" >&2 || echo failed' one '{}' "${flags[@]}" | wc -l)
echo "$((${#files[@]} - n)) passed, $n failed"
[ "$n" -eq 0 ] && [ ${#files[@]} -gt 0 ]
