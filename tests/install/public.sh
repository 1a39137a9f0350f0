#!/bin/bash
# SPDX-License-Identifier: MIT
# Print the functions that the public headers declare without a body, one a line: the library's ABI.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
for header in include/annex/*.h; do
	printf '#include <annex/%s>\n' "${header##*/}"
done | ${CC:-gcc} -E -P -Iinclude -x c - | awk '
	# Only what stands outside of braces; inline functions begin with static.
	depth == 0 && !/^ *(static|typedef|extern inline)/ &&
	match($0, /[ *]annex_[a-z0-9_]+\(/) { print substr($0, RSTART + 1, RLENGTH - 2) }
	{ depth += gsub(/{/, "{") - gsub(/}/, "}") }' | sort -u
