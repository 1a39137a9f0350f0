#!/bin/bash
# SPDX-License-Identifier: MIT
# make, in the file system beside this program's link (kernel.sh): kmake.sh [ARGUMENT]... as for
# make, with -C HEADERS and M=FOLDER. The folder is copied there and back.
set -eu
root=$(cd "$(dirname "$0")" && pwd)/root
args=()
folder=
while [ $# -gt 0 ]; do
	case $1 in
	-C)
		headers=$(realpath "$2")
		args+=(-C "${headers#"$root"}")
		shift
		;;
	M=*)
		folder=${1#M=}
		args+=(M=/annex)
		;;
	*) args+=("$1") ;;
	esac
	shift
done
enter=(chroot)
[ "$(id -u)" -eq 0 ] || enter=(unshare -r chroot)
# objtool looks for a stack, to tell of its overflow, and wants nothing else of /proc.
mkdir -p "$root/proc/self"
cat /proc/self/maps >"$root/proc/self/maps"
rm -rf "$root/annex"
# With its times: make compares the times of objects and sources.
cp -r --preserve=timestamps "$folder" "$root/annex"
"${enter[@]}" "$root" /usr/bin/env PATH=/usr/bin make "${args[@]}"
cp -r --preserve=timestamps "$root/annex/." "$folder/"
