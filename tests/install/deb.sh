#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian packages in fresh chroots, which need root: built twice, to the same bytes; lintian finds
# nothing; installed, used, upgraded and purged: deb.sh DIRECTORY SUITE...
set -u
cd "$(dirname "$0")/../.." || exit 1

mkdir -p "$1" || exit 1
dir=$(cd "$1" && pwd)
shift
mirror=${MIRROR:-http://deb.debian.org/debian}
claim_log=$dir/log
# shellcheck source=tests/claim.sh
. tests/claim.sh
version=$(cat VERSION)-1
packages=(annex annex-dkms annex-models libannex-dev libannex-models0 libannex0 python3-annex)

[ "$(id -u)" -eq 0 ] || { skip "packages: chroots need root"; claims_end; exit; }

# in_root COMMAND... - Its /proc is its own.
in_root()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		DEBIAN_FRONTEND=noninteractive unshare --mount --pid --fork bash -c \
		'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}

apt()
{
	in_root apt-get -qq -y --no-install-recommends "$@"
}

make_root()
{
	rm -rf --one-file-system "$root" && debootstrap --variant=minbase "$1" "$root" "$mirror" &&
		cp /etc/resolv.conf "$root/etc/" && mkdir "$root/made"
}

build_dep()
{
	local needs
	mapfile -t needs < <(sed -n '/^Build-Depends:/,/^Standards/p' tools/deb/control | sed \
		's/^Build-Depends://; /^Standards/d; s/debhelper-compat ([^)]*)/debhelper/' |
		tr -d ' \n' | tr , '\n')
	apt install build-essential lintian "${needs[@]}"
}

# build NUMBER - In a folder whose path is another one each time.
build()
{
	rm -rf "$root/src$1" "$root/made/$1"
	mkdir -p "$root/src$1" || return
	tar -C "$root/src$1" --strip-components=1 -xf "$dir/annex.tar.xz" &&
		in_root "/src$1/tools/deb/build.sh" packages "/made/$1"
}

same_bytes()
{
	local file
	for file in "$root"/made/1/*.deb "$root"/made/1/*.tar.xz; do
		cmp "$file" "$root/made/2/${file##*/}" || return
	done
}

# Tags that are about Debian's own archive say nothing here.
clean()
{
	local out
	out=$(in_root lintian --allow-root --suppress-tags initial-upload-closes-no-bugs \
		"/made/1/annex_${version}_$(in_root dpkg --print-architecture).changes") || true
	echo "$out"
	! grep -q '^[EW]: ' <<<"$out"
}

install_all()
{
	# shellcheck disable=SC2016 # the shell in there expands it
	in_root sh -c 'cd /made/1 && apt-get -qq -y --no-install-recommends install $(ls ./*.deb |
		grep -v dbgsym)'
}

# The same with a newer number, which replaces them.
upgrade()
{
	# shellcheck disable=SC2016 # the shell in there expands it
	in_root sh -ec 'cd /made/1; mkdir up; for deb in $(ls ./*.deb | grep -v dbgsym); do
		dpkg-deb -R $deb up/x
		sed -i "s/^Version: .*/&+1/; s/(= $0)/(= $0+1)/g" up/x/DEBIAN/control
		dpkg-deb --root-owner-group -b up/x up/$deb; rm -r up/x; done
		apt-get -qq -y --no-install-recommends install ./up/*.deb' "$version"
}

of_version()
{
	local name
	for name in "${packages[@]}"; do
		# shellcheck disable=SC2016
		[ "$(in_root dpkg-query -W -f '${Version}' $name)" = "$1" ] || return
	done
}

uses()
{
	cp tests/install/program.c "$root/made/" || return
	# shellcheck disable=SC2016 # the shell in there expands it
	in_root sh -ec 'cd /made
		cc -o program program.c $(pkg-config --cflags --libs annex)
		test "$(./program)" = 4999950000
		annex selftest --seconds 5
		python3 -c "import ctypes; ctypes.CDLL(\"libannex.so.0\").annex_last_error"
		test -e "/usr/src/annex-$0/dkms.conf"
		getent group annex
		! command -v udevadm || ! udevadm --help | grep -qw verify ||
			udevadm verify /usr/lib/udev/rules.d/60-annex*.rules' "${version%-*}"
}

purge()
{
	apt purge "${packages[@]}" &&
		! (cd "$root" && find . -xdev \
			-regex './\(made\|src[12]\|proc\|var/cache\|var/log\)' -prune -o \
			-name '*annex*' -print) | grep .
}

run_suite()
{
	local suite=$1
	root=$dir/$suite
	claim "$suite: a chroot" make_root "$suite" || return
	claim "$suite: what packages are built with" build_dep || return
	claim "$suite: packages" build 1 || return
	claim "$suite: and again" build 2
	claim "$suite: the same bytes" same_bytes
	claim "$suite: lintian finds nothing" clean
	claim "$suite: installed" install_all || return
	claim "$suite: of this version" of_version "$version"
	claim "$suite: used" uses
	claim "$suite: upgraded" upgrade
	claim "$suite: of the next version" of_version "$version+1"
	claim "$suite: used again" uses
	claim "$suite: purged, and nothing is left" purge
}

claim "a source tarball" tools/deb/build.sh tarball "$dir"
mv "$dir"/annex-*.tar.xz "$dir/annex.tar.xz"
for suite in "$@"; do
	run_suite "$suite"
	rm -rf --one-file-system "${dir:?}/$suite"
done
claims_end
