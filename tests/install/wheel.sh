#!/bin/bash
# SPDX-License-Identifier: MIT
# The wheel in fresh chroots, which need root: wheel.sh BUILD DIRECTORY SUITE... It is built twice,
# to the same bytes, and installed without a network, a compiler and PyTorch.
set -u
cd "$(dirname "$0")/../.." || exit 1

library=$(realpath "$1/libannex.so") || exit 1
mkdir -p "$2" || exit 1
dir=$(cd "$2" && pwd)
shift 2
mirror=${MIRROR:-http://deb.debian.org/debian}
claim_log=$dir/log
# shellcheck source=tests/claim.sh
. tests/claim.sh

twice()
{
	local n
	for n in 1 2; do
		tools/deb/build.sh wheel "$dir/made$n" "$library" || return
	done
	cmp "$dir"/made[12]/*.whl
}

tagged()
{
	ls "$dir"/made1/annex-*-py3-none-manylinux_2_34_"$(uname -m)".whl
}

# in_root COMMAND... - Without a network, and with a /proc of its own.
in_root()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		unshare --mount --pid --net --fork bash -c \
		'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}

make_root()
{
	rm -rf --one-file-system "$root" &&
		debootstrap --variant=minbase --include=python3-venv "$1" "$root" "$mirror" &&
		cp "$dir"/made1/*.whl tests/install/wheel.py "$root/" &&
		dd if=/dev/urandom of="$root/data" bs=64K count=4
}

is_bare()
{
	! in_root sh -c 'command -v cc c++ gcc ld; ldconfig -p | grep -E "uring|jansson|numa"'
}

installs()
{
	in_root sh -ec 'python3 -m venv /venv; /venv/bin/pip install --no-index /annex-*.whl'
}

claim "a wheel, twice with the same bytes" twice || { claims_end; exit; }
claim "for glibc 2.34 and later" tagged
[ "$(id -u)" -eq 0 ] || { skip "the wheel in chroots: they need root"; claims_end; exit; }
for suite in "$@"; do
	root=$dir/$suite
	claim "$suite: a chroot" make_root "$suite" &&
		claim "$suite: without a compiler and the wheel's libraries" is_bare &&
		claim "$suite: installs" installs &&
		claim "$suite: reads a device" in_root /venv/bin/python /wheel.py /data
	rm -rf --one-file-system "${root:?}"
done
claims_end
