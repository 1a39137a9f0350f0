# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The machine that guests run on; sourced. machine KERNEL INITRAMFS sets the array `qemu` to the
# command that starts it in the current folder, which holds its disks and sockets:
#
#   disk0...   what the NVMe controllers nvme0... keep; the objects limit0... slow them down
#   cxl0...    the memory of the CXL devices cxl0...: what the guest stores is seen there
#   qmp        QEMU's monitor, for qmp.py
#   port       the guest's second serial port: results and requests, see guest/lib.sh
#
# It reads KERNEL (6.1, 6.12, debug), IOMMU (0 none, 1 strict, lazy, noremap: all but interrupts),
# NVME and CXL (how many), APPEND (kernel parameters), and LONG (1: tests in their long form),
# NVME_EXTRA and DISK_EXTRA (one more option of the controllers, and of the files behind them).

# slowness - How many times longer things take on this kernel than on others.
slowness()
{
	[ "$KERNEL" = debug ] && echo 5 || echo 1
}

iommu_options()
{
	local caching=on strict=1 remap=on
	[ "$IOMMU" != 0 ] || return 0
	[ "$IOMMU" != noremap ] || remap=off
	if [ "$IOMMU" = lazy ]; then
		# A guest that is told of caching mode flushes at every unmap.
		caching=off
		strict=0
	fi
	qemu+=(-device "intel-iommu,intremap=$remap,caching-mode=$caching,device-iotlb=on")
	append+=" intel_iommu=on iommu.strict=$strict"
}

# Only what sits on a root port can be unplugged. A backend of its own survives that, so that the
# controller can be plugged in again. The kernel's own driver does not use the CMB.
nvme_options()
{
	local i at disk
	for ((i = 0; i < NVME; i++)); do
		rm -f "disk$i"
		truncate -s 256M "disk$i"
		at="bus=port$i,drive=disk$i,serial=annex$i"
		disk="file.driver=raw,file.file.driver=file,file.file.filename=disk$i"
		disk+=${DISK_EXTRA:+,file.file.$DISK_EXTRA}
		qemu+=(-object "throttle-group,id=limit$i"
			-blockdev "driver=throttle,node-name=disk$i,throttle-group=limit$i,$disk"
			-device "pcie-root-port,id=port$i,bus=pcie.0,chassis=$((i + 1)),slot=$i"
			-device "nvme,id=nvme$i,$at,$NVME_OPTIONS")
	done
}

# One host bridge, a root port a device; everything else is on pcie.0 by name.
cxl_options()
{
	local i at
	[ "$CXL" -gt 0 ] || return 0
	qemu+=(-device "pxb-cxl,id=cxl,bus_nr=64,bus=pcie.0"
		-M "cxl-fmw.0.targets.0=cxl,cxl-fmw.0.size=4G")
	for ((i = 0; i < CXL; i++)); do
		rm -f "cxl$i"
		at="port=$i,chassis=$((32 + i)),slot=$((32 + i))"
		qemu+=(-object "memory-backend-file,id=mem$i,share=on,mem-path=cxl$i,size=256M"
			-device "cxl-rp,id=cxlport$i,bus=cxl,$at"
			-device "cxl-type3,id=cxl$i,bus=cxlport$i,volatile-memdev=mem$i,sn=$i")
	done
}

machine()
{
	local split="" append="console=ttyS0 panic=-1 oops=panic LONG=${LONG:-0} ${APPEND:-}"
	local mem=1G vectors=65
	# To watch memory takes memory, and each vector's allocations would fail for themselves.
	[ "$KERNEL" != debug ] || mem=3G vectors=5
	append+=" KERNEL=$KERNEL SLOW=$(slowness)"
	NVME_OPTIONS=cmb_size_mb=16,max_ioqpairs=64,msix_qsize=$vectors${NVME_EXTRA:+,$NVME_EXTRA}
	[ "$IOMMU" = 0 ] || split=,kernel-irqchip=split
	# KVM is not everywhere, and not the same everywhere.
	qemu=(qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot
		-accel "tcg,thread=multi" -M "q35,cxl=on$split" -cpu max -smp 2
		-m "$mem,maxmem=8G,slots=4")
	iommu_options
	nvme_options
	cxl_options
	qemu+=(-qmp "unix:qmp,server=on,wait=off" -kernel "$1/vmlinuz" -initrd "$2")
	qemu+=(-append "$append IOMMU=$IOMMU NVME=$NVME CXL=$CXL NVME_OPTIONS=$NVME_OPTIONS")
}
