# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Random reads through the kernel's own driver, its block device and its passthrough, and through
# queues of user space, in turns on one controller. tests/bench/qemu.sh asks for it, and reads the
# lines that begin with "# bench".
# limit: 900
# programs: fio
. /test/lib.sh
. /test/measure.sh

ROUNDS=${ROUNDS:-5}
ko=$(find /lib/modules -name annex.ko)
[ -n "$ko" ] || skip "there is no Kbuild to make annex.ko from"
address=$(controllers | head -n 1)
[ -e "/sys/bus/pci/devices/$address/iommu_group" ] && unsafe=0 || unsafe=1

# run_fio SIDE SIZE [OPTION]... - Settings that made fio faster here, and no clock of its own.
run_fio()
{
	side=$1 size=$2
	shift 2
	measure "$side" "$size" fio --name=x --rw=randread --bs="$size" "$@" --iodepth=64 \
		--time_based=1 --runtime=4 --norandommap --randrepeat=0 --fixedbufs \
		--registerfiles --gtod_reduce=1 --minimal
}

# run_both SIDE SIZE [OPTION]... - With interrupts, and polling.
run_both()
{
	side=$1 size=$2
	shift 2
	claim "$side, $size bytes" run_fio "$side" "$size" "$@" --iodepth_batch=32 \
		--iodepth_batch_complete_min=32 || return
	claim "$side polling, $size bytes" run_fio "$side-hipri" "$size" "$@" --hipri \
		--iodepth_batch=16 --iodepth_batch_complete_min=16
}

kernel_side()
{
	disk=$(disk 0)
	for size in 4096 512; do
		run_both fio $size --filename="$disk" --direct=1 --ioengine=io_uring || return
		run_both cmd $size --filename="$(generic "$disk")" --ioengine=io_uring_cmd \
			--cmd_type=nvme || return
	done
	claim "data is right through the kernel's driver" \
		annex verify "file:$(disk 0)" --read-only --size 64K
}

annex_side()
{
	for size in 4096 512; do
		claim "annex, $size bytes, verified" measure annex $size annex bench block \
			"pci:$address" --size $size --depth 64 --threads 1 --nap 1 --seconds 4 \
			--verify --json || return
	done
	claim "data is right through user space's queues" \
		annex verify "pci:$address" --read-only --size 64K
}

modprobe nvme poll_queues=1
claim "the disk is there" within 10 disk 0 || exit 1
claim "the pattern is written" annex verify "file:$(disk 0)" --overwrite --size 64K || exit 1
claim "the module loads" modprobe annex allow_no_iommu="$unsafe" || exit 1
for round in $(seq "$ROUNDS"); do
	kernel_side || exit 1
	claim "round $round: bound to annex" annex bind "$address" || exit 1
	annex_side || exit 1
	claim "round $round: bound to nvme" annex unbind "$address" || exit 1
	within 10 disk 0
done
