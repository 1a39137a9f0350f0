#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's source, as Debian ships it: source.sh SERIES DIR [PATH]... unpacks that of Linux
# SERIES (6.12, or 7.3 from Debian 13), or these files and folders of it, into DIR.
set -eu -o pipefail
# shellcheck source=tests/qemu/lists.sh
. "$(dirname "$0")/../qemu/lists.sh"

die()
{
	echo "source: $*" >&2
	exit 1
}

name=linux-source-$1
mkdir -p "$2"
dir=$(realpath "$2")
shift 2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
lists=(-qq -o APT::Sandbox::User=root)
[[ $name != *-7.* ]] || lists_begin_trixie "$tmp"
apt-get "${lists[@]}" download "$name" ||
	die "apt-get could not download $name; as root: apt-get update"
dpkg-deb -x "${name}"_*.deb .
tar -C "$dir" -xf "usr/src/$name.tar.xz" --strip-components=1 "${@/#/$name/}"
