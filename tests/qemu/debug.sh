#!/bin/bash
# SPDX-License-Identifier: MIT
# A kernel for guests that watches itself: debug.sh SERIES-KIND, of SERIES 6.12 or 7.3, built from
# Debian's source. KIND says for what:
#
#   kasan   addresses (KASAN), locks (lockdep), leaks (kmemleak) and DMA; allocations fail when they
#           are told to, and the lines of annex.ko that are run are counted (gcov)
#   kcsan   data races
#
# It has what guests need and little else: see `common`. Prints its folder, as kernel.sh does.
# Making one takes some minutes on two cores, once in a tree.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

name=$1
series=${name%-*}
kind=${name##*-}
kernels=$(realpath -m "${BUILD:-build}")/qemu/kernel
dir=$kernels/$name
source=$kernels/source-$series

# As in Debian's kernels, as far as tests see it.
common=(64BIT SMP RELOCATABLE NUMA X86_64_ACPI_NUMA X86_X2APIC PREEMPT UNWINDER_FRAME_POINTER
	MODULES MODULE_UNLOAD BLK_DEV_INITRD BINFMT_ELF BINFMT_SCRIPT PRINTK_TIME DEVTMPFS TMPFS
	SWAP HUGETLBFS USERFAULTFD PTE_MARKER_UFFD_WP KSM TRANSPARENT_HUGEPAGE COMPACTION
	SPARSEMEM_VMEMMAP HIGH_RES_TIMERS NO_HZ_IDLE SERIAL_8250 SERIAL_8250_CONSOLE DEVMEM
	ACPI PNP RTC_CLASS RTC_DRV_CMOS RTC_INTF_SYSFS SUSPEND PM_DEBUG PCI PCI_MMCONFIG
	PCI_MSI PCIEPORTBUS PCIEAER HOTPLUG_PCI HOTPLUG_PCI_PCIE HOTPLUG_PCI_ACPI
	IOMMU_SUPPORT INTEL_IOMMU IRQ_REMAP SYNC_FILE UDMABUF X86_MCE MEMORY_FAILURE
	MEMORY_HOTPLUG MEMORY_HOTREMOVE ZONE_DEVICE EXT2_FS CXL_BUS CXL_REGION DAX FS_DAX
	NVME_MULTIPATH KEXEC_FILE ACPI_TABLE_UPGRADE DEBUG_KERNEL DEBUG_FS FTRACE
	ENABLE_DEFAULT_TRACERS NET UNIX NET_9P NETWORK_FILESYSTEMS 9P_FS VIRTIO_MENU VIRTIO_PCI
	NET_9P_VIRTIO PCI_IOV PCI_P2PDMA)
# Newer kernels can do without.
[ "$series" = 6.12 ] || common+=(NUMA_MIGRATION)
# Tests load and unload these.
modular=(BLK_DEV_NVME CXL_PCI CXL_ACPI CXL_MEM DEV_DAX DEV_DAX_CXL DEV_DAX_KMEM)
values=(LOG_BUF_SHIFT=20 LOCALVERSION="\"-$kind\"")

die()
{
	echo "kernel: $*" >&2
	exit 1
}

case $kind in
kasan)
	watches=(KASAN KASAN_INLINE KASAN_VMALLOC PROVE_LOCKING DEBUG_ATOMIC_SLEEP
		DETECT_HUNG_TASK DEBUG_KMEMLEAK DMA_API_DEBUG DEBUG_SG DEBUG_LIST DEBUG_VM
		DEBUG_OBJECTS DEBUG_OBJECTS_FREE DEBUG_OBJECTS_TIMERS DEBUG_OBJECTS_WORK UBSAN
		UBSAN_BOUNDS UBSAN_SHIFT FAULT_INJECTION FAULT_INJECTION_DEBUG_FS FAILSLAB
		FAIL_PAGE_ALLOC FAULT_INJECTION_USERCOPY FAULT_INJECTION_STACKTRACE_FILTER
		GCOV_KERNEL)
	# Room for allocations before it can allocate for itself.
	values+=(DEBUG_KMEMLEAK_MEM_POOL_SIZE=64000)
	;;
kcsan)
	watches=(KCSAN KCSAN_EARLY_ENABLE KCSAN_STRICT DEBUG_LIST DETECT_HUNG_TASK)
	# A race is told once; of each processor one access in so many is watched.
	values+=(KCSAN_REPORT_ONCE_IN_MS=1000000 KCSAN_SKIP_WATCH=1000)
	;;
*) die "a kernel that watches itself is SERIES-kasan or SERIES-kcsan, not $name" ;;
esac

configure()
{
	local one config=$dir/headers/.config
	for one in "${common[@]}" "${watches[@]}"; do echo "CONFIG_$one=y"; done >"$dir/wanted"
	for one in "${modular[@]}"; do echo "CONFIG_$one=m"; done >>"$dir/wanted"
	for one in "${values[@]}"; do echo "CONFIG_$one"; done >>"$dir/wanted"
	"${make[@]}" KCONFIG_ALLCONFIG="$dir/wanted" allnoconfig || return
	! grep -vxFf "$config" "$dir/wanted" || die "it cannot have these"
}

# The source is for all kinds.
unpack()
{
	exec 7>"$source.lock"
	flock 7
	[ -e "$source/Makefile" ] || {
		rm -rf "$source" "$source.new"
		echo "kernel: unpacking Debian's source of Linux $series" >&2
		tests/module/source.sh "$series" "$source.new" >&2 || die "there is no source"
		mv "$source.new" "$source"
	}
	exec 7>&-
}

mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9
stamp="$dir: ${common[*]} ${modular[*]} ${watches[*]} ${values[*]}"
if [ -e "$dir/release" ] && [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then
	echo "$dir"
	exit
fi

log=$dir/log
make=(make -C "$source" "O=$dir/headers" -j"$(nproc)")
# One that was broken off is gone on with.
if [ "$(cat "$dir/begun" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$dir"
	mkdir -p "$dir/headers"
	echo "$stamp" >"$dir/begun"
fi
unpack
echo "kernel: building Linux $name, some minutes; log: $log" >&2
if ! (configure && "${make[@]}" bzImage modules &&
	"${make[@]}" INSTALL_MOD_PATH="$dir" modules_install) >"$log" 2>&1 </dev/null; then
	tail -n 20 "$log" >&2
	die "building it failed; whole log: $log"
fi
cp "$dir/headers/arch/x86/boot/bzImage" "$dir/vmlinuz"
rm -f "$dir"/lib/modules/*/{build,source}
# Files that building a module does not need: most of a gigabyte.
find "$dir/headers" -name '*.[oa]' ! -path '*/scripts/*' ! -path '*/tools/*' -delete
rm -f "$dir/headers"/{vmlinux*,arch/x86/boot/compressed/vmlinux*}
cp "$dir/headers/include/config/kernel.release" "$dir/release.new"
echo "$stamp" >"$dir/stamp"
mv "$dir/release.new" "$dir/release"
echo "$dir"
