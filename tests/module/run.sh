#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the module for Debian's kernels, and checks it without running it: run.sh [SERIES]...
# (default: 6.1 6.12 7.3; arm64 if named). ALL=1 in the environment: also 6.18 and 7.2, DKMS for
# each kernel whose compiler this Debian has, and a proof that a build without sparse fails.
# BUILD and MAKE come from the Makefile.
set -u
cd "$(dirname "$0")/../.." || exit 1

build=$(realpath -m "${BUILD:-build}")
make=${MAKE:-make}
PATH=$PATH:/usr/sbin:/sbin # modinfo, dkms
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT

claim_log=$root/log
# shellcheck source=tests/claim.sh
. tests/claim.sh

claim_says()
{
	grep -v '^make\[' "$claim_log"
}

# W=1 warnings and sparse findings are errors, and so are modpost's warnings of names that the
# kernel does not export. Builds in a folder of its own, since other builds use other options.
warns_nothing()
{
	"$make" --no-print-directory -j"$(nproc)" BUILD="$build/strict" KDIR="$headers" \
		W=1 "${sparse[@]}" KCFLAGS=-Werror module || return
	# Findings of sparse, or its absence, do not fail the build. make warns of its job server.
	! grep -v '^make' "$claim_log" | grep -qE '(warning|error):|sparse.* is not'
}

for_this_kernel()
{
	[[ $(modinfo -F vermagic "$1") == "$release "* ]]
}

# without SYMBOL - A kernel that is configured without it is refused in one line. make's command
# line overrides the configuration.
without()
{
	local line="annex: this kernel is configured without CONFIG_$1\."
	! "$make" --no-print-directory BUILD="$build/strict" KDIR="$headers" "CONFIG_$1=" module &&
		[ "$(grep -c "$line" "$claim_log")" = 1 ]
}

# Each symbol that kernel/Kconfig requires.
refuses_others()
{
	local symbol
	for symbol in $(sed -n 's/^\tdepends on //p; s/^\tselect //p' kernel/Kconfig); do
		without "$symbol" || return
	done
}

loaded_by_nothing()
{
	! modinfo -F alias "$ko" | grep .
}

# A missing sparse, and one that warns, both fail.
heeds_sparse()
{
	local check sparse
	for check in no-sparse 'echo warning: >&2; :'; do
		sparse=(C=2 "CHECK=$check")
		! warns_nothing || return
	done
	grep -q 'no-sparse: not found' "$claim_log" && grep -q '^warning:' "$claim_log"
}

# dkms_takes RELEASE... - DKMS builds for all of these, as dkms.conf has it; dkms_leaves: for none.
dkms_takes()
{
	local BUILD_EXCLUSIVE_KERNEL release
	eval "$(grep '^BUILD_EXCLUSIVE_KERNEL=' dkms.conf)"
	for release in "$@"; do
		[[ $release =~ $BUILD_EXCLUSIVE_KERNEL ]] || { echo "not for $release"; return 1; }
	done
}

dkms_leaves()
{
	local release
	for release in "$@"; do
		! dkms_takes "$release" || { echo "for $release"; return 1; }
	done
}

# The module uses exported symbols only.
no_tricks()
{
	! grep -nE 'kallsyms|kprobe|ftrace|symbol_get|livepatch' -r --include='*.[ch]' kernel
}

# Build as users do, but in temporary trees. Only root can install there.
dkms_builds()
{
	local action=build version
	version=$(cat VERSION)
	mkdir -p "$root"/{dkms,to/"$release"}
	[ "$(id -u)" -ne 0 ] || action=install
	dkms $action "annex/$version" -k "$release" --kernelsourcedir "$headers" --no-depmod \
		--dkmstree "$root/dkms" --sourcetree "$root/source/usr/src" \
		--installtree "$root/to" </dev/null || {
		cat "$root/dkms/annex/$version"/*/log/make.log "$root"/dkms/annex/*/build/make.log
		return 1
	} 2>/dev/null
	for_this_kernel "$(find "$root/dkms/annex/$version/$release" "$root/to" -name 'annex.ko*' |
		tail -n 1)"
}

series=("$@")
[ $# -gt 0 ] || series=(6.1 6.12 7.3)
[ $# -gt 0 ] || [ "${ALL:-0}" != 1 ] || series+=(6.18 7.2)
claim "make install-module" "$make" --no-print-directory DESTDIR="$root/source" PREFIX=/usr \
	install-module
claim "no way round the kernel's exports" no_tricks
claim "DKMS builds for Linux 6.1 to 7.3" dkms_takes 6.1.0-50-amd64 6.9.7-amd64 \
	6.{10..19}.5+deb13-amd64 7.{0..3}.4+deb13-amd64 7.3.0-rc1
claim "and for no other" dkms_leaves 4.19.0 5.10.0-30-amd64 5.19.0 6.0.0-6-amd64 6.20.1 6.100.1 \
	7.4.0-rc1 7.4.1-amd64 7.10.2 7.30.1 8.0.0 8.1.2 16.1.0 17.3.1
for one in "${series[@]}"; do
	kernel=$(BUILD=$build tests/qemu/kernel.sh "$one") || {
		echo "FAILED: there is no Linux $one to build for"
		failed=$((failed + 1))
		continue
	}
	release=$(cat "$kernel/release")
	headers=$kernel/headers
	ko=$build/strict/module/$release/annex.ko
	rm -f "$ko"
	sparse=(C=2)
	words='builds with W=1, sparse finds nothing, symbols are exported'
	if [[ $one == @(6.18|7.*) ]]; then
		# Debian's headers lack scripts/checker-valid.sh, and its compiler has no sparse.
		sparse=() words='builds with W=1, symbols are exported'
		skip "$one: sparse, which cannot read its headers"
	fi
	claim "$one: $words" warns_nothing
	[ "${ALL:-0}" != 1 ] || [ "$one" != "${series[0]}" ] || [ ${#sparse[@]} -eq 0 ] ||
		claim "$one: fails without sparse, and for its findings" heeds_sparse
	claim "$one: calls between its files go in no circle" tests/lint/rooms.py \
		"$build/strict/module/$release" kernel
	claim "$one: it is for $release" for_this_kernel "$ko"
	claim "$one: no device has it loaded" loaded_by_nothing
	[ "$one" != "${series[0]}" ] ||
		claim "$one: a kernel that lacks something is refused in a line" refuses_others
	[[ $one == @(6.18|7.*|arm64) ]] || [ "${ALL:-0}" != 1 ] ||
		claim "$one: builds with DKMS" dkms_builds
done
claim "checkpatch --strict" tests/module/checkpatch.sh "$build/module/checkpatch"
claims_end
