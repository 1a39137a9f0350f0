#!/bin/bash
# SPDX-License-Identifier: MIT
# Print the functions that the public headers declare without a body, one a line: the library's ABI.
# Those of CUDA are in a library of their own.
# With --map, as its version script.
set -eu -o pipefail
cd "$(dirname "$0")/.."

functions()
{
	for header in include/annex/*.h include/annex/*/*.h; do
		printf '#include <%s>\n' "${header#include/}"
	done | ${CC:-gcc} -E -P -Iinclude -x c - | awk '
		# Only what stands outside of braces; inline functions begin with static.
		depth == 0 && !/(^|[ )])(static|typedef|extern inline) / &&
		!/[ *]annex_cuda_/ && match($0, /[ *]annex_[a-z0-9_]+\(/) {
			print substr($0, RSTART + 1, RLENGTH - 2)
		}
		{ depth += gsub(/{/, "{") - gsub(/}/, "}") }' | sort -u
}

if [ "${1:-}" = --map ]; then
	printf 'ANNEX_0 {\nglobal:\n'
	functions | sed 's/.*/\t&;/'
	printf 'local:\n\t*;\n};\n'
else
	functions
fi
