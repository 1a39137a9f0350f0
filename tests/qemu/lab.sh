#!/bin/bash
# SPDX-License-Identifier: MIT
# A guest for people: lab.sh. KERNEL, QEMU, NVME, CXL, IOMMU, SHARE and APPEND in the environment
# choose it; docs/lab.md describes it.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/qemu/build.sh
. tests/qemu/build.sh
# shellcheck source=tests/qemu/machine.sh
. tests/qemu/machine.sh

KERNEL=${KERNEL:-6.12}
NVME=${NVME:-1}
CXL=${CXL:-0}
IOMMU=${IOMMU:-0}
dir=$build/qemu/lab
share=$(realpath -m "${SHARE:-$build/qemu/share}")
mkdir -p "$dir" "$share" || exit 1

exec 7>"$dir/lock"
flock -n 7 || die "another lab runs in $dir"
build_guest "$KERNEL" "$dir/initramfs" annex

qmp=$PWD/$here/qmp.py
read -r rows columns < <(stty size 2>/dev/null || echo 24 80)
cd "$dir" || exit 1
APPEND="quiet LINES=$rows COLUMNS=$columns ${APPEND:-}" machine "$kernel" "$dir/initramfs"
qemu+=(-fsdev "local,id=share,path=$share,security_model=none"
	-device "virtio-9p-pci,fsdev=share,mount_tag=share,bus=pcie.0")
rm -f qmp port
python3 "$qmp" qmp --serve port >port.log 2>&1 </dev/null &
echo "Starting Linux $KERNEL: NVME=$NVME CXL=$CXL IOMMU=$IOMMU; poweroff or Ctrl-A X ends it."
echo "/share is $share"
exec "${qemu[@]}" -serial mon:stdio -serial unix:port,server=on,wait=off
