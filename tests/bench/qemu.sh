#!/bin/bash
# SPDX-License-Identifier: MIT
# The module in a guest against the kernel's own driver there, on one controller of one boot, in
# turns: qemu.sh OUT. Writes OUT/bench/qemu.json, and prints the same as a table. ROUNDS says how
# often each (5); KERNEL is 6.1 or 6.12. Data that is wrong ends it.
set -eu
cd "$(dirname "$0")/../.."
out=$1
kernel=${KERNEL:-6.12}
rounds=${ROUNDS:-5}
# For both sides: queues that are rung through an eventfd, and a file that QEMU reads without
# handing each command to a thread. Else the figures are those of QEMU's threads.
export NVME_EXTRA=${NVME_EXTRA-ioeventfd=on} DISK_EXTRA=${DISK_EXTRA-aio=io_uring}

mkdir -p "$out/bench"
for iommu in 0 1; do
	log=$out/bench/qemu-iommu$iommu.log
	if ! APPEND="ROUNDS=$rounds" tests/qemu/run.sh -k "$kernel" -i $iommu -n 1 bench \
		>"$log" 2>&1; then
		tail -n 40 "$log" >&2
		echo "bench: the guest did not come to its end; whole log: $log" >&2
		exit 1
	fi
	runs=$(grep -c '^# bench' "$log")
	checks=$(grep -c 'data is right' "$log")
	echo "  IOMMU=$iommu: $runs runs, all data on the disk verified $checks times"
done
command="KERNEL=$kernel ROUNDS=$rounds tests/bench/qemu.sh $out"
exec python3 tests/bench/qemu.py "$out/bench" "$command"
