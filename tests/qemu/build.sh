# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Build the files of a guest where their sources are newer; sourced by run.sh and lab.sh, from the
# top of the tree. BUILD and MAKE come from the Makefile, or are the usual ones.
build=$(realpath -m "${BUILD:-build}")
# The build folder as the caller names it: make knows its targets by that name.
given=${BUILD:-build}
here=tests/qemu

die()
{
	echo "qemu: $*" >&2
	exit 1
}

# quietly WORDS COMMAND... - Show its output only if it fails.
quietly()
{
	local words=$1 log=$build/qemu/build.log
	shift
	"$@" >"$log" 2>&1 </dev/null || {
		tail -n 40 "$log" >&2
		die "$words failed; whole log: $log"
	}
}

# build_programs KERNEL TARGET... - For the machine that it is for; set out to where they are, and
# their names for make to begin with, made. This and build_module: one at a time in a tree.
build_programs()
{
	local cross=()
	out=$build made=$given
	if [ "${1##*/}" = arm64 ]; then
		out=$build/aarch64 made=$given/aarch64
		cross=(CROSS_COMPILE=aarch64-linux-gnu- CPPFLAGS="--sysroot=$1/root")
	fi
	shift
	quietly "building the tool" "${MAKE:-make}" --no-print-directory -j"$(nproc)" \
		BUILD="$given" "${cross[@]}" "${@/#=/$made/}"
}

build_module()
{
	local kernel=$1 release
	release=$(cat "$kernel/release")
	quietly "building annex.ko for $release" "${MAKE:-make}" --no-print-directory \
		-j"$(nproc)" BUILD="$given" KDIR="$kernel/headers" module
	# Its lines are counted anew (coverage.sh).
	cmp -s "$build/module/$release/annex.ko" "$kernel/annex.ko" || rm -rf "$kernel/gcov"
	cp "$build/module/$release/annex.ko" "$kernel/"
}

# build_guest SERIES ARCHIVE [PROGRAM]... - Set kernel to its folder, and make the archive with the
# guest's test programs, its tool, the unit tests of devices and the cache, and these: annex, the
# whole tool, unit-ROOM or train of the tree, others of this machine. Set emulator to the program
# that runs it: QEMU in the environment is its series, if it is to be another than this machine's.
build_guest()
{
	local programs targets=(guest-build) program archive=$2 out made
	kernel=$("$here/kernel.sh" "$1") || exit 1
	emulator=qemu-system-x86_64
	[ "$1" != arm64 ] || emulator=qemu-system-aarch64
	[ -z "${QEMU:-}" ] || [ "$1" != arm64 ] || die "QEMU=$QEMU emulates x86-64, not arm64"
	[ -z "${QEMU:-}" ] || emulator=$("$here/emulator.sh" "$QEMU") || exit 1
	shift 2
	mkdir -p "$build/qemu" && exec 8>"$build/qemu/lock" && flock -w 600 8 ||
		die "$build/qemu is locked by another build"
	for program in "$@"; do
		[[ ! $program =~ ^(annex|train|unit-.*)$ ]] || targets+=("=$program")
	done
	build_programs "$kernel" "${targets[@]}"
	build_module "$kernel"
	programs=("$out/guest/annex" "$out/unit-nvme" "$out/unit-cache")
	for program in "$here"/guest/*.c; do
		programs+=("$out/guest/$(basename "$program" .c)")
	done
	for program in "$@"; do
		if [[ $program =~ ^(annex|train|unit-.*)$ ]]; then
			programs+=("$out/$program")
		else
			programs+=("$(command -v "$program")") ||
				die "there is no $program on this machine"
		fi
	done
	quietly "packing the guest" "$here/initramfs.sh" "$kernel" "$archive" "${programs[@]}"
	exec 8>&-
}
