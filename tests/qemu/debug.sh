#!/bin/bash
# SPDX-License-Identifier: MIT
# A kernel for guests that watches itself, built from Debian's source: addresses (KASAN), locks
# (lockdep), leaks (kmemleak), DMA, and allocations that fail when they are told to. Prints its
# folder, as kernel.sh does. Making it takes a quarter of an hour on two cores, once in a tree.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

dir=$(realpath -m "${BUILD:-build}")/qemu/kernel/debug

watches=(KASAN KASAN_INLINE KASAN_VMALLOC PROVE_LOCKING DEBUG_ATOMIC_SLEEP DETECT_HUNG_TASK
	DEBUG_KMEMLEAK DMA_API_DEBUG DEBUG_SG DEBUG_LIST DEBUG_VM DEBUG_OBJECTS DEBUG_OBJECTS_FREE
	DEBUG_OBJECTS_WORK SLUB_DEBUG_ON UBSAN UBSAN_BOUNDS UBSAN_SHIFT FAULT_INJECTION
	FAULT_INJECTION_DEBUG_FS FAULT_INJECTION_STACKTRACE_FILTER FAILSLAB FAIL_PAGE_ALLOC
	FAULT_INJECTION_USERCOPY)
# As in Debian's kernels; tests load and unload the drivers.
builtin=(MODULES MODULE_UNLOAD BLK_DEV_INITRD DEVTMPFS TMPFS MEMFD_CREATE HUGETLBFS USERFAULTFD
	TRANSPARENT_HUGEPAGE IO_URING PCI_MSI PCIEPORTBUS HOTPLUG_PCI HOTPLUG_PCI_PCIE
	HOTPLUG_PCI_ACPI INTEL_IOMMU
	IRQ_REMAP IOMMU_SUPPORT DMA_SHARED_BUFFER SYNC_FILE UDMABUF MEMORY_HOTPLUG MEMORY_HOTREMOVE
	ZONE_DEVICE FS_DAX CXL_BUS CXL_REGION LIBNVDIMM NVME_MULTIPATH EXT4_FS FUNCTION_TRACER
	SERIAL_8250 SERIAL_8250_CONSOLE)
modular=(BLK_DEV_NVME CXL_PCI CXL_ACPI CXL_MEM CXL_PMEM DEV_DAX DEV_DAX_CXL DEV_DAX_KMEM
	VFIO VFIO_PCI NET_9P NET_9P_VIRTIO 9P_FS VIRTIO_PCI)
without=(WERROR DRM FB SOUND USB_SUPPORT NETDEVICES WLAN WIRELESS CFG80211 RFKILL MACINTOSH_DRIVERS
	INPUT_JOYSTICK NFS_FS NFSD IPV6 NETFILTER NET_SCHED SYSTEM_TRUSTED_KEYRING DEBUG_INFO_BTF
	DEBUG_KMEMLEAK_AUTO_SCAN RANDOMIZE_BASE MICROCODE KVM SECURITY_SELINUX AUDIT HIBERNATION
	PCMCIA AGP ATA MD)

die()
{
	echo "kernel: $*" >&2
	exit 1
}

configure()
{
	local set=(scripts/config --file "$dir/headers/.config") name
	cd "$dir/source"
	"${make[@]}" x86_64_defconfig kvm_guest.config
	for name in "${without[@]}"; do "${set[@]}" -d "$name"; done
	for name in "${builtin[@]}" "${watches[@]}"; do "${set[@]}" -e "$name"; done
	for name in "${modular[@]}"; do "${set[@]}" -m "$name"; done
	# What is allocated before it can allocate for itself.
	"${set[@]}" --set-val DEBUG_KMEMLEAK_MEM_POOL_SIZE 64000 \
		--set-str LOCALVERSION -debug -d LOCALVERSION_AUTO -e DEBUG_INFO_NONE
	"${make[@]}" olddefconfig
	for name in "${builtin[@]}" "${watches[@]}"; do
		grep -qx "CONFIG_$name=y" "$dir/headers/.config" || die "it has no $name"
	done
	for name in "${modular[@]}"; do
		grep -qx "CONFIG_$name=m" "$dir/headers/.config" || die "it has no module $name"
	done
}

mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9
stamp="$dir: $(sha256sum "tests/qemu/debug.sh")"
if [ -e "$dir/release" ] && [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then
	echo "$dir"
	exit
fi

log=$dir/log
make=(make -C "$dir/source" "O=$dir/headers" -j"$(nproc)")
# One that was broken off is gone on with.
if [ "$(cat "$dir/begun" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$dir"
	mkdir -p "$dir/headers"
	echo "kernel: unpacking Debian's source of Linux" >&2
	tests/module/source.sh "$dir/source" >&2 || die "there is no source"
	echo "$stamp" >"$dir/begun"
fi
echo "kernel: building a kernel that watches itself, a quarter of an hour; log: $log" >&2
if ! (configure && "${make[@]}" bzImage modules &&
	"${make[@]}" INSTALL_MOD_PATH="$dir" modules_install) >"$log" 2>&1 </dev/null; then
	tail -n 20 "$log" >&2
	die "building it failed; whole log: $log"
fi
cp "$dir/headers/arch/x86/boot/bzImage" "$dir/vmlinuz"
rm -f "$dir"/lib/modules/*/{build,source}
# What no module of others is built with: most of two gigabytes.
find "$dir/headers" -name '*.[oa]' ! -path '*/scripts/*' ! -path '*/tools/*' -delete
rm -f "$dir/headers"/{vmlinux*,arch/x86/boot/compressed/vmlinux*}
cp "$dir/headers/include/config/kernel.release" "$dir/release.new"
echo "$stamp" >"$dir/stamp"
mv "$dir/release.new" "$dir/release"
echo "$dir"
