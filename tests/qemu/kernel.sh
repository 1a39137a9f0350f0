#!/bin/bash
# SPDX-License-Identifier: MIT
# A kernel for guests, from Debian's packages: kernel.sh SERIES (6.1, 6.12, 7.2 or 7.3; arm64 is
# 6.12 for aarch64; debug.sh builds SERIES-kasan and SERIES-kcsan). Prints its folder:
#
#   release    what uname -r says in the guest
#   vmlinuz    the kernel
#   lib        the in-tree modules that guests may load, uncompressed, with their dependencies
#   headers    what annex.ko is built against
#   root       of 7.x: a Debian 13 with the compiler that they want, which Debian 12 does not have;
#              of arm64: the libraries and headers of a Debian 12 for it, and busybox
#   make       of 7.x: make, below root; of arm64: make for that machine
#
# The packages are unpacked, not installed: a kernel that is installed becomes the one that the
# machine boots next, and Debian's headers of 6.12 depend on theirs. So no root is needed either.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/qemu/lists.sh
. tests/qemu/lists.sh

series=$1
[[ $series != *-* ]] || exec tests/qemu/debug.sh "$series"
dir=$(realpath -m "${BUILD:-build}")/qemu/kernel/$series
modules=(nvme cxl_acpi cxl_pci cxl_mem cxl_port device_dax kmem ext4 vfio_pci 9p 9pnet_virtio
	virtio_pci virtio_net nvme_tcp nvmet_tcp)
[ "$series" = 6.1 ] || modules+=(dax_cxl)
[[ $series == 7.* ]] || modules+=(crc32c_generic)
packages=()
[ "$series" != arm64 ] || packages=(busybox-static libc6-dev
	lib{uring,jansson,numa,pci,csv,cunit1}-dev)

die()
{
	echo "kernel: $*" >&2
	exit 1
}

# The release is written last, so that a half-made folder is none. Other lists of modules and
# packages, and a tree that was moved, renew it.
stamp="$dir: ${modules[*]}${packages[*]:+ ${packages[*]}}"
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9
if [ -e "$dir/release" ] && [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then
	echo "$dir"
	exit
fi

lists=(-qq -o APT::Sandbox::User=root) # of apt, unless there are others

# depends PACKAGE PATTERN - What the newest version of a package depends on, of that name.
depends()
{
	apt-cache "${lists[@]}" show "$1" 2>/dev/null | grep '^Depends:' |
		grep -oE "(^|[ ,])$2" | tr -d ' ,' | sort -V | tail -n 1
}

# fetch SERIES ARCHITECTURE - Linux 6: packages of Debian 12. Those with programs, which build
# modules, are of this machine.
fetch()
{
	local image kbuild
	image=$(depends "linux-image-$2" "linux-image-$1\.[0-9][^ ,]*-$2") ||
		die "apt knows no Linux $1; on Debian 12, as root: tests/deps.sh qemu"
	release=${image#linux-image-}
	common=linux-headers-${release%-"$2"}-common
	kbuild=$(depends "linux-headers-$release" 'linux-kbuild-[^ ,]*') ||
		die "apt knows no headers of Linux $release"
	echo "kernel: unpacking Linux $release" >&2
	(
		cd "$dir/deb"
		apt-get "${lists[@]}" download "$image" "linux-headers-$release" "$common" \
			"$kbuild:$(dpkg --print-architecture)" >&2
	) || die "apt-get could not download Linux $release; as root: apt-get update"
	for deb in "$dir"/deb/linux-image-*; do
		dpkg-deb -x "$deb" "$dir/all"
	done
	for deb in "$dir"/deb/linux-[!i]*; do
		dpkg-deb -x "$deb" "$dir"
	done
	# Debian's makefile names the other half of the headers by where it would be installed.
	echo "include $dir/usr/src/$common/Makefile" \
		>"$dir/usr/src/linux-headers-$release/Makefile"
	ln -s "usr/src/linux-headers-$release" "$dir/headers"
}

# For another machine, also what its programs are linked with.
fetch_arm64()
{
	lists_begin "$dir" arm64 bookworm bookworm-backports
	fetch 6.12 arm64
	lists_unpack "$dir" "${packages[@]}"
	printf '%s\n' '#!/bin/sh' 'exec make ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "$@"' \
		>"$dir/make"
	chmod +x "$dir/make"
}

# Linux 7: packages of Debian 13.
fetch_trixie()
{
	local image deb
	lists_begin_trixie "$dir"
	image=$(apt-cache "${lists[@]}" pkgnames linux-binary- |
		grep -E "^linux-binary-$series\.[^ ]*-amd64$" | grep -vE 'rt|cloud|unsigned' |
		sort -V | tail -n 1) || die "Debian 13 has no Linux $series"
	release=${image#linux-binary-}
	echo "kernel: unpacking Linux $release, and a compiler for it" >&2
	(cd "$dir/deb" && apt-get "${lists[@]}" download "$image" "linux-modules-$release" \
		"linux-base-$release" >&2) || die "apt-get could not download Linux $release"
	for deb in "$dir"/deb/*; do
		dpkg-deb -x "$deb" "$dir/all"
	done
	lists_unpack "$dir" base-files dash bash coreutils sed grep mawk findutils diffutils \
		perl-base make gcc libelf1t64 "linux-headers-$release"
	ln -sf mawk "$dir/root/usr/bin/awk"
	ln -s "root/usr/src/linux-headers-$release" "$dir/headers"
	ln -s "$PWD/tests/qemu/kmake.sh" "$dir/make"
}

rm -rf "$dir"
mkdir -p "$dir"/{deb,all}
case $series in
7.*) fetch_trixie ;;
arm64) fetch_arm64 ;;
*) fetch "$series" amd64 ;;
esac

# The few modules, where modprobe looks for them; newer packages have them under /usr.
tree=$dir/all
[ -d "$tree/lib/modules" ] || tree=$dir/all/usr
/sbin/depmod -b "$tree" "$release"
rm -rf "${dir:?}/lib"
for module in "${modules[@]}"; do
	/sbin/modprobe -d "$tree" -S "$release" --show-depends "$module"
done | sed -n "s|^insmod $tree/\([^ ]*\).*|\1|p" | sort -u | while read -r file; do
	mkdir -p "$dir/${file%/*}"
	case $file in
	*.xz) xz -dc "$tree/$file" >"$dir/${file%.xz}" ;;
	*) cp "$tree/$file" "$dir/$file" ;;
	esac
done
cp "$tree/lib/modules/$release"/modules.{builtin,order}* "$dir/lib/modules/$release/"
/sbin/depmod -b "$dir" "$release"
for image in "$dir/all/boot/vmlinuz-$release" "$tree/lib/modules/$release/vmlinuz"; do
	[ ! -e "$image" ] || cp "$image" "$dir/vmlinuz"
done
rm -rf "$dir"/{all,deb,apt}
echo "$stamp" >"$dir/stamp"
echo "$release" >"$dir/release"
echo "$dir"
