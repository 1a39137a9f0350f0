#!/bin/bash
# SPDX-License-Identifier: MIT
# Unit tests by name, each in the program of its room: run.sh OUT [SUITE[/TEST]]...
#
# OUT is the folder of the programs, build or that of a sanitizer; without names, all of them run.
# UNDER in the environment is a command that runs them, as qemu-aarch64 does for another machine.
set -u

out=$1
shift
here=$(dirname "$0")
status=0

# room_of SUITE - The folder of its file; that of the module's tests is beside this one.
room_of()
{
	local file
	file=$(grep -lE "^UNIT_SUITE\(($1)," "$here"/*/*.c \
		"$here"/../models/unit/*/*.c "$here"/../kernel/*.c) || {
		echo "unit: there is no suite $1" >&2
		exit 2
	}
	basename "$(dirname "$file")"
}

declare -A named
if [ $# -eq 0 ]; then
	for room in "$here"/*/ "$here"/../models/unit/*/ "$here/../kernel"; do
		named[$(basename "$room")]=
	done
fi
for name in "$@"; do
	room=$(room_of "${name%%/*}") || exit
	named[$room]+=$name$'\n'
done
for room in "${!named[@]}"; do
	mapfile -t names < <(printf %s "${named[$room]}")
	# shellcheck disable=SC2086 # UNDER is words
	${UNDER:-} "$out/unit-$room" "${names[@]}" || status=$?
done
exit $status
