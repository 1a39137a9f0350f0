# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The machine that guests run on; sourced. machine KERNEL INITRAMFS sets the array `qemu` to the
# command by which the program $emulator starts it in the current folder, which holds its disks and
# sockets:
#
#   disk0...   what the NVMe controllers nvme0... keep; the objects limit0... slow them down
#   cxl0...    the memory of the CXL devices cxl0...: what the guest stores is seen there;
#   pmem0...   if they have persistent memory, that is there
#   qmp        QEMU's monitor, for qmp.py
#   port       the guest's second serial port: results and requests, see guest/lib.sh
#
# It reads KERNEL (as in kernel.sh), IOMMU (0 none, 1 strict, lazy, noremap: all but interrupts,
# rmrr: strict, and firmware wants the first controller to reach memory of its own), NVME and CXL
# (how many), NAMESPACES (of each controller), VFS (virtual functions that the first controller can
# have, which has no memory of its own then), VECTORS (of the first controller; none: as many as it
# has), CXL_SHAPE (flat, tree) and CXL_KIND (volatile,
# persistent, both) of the devices, CXL_BYTES (of each kind of memory of each, and of their window,
# if that is larger than 4G), MEM (of the guest), CPU (as QEMU has it), COUNTED (1: one processor,
# each of whose instructions takes a nanosecond, whatever else the host does), SIDE (of two machines
# on one network: far, or near, in the folder above the other's), APPEND (kernel parameters), LONG
# (1: tests in their long form), ALL (1: all cases of each test), NVME_EXTRA and DISK_EXTRA (one
# more option of the controllers, and of the files behind them).

tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
rmrr=$(realpath "$(dirname "${BASH_SOURCE[0]}")/rmrr.py")

# slowness - How many times longer things take on this kernel than on others.
slowness()
{
	[[ $KERNEL == *-* ]] && echo 5 || echo 1
}

# A PC, or another board of QEMU's. KVM is not everywhere, and not the same everywhere.
pc()
{
	local split="" caching=on remap=on
	[ "$IOMMU" = 0 ] || split=,kernel-irqchip=split
	qemu=("$emulator" -M "q35,cxl=on$split" -cpu "${CPU:-max}"
		-m "$mem,maxmem=8G,slots=4")
	# TCG on a busy machine is too slow for the kernel's test of the timer.
	append="console=ttyS0 PORT=ttyS1 no_timer_check"
	[ "$IOMMU" != 0 ] || return 0
	[ "$IOMMU" != noremap ] || remap=off
	# A guest that is told of caching mode flushes at every unmap.
	[ "$IOMMU" != lazy ] || caching=off
	qemu+=(-device "intel-iommu,intremap=$remap,caching-mode=$caching,device-iotlb=on")
	append+=" intel_iommu=on"
}

# Its interrupts pass an IOMMU by where there is no ITS. Told by a device tree, not by firmware,
# Linux turns on too late what keeps a root port and the device below it apart (ACS). The
# processor's own way of signing pointers would take most of the time.
arm64()
{
	local smmu="" gic=3
	[ "$IOMMU" = 0 ] || smmu=,iommu=smmuv3
	[ "$IOMMU" != noremap ] || gic=2
	qemu=("$emulator" -M "virt,gic-version=$gic$smmu"
		-cpu "${CPU:-max,pauth-impdef=on}" -m "$mem")
	append="console=ttyAMA0 PORT=ttyAMA1 pci=config_acs=0011101@pci:1b36:c"
}

# more_namespaces N - Of controller N: from the second on, of 64 MiB in blocks of 4096 bytes.
more_namespaces()
{
	local k file block=logical_block_size=4096,physical_block_size=4096
	for ((k = 2; k <= ${NAMESPACES:-1}; k++)); do
		file=disk$1-$k
		rm -f "$file"
		truncate -s 64M "$file"
		qemu+=(-blockdev "driver=raw,node-name=$file,file.driver=file,file.filename=$file"
			-device "nvme-ns,drive=$file,bus=nvme$1,nsid=$k,$block")
	done
}

# Of the first controller: its namespace is of the subsystem, and so of all functions.
virtual_functions()
{
	at="bus=port0,serial=annex0,subsys=subsystem"
	options=max_ioqpairs=$((8 + 2 * VFS)),msix_qsize=$((9 + 2 * VFS))
	options+=,sriov_max_vfs=$VFS,sriov_vq_flexible=$((2 * VFS)),sriov_vi_flexible=$((2 * VFS))
	qemu+=(-device "nvme-subsys,id=subsystem,nqn=annex")
}

# Only what sits on a root port can be unplugged. A backend of its own survives that, so that the
# controller can be plugged in again. The kernel's own driver does not use the CMB.
nvme_options()
{
	local i at disk vectors options
	for ((i = 0; i < NVME; i++)); do
		rm -f "disk$i"
		truncate -s 256M "disk$i"
		at="bus=port$i,drive=disk$i,serial=annex$i"
		vectors=
		[ "$i" -gt 0 ] || vectors=${VECTORS:+,msix_qsize=$VECTORS}
		options=$NVME_OPTIONS
		[ "$i" -gt 0 ] || [ "${VFS:-0}" = 0 ] || virtual_functions
		disk="file.driver=raw,file.file.driver=file,file.file.filename=disk$i"
		disk+=${DISK_EXTRA:+,file.file.$DISK_EXTRA}
		qemu+=(-object "throttle-group,id=limit$i"
			-blockdev "driver=throttle,node-name=disk$i,throttle-group=limit$i,$disk"
			-device "pcie-root-port,id=port$i,bus=pcie.0,chassis=$((i + 1)),slot=$i"
			-device "nvme,id=nvme$i,$at,$options$vectors")
		[ "$i" -gt 0 ] || [ "${VFS:-0}" = 0 ] ||
			qemu+=(-device "nvme-ns,drive=disk0,bus=nvme0,nsid=1")
		more_namespaces "$i"
	done
}

# cxl_memory FILE BYTES - Memory that is a file too, of the same name as its object.
cxl_memory()
{
	rm -f "$1"
	qemu+=(-object "memory-backend-file,id=$1-memory,share=on,mem-path=$1,size=$2")
}

# Where the emulator has it, devices can be coherent by themselves (HDM-DB), which takes flits of
# 256 bytes all the way.
cxl_models()
{
	flit='' models=h
	"$emulator" -device cxl-type3,help | grep -q hdm-db= || return
	flit=,x-256b-flit=on models=db
}

# cxl_device N BUS - A CXL memory device there.
cxl_device()
{
	local options=$flit
	[ "$models" != db ] || options+=,hdm-db=on
	[ "$CXL_KIND" = persistent ] || {
		cxl_memory "cxl$1" "$CXL_BYTES"
		options+=,volatile-memdev=cxl$1-memory
	}
	[ "$CXL_KIND" = volatile ] || {
		cxl_memory "pmem$1" "$CXL_BYTES"
		cxl_memory "label$1" 64K
		options+=,persistent-memdev=pmem$1-memory,lsa=label$1-memory
	}
	qemu+=(-device "cxl-type3,id=cxl$1,bus=$2,sn=$(($1 + 1))$options")
}

# cxl_port ID BUS SLOT - A root port.
cxl_port()
{
	qemu+=(-device "cxl-rp,id=$1,bus=$2,port=$3,chassis=$((32 + $3)),slot=$((32 + $3))$flit")
}

# flat: one host bridge, a root port a device. tree: four devices, two below the root ports of one
# host bridge, two below a switch below the only root port of another; a window over both bridges,
# and two for each. Everything that is not CXL is on pcie.0 by name.
cxl_flat()
{
	local i window=4G
	[ "$CXL_BYTES" = 256M ] || window=$CXL_BYTES
	qemu+=(-device "pxb-cxl,id=cxl,bus_nr=64,bus=pcie.0"
		-M "cxl-fmw.0.targets.0=cxl,cxl-fmw.0.size=$window")
	for ((i = 0; i < CXL; i++)); do
		cxl_port "cxlport$i" cxl "$i"
		cxl_device "$i" "cxlport$i"
	done
}

cxl_tree()
{
	local i at w=cxl-fmw windows
	windows=$w.0.targets.0=cxl,$w.0.targets.1=cxlb,$w.0.size=4G,$w.0.interleave-granularity=4k
	windows+=,$w.1.targets.0=cxl,$w.1.size=256M,$w.2.targets.0=cxl,$w.2.size=1G
	windows+=,$w.3.targets.0=cxlb,$w.3.size=256M,$w.4.targets.0=cxlb,$w.4.size=1G
	qemu+=(-device "pxb-cxl,id=cxl,bus_nr=64,bus=pcie.0"
		-device "pxb-cxl,id=cxlb,bus_nr=128,bus=pcie.0"
		-M "$windows")
	for ((i = 0; i < 2; i++)); do
		cxl_port "cxlport$i" cxl "$i"
		cxl_device "$i" "cxlport$i"
	done
	cxl_port cxlport2 cxlb 2
	qemu+=(-device "cxl-upstream,bus=cxlport2,id=switch,addr=0.0,multifunction=on$flit")
	for ((i = 2; i < 4; i++)); do
		at="bus=switch,port=$i,chassis=$((64 + i)),slot=$i"
		qemu+=(-device "cxl-downstream,id=down$i,$at$flit")
		cxl_device "$i" "down$i"
	done
}

cxl_options()
{
	[ "$CXL" -gt 0 ] || return 0
	cxl_models
	append+=" CXL_MODELS=$models"
	case $CXL_SHAPE in
	tree) cxl_tree ;;
	*) cxl_flat ;;
	esac
}

# Two networks of the two machines alone, and this machine's files, to be read. The sockets are the
# far one's, which starts first, and starts again when it is reset.
net_options()
{
	local i at path=. last=1
	case ${SIDE:-} in
	near) at=server=off,reconnect-ms=100 path=far last=2 ;;
	far) at=server=on ;;
	*) qemu+=(-no-reboot); return ;;
	esac
	[ "$SIDE" = far ] || qemu+=(-no-reboot)
	for i in 0 1; do
		qemu+=(-netdev "stream,id=net$i,$at,addr.type=unix,addr.path=$path/net$i"
			-device "virtio-net-pci,netdev=net$i,bus=pcie.0,mac=52:54:00:00:0$i:0$last")
	done
	qemu+=(-fsdev "local,id=outside,path=/,security_model=none,readonly=on"
		-device "virtio-9p-pci,fsdev=outside,mount_tag=outside,bus=pcie.0")
}

# initrd_for INITRAMFS - The file to boot from: that one, or in the current folder one that begins
# with firmware's table. The first port is in the first free slot of q35's bus.
initrd_for()
{
	[ "$IOMMU" = rmrr ] || { echo "$1"; return; }
	"$rmrr" 1 >initrd && cat "$1" >>initrd && echo initrd
}

machine()
{
	local mem=${MEM:-1G} vectors=65 board=pc append
	# To watch memory takes memory, and each vector's allocations would fail for themselves.
	[[ $KERNEL != *-* ]] || mem=${MEM:-3G} vectors=5
	[ "$KERNEL" != arm64 ] || board=arm64
	CXL_SHAPE=${CXL_SHAPE:-flat} CXL_KIND=${CXL_KIND:-volatile} CXL_BYTES=${CXL_BYTES:-256M}
	NVME_OPTIONS=cmb_size_mb=16,max_ioqpairs=64,msix_qsize=$vectors${NVME_EXTRA:+,$NVME_EXTRA}
	# Data in CXL memory goes through buffers of QEMU's. A command that waits for one while the
	# controller is reset is completed into a queue that is no more, and QEMU crashes.
	NVME_OPTIONS+=,x-max-bounce-buffer-size=$((64 << 20))
	local processors=(-accel "tcg,thread=multi" -smp 2)
	[ "${COUNTED:-0}" = 0 ] ||
		processors=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -smp 1)
	$board
	qemu+=(-nodefaults -no-user-config -display none "${processors[@]}")
	nvme_options
	cxl_options
	net_options
	qemu+=(-qmp "unix:qmp,server=on,wait=off" -kernel "$1/vmlinuz" -initrd "$(initrd_for "$2")")
	# An emulated processor does nothing ahead of time; to defend it takes time.
	append+=" panic=-1 oops=panic mitigations=off"
	[ "$IOMMU" = 0 ] || append+=" iommu.strict=$([ "$IOMMU" = lazy ] && echo 0 || echo 1)"
	append+=" LONG=${LONG:-0} ALL=${ALL:-0} ${APPEND:-} KERNEL=$KERNEL SLOW=$(slowness)"
	append+=" CXL_SHAPE=$CXL_SHAPE CXL_KIND=$CXL_KIND CXL_BYTES=$CXL_BYTES"
	append+=" NAMESPACES=${NAMESPACES:-1} VFS=${VFS:-0} VECTORS=${VECTORS:-} SIDE=${SIDE:-}"
	append+=" TREE=$tree BUILD=$build"
	qemu+=(-append "$append IOMMU=$IOMMU NVME=$NVME CXL=$CXL NVME_OPTIONS=$NVME_OPTIONS")
}
