#!/bin/bash
# SPDX-License-Identifier: MIT
# A file system of annex fs mount in real time, beside a directory of the host that is passed
# through by FUSE (passthrough.c): real.sh OUT [ROUNDS]
# Prints a table, and writes OUT/bench/fs_real.json. Both lie on the disk that has DIR (the folder
# of temporary files). In each of ROUNDS rounds (7) both take turns: FILES files of 4 KiB, each with
# an fsync (1000); and MIB of one file that no cache has (1024). The written data are compared.
# SMOKE=1 asks for the smoke form.
set -u

[ "$(id -u)" -eq 0 ] || { echo "a mount in real time: skipped, needs root"; exit 0; }
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -e "${1:?usage: real.sh OUT [ROUNDS]}") || exit 1
rounds=${2:-7}
files=${FILES:-1000}
mib=${MIB:-1024}
json=$out/bench/fs_real.json
[ -z "${SMOKE:-}" ] || rounds=1 files=20 mib=8 json=$out/bench/smoke/fs_real.json
top=$(mktemp -d "${DIR:-${TMPDIR:-/tmp}}/annex-real.XXXXXX") || exit 1
declare -A at=([annex]=$top/annex/full [pass]=$top/pass/full) server

ended()
{
	local side
	for side in annex pass; do
		[ -z "${server[$side]:-}" ] || kill -KILL "${server[$side]}" 2>/dev/null
		umount -l "${at[$side]}" 2>/dev/null
	done
	rm -rf "$top"
}
trap ended EXIT
trap 'exit 130' INT TERM

die()
{
	echo "real: $*" >&2
	exit 1
}

# mounted SIDE - Both stay in the foreground.
mounted()
{
	case $1 in
	annex) "$out/annex" fs mount -f "cxlssd:$top/device?durable=host" "${at[annex]}" & ;;
	pass) "$out/fs/passthrough" "$top/host" "${at[pass]}" & ;;
	esac
	server[$1]=$!
	until mountpoint -q "${at[$1]}"; do
		kill -0 "${server[$1]}" 2>/dev/null || die "$1 cannot be mounted"
	done
}

unmounted()
{
	umount "${at[$1]}" || die "$1 cannot be unmounted"
	wait "${server[$1]}" || die "$1 ended with status $?"
	server[$1]=
}

# again SIDE - Mounted again, without anything in a cache of the kernel's.
again()
{
	unmounted "$1"
	sync
	echo 3 >/proc/sys/vm/drop_caches || die "caches cannot be dropped: run it as root"
	mounted "$1"
}

# measured SIDE WHAT ARGUMENT... - A line of it.
measured()
{
	local side=$1 what=$2 value
	shift 2
	value=$("$here/measure.py" "$what" "$@") || exit 1
	echo "$what $side $value" >>"$top/values"
}

mkdir -p "${at[@]}" "$top/host" "$(dirname "$json")" || exit 1
"$out/annex" fs mkfs --size $((mib * 3 / 2 + 64))M "$top/device" >/dev/null || exit 1
for side in annex pass; do
	mounted $side
	"$here/measure.py" fill "${at[$side]}/large" "$mib" || exit 1
done
for ((round = 0; round < rounds; round++)); do
	# Neither is always the first.
	sides=(annex pass)
	[ $((round % 2)) -eq 0 ] || sides=(pass annex)
	for side in "${sides[@]}"; do
		mkdir "${at[$side]}/small" || exit 1
		sync
		measured $side create "${at[$side]}/small" "$files"
		again $side
		"$here/measure.py" created "${at[$side]}/small" "$files" || exit 1
		rm -r "${at[$side]}/small" || exit 1
	done
	for side in "${sides[@]}"; do
		again $side
		measured $side read "${at[$side]}/large" "$mib"
	done
done
unmounted annex
unmounted pass
"$out/annex" fs fsck "$top/device" >"$top/fsck" || { cat "$top/fsck"; die "fsck"; }
disk=$(findmnt -n -o FSTYPE,SOURCE -T "$top" | tr -s ' ')
python3 - "$top/values" "$json" "$rounds" "$disk" "$files" "$mib" <<'END'
import json
import statistics
import sys

values, path, rounds, disk, files, mib = sys.argv[1:]
taken = {}
for line in open(values, encoding="ascii"):
    what, side, value = line.split()
    taken.setdefault((what, side), []).append(float(value))
rows = (
    ("create", f"{files} files of 4 KiB, created and synced", "files/s", 1.0),
    ("read", f"{mib} MiB read from the beginning, not cached", "MB/s", 0.8),
)
figures = []


def add(figure, value, unit, target=None):
    figures.append(
        {
            "figure": figure,
            "value": value,
            "unit": unit,
            "target": target,
            "met": None if target is None else value >= target,
            "command": f"tests/models/fs/real.sh OUT {rounds}",
        }
    )


print(f"durable=host, on {disk}; medians of {rounds} rounds in turns, and their range")
print(f"{'':46} {'annex':>22} {'passed through':>22} {'ratio':>20}")
for what, words, unit, goal in rows:
    annex, passed = taken[what, "annex"], taken[what, "pass"]
    ratios = [a / p for a, p in zip(annex, passed)]
    cells = [
        f"{statistics.median(v):.{n}f} ({min(v):.{n}f}-{max(v):.{n}f})"
        for v, n in ((annex, 0), (passed, 0), (ratios, 2))
    ]
    print(f"{words + ', ' + unit:46} {cells[0]:>22} {cells[1]:>22} {cells[2]:>20}")
    add(f"{words}, annex", statistics.median(annex), unit)
    add(f"{words}, passed through", statistics.median(passed), unit)
    add(f"{words}, annex / passed through", statistics.median(ratios), "x", goal)
with open(path, "w", encoding="ascii") as file:
    json.dump(figures, file, indent=2)
END
"$here/../../bench/met.py" "$json"
