# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Packages of any Debian for any of its machines, on whatever Debian this is; sourced. Nothing is
# installed: apt has lists of its own, which say that nothing is there, and packages are unpacked
# into a folder. The caller has die.

# lists_begin DIR ARCHITECTURE SUITE... - Fetch the lists into DIR/apt; they have packages of
# that architecture and of this machine's. The array `lists` is apt's options for them.
lists_begin()
{
	local apt=$1/apt arch=$2 key=/usr/share/keyrings/debian-archive-keyring.gpg suite
	shift 2
	mkdir -p "$apt"/{etc/{apt.conf,preferences,sources.list}.d,lists/partial} \
		"$apt/cache/archives/partial"
	: >"$apt/status"
	for suite in "$@"; do
		echo "deb [signed-by=$key] http://deb.debian.org/debian $suite main"
	done >"$apt/etc/sources.list"
	lists=(-qq -o "Dir::Etc=$apt/etc" -o "Dir::State::Lists=$apt/lists"
		-o "Dir::State::Status=$apt/status" -o "Dir::Cache=$apt/cache"
		-o APT::Sandbox::User=root -o Acquire::Languages=none
		-o APT::Install-Recommends=0 -o "APT::Architecture=$arch"
		-o "APT::Architectures::=$arch"
		-o "APT::Architectures::=$(dpkg --print-architecture)")
	apt-get "${lists[@]}" update >&2 || die "apt-get could not fetch the lists of $*"
}

# lists_begin_trixie DIR - Fetch the lists of Debian 13 and its backports.
lists_begin_trixie()
{
	lists_begin "$1" "$(dpkg --print-architecture)" trixie trixie-backports
}

# lists_unpack DIR [-t SUITE] PACKAGE... - These, and all that they depend on, become DIR/root; the
# lists go.
lists_unpack()
{
	local dir=$1 deb
	shift
	apt-get "${lists[@]}" -y --download-only install "$@" >&2 ||
		die "apt-get could not download $*"
	mkdir -p "$dir/root"
	# First the links of /bin, /lib and others into /usr.
	for deb in "$dir"/apt/cache/archives/{base-files_*,*}.deb; do
		[ ! -e "$deb" ] || dpkg-deb --fsys-tarfile "$deb" |
			tar -x -k --keep-directory-symlink -C "$dir/root" 2>/dev/null || :
	done
	rm -rf "$dir/apt"
}
