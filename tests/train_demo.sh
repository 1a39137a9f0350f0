#!/bin/bash
# SPDX-License-Identifier: MIT
# docs/examples/train.c: a network trained by a plan in a quarter of the memory that it takes, the
# rest in a file, and in plain memory: train_demo.sh BUILD. The file is in TMPDIR, or BUILD, which
# must be on a disk.
set -eu -o pipefail

steps=${STEPS:-8}
work=$(mktemp -d -p "${TMPDIR:-$1}" train-demo.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

set -- "$1/train" 12 1024 256 "$steps" "file:$work/tensors?size=512M" $((32 << 20))
echo "\$ $*"
"$@" >"$work/report"

# number KEY
number()
{
	sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" "$work/report"
}

awk -v tensors="$(number tensors_bytes)" -v moved="$(number moved_bytes)" \
	-v plain="$(number plain_s)" -v took="$(number iteration_s)" -v stall="$(number stall_s)" \
	-v planned="$(number planned)" -v steps="$steps" 'BEGIN {
	printf "  tensors of %.0f MiB, of which 32 MiB are in memory\n", tensors / 1048576
	printf "  %d iterations of %d by a plan; one moves %.0f MiB, and takes %.2f s,\n",
		planned, steps, moved / 1048576, took
	printf "  %.2f s of it waiting for tensors; in plain memory %.2f s\n", stall, plain
	printf "  all losses are equal, bit for bit; the speed is %.1f %% of that there\n",
		100 * plain / took
}'
