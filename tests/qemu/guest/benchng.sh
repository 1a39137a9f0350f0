# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Random reads through the kernel's own driver by io_uring's passthrough: fio's engine for that, and
# ng:, in turns on one drive, which may be another machine's. tests/bench/qemu.sh asks for it
# (groups ng and nvmf).
# limit: 900
# programs: fio
. /test/lib.sh
. /test/measure.sh

ROUNDS=${ROUNDS:-5}

# fio_side SIDE [OPTION]... - With settings that make fio faster here.
fio_side()
{
	side=$1
	shift
	measure "$side" 4096 fio --name=x --filename="$node" --rw=randread --bs=4096 \
		--ioengine=io_uring_cmd --cmd_type=nvme --iodepth=64 --time_based=1 --runtime=4 \
		--norandommap --randrepeat=0 --fixedbufs --registerfiles --gtod_reduce=1 \
		--minimal "$@"
}

if [ "$SIDE" = near ]; then
	with_far
	node=$far_node
else
	modprobe nvme
	claim "the disk is there" within 10 disk 0 || exit 1
	node=$(generic "$(disk 0)")
fi
claim "the pattern is written" annex verify "ng:$node" --overwrite --size 64K || exit 1
for round in $(seq "$ROUNDS"); do
	claim "round $round: fio, a call a command" fio_side fio || exit 1
	claim "round $round: fio, 32 at once" fio_side fio-batch --iodepth_batch=32 \
		--iodepth_batch_complete_min=32 || exit 1
	claim "round $round: annex" measure annex 4096 annex bench block "ng:$node" --size 4096 \
		--depth 64 --threads 1 --nap 1 --seconds 4 --json || exit 1
done
claim "data is right" annex verify "ng:$node" --read-only --size 64K
