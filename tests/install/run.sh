#!/bin/bash
# SPDX-License-Identifier: MIT
# Install into an empty tree, use it as another project would, uninstall: run.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1

build=$1
make=${make:-make}
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT

claim_log=$root/log
# shellcheck source=tests/claim.sh
. tests/claim.sh

in_tree()
{
	"$make" --no-print-directory BUILD="$build" DESTDIR="$root/tree" PREFIX=/usr "$@"
}

# The tree stands in for /: pkg-config puts it in front of every path.
export PKG_CONFIG_SYSROOT_DIR=$root/tree
export PKG_CONFIG_LIBDIR=$root/tree/usr/lib/pkgconfig
export PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
tree=$root/tree/usr
lib=$tree/lib
strict=(-std=c11 -Wall -Wextra -Werror -pedantic-errors -Wno-overlength-strings)

flags()
{
	pkg-config "$@" "${package:-annex}"
}

build_shared()
{
	# shellcheck disable=SC2046 # words are wanted
	gcc "${strict[@]}" $(flags --cflags) -o "$root/shared" tests/install/program.c \
		$(flags --libs) && readelf -d "$root/shared" | grep -q 'NEEDED.*libannex\.so\.0\]'
}

build_static()
{
	local libs
	libs=$(flags --static --libs) || return
	# shellcheck disable=SC2046,SC2086
	gcc "${strict[@]}" $(flags --cflags) -o "$root/static" tests/install/program.c \
		-Wl,-Bstatic -L"$lib" -lannex -Wl,-Bdynamic ${libs/-lannex/} &&
		! readelf -d "$root/static" | grep -q libannex
}

# And the examples, which include them.
headers_cxx()
{
	local compiler standard
	for compiler in g++ clang++; do
		command -v $compiler >/dev/null || continue
		for standard in c++17 c++20; do
			# shellcheck disable=SC2046
			$compiler -x c++ -std=$standard -pedantic -Wall -Wextra -Werror \
				$(flags --cflags) -fsyntax-only docs/examples/*.c{,c} \
				docs/models/examples/*.c tests/install/program_cxx.cc || return
		done
	done
}

# Older standards than a header needs: each compiler's first error says so.
older_cxx()
{
	local compiler
	for compiler in g++ clang++; do
		command -v $compiler >/dev/null || continue
		# shellcheck disable=SC2046
		! echo '#include <annex/array.hpp>' | $compiler -x c++ -std=c++14 \
			$(flags --cflags) -fsyntax-only - 2>"$root/err" &&
			[ "$(grep -c 'error:' "$root/err")" = 1 ] &&
			grep 'error:.*annex/array.hpp needs C++17' "$root/err" || return
	done
}

build_cxx()
{
	local example
	mkdir -p "$root/examples" || return
	for example in docs/examples/*.cc tests/install/program_cxx.cc; do
		# shellcheck disable=SC2046
		g++ -std=c++17 -pedantic -Wall -Wextra -Werror -O2 $(flags --cflags) \
			-o "$root/examples/$(basename "$example" .cc)" "$example" $(flags --libs) ||
			return
	done
}

prints_sum()
{
	local out
	out=$("$@") && [ "$out" = 4999950000 ]
}

exports_headers()
{
	diff <(lib/public.sh) <(nm -D --defined-only "$lib/libannex.so" |
		sed -n 's/.* T \([^@]*\)@@ANNEX_0$/\1/p' | sort -u) &&
		diff <(lib/public.sh libannex-models) \
			<(nm -D --defined-only "$lib/libannex-models.so" |
				sed -n 's/.* T \([^@]*\)@@ANNEX_0$/\1/p' | sort -u)
}

exports_nothing_else()
{
	! nm -D --defined-only "$lib/libannex.so" "$lib/libannex-models.so" | grep . |
		grep -v ' T annex_\| A ANNEX_\|^/'
}

static_names()
{
	diff <(lib/public.sh | sort -u - lib/models/needs.txt) \
		<(nm -g --defined-only "$lib/libannex.a" | awk 'NF == 3 { print $3 }' | sort -u) &&
		diff <(lib/public.sh libannex-models) <(nm -g --defined-only \
			"$lib/libannex-models.a" | awk 'NF == 3 { print $3 }' | sort -u)
}

examples()
{
	local example package
	mkdir -p "$root/examples" || return
	for example in docs/examples/*.c docs/models/examples/*.c; do
		package=annex
		[[ $example != docs/models/* ]] || package=annex-models
		# shellcheck disable=SC2046
		gcc "${strict[@]}" -Wshadow -O2 $(flags --cflags) \
			-o "$root/examples/$(basename "$example" .c)" "$example" $(flags --libs) ||
			return
	done
}

# prints TEXT NAME ARGUMENT... - An example's output.
prints()
{
	local text=$1 name=$2
	shift 2
	diff <(printf '%s\n' "$text") <(LD_LIBRARY_PATH=$lib "$root/examples/$name" "$@")
}

# 1024 numbers, of which number 1000 is two and the others are one.
reads_a_file()
{
	local i high
	for ((i = 0; i < 1024; i++)); do
		high='\xf0\x3f'
		[ $i -ne 1000 ] || high='\x00\x40'
		printf '\x00\x00\x00\x00\x00\x00%b' "$high"
	done >"$root/numbers"
	prints 1 element "file:$root/numbers?readonly=1" 999 &&
		prints 2 element "file:$root/numbers?readonly=1" 1000
}

# The nodes are in a ring of 5; node 2 has one more edge, to node 4.
walks_a_graph()
{
	{ head -c 16 /dev/zero; words 1 2 3 4 4 0; } >"$root/ends"
	{ head -c 16 /dev/zero; words 0 1 2 4 5 6; } >"$root/firsts"
	prints "5 nodes in 4 levels" bfs "file:$root/ends?readonly=1" \
		"file:$root/firsts?readonly=1" 1
}

sums_by_number()
{
	words 10 20 30 40 >"$root/values"
	words 3 0 3 >"$root/wanted"
	prints 90 gather "file:$root/values?readonly=1" "file:$root/wanted?readonly=1"
}

# words N... - Small numbers, as 64-bit integers.
words()
{
	local n
	for n; do
		printf '%b\0\0\0\0\0\0\0' "\\x$(printf %02x "$n")"
	done
}

# Row i is i and 100 hundredths.
reads_rows()
{
	python3 -c '
import struct, sys
text = b"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1048, 100), }"
rows = b"".join(struct.pack("<100f", *[i + k / 100 for k in range(100)]) for i in range(1048))
sys.stdout.buffer.write(b"\x93NUMPY\1\0" + struct.pack("<H", 118) + text.ljust(117) + b"\n" + rows)
' >"$root/rows.npy" && prints $'row 9: mean 9.495\nrow 1047: mean 1047.49' rows \
		"$root/rows.npy" 9 1047
}

counts_runs()
{
	local pieces=$'example.count: 65536 bytes\nexample.table: 65536 bytes\nfree: some'
	prints "run 1"$'\n'"$pieces" range "shm:$root/range?size=16M" &&
		prints "run 2"$'\n'"$pieces" range "shm:$root/range"
}

# Each loss is that of plain memory, and iterations went by a plan.
trains_by_plan()
{
	LD_LIBRARY_PATH=$lib "$root/examples/train" 8 256 32 8 "file:$root/tensors?size=16M" \
		1200000 >"$root/report" && ! grep -q '"planned": 0' "$root/report"
}

# kernel_in_c SOURCE [COMPILER] - The command of docs/m2func.md for kernels in C, by clang-19 or
# that one, with the installed headers.
kernel_in_c()
{
	local words elf compiler=${2:-clang-19}
	elf=$root/$(basename "$1" .c).elf
	command -v "$compiler" >/dev/null ||
		{ echo "$compiler is missing: make deps installs it"; return 1; }
	read -ra words < <(sed -n "/^$compiler -/,/\.c\$/p" docs/m2func.md | tr '\\\n' '  ')
	words=("${words[@]/#*.c/$1}")
	words=("${words[@]/#*.elf/$elf}")
	# shellcheck disable=SC2046 # words are wanted
	[ ${#words[@]} -gt 5 ] && "${words[@]}" -Wall -Wextra -Werror $(flags --cflags)
}

# saxpy on a device in this process, and both on one of another.
calls_run()
{
	local range="shm:$root/saxpy.range" ready sums='100000 numbers, 0 wrong'
	prints "$sums" saxpy "$root/saxpy.elf" "$range?size=16M" || return
	coproc serve { LD_LIBRARY_PATH=$lib exec timeout 60 "$tree/bin/annex" ndp serve \
		--socket "$root/sock" "$range"; }
	local server=$serve_PID
	read -r -t 30 ready <&"${serve[0]}" && [[ $ready == ready:* ]] &&
		prints "$sums" saxpy "$root/saxpy.elf" "$range" "ndp:$root/sock" &&
		prints "sum 500000" m2func "ndp:$root/sock" "$range"
	local rc=$?
	kill "$server"
	return $rc
}

# time_kernel NAME ARGUMENT... - Run it; the array that --save names goes to $root/saved.
time_kernel()
{
	local name=$1
	shift
	LD_LIBRARY_PATH=$lib "$tree/bin/annex" ndp time "$root/$name.elf" "$@" >"$root/out"
}

# 1005 numbers, whose last piece is not whole, against a loop of the host.
dot_is_right()
{
	local piece vlen
	python3 -c '
import random, struct, sys
random.seed(1)
a, b = ([random.randrange(-2**31, 2**31) for _ in range(1005)] for _ in "ab")
for name, numbers in ("a", a), ("b", b):
    open(sys.argv[1] + "/" + name, "wb").write(struct.pack("<1005i", *numbers))
total = (sum(x * y for x, y in zip(a, b)) + 2**63) % 2**64 - 2**63
open(sys.argv[1] + "/want", "wb").write(struct.pack("<q", total))' "$root" || return
	for piece in 32 64; do
		for vlen in 128 256 1024; do
			time_kernel dot "file:$root/b" 1005 zero:8 $((piece / 4)) \
				--pool "file:$root/a" --piece $piece --vlen $vlen \
				--save "3=$root/saved" --overwrite || return
			cmp "$root/saved" "$root/want" || return
		done
	done
}

vadd_is_right()
{
	# Small bytes, so that no sum carries into the next one.
	python3 -c '
import random, sys
random.seed(2)
a, b = (bytes(x & 127 for x in random.randbytes(65536)) for _ in "ab")
for name, data in ("a", a), ("b", b), ("want", bytes(x + y for x, y in zip(a, b))):
    open(sys.argv[1] + "/" + name, "wb").write(data)' "$root" || return
	time_kernel vadd "file:$root/b" zero:64K --pool "file:$root/a" \
		--save "2=$root/saved" --overwrite && cmp "$root/saved" "$root/want"
}

# What wants a stack ends in an error, and touches nothing.
no_stack()
{
	cat >"$root/stack.c" <<-'END'
		#include <annex/ndp_kernel.h>
		ANNEX_KERNEL(32, 32, 32, 0, 0)
		__attribute__((noinline)) static int next(volatile int *p) { return ++*p; }
		ANNEX_KERNEL_BODY(0, piece, offset) { if (offset) next(piece), next(piece); }
	END
	kernel_in_c "$root/stack.c" || return
	! time_kernel stack --pool zero:64 2>"$root/err" &&
		grep -q '0xfffffffffffffff8 cannot be reached' "$root/err"
}

soname()
{
	readelf -d "$lib/libannex.so" | grep -q 'SONAME.*\[libannex\.so\.0\]'
}

same_version()
{
	[ "$("$tree/bin/annex" --version)" = "annex $(flags --modversion)" ]
}

headers_alone()
{
	local h
	for h in "$tree"/include/annex/*.h "$tree"/include/annex/*/*.h; do
		# shellcheck disable=SC2046
		gcc "${strict[@]}" $(flags --cflags) -fsyntax-only -x c "$h" || return
	done
}

# Commands, headers, and functions with kernel-doc have pages, and groff has nothing to say.
man_pages()
{
	local page name bad=0
	# shellcheck disable=SC2015
	groff -man -ww -z -Tutf8 "$tree"/share/man/man?/* 2>&1 | grep . && bad=1
	for page in annex annex-models annex-bind annex-graph-bfs annex-fs-mount; do
		[ -s "$tree/share/man/man1/$page.1" ] || { echo "$page(1)"; bad=1; }
	done
	for page in include/annex/*.h include/annex/models/*.h; do
		page=annex_$(basename "$page" .h).7
		[ -s "$tree/share/man/man7/$page" ] || { echo "$page"; bad=1; }
	done
	for name in $(lib/public.sh); do
		! grep -q "^ \* \(.*[ ,]\)\?$name() -" include/annex/*.h include/annex/*/*.h ||
			[ -f "$tree/share/man/man3/$name.3" ] || { echo "$name()"; bad=1; }
	done
	return $bad
}

completes()
{
	bash -c '. "$1"; COMP_WORDS=(annex gr); COMP_CWORD=1; PATH=$2:$PATH; _annex annex gr annex;
		[ "${COMPREPLY[*]}" = graph ]' - "$tree/share/bash-completion/completions/annex" \
		"$tree/bin"
}

# What DKMS copies has all that the module is made of, under the name that it asks for.
module_source()
{
	local source version
	version=$(flags --modversion)
	source=$tree/src/annex-$version
	diff <(git ls-files -co --exclude-standard dkms.conf Kbuild kernel/Kconfig 'kernel/*.[ch]' \
		include/uapi | sort) <(cd "$source" && find . -type f -printf '%P\n' | sort) &&
		grep -qx "PACKAGE_VERSION=\"$version\"" "$source/dkms.conf"
}

udev_rule()
{
	local name
	for name in annex annex-ng; do
		[ "$(stat -c %a "$tree/lib/udev/rules.d/60-$name.rules")" = 644 ] || return
	done
}

# A user can install into his home without root.
own_prefix()
{
	local prefix=$root/own
	"$make" --no-print-directory BUILD="$build" PREFIX="$prefix" install &&
		[ -e "$prefix/src/annex-$(flags --modversion)/dkms.conf" ] &&
		[ -e "$prefix/lib/udev/rules.d/60-annex.rules" ] &&
		"$make" --no-print-directory BUILD="$build" PREFIX="$prefix" uninstall &&
		[ -d "$root" ] && [ ! -e "$prefix" ]
}

# Folders that hold anything else stay.
others_stay()
{
	local prefix=$root/shared-prefix
	mkdir -p "$prefix/lib" && touch "$prefix/lib/other" &&
		"$make" --no-print-directory BUILD="$build" PREFIX="$prefix" install &&
		"$make" --no-print-directory BUILD="$build" PREFIX="$prefix" uninstall &&
		[ "$(find "$prefix" -printf '%P ')" = " lib lib/other " ]
}

nothing_left()
{
	! find "$root/tree" -mindepth 1 | grep .
}

claim "make install" in_tree install
claim "the version of tool and annex.pc" same_version
claim "each header compiles alone as C11" headers_alone
claim "a program links with the shared library" build_shared
claim "it runs" prints_sum env LD_LIBRARY_PATH="$lib" "$root/shared"
claim "a program links with the static library" build_static
claim "it runs" prints_sum "$root/static"
claim "the headers and examples are C++ too" headers_cxx
claim "an older standard than array.hpp needs is one error" older_cxx
claim "the examples in C++, and a program, build" build_cxx
claim "arrays in C++ have each element that was written" prints right program_cxx
claim "vectoradd.cc adds" prints 30000 vectoradd mem:1M 10001
claim "gather.cc sums" sums_by_number
claim "bfs.cc walks a graph" walks_a_graph
claim "soname" soname
claim "the shared library exports what the headers declare" exports_headers
claim "and nothing else" exports_nothing_else
claim "so does the static library, and nothing else" static_names
claim "the examples build" examples
claim "docs/examples/element.c reads a file" reads_a_file
claim "queue.c moves blocks" prints abcdefghijklmnop queue mem:1M
claim "cache.c moves elements" prints "sum 499999500000
gathered 999999 7 500000
2 and 40 is 42
written back: all" cache "file:$root/elements?size=16M"
claim "rows.c reads rows" reads_rows
claim "range.c counts its runs" counts_runs
claim "plan.c follows a plan" prints "planned: 1, right: 1" plan "file:$root/plan?size=64M"
claim "train.c trains by a plan" trains_by_plan
claim "a kernel in C builds by its one command" kernel_in_c docs/models/examples/kernels/saxpy.c
claim "and runs on devices, as m2func.c does" calls_run
claim "another one builds" kernel_in_c docs/models/examples/kernels/dot.c
claim "and gives what the host's loop gives" dot_is_right
claim "a kernel for gcc 12 builds by its one command" \
	kernel_in_c docs/models/examples/kernels/vadd.c riscv64-linux-gnu-gcc
claim "and adds" vadd_is_right
claim "a kernel that wants a stack ends there" no_stack
claim "man pages" man_pages
claim "bash completion" completes
claim "the module's source, for DKMS" module_source
claim "the udev rules" udev_rule
claim "a prefix of its own keeps everything" own_prefix
claim "a prefix of others' keeps theirs" others_stay
claim "make uninstall" in_tree uninstall
claim "uninstall leaves nothing" nothing_left
claims_end
