#!/bin/bash
# SPDX-License-Identifier: MIT
# All static checks. Each is one claim; all run, whatever the others found. BUILD comes from the
# Makefile.
set -u
cd "$(dirname "$0")/../.." || exit 1

build=$(realpath -m "${BUILD:-build}")
out=$(mktemp) || exit 1
# Builtins that sparse has not heard of.
known=$(mktemp --suffix=.h) || exit 1
trap 'rm -f "$out" "$known"' EXIT
echo '#define __builtin_cpu_supports(x) 1' >"$known"
include=(-DANNEX_VERSION='"lint"' -Iinclude -I. -Ilib)

list()
{
	git ls-files -co --exclude-standard "$@" | while read -r file; do
		[ -f "$file" ] && echo "$file"
	done
}
mapfile -t sources < <(list '*.c' '*.h' '*.hpp' '*.cc')
mapfile -t lib_files < <(list 'lib/*.c')
mapfile -t headers < <(list 'lib/*.h')
mapfile -t scripts < <(list '*.sh' '*.bash' .ci/run)
mapfile -t words < <(list '*.c' '*.h' '*.hpp' '*.cc' '*.md' '*.sh' '*.conf' '*.rules' Makefile \
	Kbuild)

claim_log=$out
# shellcheck source=tests/claim.sh
. tests/claim.sh

formatted()
{
	! printf '%s\n' "${sources[@]}" | xargs -n 50 clang-format --dry-run -Werror 2>&1 |
		sed -n 's/:[0-9]*:[0-9]*: error: .*//p' | uniq | grep .
}

# Sparse knows address spaces, lock contexts, and integers used as pointers. Its findings in
# the system's headers are left out.
sparse_clean()
{
	! printf '%s\n' "${lib_files[@]}" | xargs -P "$(nproc)" -I '{}' sparse -std=gnu11 \
		-Wno-decl -Wno-vla -Wno-declaration-after-statement "${include[@]}" \
		-include "$known" '{}' 2>&1 | grep -E '^(lib|include)/[^ ]*: (error|warning)'
}

# A function that only its own file uses should be static: needed are a second file, or a header
# with more than the declaration.
no_dead_private()
{
	local name files lines bad=0
	while read -r name; do
		files=$(grep -lw "$name" "${lib_files[@]}" tests/*/*.c tests/*/*/*.c | wc -l)
		lines=$(grep -hw "$name" "${headers[@]}" | grep -cv '^ \*')
		[ "$files" -ge 2 ] || [ "$lines" -ge 2 ] ||
			{ echo "lib: $name() is used by one file at most"; bad=1; }
	done < <(sed -n '/^static/d; s/^[a-z].*[ *]\(annex_[a-z0-9_]*\)(.*/\1/p' "${headers[@]}" |
		sort -u)
	return $bad
}

# A stack trace tells where a function is. Attributes have the names that the kernel's macros want.
kernel_nouns()
{
	! git ls-files -co --exclude-standard 'kernel/*.c' | while read -r file; do
		noun=$(basename "$file" .c)
		sed -n "/^static [^=;]*[ *]\(\w*\)(.*/!d; s//\1/; /^$noun/d; /^annex_/d; /_show\$/d
			s|.*|$file: &() does not begin with $noun|p" "$file"
	done | grep .
}

# The kernel's script prints a line for each parameter, member and value without a description, and
# for each comment that stands before another declaration.
kernel_doc()
{
	local kernel script
	kernel=$(BUILD=$build tests/qemu/kernel.sh 6.12) || return
	script=$(echo "$kernel"/usr/lib/linux-kbuild-*/scripts/kernel-doc)
	! "$script" -none include/annex/*.h include/annex/*/*.h include/uapi/*.h \
		kernel/*.[ch] kernel/*/*.[ch] 2>&1 | grep .
}

# The manual of JSON reports has each member that a call in the tool names.
members_documented()
{
	! list 'tools/*.c' | while read -r file; do
		grep -Pzo '\b(out_(?!row)\w+|json_object_set_new)\(\S+,\s*"\K\w+(?=")' "$file" |
			tr '\0' '\n' | sort -u | while read -r key; do
			grep -qF "\`$key\`" docs/json.md ||
				echo "$file: the member $key is not in docs/json.md"
		done
	done | grep .
}

# Everything takes the version from one file. Histories name the versions of their entries.
version_once()
{
	! git grep -nFw "$(cat VERSION)" -- . ':!VERSION' ':!CHANGELOG.md' ':!docs/ABI'
}

claim "house style" tests/lint/style.sh
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	claim "messages of commits" tests/lint/commits.sh
	claim "plain words (tests/lint/prose.py ROOM shows the others)" tests/lint/prose.py
else
	skip "messages of commits: this is no clone"
fi
claim "the version is in the file VERSION only" version_once
claim "kernel-doc" kernel_doc
claim "clang-format (make format repairs it)" formatted
claim "sparse" sparse_clean
claim "private functions are needed by two files" no_dead_private
claim "functions of the module are named after their files" kernel_nouns
claim "members of JSON reports are documented" members_documented
# Parts of a script see what the whole has set (SC2034, SC2154).
claim "shellcheck" shellcheck -x -S warning -e SC2034,SC2154 "${scripts[@]}"
claim "codespell" codespell -q 3 --ignore-words tests/lint/words.txt "${words[@]}"
claims_end
