#!/bin/bash
# SPDX-License-Identifier: MIT
# The module in a guest against the kernel's own driver there, on one controller of one boot, in
# turns (group nvme), a drive that stays the kernel's against fio on the same passthrough (ng),
# another guest's drive likewise (nvmf), memory mapped for a controller (map), CXL memory that a
# controller reads into (hdm), and a range of 64 GiB (large): qemu.sh OUT [GROUP]...
# Writes OUT/bench/qemu.json, and prints the same as a table. ROUNDS says how often each (5); KERNEL
# is 6.1 or 6.12. Data that is wrong ends it. SMOKE=1 asks for the smoke form.
set -eu
cd "$(dirname "$0")/../.."
out=$1
shift
[ $# -gt 0 ] || set -- nvme ng nvmf map hdm large
kernel=${KERNEL:-6.12}
rounds=${ROUNDS:-5}
figures=$out/bench
[ -z "${SMOKE:-}" ] || rounds=1 figures=$out/bench/smoke
# For both sides: queues that are rung through an eventfd, and a file that QEMU reads without
# handing each command to a thread. Else QEMU's threads set the figures.
export NVME_EXTRA=${NVME_EXTRA-ioeventfd=on} DISK_EXTRA=${DISK_EXTRA-aio=io_uring}

# boot LOG OPTION... - In a guest like that; its lines are in the log.
boot()
{
	local log=$figures/$1
	shift
	if ! APPEND="ROUNDS=$rounds ${SMOKE:+SMOKE=1} ${APPEND:-}" \
		tests/qemu/run.sh -k "$kernel" -n 1 "$@" >"$log" 2>&1; then
		tail -n 40 "$log" >&2
		echo "bench: the guest did not come to its end; whole log: $log" >&2
		exit 1
	fi
	echo "  $*: $(grep -c '^# bench' "$log") runs, data verified" \
		"$(grep -c 'data is right' "$log") times"
}

mkdir -p "$figures"
for iommu in 0 1; do
	for group in "$@"; do
		case $group in
		nvme) boot qemu-iommu$iommu.log -i $iommu bench ;;
		ng) [ $iommu = 1 ] || boot qemu-ng.log -i 0 benchng ;;
		nvmf) [ $iommu = 1 ] || PAIR=1 boot qemu-nvmf.log -i 0 benchng ;;
		# COUNTED: the time is the number of instructions, on a busy machine, too.
		map) [ $iommu = 0 ] || MEM=2G COUNTED=1 boot qemu-map.log -i 1 benchmap ;;
		hdm) boot qemu-hdm-iommu$iommu.log -i $iommu -c 1 benchhdm ;;
		large)
			[ $iommu = 1 ] || MEM=4G CXL_BYTES=64G COUNTED=1 APPEND=preempt=full \
				boot qemu-large.log -i 0 -c 1 hdmlarge
			;;
		*)
			echo "bench: there are nvme, ng, nvmf, map, hdm and large, no $group" >&2
			exit 2
			;;
		esac
	done
done
command="KERNEL=$kernel ROUNDS=$rounds tests/bench/qemu.sh $out $*"
python3 tests/bench/qemu.py "$figures" "$command" "$@"
exec tests/bench/met.py "$figures/qemu.json"
