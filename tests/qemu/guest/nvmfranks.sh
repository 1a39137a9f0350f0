# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Two ranks of PyTorch, one on each of two machines, with tensors on the far one's drive: by the
# network, and there. They are the machine's outside, whose files are read here.
# machines: pair
# limit: 1800
. /test/lib.sh

# rank N PACKAGE STORAGE - The command of a rank, with annex, or a package that moves nothing.
rank()
{
	echo "chroot /outside env OMP_NUM_THREADS=1 HOME=/tmp PYTHONDONTWRITEBYTECODE=1 \
XDG_CACHE_HOME=$BUILD/qemu/cache ANNEX_LIBRARY=$BUILD/libannex.so PYTHONPATH=$2 \
MASTER_ADDR=10.0.0.2 MASTER_PORT=29500 WORLD_SIZE=2 RANK=$1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 \
GLOO_SOCKET_IFNAME=$(network 0) python3 $TREE/docs/examples/ranks.py '$3'"
}

# network N - The card there; both machines have the same.
network()
{
	for card in /sys/class/net/e*; do
		! grep -q "^52:54:00:00:0$1:" "$card/address" || echo "${card##*/}"
	done
}

# inside - What programs outside find in their machine.
inside="mount -t proc proc /outside/proc && mount -t devtmpfs dev /outside/dev &&
	mount -t sysfs sysfs /outside/sys && mount -t tmpfs tmpfs /outside/tmp &&
	mount -t tmpfs tmpfs /dev/shm"

# both NAME PACKAGE - Losses of both ranks, in files NAME0 and NAME1.
both()
{
	far "$(rank 1 "$2" "mem:64M")" >"${1}1" &
	sh -c "$(rank 0 "$2" "file:$far_disk?direct=1")" >"${1}0" && wait $! &&
		[ "$(grep -c rank "${1}0")" -eq 5 ] && [ "$(grep -c rank "${1}1")" -eq 5 ]
}

with_far
claim "the machine's files are here" outside_files
claim "and there" far ". /test/lib.sh; outside_files"
claim "programs run here" eval "$inside"
claim "and there" far "$inside"
plain="printf 'import contextlib\\ndef offload(**_):\\n    return contextlib.nullcontext()\\n' \
	>/outside/tmp/annex.py"
claim "a package that moves nothing is here" eval "$plain"
claim "and there" far "$plain"
claim "two ranks train in memory" both plain /tmp
claim "and with tensors on a drive" both moved "$TREE/tools/python"
claim "losses of the first are the same" cmp plain0 moved0
claim "and of the second" cmp plain1 moved1
bytes=$(dd if="$far_disk" bs=1M count=16 2>/dev/null | tr -d '\0' | wc -c)
claim "tensors were there" [ "$bytes" -gt 1000000 ]
umount /outside/dev /outside/proc /outside/sys /outside/tmp /outside
