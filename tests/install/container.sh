#!/bin/bash
# SPDX-License-Identifier: MIT
# The image of tools/container, built by buildah in a chroot, which needs root: container.sh
# DIRECTORY. No image is fetched: Debian 12 comes from debootstrap.
set -u
cd "$(dirname "$0")/../.." || exit 1

mkdir -p "$1" || exit 1
dir=$(cd "$1" && pwd)
root=$dir/root
mirror=${MIRROR:-http://deb.debian.org/debian}
claim_log=$dir/log
# shellcheck source=tests/claim.sh
. tests/claim.sh
[ "$(id -u)" -eq 0 ] || { skip "the container: a chroot needs root"; claims_end; exit; }

in_root()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		DEBIAN_FRONTEND=noninteractive unshare --mount --pid --fork bash -c \
		'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" &&
		mount -t sysfs -o ro sysfs "$0/sys" &&
		mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$root" "$@"
}

# buildah has its files, and images, in the chroot.
make_root()
{
	rm -rf --one-file-system "$root" "$dir/base" &&
		debootstrap --variant=minbase bookworm "$dir/base" "$mirror" &&
		cp -a "$dir/base" "$root" && cp /etc/resolv.conf "$root/etc/" &&
		in_root apt-get -qq -y --no-install-recommends install buildah ca-certificates &&
		mkdir "$root/src" && git ls-files -z | tar --null --files-from=- -cf - |
		tar -C "$root/src" -xf -
}

# run COMMAND... - buildah, with the chroot's own namespaces and network.
run()
{
	in_root env BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs buildah "$@"
}

base_image()
{
	local name
	tar -C "$dir/base" -cf "$root/base.tar" . && name=$(run from scratch) &&
		run add --quiet "$name" /base.tar / &&
		run commit --quiet "$name" docker.io/library/debian:12
}

builds()
{
	run build --quiet --pull=never -f /src/tools/container/Containerfile -t annex /src
}

# inside COMMAND... - In a container of the image.
inside()
{
	local name
	name=$(run from --pull=never localhost/annex) && run run "$name" -- "$@"
}

no_compiler()
{
	! inside sh -c 'command -v gcc || command -v make'
}

entry()
{
	[ "$(run inspect --type image --format '{{.OCIv1.Config.Entrypoint}}' localhost/annex)" = \
		"[annex]" ]
}

claim "a chroot with buildah" make_root &&
	claim "an image of Debian 12" base_image &&
	claim "the image of annex" builds &&
	claim "the tool of this version" sh -c '[ "$1" = "annex $(cat VERSION)" ]' - \
		"$(inside annex --version 2>/dev/null)" &&
	claim "works there" inside annex selftest --seconds 4 --dir /var/tmp &&
	claim "without a compiler" no_compiler && claim "its entry point" entry
rm -rf --one-file-system "$root" "$dir/base"
claims_end
