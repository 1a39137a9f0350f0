#!/bin/bash
# SPDX-License-Identifier: MIT
# A GPT trained on real text twice: with all the memory that it wants, and with a quarter of it, the
# rest on storage: train_demo.sh BUILD. The file is in TMPDIR, or BUILD, which must be on a disk.
set -eu -o pipefail

annex=$1/annex
steps=${STEPS:-5}
shape=(--layers 2 --width 1536 --heads 8 --context 256 --batch 32 --learning-rate 0.0002)
budget=512M

work=$(mktemp -d -p "${TMPDIR:-$1}" train-demo.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say()
{
	printf '\n\033[1m%s\033[0m\n' "$*"
}
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

# run REPORT OPTION... - One training; what it tells is kept.
run()
{
	local report=$work/$1.json
	shift
	echo "\$ annex train ${shape[*]} --steps $steps $*"
	"$annex" train "${shape[@]}" --steps "$steps" "$@" --json >"$report"
}

# number REPORT KEY
number()
{
	sed -n "s/^ *\"$2\": *\([-0-9.e+]*\),\{0,1\}$/\1/p" "$work/$1.json" | head -n 1
}

# tell REPORT - What matters of it.
tell()
{
	awk -v loss="$(number "$1" first_loss)" -v last="$(number "$1" loss)" \
		-v tensors="$(number "$1" tensors_bytes)" -v rate="$(number "$1" tokens_per_s)" \
		-v process="$(number "$1" resident_peak_bytes)" \
		-v base="$(number "$1" resident_base_bytes)" \
		-v stall="$(number "$1" stall_share)" -v in_="$(number "$1" in_bytes)" \
		-v user="$(number "$1" user_s)" -v kernel="$(number "$1" kernel_s)" \
		-v out="$(number "$1" out_bytes)" 'BEGIN {
		printf "  loss %.4f, then %.4f; %.0f tokens/s, %.1f %% of it waiting for tensors\n",
			loss, last, rate, 100 * stall
		printf "  tensors of %.0f MiB; the process takes %.0f MiB more than without any\n",
			tensors / 1048576, (process - base) / 1048576
		printf "  an iteration brings %.0f MiB, takes %.0f MiB away, and has processors ",
			in_ / 1048576, out / 1048576
		printf "compute for %.1f s,\n  %.1f s of it in the kernel\n", user + kernel, kernel
	}'
}

# losses REPORT - All of them, as they were computed.
losses()
{
	sed -n '/"losses"/,/]/p' "$work/$1.json"
}

start=$SECONDS
say "1. All the memory that it wants"
run whole
tell whole

say "2. A device tier of $budget, the rest in a file, and a plan of its first iterations"
run part --device-memory "$budget" --storage "file:$work/tensors?size=3G"
tell part

losses whole >"$work/whole.losses"
losses part >"$work/part.losses"
if [ ! -s "$work/whole.losses" ] || ! cmp -s "$work/whole.losses" "$work/part.losses"; then
	echo "train-demo: the losses are not equal" >&2
	exit 1
fi
say "$steps losses are equal, bit for bit; the speed is $(awk -v a="$(number whole tokens_per_s)" \
	-v b="$(number part tokens_per_s)" 'BEGIN { printf "%.1f", 100 * b / a }') % of that with \
all memory: $((SECONDS - start)) seconds."
