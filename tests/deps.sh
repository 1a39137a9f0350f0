#!/bin/bash
# SPDX-License-Identifier: MIT
# Install what a target needs and this machine lacks: deps.sh
# demo|check|fs|module|qemu|debug|arm64.
# Silent when nothing is missing. NO_DEPS=1 skips it. deps.sh kernel-doc tells a package with that.
set -u

demo=(gcc libc6-dev make pkg-config liburing-dev libjansson-dev libnuma-dev libpci-dev
	libcsv-dev libfuse3-dev binutils-riscv64-linux-gnu)
check=("${demo[@]}" clang libclang-rt-14-dev clang-tidy clang-format sparse shellcheck codespell
	help2man spin fio git libcunit1-dev gnuplot-nox python3-torch libtorch-dev python3-numpy
	qemu-user python3-venv clang-19 fuse3 {gcc,g++}-riscv64-linux-gnu)
# For check-all: programs of others that test file systems; headers that torch.compile() needs;
# chroots for packages.
fs=("${check[@]}" stress-ng dbench fsmark bonnie++ rocksdb-tools python3-dev debootstrap)
# The kernels are not installed: tests/qemu/kernel.sh unpacks them under build/.
module=(make gcc-12 libelf1 pahole kmod xz-utils sparse perl dkms)
qemu=("${demo[@]}" "${module[@]}" libcunit1-dev qemu-system-x86 busybox-static fio
	python3)
# A kernel is built from source.
debug=("${qemu[@]}" bc bison flex libelf-dev)
# Another machine is built for, and emulated.
arm64=("${qemu[@]}" qemu-system-arm qemu-user gcc-aarch64-linux-gnu)

die()
{
	echo "deps: $*" >&2
	exit 1
}

# The package has the version of a kernel in its name.
kernel_doc()
{
	apt-cache pkgnames linux-kbuild- 2>/dev/null | sort -V | head -n 1
}

if [ "${1:-}" = kernel-doc ]; then
	kernel_doc | grep . || echo linux-kbuild-VERSION
	exit
fi
[ -z "${NO_DEPS:-}" ] || exit 0
case ${1:-} in
demo) want=("${demo[@]}") ;;
check) want=("${check[@]}") ;;
fs) want=("${fs[@]}") ;;
module) want=("${module[@]}") ;;
qemu) want=("${qemu[@]}") ;;
debug) want=("${debug[@]}") ;;
arm64) want=("${arm64[@]}") ;;
*) die "usage: deps.sh demo|check|fs|module|qemu|debug|arm64" ;;
esac

if ! command -v dpkg-query >/dev/null; then
	for tool in gcc make pkg-config riscv64-linux-gnu-as; do
		command -v $tool >/dev/null || lacks+=" $tool"
	done
	for lib in liburing jansson numa libpci; do
		pkg-config --exists $lib 2>/dev/null || lacks+=" $lib"
	done
	# It tells pkg-config nothing.
	echo '#include <csv.h>' | gcc -E - >/dev/null 2>&1 || lacks+=" libcsv"
	[ -z "${lacks:-}" ] && exit 0
	die "not a Debian system; install these with their headers, then use NO_DEPS=1:$lacks"
fi

declare -A have
while read -r name status version; do
	# Bookworm's own emulators have no volatile CXL memory, and no vectors of version 1.0.
	[[ $name == qemu-@(system-*|user) ]] && dpkg --compare-versions "$version" lt 1:10 &&
		continue
	[ "$status" = installed ] && have[$name]=1
done < <(dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}\n' "${want[@]}" 2>/dev/null)
bookworm=
grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release && bookworm=1
missing=()
backports=
for package in "${want[@]}"; do
	[ -z "${have[$package]:-}" ] || continue
	if [[ $package == qemu-system-* ]] && [ -n "$bookworm" ]; then
		# By name, not with -t: that raises libudev1 too, after which libpci-dev does not
		# install any more.
		missing+=({"$package",qemu-system-{common,data},seabios}/bookworm-backports)
	elif [ "$package" = qemu-user ] && [ -n "$bookworm" ]; then
		missing+=(qemu-user/bookworm-backports)
		backports=1
	else
		missing+=("$package")
	fi
done

# Section 3 of the manual is made by kernel-doc, of any kernel.
case $1 in
demo | check | fs)
	name=$(kernel_doc)
	[ -z "$name" ] || compgen -G '/usr/lib/linux-kbuild-*/scripts/kernel-doc' >/dev/null ||
		missing+=("$name")
	;;
esac

# The newest kernel is in fresh lists only.
stale=
kernels=
series=(6.1 6.12) # others have lists of their own
case $1 in
debug) series=({6.12,7.3}-{kasan,kcsan}) ;;
arm64) series=(arm64) ;;
esac
[[ $1 != @(module|qemu|debug|arm64) ]] || kernels=1
if [ -n "$kernels" ]; then
	for one in "${series[@]}"; do
		[ -e "${BUILD:-build}/qemu/kernel/$one/release" ] || stale=1
	done
fi
[ ${#missing[@]} -gt 0 ] || [ -n "$stale" ] || exit 0

[ ${#missing[@]} -eq 0 ] || echo "deps: missing Debian packages: ${missing[*]}"
command="apt-get install ${missing[*]}"
[ -z "$kernels" ] || command="tests/deps.sh $1"
root=()
if [ "$(id -u)" -ne 0 ]; then
	problem=
	root=(sudo)
	# Ask for a password only on a terminal.
	if ! command -v sudo >/dev/null; then
		problem="neither root nor sudo"
	elif ! sudo -n true 2>/dev/null && [ ! -t 0 ]; then
		problem="sudo wants a password"
	fi
	if [ -n "$problem" ]; then
		# Old lists may do.
		[ ${#missing[@]} -gt 0 ] || exit 0
		die "$problem; as root: $command"
	fi
fi

apt()
{
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

install()
{
	apt install -y --no-install-recommends "${missing[@]}"
}

# Linux 6.12 and QEMU 10 for bookworm; a source that is there, under whatever name, is used.
add_backports()
{
	local file=/etc/apt/sources.list.d/annex-backports.sources
	# shellcheck disable=SC2016 # the words are apt's
	apt-get indextargets --format '$(CODENAME)' | grep -qx bookworm-backports && return
	echo "deps: adding bookworm-backports to apt's sources: $file"
	printf '%s\n' 'Types: deb' 'URIs: http://deb.debian.org/debian' \
		'Suites: bookworm-backports' 'Components: main' \
		'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' |
		"${root[@]}" tee "$file" >/dev/null || die "cannot write $file"
}

log=$(mktemp) || die "cannot make a temporary file"
trap 'rm -f "$log"' EXIT
[ -z "$kernels$backports" ] || [ -z "$bookworm" ] || add_backports
if [ -n "$stale" ]; then
	apt update >"$log" 2>&1 || { cat "$log" >&2; die "apt-get could not update its lists"; }
fi
[ ${#missing[@]} -gt 0 ] || exit 0
# Old or absent package lists make the first try fail; fresh ones are fetched only then.
if ! install >"$log" 2>&1 && ! { apt update && install; } >"$log" 2>&1; then
	cat "$log" >&2
	die "apt-get could not install: ${missing[*]}"
fi
echo "deps: installed ${#missing[@]} packages"
