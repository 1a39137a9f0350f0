#!/bin/bash
# SPDX-License-Identifier: MIT
# What a guest has: initramfs.sh KERNEL OUT [PROGRAM]... makes the archive OUT of
#
#   the folder KERNEL's in-tree modules, and KERNEL/annex.ko when it has been built; its kernel
#   PROGRAMs in /bin with the libraries that they are linked with
#   tests/qemu/guest: /init, and the tests in /test; there docs/ABI, which they are held to
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)

kernel=$1
out=$2
shift 2
release=$(cat "$kernel/release")
tree=$out.tree

# libraries FILE - What a program is linked with, as its machine's loader finds it.
root=
libraries()
{
	ldd "$1" 2>/dev/null
}
if [ "${kernel##*/}" = arm64 ]; then
	root=$kernel/root
	libraries()
	{
		qemu-aarch64 -L "$root" "$root/lib/ld-linux-aarch64.so.1" --list "$1" |
			sed "s| => $root/.*||"
	}
fi

# program FILE - Put it into /bin, and its libraries where its loader looks for them.
program()
{
	local file=$1 library
	cp "$file" "$tree/bin/"
	{ libraries "$file" || :; } | grep -o '/[^ ]*' | while read -r library; do
		[ -e "$tree$library" ] ||
			(cd "$root/" && cp -L --parents ".$library" "$tree")
	done
}

rm -rf "$tree"
mkdir -p "$tree"/{bin,sbin,dev,proc,sys,run,tmp,etc,root,share,usr,test}
cp "$root/bin/busybox" "$tree/bin/"
ln -s busybox "$tree/bin/sh"
for file in "$@"; do
	program "$file"
done

cp -r "$kernel/lib" "$kernel/vmlinuz" "$tree/"
if [ -e "$kernel/annex.ko" ]; then
	mkdir "$tree/lib/modules/$release/updates"
	cp "$kernel/annex.ko" "$tree/lib/modules/$release/updates/"
	/sbin/depmod -b "$tree" "$release"
fi

cp "$here/../claim.sh" "$tree/test/"
echo 'root:x:0:0::/root:/bin/sh
nobody:x:65534:65534::/:/bin/sh' >"$tree/etc/passwd"
echo 'root:x:0:
nogroup:x:65534:' >"$tree/etc/group"
cp "$here/guest/init" "$tree/"
cp "$here"/guest/*.sh "$here"/../../docs/ABI/* "$tree/test/"
cp "$here/kselftest.sh" "$tree/bin/kselftest"

(cd "$tree" && find . | busybox cpio -o -H newc -R 0:0 2>/dev/null) >"$out"
rm -rf "$tree"
