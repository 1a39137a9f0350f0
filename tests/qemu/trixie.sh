# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Packages of Debian 13 and its backports, on whatever Debian this is; sourced. Nothing is
# installed: apt has lists of its own, which say that nothing is there, and packages are unpacked
# into a folder. The caller has die.

# trixie_begin DIR - Fetch the lists into DIR/apt. The array `trixie` is apt's options for them.
trixie_begin()
{
	local apt=$1/apt
	mkdir -p "$apt"/{etc/{apt.conf,preferences,sources.list}.d,lists/partial} \
		"$apt/cache/archives/partial"
	: >"$apt/status"
	printf 'deb [signed-by=%s] http://deb.debian.org/debian %s main\n' \
		/usr/share/keyrings/debian-archive-keyring.gpg trixie \
		/usr/share/keyrings/debian-archive-keyring.gpg trixie-backports \
		>"$apt/etc/sources.list"
	trixie=(-qq -o "Dir::Etc=$apt/etc" -o "Dir::State::Lists=$apt/lists"
		-o "Dir::State::Status=$apt/status" -o "Dir::Cache=$apt/cache"
		-o APT::Sandbox::User=root -o Acquire::Languages=none
		-o APT::Install-Recommends=0)
	apt-get "${trixie[@]}" update >&2 || die "apt-get could not fetch the lists of Debian 13"
}

# trixie_unpack DIR [-t SUITE] PACKAGE... - These, and all that they depend on, become DIR/root; the
# lists go.
trixie_unpack()
{
	local dir=$1 deb
	shift
	apt-get "${trixie[@]}" -y --download-only install base-files "$@" >&2 ||
		die "apt-get could not download $* of Debian 13"
	mkdir -p "$dir/root"
	# First the links that make /bin, /lib and others those of /usr.
	for deb in "$dir"/apt/cache/archives/{base-files_*,*}.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -k --keep-directory-symlink -C "$dir/root" \
			2>/dev/null || :
	done
	rm -rf "$dir/apt"
}
