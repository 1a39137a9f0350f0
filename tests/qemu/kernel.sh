#!/bin/bash
# SPDX-License-Identifier: MIT
# A kernel for guests, from Debian's packages: kernel.sh SERIES (6.1, 6.12, 6.18, 7.2 or 7.3; arm64
# is 6.12 for aarch64; debug.sh builds SERIES-kasan and SERIES-kcsan). Prints its folder:
#
#   release    what uname -r says in the guest
#   vmlinuz    the kernel
#   lib        the in-tree modules that guests may load, uncompressed, with their dependencies
#   headers    what annex.ko is built against
#   root       of 6.18 and 7.x: a Debian 13 with the compiler that they want, which Debian 12 does
#              not have; of arm64: the libraries and headers of a Debian 12 for it, and busybox
#   make       of 6.18 and 7.x: make, below root; of arm64: make for that machine
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
[[ $series == 7.* || $series == 6.18 ]] || modules+=(crc32c_generic)
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

# fetch_trixie PACKAGE... - The kernel, of Debian 13, and a compiler with `headers`.
fetch_trixie()
{
	local deb
	echo "kernel: unpacking Linux $release, and a compiler for it" >&2
	(cd "$dir/deb" && apt-get "${lists[@]}" download "$@" >&2) ||
		die "apt-get could not download Linux $release"
	for deb in "$dir"/deb/*; do
		dpkg-deb -x "$deb" "$dir/all"
	done
	lists_unpack "$dir" base-files dash bash coreutils sed grep mawk findutils diffutils \
		perl-base make gcc libelf1t64 "${headers[@]}"
	ln -sf mawk "$dir/root/usr/bin/awk"
	ln -s "root/usr/src/linux-headers-$release" "$dir/headers"
	ln -s "$PWD/tests/qemu/kmake.sh" "$dir/make"
}

fetch_7()
{
	local image headers
	lists_begin_trixie "$dir"
	image=$(apt-cache "${lists[@]}" pkgnames linux-binary- |
		grep -E "^linux-binary-$series\.[^ ]*-amd64$" | grep -vE 'rt|cloud|unsigned' |
		sort -V | tail -n 1) || die "Debian 13 has no Linux $series"
	release=${image#linux-binary-}
	headers=("linux-headers-$release")
	fetch_trixie "$image" "linux-modules-$release" "linux-base-$release"
}

# Debian 13 still lists the signed image. Its pool still has the headers, which need a checksum.
fetch_6_18()
{
	local headers=(pahole python3) sum deb version=6.18.15-1~bpo13+1
	release=6.18.15+deb13-amd64
	lists_begin_trixie "$dir"
	fetch_trixie "linux-image-$release"
	while read -r sum && read -r deb; do
		/usr/lib/apt/apt-helper "${lists[@]}" download-file \
			"http://deb.debian.org/debian/pool/main/l/linux/$deb.deb" \
			"$dir/deb/$deb" "SHA256:$sum" >&2 || die "Debian has no $deb.deb any more"
		dpkg-deb -x "$dir/deb/$deb" "$dir/root"
	done <<-END
		1b19c975adf29e89c4cb2680e862db89b787fc5144a638b001854b075b4cc255
		linux-headers-${release}_${version}_amd64
		a54ed9b3be5247fe2e003423e067cb8e8b06e4a44a09459b85cfec0afbcbd5ef
		linux-headers-6.18.15+deb13-common_${version}_all
		5e64129020cdb5effd6ed3895ca89608ef17bcf643eedfc8013dad89bab70a02
		linux-kbuild-6.18.15+deb13_${version}_amd64
	END
}

rm -rf "$dir"
mkdir -p "$dir"/{deb,all}
case $series in
7.*) fetch_7 ;;
6.18) fetch_6_18 ;;
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
