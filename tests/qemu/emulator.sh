#!/bin/bash
# SPDX-License-Identifier: MIT
# QEMU of another version than the machine's: emulator.sh SERIES (11.1, of Debian 13's backports).
# Prints the program that takes the place of qemu-system-x86_64. It is unpacked, with the libraries
# that it was built for, below the build folder.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/qemu/lists.sh
. tests/qemu/lists.sh

series=$1
dir=$(realpath -m "${BUILD:-build}")/qemu/emulator/$series
program=$dir/qemu-system-x86_64

die()
{
	echo "emulator: $*" >&2
	exit 1
}

# The program is written last, so that a half-made folder is none.
mkdir -p "${dir%/*}"
exec 9>"$dir.lock"
flock 9
if [ -x "$program" ]; then
	echo "$program"
	exit
fi
rm -rf "$dir"
lists_begin_trixie "$dir"
package=$(apt-cache "${lists[@]}" madison qemu-system-x86 |
	sed -n "s/^[^|]*| *\([0-9]*:$series\.[^ ]*\) .*/\1/p" | head -n 1)
[ -n "$package" ] || die "Debian 13 has no QEMU $series"
echo "emulator: unpacking QEMU $package" >&2
lists_unpack "$dir" base-files -t trixie-backports "qemu-system-x86=$package"
# By the loader and with the libraries and firmware of its own Debian, which lie beside it.
cat >"$program.new" <<'END'
#!/bin/sh
root=${0%/*}/root/usr
exec "$root/lib64/ld-linux-x86-64.so.2" --library-path "$root/lib/x86_64-linux-gnu" \
	"$root/bin/qemu-system-x86_64" -L "$root/share/qemu" -L "$root/share/seabios" "$@"
END
chmod +x "$program.new"
"$program.new" --version >&2 || die "QEMU $package does not run here"
mv "$program.new" "$program"
echo "$program"
