# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Controllers on PCI, on a machine made of files: what list, doctor and bind say of it.

pci=there/sys/bus/pci
mkdir -p there/dev/annex there/proc/self there/sys/class/block \
	$pci/drivers/{nvme,annex,annex_cxl,vfio-pci,cxl_pci}

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

# partition DISK NAME - A partition in its disk's folder.
partition()
{
	mkdir -p "there/sys/class/block/$1/$2"
	echo 1 >"there/sys/class/block/$1/$2/partition"
}

# block NAME NUMBER [HOLDER] - A block device.
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
partition nvme0n1 nvme0n1p1
partition nvme0n1 nvme0n1p2
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
func 0000:0e:00.0 0x050210 0x8086 0x0d93 annex_cxl -
func 0000:0f:00.0 0x050210 0x8086 0x0d93 - -
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
# The memory of 0d:00.0 is one of two regions, and that a NUMA node; 0e:00.0 is in a range of annex.
cxl=there/sys/bus/cxl/devices
mkdir -p $pci/devices/0000:0d:00.0/mem3/{ram,pmem} $cxl/endpoint4/decoder4.{0,1} \
	$cxl/endpoint5/decoder5.0 $cxl/region{0,1,2} $cxl/region1/dax_region1/dax1.0
echo 0x40000000 >$pci/devices/0000:0d:00.0/mem3/ram/size
echo 0x0 >$pci/devices/0000:0d:00.0/mem3/pmem/size
ln -s ../../../pci/devices/0000:0d:00.0/mem3 $cxl/endpoint4/uport
ln -s ../../../pci/devices/0000:10:00.0/mem4 $cxl/endpoint5/uport
echo region1 >$cxl/endpoint4/decoder4.0/region
echo region0 >$cxl/endpoint4/decoder4.1/region
echo region2 >$cxl/endpoint5/decoder5.0/region
echo 0 >$cxl/region0/commit
echo 1 >$cxl/region1/commit
echo 1 >$cxl/region2/commit
ln -s ../../../../../dax/drivers/kmem $cxl/region1/dax_region1/dax1.0/driver
hdm=there/sys/class/annex/annex!0000:0e:00.0
mkdir -p $hdm/hdm $hdm/range $hdm/events
echo 3 >$hdm/hdm/users
echo 0x110000000 >$hdm/range/base
echo 0x20000000 >$hdm/range/bytes
echo persistent >$hdm/range/kind
echo 4096 >$hdm/range/granularity
echo 1 >$hdm/range/ended
echo 2 >$hdm/range/ways
echo 0000:0e:00.0 >$hdm/range/member0
echo 0000:0d:00.0 >$hdm/range/member1
echo 5 >$hdm/events/information
echo 0 >$hdm/events/warning
echo 2 >$hdm/events/failure
echo 0 >$hdm/events/fatal
{
	echo '00000000-00000fff : Reserved'
	echo '  00000000-00000000 : port1'
	echo '  00000000-00000000 : endpoint4'
	echo '  00000000-00000000 : portable'
	echo '    00000000-00000000 : port12'
} >there/proc/iomem
mkdir -p there/proc/4242/fd
partition nvme1n1 nvme1n1p1
block nvme1n1p1 259:6
echo reader >there/proc/4242/comm
ln -s /dev/annex/0000:00:06.0 there/proc/4242/fd/7
ln -s /dev/null there/proc/4242/fd/8

# row ADDR PATTERN - The line of a device in the last claim's table.
row()
{
	holds "row of $1: $2" grep -qE "^$1 +$2" out
}

# lines_up FILE - Every column of a table begins where its name does.
lines_up()
{
	awk 'NR == 1 { for (i = 2; i < length($0); i++)
			if (substr($0, i - 1, 2) ~ / [^ ]/ && substr($0, i - 2, 2) == "  ") at[i] }
		NR > 1 { for (i in at) if (substr($0, i - 1, 2) !~ /^ [^ ]/) bad = 1 }
		END { exit bad || NR < 2 }' "$1"
}

claim "list of a copied machine" "$annex" list --root there
sed '/^$/,$d' out >devices
sed '1,/^$/d' out >memory
holds "a line for each and one of names" test "$(wc -l <devices)" -eq 10
holds "the columns line up" lines_up devices
holds "and so for CXL memory" test "$(wc -l <memory)" -eq 4
holds "whose columns line up" lines_up memory
rm devices memory
row 0000:00:04.0 'nvme +nvme +3 +DMA-FQ +1 +16.0 GT/s x4 +256 KiB +/ on nvme0n1p1 \+2 +Disk of'
holds "no bytes for the terminal" sh -c '! grep -q "$(printf "\033")" out'
row 0000:00:05.0 'nvme +nvme +4 +DMA-FQ +- +- +- +/pool on nvme1n1 \+1'
row 0000:00:06.0 'nvme +annex +5 +DMA +- +- +- +process 4242 \(reader\)'
row 0000:00:07.0 'nvme +nvme +- +- +- +- +- +- '
row 0000:0d:00.0 'cxl +cxl_pci +6 .* dax1.0 with driver kmem \+1 '
row 0000:0d:00.0 '1.0 GiB +- +\? +\? +\? +-$'
row 0000:0e:00.0 'cxl +annex_cxl .* 3 in the module '
row 0000:0e:00.0 \
	'\? +\? +\? +5 information, 2 failure +\? +512.0 MiB at 0x110000000, 2 ways, ended$'
row 0000:0f:00.0 '\? +\? +\? +\? +\? +-$'
row 10000:01:00.0 'nvme +- '
holds "an IDE controller is not listed" sh -c '! grep -q 00:09.0 out'
holds "a network card is not listed" sh -c '! grep -q 00:02.0 out'

claim "list in JSON" "$annex" list --root there --json
holds "nine devices" test "$(grep -c '"address"' out)" -eq 9
value "volatile memory" volatile_bytes 1073741824
value "and no persistent" persistent_bytes 0
value "where a range is" base 4563402752
value "how it turns" granularity_bytes 4096
value "events that failed" failure 2
value "users that are no processes" count 3
holds "a range that ended" grep -q '"ended": true' out
holds "its last member" sh -c "grep -A 3 '\"members\"' out | grep -q 0000:0d:00.0"
holds "a region" grep -q '"name": "region1"' out
holds "but one that is committed, and of this device" \
	sh -c "! grep -qE '\"region[02]\"' out"
holds "facts that no driver reports" grep -q '"poison_records": null' out
holds "nor its health" grep -q '"health": null' out
value "the buffer in bytes" cmb_bytes 262144
value "group" iommu_group 3
holds "a space in a mount point" grep -q '"name": "/with space"' out
holds "what holds a partition" grep -q '"kind": "holder"' out
holds "swap" grep -q '"kind": "swap"' out
holds "the owner's process" grep -q '"pid": 4242' out
rm $hdm/range/base
claim "list for users other than root" "$annex" list --root there
row 0000:0e:00.0 '.* 512.0 MiB, 2 ways, ended$'
claim "in JSON" "$annex" list --root there --json
holds "where the range is, is unknown" grep -q '"base": null' out
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
holds "no drive of another machine" grep -qE '^ng: +remote +unknown' out
holds "the command that connects one" grep -q 'nvme connect -t tcp' out
holds "no line about offered subsystems" sh -c '! grep -qE "^ng: +offered" out'
holds "io_uring" grep -qE '^file: +io_uring +ok' out
holds "kernel" grep -qE '^pci: +kernel +ok' out
holds "headers" grep -qE '^pci: +headers +ok' out
holds "module" grep -qE '^pci: +module +ok' out
holds "IOMMU" grep -qE '^pci: +IOMMU +ok' out
holds "no shared group" sh -c '! grep -qE "^pci: +group" out'
holds "nodes" grep -qE '^numa: +nodes +ok +with memory: 0-1; with processors: 0' out
holds "controllers" grep -qE 'controllers +ok +6 NVMe: 1 bound to annex, 3 more' out
holds "CXL devices" grep -qE '^cxl +devices +ok +3 .* 1 bound to annex, 1 more' out
holds "no windows" grep -qE '^cxl +windows +missing' out
holds "bridges whose decoders are held" grep -qE '^cxl +bridges +missing .* port1, port12:' out
holds "the command that frees them" grep -q 'sudo modprobe -r cxl_acpi ' out
holds "a limit of processes is not guessed" grep -qE '^pci: +memlock +unknown' out

mv $pci/drivers/annex kept
mv there/lib/modules/6.1.0-9-amd64/build kept2
ln -snf ../../drivers/cxl_pci $pci/devices/0000:0e:00.0/driver
mkdir -p there/sys/firmware/acpi/tables
printf '' >there/sys/firmware/acpi/tables/CEDT
sed -i '/: port[0-9]/d' there/proc/iomem
ln -s ../../../../bus/pci/devices/0000:00:08.0 there/sys/kernel/iommu_groups/3/devices/0000:00:08.0
echo 5.15.0 >there/proc/sys/kernel/osrelease
echo '#1 SMP Debian 5.15.0-1' >there/proc/sys/kernel/version
echo 2 >there/proc/sys/kernel/io_uring_disabled
for n in 0 1 2; do
	mkdir -p there/sys/class/nvme/nvme$n
	echo tcp >there/sys/class/nvme/nvme$n/transport
	echo live >there/sys/class/nvme/nvme$n/state
	echo 600 >there/sys/class/nvme/nvme$n/ctrl_loss_tmo
done
echo pcie >there/sys/class/nvme/nvme0/transport
mkdir -p there/sys/class/nvme-generic/ng0n1
claim "doctor with drives that the user may not open" "$annex" doctor --root there
holds "the command for udev's rule" grep -q 'sudo install -D /dev/null "/etc/annex/ng/.*ng0n1/' out
rm -r there/sys/class/nvme-generic
claim "doctor with drives of other machines" "$annex" doctor --root there
holds "their paths" grep -qE '^ng: +remote +ok +2 paths' out
echo off >there/sys/class/nvme/nvme1/ctrl_loss_tmo
mkdir -p there/sys/kernel/config/nvmet/subsystems/{a,b}
echo 1 >there/sys/kernel/config/nvmet/subsystems/a/attr_allow_any_host
claim "doctor with one that is waited for" "$annex" doctor --root there
holds "for ever" grep -qE '^ng: +remote +missing .*nvme1' out
holds "until when" grep -q 'sudo tee /sys/class/nvme/nvme1/ctrl_loss_tmo' out
holds "offered subsystems" grep -qE '^ng: +offered +ok +2 subsystems .* 1 of them' out
echo connecting >there/sys/class/nvme/nvme2/state
claim "doctor with one that is lost" "$annex" doctor --root there
holds "its state" grep -qE '^ng: +remote +missing +1 of 2 .*nvme2: connecting' out
claim "doctor where io_uring is switched off" "$annex" doctor --root there
holds "files work" grep -qE '^file: +files +ok' out
holds "the command that allows io_uring" grep -q 'sysctl -w kernel.io_uring_disabled=0' out
holds "an old kernel" grep -qE '^pci: +kernel +missing' out
holds "no headers, and their package" grep -q 'apt-get install dkms linux-headers-5.15.0' out
holds "no module" grep -q 'dkms install annex/' out
echo '#1 SMP PREEMPT_DYNAMIC' >there/proc/sys/kernel/version
claim "doctor under a kernel that is not Debian's" "$annex" doctor --root there
holds "names no package that there is not" sh -c '! grep -q linux-headers out'
holds "but says where headers are" \
	grep -qE '^pci: +headers +missing .*they come with the kernel' out
echo '#1 SMP Debian 5.15.0-1' >there/proc/sys/kernel/version
claim "doctor of Debian's again" "$annex" doctor --root there
holds "windows" grep -qE '^cxl +windows +ok' out
holds "bridges without an owner" grep -qE '^cxl +bridges +ok' out
holds "memory that nothing uses" grep -q 'sudo annex bind 0000:0f:00.0' out
holds "a shared group" grep -q '0000:00:04.0 shares IOMMU group 3 with 0000:00:08.0,' out
claim "JSON likewise" "$annex" doctor --root there --json
holds "says so" grep -q '"default_works": true' out

at=$pci/devices/0000:00:04.0/nvme/nvme0
mkdir -p $at/nvme0n1/queue
echo '2|B' >$at/firmware_rev
echo 'SERIAL77' >$at/serial
echo 9 >$at/queue_count
echo 4096 >$at/nvme0n1/queue/logical_block_size
echo 512 >$at/nvme0n1/queue/max_hw_sectors_kb
claim "a row for a list of drives" "$annex" doctor --report --root there
row='tests | 2/B | 1b36:0010, class 010802 | 16.0 GT/s x4 | 5.15.0 | DMA-FQ'
holds "with the drive's facts" grep -qF "$row | 512.0 KiB | 8 | 4.0 KiB | not run |" out
holds "a row for each controller" test "$(grep -c 'class 010802' out)" -eq 6
holds "unknown facts" grep -q '| unknown |' out
holds "no serial number and no address" sh -c '! grep -q "SERIAL77\|0000:00" out'
printf '{"parts": [%s, %s]}' '{"part": "queues", "result": "ok"}' \
	'{"part": "cache", "result": "failed"}' >test.json
claim "with results of selftest" "$annex" doctor --report --root there --selftest test.json
holds "in the row" grep -q '| queues: ok, cache: failed |$' out
claim "in JSON" "$annex" doctor --report --root there --selftest test.json --json
value "bytes of a block" block_bytes 4096
value "queues" queues 8
holds "no serial number there" sh -c '! grep -q "SERIAL77\|0000:00" out'
for text in '' '{}' '[]' '{"parts": 3}' '{"parts": [{"part": 1, "result": "ok"}]}' \
	'{"parts": [], "parts": []}'; do
	echo "$text" >test.json
	refused "no report: $text" "test.json: no report of annex selftest" \
		"$annex" doctor --report --root there --selftest test.json
done
refused "no such report" "gone" "$annex" doctor --report --selftest gone
refused "results without a row" "for --report" "$annex" doctor --selftest test.json
rm test.json

mkdir -p there/lib/modules/5.15.0
echo 'updates/dkms/annex.ko.xz:' >there/lib/modules/5.15.0/modules.dep
rm -r there/sys/kernel/iommu_groups
echo 'CPU implementer	: 0x41' >there/proc/cpuinfo
echo 0 >there/proc/sys/kernel/io_uring_disabled
claim "doctor without an IOMMU" "$annex" doctor --root there
holds "it is off" grep -qE '^pci: +IOMMU +missing' out
holds "where to turn it on" grep -q 'firmware-setup.*SMMU' out
holds "a module that is not loaded" grep -q 'sudo modprobe annex' out
echo 'vendor_id	: GenuineIntel' >there/proc/cpuinfo
claim "doctor without an IOMMU of Intel's" "$annex" doctor --root there
holds "how to turn it on" grep -q 'intel_iommu=on' out
mv kept $pci/drivers/annex
mv kept2 there/lib/modules/6.1.0-9-amd64/build
ln -snf ../../drivers/annex_cxl $pci/devices/0000:0e:00.0/driver

refused "a root that is none" "no folder sys" "$annex" list --root nowhere
refused "a root that is none" "no folder sys" "$annex" doctor --root .
refused "list of something" "too many" "$annex" list 0000:00:04.0
refused "doctor of something" "too many" "$annex" doctor pci:
refused "bind has no root" "is not an option" "$annex" bind --root there 0000:00:04.0
refused "bind nothing" "no device: annex list" "$annex" bind
refused "unbind nothing" "no device: annex list" "$annex" unbind
for addr in '' 0 00:04 00:04.8 00:20.0 00:4.0.0 0000:00:04.0x x000:00:04.0 '00:04.0 ' -00:04.0 \
	000000000:00:04.0 0x00:00:04.0 nvme0 /dev/nvme0 123:00:04.00; do
	refused "bind of \"$addr\"" "not a PCI address" "$annex" bind -- "$addr"
	refused "unbind of \"$addr\"" "not a PCI address" "$annex" unbind -- "$addr"
done
refused "bind of no device" "no PCI device ffff:ff:1f.7" "$annex" bind ffff:ff:1f.7
refused "a bad address after a good one" "not a PCI address" "$annex" bind ffff:ff:1f.7 00

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
	refused "bind of a network card" "neither an NVMe .* nor CXL memory .class 0x020000" \
		"${there[@]}" "$annex" bind 00:02.0
	refused "bind of a NUMA node" \
		"daxctl offline-memory dax1.0 && echo dax1.0 > /sys/bus/dax/drivers/kmem/unbind" \
		"${there[@]}" "$annex" bind 0d:00.0
	ln -snf ../../../../../dax/drivers/device_dax $cxl/region1/dax_region1/dax1.0/driver
	refused "bind of a devdax" "driver device_dax: echo dax1.0 > /sys/bus/dax/drivers/device" \
		"${there[@]}" "$annex" bind 00:06.0 0d:00.0
	rm $cxl/region1/dax_region1/dax1.0/driver
	refused "bind of a region" "region1 on mem3: echo 0 > .*/region1/commit first" \
		"${there[@]}" "$annex" bind 0d:00.0
	printf '' >$pci/drivers/cxl_pci/unbind
	echo 0 >$cxl/region1/commit
	refused "memory that the module does not take" "0d:00.0: annex.ko did not bind it: see" \
		"${there[@]}" "$annex" bind 0d:00.0
	holds "its override is gone" test -z \
		"$(head -n 1 $pci/devices/0000:0d:00.0/driver_override)"
	claim "unbind of memory that is not bound" "${there[@]}" "$annex" unbind 0d:00.0
	holds "says so" grep -q 'is already bound to cxl_pci' out
	refused "unbind of memory whose users are not seen" "3 in the module, not by a process" \
		"${there[@]}" "$annex" unbind 0d:00.0 0e:00.0
	echo 0 >$hdm/hdm/users
	mv $pci/drivers/cxl_pci kept
	refused "unbind of memory without the kernel's driver" "modprobe cxl_pci" \
		"${there[@]}" "$annex" unbind 0e:00.0
	mv kept $pci/drivers/cxl_pci
	refused "a namespace that cannot be looked at" "cannot see whether .*nvme1n1" \
		"${there[@]}" "$annex" bind 00:05.0
	holds "and nothing was touched" test ! -s $pci/drivers/nvme/unbind
	refused "a controller that the module does not take" "annex.ko did not bind it" \
		"${there[@]}" "$annex" bind 10000:01:00.0
	holds "its override is gone" test -z \
		"$(head -n 1 $pci/devices/10000:01:00.0/driver_override)"
	claim "bind of one that is bound" "${there[@]}" "$annex" bind 00:06.0 0000:00:06.0
	holds "says so, once" test "$(grep -c 'is already bound to annex' out)" -eq 1
	claim "unbind of one that is not, in JSON" "${there[@]}" "$annex" unbind 00:04.0 --json
	holds "says so" grep -q '"changed": false' out
	refused "unbind of another driver's" "bound to vfio-pci" \
		"${there[@]}" "$annex" unbind 00:08.0
	mv $pci/drivers/nvme kept
	refused "unbind without the kernel's driver" "modprobe nvme" "${there[@]}" "$annex" \
		unbind 00:06.0
	mv kept $pci/drivers/nvme
	mv $pci/drivers/annex kept
	refused "bind without the module" "modprobe annex" "${there[@]}" "$annex" bind 10000:01:00.0
	mv kept $pci/drivers/annex
fi

refused "the health of nothing" "needs a controller" "$annex" health
refused "the health of a file" "pci:ADDRESS names a controller" "$annex" health file:there
refused "the health of a path" "is not a PCI address" "$annex" health pci:../../mem
refused "the health of no controller" "not bound to annex" "$annex" health pci:ffff:ff:1f.7
claim "poison has help" "$annex" poison --help
refused "the poison of nothing" "needs a CXL memory device" "$annex" poison
refused "the poison of a file" "pci:ADDRESS names a device" "$annex" poison file:there
refused "the poison of a path" "is not a PCI address" "$annex" poison pci:../../mem
refused "the poison of no device" "not bound to annex" "$annex" poison pci:ffff:ff:1f.7 --clear
