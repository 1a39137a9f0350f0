# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What goes into a guest is made anew where its sources are newer; sourced by run.sh and lab.sh,
# from the top of the tree. BUILD and MAKE come from the Makefile, or are the usual ones.
build=$(realpath -m "${BUILD:-build}")
here=tests/qemu

die()
{
	echo "qemu: $*" >&2
	exit 1
}

# quietly WORDS COMMAND... - What it says is shown only if it fails.
quietly()
{
	local words=$1 log=$build/qemu/build.log
	shift
	"$@" >"$log" 2>&1 </dev/null || {
		tail -n 40 "$log" >&2
		die "$words failed; whole log: $log"
	}
}

# build_programs, build_module: one at a time in a tree.
build_programs()
{
	quietly "building the tool" "${MAKE:-make}" --no-print-directory -j"$(nproc)" \
		BUILD="$build" all unit guest-build
}

# annex.ko from a copy of its sources, since each kernel needs objects of its own.
build_module()
{
	local kernel=$1 copy=$1/module
	[ -e Kbuild ] || { rm -f "$kernel/annex.ko"; return 0; }
	mkdir -p "$copy"
	cp -pru --parents Kbuild kernel include/uapi "$copy"
	quietly "building annex.ko for $(cat "$kernel/release")" \
		"${MAKE:-make}" -j"$(nproc)" -C "$kernel/headers" M="$copy" modules
	cp "$copy/annex.ko" "$kernel/"
}

# build_guest SERIES OUT [PROGRAM]... - Set kernel to its folder, and make the archive OUT with the
# annex tool, the guest's test programs and these.
build_guest()
{
	local programs=("$build/annex" "$build/unit") program out=$2
	kernel=$("$here/kernel.sh" "$1") || exit 1
	shift 2
	mkdir -p "$build/qemu" && exec 8>"$build/qemu/lock" && flock -w 600 8 ||
		die "$build/qemu is being built by somebody else"
	build_programs
	build_module "$kernel"
	for program in "$here"/guest/*.c; do
		[ ! -e "$program" ] || programs+=("$build/guest/$(basename "$program" .c)")
	done
	for program in "$@"; do
		programs+=("$(command -v "$program")") || die "there is no $program on this machine"
	done
	quietly "packing the guest" "$here/initramfs.sh" "$kernel" "$out" "${programs[@]}"
	exec 8>&-
}
