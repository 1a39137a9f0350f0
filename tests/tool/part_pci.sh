# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Controllers on PCI, on a machine made of files: what list, doctor and bind say of it.

pci=there/sys/bus/pci
mkdir -p there/dev/annex there/proc/self there/sys/class/block \
	$pci/drivers/{nvme,annex,vfio-pci,cxl_pci}

# func ADDR CLASS VENDOR DEVICE DRIVER GROUP - A PCI function; - for no driver or group.
func()
{
	local at=$pci/devices/$1 group=there/sys/kernel/iommu_groups/$6
	mkdir -p "$at"
	echo "$2" >"$at/class"
	echo "$3" >"$at/vendor"
	echo "$4" >"$at/device"
	echo 0x00 >"$at/revision"
	echo "(null)" >"$at/driver_override"
	echo -1 >"$at/numa_node"
	printf '' >"$at/resource"
	[ "$5" = - ] || ln -s "../../drivers/$5" "$at/driver"
	[ "$6" = - ] && return
	mkdir -p "$group/devices"
	echo DMA-FQ >"$group/type"
	ln -s ../../../kernel/iommu_groups/"$6" "$at/iommu_group"
	ln -s ../../../../bus/pci/devices/"$1" "$group/devices/$1"
}

# disk ADDR CONTROLLER NAME - A namespace in its controller's folder; NAME may be a hidden path.
disk()
{
	mkdir -p "$pci/devices/$1/nvme/$2/$3"
}

# block NAME NUMBER [HOLDER] - A block device, or with a p before its last number a partition.
block()
{
	local at=there/sys/class/block/$1
	mkdir -p "$at/holders"
	echo "$2" >"$at/dev"
	[ $# -lt 3 ] || mkdir -p "$at/holders/$3"
}

func 0000:00:02.0 0x020000 0x8086 0x10d3 - 0
func 0000:00:04.0 0x010802 0x1b36 0x0010 nvme 3
echo "16.0 GT/s PCIe" >$pci/devices/0000:00:04.0/current_link_speed
echo 4 >$pci/devices/0000:00:04.0/current_link_width
echo 1 >$pci/devices/0000:00:04.0/numa_node
disk 0000:00:04.0 nvme0 nvme0n1
printf 'Disk of\033[31m tests       \n' >$pci/devices/0000:00:04.0/nvme/nvme0/model
# CMBSZ: 64 units of 4 KiB, or of 1 MiB.
echo $((64 << 12 | 0x1f)) >$pci/devices/0000:00:04.0/nvme/nvme0/cmbsz
block nvme0n1 259:0
mkdir -p there/sys/class/block/nvme0n1/nvme0n1p1 there/sys/class/block/nvme0n1/nvme0n1p2
block nvme0n1p1 259:1
block nvme0n1p2 259:2 dm-0
block dm-0 253:0
mkdir there/sys/class/block/dm-0/dm
echo vg-data >there/sys/class/block/dm-0/dm/name
func 0000:00:05.0 0x010802 0x1b36 0x0010 nvme 4
disk 0000:00:05.0 nvme1 nvme1c1n1
block nvme1n1 259:5
func 0000:00:06.0 0x010802 0x1b36 0x0010 annex 5
echo DMA >there/sys/kernel/iommu_groups/5/type
echo annex >$pci/devices/0000:00:06.0/driver_override
func 0000:00:07.0 0x010802 0x1b36 0x0010 nvme -
func 0000:00:08.0 0x010802 0x1b36 0x0010 vfio-pci 7
func 0000:00:09.0 0x010801 0x1b36 0x0010 - -
func 0000:0d:00.0 0x050210 0x8086 0x0d93 cxl_pci 6
func 10000:01:00.0 0x010802 0x1b36 0x0010 - -
{
	echo '22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw'
	echo '23 1 253:0 / /with\040space rw - xfs /dev/mapper/vg-data rw'
	echo '24 1 0:44 / /pool rw shared:1 - btrfs /dev/nvme1n1 rw'
} >there/proc/self/mountinfo
{
	echo 'Filename	Type	Size	Used	Priority'
	echo '/dev/nvme1n1p1	partition	1	0	-2'
} >there/proc/swaps
mkdir -p there/proc/4242/fd there/sys/class/block/nvme1n1/nvme1n1p1
block nvme1n1p1 259:6
echo reader >there/proc/4242/comm
ln -s /dev/annex/0000:00:06.0 there/proc/4242/fd/7
ln -s /dev/null there/proc/4242/fd/8

# row ADDR PATTERN - The line of a device in the last claim's table.
row()
{
	holds "row of $1: $2" grep -qE "^$1 +$2" out
}

# lines_up - Every column of the last claim's table begins where its name does.
lines_up()
{
	awk 'NR == 1 { for (i = 2; i < length($0); i++)
			if (substr($0, i - 1, 2) ~ / [^ ]/ && substr($0, i - 2, 2) == "  ") at[i] }
		NR > 1 { for (i in at) if (substr($0, i - 1, 2) !~ /^ [^ ]/) bad = 1 }
		END { exit bad || NR < 2 }' out
}

claim "list of a copied machine" "$annex" list --root there
holds "a line for each and one of names" test "$(wc -l <out)" -eq 8
holds "the columns line up" lines_up
row 0000:00:04.0 'nvme +nvme +3 +DMA-FQ +1 +16.0 GT/s x4 +256 KiB +/ on nvme0n1p1 \+2 +Disk of'
holds "no bytes for the terminal" sh -c '! grep -q "$(printf "\033")" out'
row 0000:00:05.0 'nvme +nvme +4 +DMA-FQ +- +- +- +/pool on nvme1n1 \+1'
row 0000:00:06.0 'nvme +annex +5 +DMA +- +- +- +process 4242 \(reader\)'
row 0000:00:07.0 'nvme +nvme +- +- +- +- +- +- '
row 0000:0d:00.0 'cxl +cxl_pci +6'
row 10000:01:00.0 'nvme +- '
holds "an IDE controller is not listed" sh -c '! grep -q 00:09.0 out'
holds "a network card is not listed" sh -c '! grep -q 00:02.0 out'

claim "list in JSON" "$annex" list --root there --json
holds "seven devices" test "$(grep -c '"address"' out)" -eq 7
value "the buffer in bytes" cmb_bytes 262144
value "group" iommu_group 3
holds "a space in a mount point" grep -q '"name": "/with space"' out
holds "what holds a partition" grep -q '"kind": "holder"' out
holds "swap" grep -q '"kind": "swap"' out
holds "the owner's process" grep -q '"pid": 4242' out
echo $((1 << 12 | 0x11f)) >$pci/devices/0000:00:04.0/nvme/nvme0/cmbsz
claim "a buffer in units of 64 KiB" "$annex" list --root there --json
value "one unit" cmb_bytes 65536
echo $((1 << 12 | 0xf1f)) >$pci/devices/0000:00:04.0/nvme/nvme0/cmbsz
claim "a buffer in units that there are not" "$annex" list --root there --json
holds "is unknown" grep -q '"cmb_bytes": null' out
claim "list of this machine" "$annex" list
claim "doctor of this machine" "$annex" doctor
claim "doctor of this machine, JSON" "$annex" doctor --json

mkdir -p there/proc/sys/kernel there/lib/modules/6.1.0-9-amd64/build there/sys/devices/system/node
echo 6.1.0-9-amd64 >there/proc/sys/kernel/osrelease
echo 0 >there/proc/sys/kernel/io_uring_disabled
echo 0-1 >there/sys/devices/system/node/has_memory
echo 0 >there/sys/devices/system/node/has_cpu
claim "doctor of a copied machine" "$annex" doctor --root there
holds "io_uring" grep -qE '^file: +io_uring +ok' out
holds "kernel" grep -qE '^pci: +kernel +ok' out
holds "headers" grep -qE '^pci: +headers +ok' out
holds "module" grep -qE '^pci: +module +ok' out
holds "IOMMU" grep -qE '^pci: +IOMMU +ok' out
holds "strict" grep -qE '^pci: +strict +ok' out
holds "nodes" grep -qE '^numa: +nodes +ok +with memory: 0-1; with processors: 0' out
holds "controllers" grep -qE 'controllers +ok +6 NVMe: 1 bound to annex, 3 more' out
holds "CXL devices" grep -qE '^cxl +devices +ok +1 ' out
holds "a limit of processes is not guessed" grep -qE '^pci: +memlock +unknown' out

mv $pci/drivers/annex kept
mv there/lib/modules/6.1.0-9-amd64/build kept2
ln -s ../../../../bus/pci/devices/0000:00:02.0 there/sys/kernel/iommu_groups/3/devices/0000:00:02.0
echo 5.15.0 >there/proc/sys/kernel/osrelease
echo 2 >there/proc/sys/kernel/io_uring_disabled
refused "doctor where file: cannot work" "file: cannot work" "$annex" doctor --root there
holds "the command that allows io_uring" grep -q 'sysctl -w kernel.io_uring_disabled=0' out
holds "an old kernel" grep -qE '^pci: +kernel +missing' out
holds "no headers, and their package" grep -q 'apt-get install dkms linux-headers-5.15.0' out
holds "no module" grep -q 'dkms install annex/' out
holds "a shared group" grep -q '0000:00:04.0 shares IOMMU group 3' out
refused "JSON likewise" "file: cannot work" "$annex" doctor --root there --json
holds "says so" grep -q '"default_works": false' out
mkdir -p there/lib/modules/5.15.0
echo 'updates/dkms/annex.ko.xz:' >there/lib/modules/5.15.0/modules.dep
rm -r there/sys/kernel/iommu_groups
echo 'model name : x; vendor_id: AuthenticAMD' >there/proc/cpuinfo
echo 0 >there/proc/sys/kernel/io_uring_disabled
claim "doctor without an IOMMU" "$annex" doctor --root there
holds "it is off" grep -qE '^pci: +IOMMU +missing' out
holds "where to turn it on" grep -q 'firmware-setup' out
holds "a module that is not loaded" grep -q 'sudo modprobe annex' out
mv kept $pci/drivers/annex
mv kept2 there/lib/modules/6.1.0-9-amd64/build

refused "a root that is none" "no folder sys" "$annex" list --root nowhere
refused "a root that is none" "no folder sys" "$annex" doctor --root .
refused "list of something" "too many" "$annex" list 0000:00:04.0
refused "doctor of something" "too many" "$annex" doctor pci:
refused "bind has no root" "no option" "$annex" bind --root there 0000:00:04.0
refused "bind nothing" "which controller" "$annex" bind
refused "unbind nothing" "which controller" "$annex" unbind
for addr in '' 0 00:04 00:04.8 00:20.0 00:4.0.0 0000:00:04.0x x000:00:04.0 '00:04.0 ' -00:04.0 \
	000000000:00:04.0 0x00:00:04.0 nvme0 /dev/nvme0 123:00:04.00; do
	refused "bind of \"$addr\"" "no PCI address" "$annex" bind -- "$addr"
	refused "unbind of \"$addr\"" "no PCI address" "$annex" unbind -- "$addr"
done
refused "bind of what is not there" "no PCI device ffff:ff:1f.7" "$annex" bind ffff:ff:1f.7
refused "a bad address after a good one" "no PCI address" "$annex" bind ffff:ff:1f.7 00

# The same machine in place of this one's /sys, where mounts of one's own can be had.
hidden=(unshare -m)
[ "$(id -u)" -eq 0 ] || hidden=(unshare -rm)
# shellcheck disable=SC2016 # the inner shell expands
inside='mount --bind "$1" /sys && shift && exec "$@"'
if "${hidden[@]}" sh -c "$inside" - there/sys true 2>/dev/null; then
	there=("${hidden[@]}" sh -c "$inside" - there/sys)
	root=$(stat -c %d /)
	number=$(((root >> 8) & 0xfff)):$(((root & 0xff) | (root >> 12 & 0xfff00)))
	mkdir -p $pci/devices/0000:00:07.0/nvme/nvme7/nvme7n1
	block nvme7n1 $number
	printf '' >$pci/drivers_probe
	printf '' >$pci/drivers/annex/unbind
	printf '' >$pci/drivers/nvme/unbind
	# Some machines' root has a number that no mount has.
	if grep -q " $number / / " /proc/self/mountinfo; then
		refused "bind of the disk the machine runs on" \
			"00:07.0 is in use: / on nvme7n1: umount / first" \
			"${there[@]}" "$annex" bind 0000:00:07.0
		refused "the second one is" "00:07.0 is in use" "${there[@]}" "$annex" bind \
			10000:01:00.0 0000:00:07.0
	fi
	refused "bind of a held partition" "dm-0 on nvme0n1p2: dmsetup remove /dev/dm-0 first" \
		"${there[@]}" "$annex" bind 00:04.0
	refused "bind of another driver's" "vfio-pci/unbind" "${there[@]}" "$annex" bind 00:08.0
	refused "bind of a network card" "no NVMe controller .class 0x020000" "${there[@]}" \
		"$annex" bind 00:02.0
	refused "bind of CXL memory" "no NVMe controller" "${there[@]}" "$annex" bind 0d:00.0
	refused "a namespace that cannot be looked at" "cannot see whether .*nvme1n1" \
		"${there[@]}" "$annex" bind 00:05.0
	holds "and nothing was touched" test ! -s $pci/drivers/nvme/unbind
	refused "a controller that the module does not take" "annex.ko did not take it" \
		"${there[@]}" "$annex" bind 10000:01:00.0
	holds "its override is gone" test -z \
		"$(head -n 1 $pci/devices/10000:01:00.0/driver_override)"
	claim "bind of one that is bound" "${there[@]}" "$annex" bind 00:06.0 0000:00:06.0
	holds "says so, once" test "$(grep -c 'is with annex already' out)" -eq 1
	claim "unbind of one that is not, in JSON" "${there[@]}" "$annex" unbind 00:04.0 --json
	holds "says so" grep -q '"changed": false' out
	refused "unbind of another driver's" "driver vfio-pci" "${there[@]}" "$annex" unbind 00:08.0
	mv $pci/drivers/nvme kept
	refused "unbind without the kernel's driver" "modprobe nvme" "${there[@]}" "$annex" \
		unbind 00:06.0
	mv kept $pci/drivers/nvme
	mv $pci/drivers/annex kept
	refused "bind without the module" "modprobe annex" "${there[@]}" "$annex" bind 10000:01:00.0
	mv kept $pci/drivers/annex
fi
