#!/bin/bash
# SPDX-License-Identifier: MIT
# Print the functions that the public headers of a library declare without a body, one a line: its
# ABI. public.sh [libannex | libannex-models]; those of CUDA are in a library of their own.
# With --map before the name: its version script.
set -eu -o pipefail
cd "$(dirname "$0")/.."

map=
[ "${1:-}" != --map ] || { map=1; shift; }
library=${1:-libannex}

# declared HEADER...
declared()
{
	printf '#include <%s>\n' "${@#include/}" | ${CC:-gcc} -E -P -Iinclude -x c - | awk '
		# Only what stands outside of braces; inline functions begin with static.
		depth == 0 && !/(^|[ )])(static|typedef|extern inline) / &&
		!/[ *]annex_cuda_/ && match($0, /[ *]annex_[a-z0-9_]+\(/) {
			print substr($0, RSTART + 1, RLENGTH - 2)
		}
		{ depth += gsub(/{/, "{") - gsub(/}/, "}") }' | sort -u
}

functions()
{
	local product=(include/annex/*.h include/annex/detail/*.h)
	case $library in
	libannex) declared "${product[@]}" ;;
	*) comm -13 <(declared "${product[@]}") <(declared include/annex/models/*.h) ;;
	esac
}

if [ "$map" ]; then
	printf 'ANNEX_0 {\nglobal:\n'
	functions | sed 's/.*/\t&;/'
	printf 'local:\n\t*;\n};\n'
	# For libannex-models of the same version alone.
	if [ "$library" = libannex ]; then
		printf 'ANNEX_MODELS {\nglobal:\n'
		sed 's/.*/\t&;/' lib/models/needs.txt
		printf '};\n'
	fi
else
	functions
fi
