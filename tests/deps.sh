#!/bin/bash
# SPDX-License-Identifier: MIT
# Install what a target needs and this machine lacks: deps.sh demo|check.
# Silent when nothing is missing. NO_DEPS=1 skips it.
set -u

demo=(gcc libc6-dev make pkg-config liburing-dev libjansson-dev)
check=("${demo[@]}" clang libclang-rt-14-dev clang-tidy clang-format sparse shellcheck codespell
	spin fio git libcunit1-dev libnuma-dev libpci-dev gnuplot-nox python3-torch)

die()
{
	echo "deps: $*" >&2
	exit 1
}

[ -z "${NO_DEPS:-}" ] || exit 0
case ${1:-} in
demo) want=("${demo[@]}") ;;
check) want=("${check[@]}") ;;
*) die "usage: deps.sh demo|check" ;;
esac

if ! command -v dpkg-query >/dev/null; then
	for tool in gcc make pkg-config; do
		command -v $tool >/dev/null || lacks+=" $tool"
	done
	for lib in liburing jansson; do
		pkg-config --exists $lib 2>/dev/null || lacks+=" $lib"
	done
	[ -z "${lacks:-}" ] && exit 0
	die "not a Debian system; install these with their headers, then use NO_DEPS=1:$lacks"
fi

declare -A have
while read -r name status; do
	[ "$status" = installed ] && have[$name]=1
done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${want[@]}" 2>/dev/null)
missing=()
for package in "${want[@]}"; do
	[ -n "${have[$package]:-}" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "deps: missing Debian packages: ${missing[*]}"
root=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null ||
		die "neither root nor sudo; as root: apt-get install ${missing[*]}"
	root=(sudo)
	# Ask for a password only where somebody can type one.
	if ! sudo -n true 2>/dev/null; then
		[ -t 0 ] || die "sudo wants a password; as root: apt-get install ${missing[*]}"
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

log=$(mktemp) || die "cannot make a temporary file"
trap 'rm -f "$log"' EXIT
# Old or absent package lists make the first try fail; fresh ones are fetched only then.
if ! install >"$log" 2>&1 && ! { apt update && install; } >"$log" 2>&1; then
	cat "$log" >&2
	die "apt-get could not install: ${missing[*]}"
fi
echo "deps: installed ${#missing[@]} packages"
