#!/bin/bash
# SPDX-License-Identifier: MIT
# What the house style asks beyond clang-format: style.sh [FILE]... (default: all of the tree).
# One line a finding, as FILE:LINE: words.
set -u
cd "$(dirname "$0")/../.." || exit 1

if [ $# -eq 0 ]; then
	mapfile -t files < <(git ls-files -co --exclude-standard)
	set -- "${files[@]}"
fi
texts=()
for file in "$@"; do
	case $file in
	LICENSES/* | tests/*fuzz/corpus/* | tests/*fuzz/seeds/* | *.png | *.svg) ;;
	*) [ -f "$file" ] && texts+=("$file") ;;
	esac
done

awk '
function say(words) { printf "%s:%d: %s\n", FILENAME, FNR, words; found = 1 }

# Files under @folder must not include "@banned...".
function layer(folder, banned, words,    name) {
	name = $2
	gsub(/"/, "", name)
	if (FILENAME ~ folder && name ~ banned)
		say(words)
}

# Columns that a line takes with tab stops of eight.
function columns(s,    i, n) {
	for (i = 1; i <= length(s); i++)
		n = substr(s, i, 1) == "\t" ? n - n % 8 + 8 : n + 1
	return n
}

function licence(file) {
	if (file ~ /^tools\/.*\.[ch]$/)
		return "GPL-2.0-or-later"
	if (file ~ /^include\/uapi\//)
		return "(GPL-2.0 WITH Linux-syscall-note) OR MIT"
	if (file ~ /^kernel\/|^Kbuild$|^dkms\.conf$/)
		return "GPL-2.0"
	return file ~ /^tools\// && file !~ /^tools\/python\// ? "" : "MIT"
}

function needs_spdx(file) {
	return source || script || file ~ /(^|\/)(Makefile|Kbuild)$|\.(conf|rules)$/ ||
	       file ~ /\.(awk|py|bash|map|in|pml|cu|cc)$/
}

function end_file(    want, most) {
	if (last == "")
		return
	# A file of tests may have more to say about one noun.
	most = last ~ /^(tests|docs)\// ? 700 : 600
	if (lines > most)
		printf "%s:%d: longer than %d lines: more than one noun?\n", last, lines, most
	if (needs_spdx(last) && !spdx)
		printf "%s:1: no SPDX-License-Identifier in the first three lines\n", last
	want = licence(last)
	if (spdx && want != "" && spdx != want)
		printf "%s:1: licence %s, this folder has %s\n", last, spdx, want
	if (header && !(guard && endif_seen))
		printf "%s:1: no include guard\n", last
	found = found || lines > most || (needs_spdx(last) && !spdx) ||
		(spdx && want != "" && spdx != want) || (header && !(guard && endif_seen))
}

FNR == 1 {
	end_file()
	last = FILENAME
	source = FILENAME ~ /\.[chS]$|\.cu$|\.cc$/
	header = FILENAME ~ /\.h$/
	script = /^#!/
	prose = FILENAME ~ /\.md$/
	lint = FILENAME ~ /^tests\/lint\//
	spdx = guard = endif_seen = func_start = comment = 0
}
{ lines = FNR }

FNR <= 3 && match($0, /SPDX-License-Identifier: /) {
	spdx = substr($0, RSTART + RLENGTH)
	sub(/ *(\*\/|-->) *$/, "", spdx)
}
/[ \t]$/ { say("trailing space") }
/\r/ { say("carriage return") }
!prose && columns($0) > 100 { say("longer than 100 columns") }
!lint && /(TODO|FIXME|XXX[^X]|HACK)/ && !/mktemp|XXXXXX/ { say("unfinished business") }
!lint && /(^|[^A-Za-z0-9_.$}])\/(work|home|root)\// { say("path of one machine") }
!lint && /(^|[^A-Za-z0-9_.$}])\/tmp\// && !/\/tmp\/annex|TMPDIR/ {
	say("path of one machine")
}

source && /^        / { say("indented with spaces") }
source && comment && /^[ \t]*\*[^ \t*\/]/ { say("comment without a space behind its *") }
source && /\/\*/ { comment = 1 }
source && /\*\// { comment = 0 }
source && /\/\/[^\/]*$/ && !/SPDX|:\/\/|"[^"]*\/\// { say("comment with //") }
source && /^#ifndef [A-Z0-9_]+_H$/ { guard = 1 }
# Tracepoints are read several times on purpose.
source && /^#if !defined\([A-Z0-9_]+_H\) \|\| defined\(TRACE_HEADER_MULTI_READ\)$/ { guard = 1 }
source && /^#endif/ { endif_seen = 1 }
FILENAME ~ /^tests\/.*\.c$/ && !/measure/ && /(^|[^a-z_.>])(u|nano|clock_nano)?sleep\(/ {
	say("a test does not sleep")
}
FILENAME ~ /^tests\/.*\.sh$/ && !lint && !/measure/ && /^[ \t]*sleep / {
	say("a test does not sleep")
}

# A function starts and ends in the first column; it should fit on a screen.
source && /^\{/ { func_start = FNR }
source && /^\}/ {
	if (func_start && FNR - func_start > 60)
		say("function of more than 60 lines")
	func_start = 0
}

FILENAME ~ /^(include|kernel|lib|tests|tools)\/.*\.h$/ && (comment || /\/\*/) &&
/(\. |: | - |^[ \t]*\/?\*+[ \t]+|\/\* )(What|Who|Those|That) / {
	say("a sentence begins with its subject, a noun")
}

# Layers: each uses only those under it. Those inside lib/ are in rooms.txt.
source && /^#include "/ {
	layer("^include/annex/", "^", "public headers include <annex/...> and the system only")
	layer("^tools/", "^(lib|core|nvme|cache)/", "the tool uses include/ only")
	layer("^kernel/[a-z]*/", "/", "the module uses its own headers and the kernel'\''s")
}

END { end_file(); exit found }
' "${texts[@]}"
rc=$?

# Kernel-doc: each public function is explained where it is declared, alone or in a short group.
for name in $(lib/public.sh); do
	grep -rq "^ \* .*\b$name()" include/annex ||
		grep -rh -B 3 "^[a-zA-Z].*\b$name(" include/annex | grep -q '\*/$' || {
		echo "include/annex: $name() is not explained"
		rc=1
	}
done
exit $rc
