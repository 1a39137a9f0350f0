#!/bin/bash
# SPDX-License-Identifier: MIT
# The source tarball, Debian packages of it, and the wheel of the Python package: build.sh
# tarball|packages|wheel DIRECTORY. Two runs of the same tree give the same bytes, with git and
# without.
set -eu
export LC_ALL=C
# Packages are made by what Debian has, whatever else is installed.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
usage="usage: build.sh tarball|packages|wheel DIRECTORY"
what=${1:?$usage}
mkdir -p "${2:?$usage}"
out=$(cd "$2" && pwd)
# The version and its date are in one place each.
version=$(cat "$top/VERSION")
date=$(sed -n 's/^ -- .*>  //p' "$here/changelog" | head -1)
SOURCE_DATE_EPOCH=$(date -d "$date" +%s)
export SOURCE_DATE_EPOCH
name=annex-$version
tarball=$out/$name.tar.xz

# The files that git has, or without git all files but build outputs.
files()
{
	if git -C "$top" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git -C "$top" ls-files -z
	else
		(cd "$top" && find . \( -path './build*' -o -name .git -o \
			-name __pycache__ \) -prune -o -type f -printf '%P\0')
	fi
}

make_tarball()
{
	files | sort -z | tar -C "$top" --null --files-from=- --transform="s|^|$name/|" \
		--mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		--mode=u+rw,go-w,a+rX --format=ustar -cf - | xz -6 -T1 >"$tarball.$$"
	mv "$tarball.$$" "$tarball"
}

make_packages()
{
	local tree=$out/$name
	command -v dpkg-buildpackage >/dev/null || {
		echo "deb: no dpkg-buildpackage: apt-get install dpkg-dev debhelper" >&2
		exit 1
	}
	rm -rf "$tree"
	cp "$tarball" "$out/annex_$version.orig.tar.xz"
	tar -C "$out" -xf "$tarball"
	cp -r "$tree/tools/deb" "$tree/debian"
	rm "$tree/debian/build.sh"
	sed -i "s/@VERSION@/$version/" "$tree/debian/changelog"
	(cd "$tree" && dpkg-buildpackage --no-sign --build=full)
	rm -rf "$tree"
}

# By the pip of PYTHON, which fetches what builds it.
make_wheel()
{
	local tree=$out/wheel.$$
	mkdir "$tree"
	files | grep -z '^tools/python/\|^VERSION$' | sort -z | tar -C "$top" --null --files-from=- -cf - \
		--mtime="@$SOURCE_DATE_EPOCH" --mode=u+rw,go-w,a+rX | tar -C "$tree" -xf -
	"${PYTHON:-python3}" -m pip wheel --quiet --disable-pip-version-check --no-deps \
		--wheel-dir "$out" "$tree/tools/python"
	rm -rf "$tree"
}

case $what in
wheel) make_wheel ;;
tarball) make_tarball ;;
packages)
	make_tarball
	make_packages
	;;
*)
	echo "$usage" >&2
	exit 1
	;;
esac
