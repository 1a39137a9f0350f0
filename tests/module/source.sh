#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's source, as Debian ships it: source.sh DIR [PATH]... unpacks it, or these files and
# folders of it, into DIR.
set -eu -o pipefail

name=linux-source-6.12
mkdir -p "$1"
dir=$(realpath "$1")
shift

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
if ! apt-get -qq -o APT::Sandbox::User=root download $name; then
	echo "apt-get could not download $name; as root: apt-get update"
	exit 1
fi
dpkg-deb -x ${name}_*.deb .
tar -C "$dir" -xf usr/src/$name.tar.xz --strip-components=1 "${@/#/$name/}"
