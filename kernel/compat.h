/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interfaces that differ between Linux 6.1 and today. Kbuild defines ANNEX_HAS_* by searching the
 * headers; numbers in comments name the first release with an interface.
 */
#ifndef ANNEX_COMPAT_H
#define ANNEX_COMPAT_H

#include <linux/acpi.h>
#include <linux/device/class.h>
#include <linux/eventfd.h>
#include <linux/iommu.h>
#include <linux/ioport.h>
#include <linux/irqdomain.h>
#include <linux/memregion.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/msi.h>
#include <linux/numa.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/smp.h>
#include <linux/version.h>
#ifdef ANNEX_HAS_PFN_T
#include <linux/pfn_t.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "Annex needs Linux 6.1 or newer"
#endif

#ifndef ANNEX_HAS_VM_FLAGS /* 6.3 */
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

static inline struct class *annex_class_create(const char *name)
{
#ifdef class_create /* a macro until 6.3 */
	return class_create(THIS_MODULE, name);
#else
	return class_create(name);
#endif
}

static inline void annex_eventfd_signal(struct eventfd_ctx *ctx)
{
#ifdef ANNEX_HAS_EVENTFD_COUNT /* until 6.7 */
	eventfd_signal(ctx, 1);
#else
	eventfd_signal(ctx);
#endif
}

/* Whether DMA writes of a device can raise its own interrupts only. */
static inline bool annex_isolated_msi(struct device *dev)
{
#ifdef ANNEX_HAS_ISOLATED_MSI /* 6.3 */
	return msi_device_has_isolated_msi(dev);
#else
	return irq_domain_check_msi_remap() || device_iommu_capable(dev, IOMMU_CAP_INTR_REMAP);
#endif
}

/* Whether firmware left event records of CXL devices to the kernel; older kernels do not ask. */
static inline bool annex_owns_events(struct pci_dev *pdev)
{
#ifdef ANNEX_HAS_NATIVE_CXL /* 6.3 */
	return pci_find_host_bridge(pdev->bus)->native_cxl_error;
#else
	return true;
#endif
}

static inline struct iommu_domain *annex_domain_alloc(struct device *dev)
{
#ifdef ANNEX_HAS_PAGING_DOMAIN /* 6.11 */
	return iommu_paging_domain_alloc(dev);
#else
	return iommu_domain_alloc(dev->bus);
#endif
}

static inline int annex_iommu_map(struct iommu_domain *domain, u64 addr, phys_addr_t phys,
				  size_t bytes, int prot)
{
#ifdef ANNEX_HAS_IOMMU_ATOMIC /* until 6.2 */
	return iommu_map(domain, addr, phys, bytes, prot);
#else
	return iommu_map(domain, addr, phys, bytes, prot, GFP_KERNEL_ACCOUNT);
#endif
}

static inline ssize_t annex_iommu_map_sg(struct iommu_domain *domain, u64 addr,
					 struct sg_table *table, int prot)
{
#ifdef ANNEX_HAS_IOMMU_ATOMIC
	return iommu_map_sg(domain, addr, table->sgl, table->orig_nents, prot);
#else
	return iommu_map_sg(domain, addr, table->sgl, table->orig_nents, prot, GFP_KERNEL_ACCOUNT);
#endif
}

/* Whether the kernel itself refuses to pin pages of files with writeback for long. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define ANNEX_HAS_LONG_PINS
#endif

/*
 * Insert a page of a device's memory, so that it can be pinned. Since Linux 6.17 an entry without a
 * page reference is a special one, which cannot be pinned.
 */
static inline vm_fault_t annex_insert_page(struct vm_fault *vmf, phys_addr_t at)
{
#ifdef ANNEX_HAS_PFN_T /* until 6.16 */
	return vmf_insert_mixed(vmf->vma, vmf->address & PAGE_MASK,
				phys_to_pfn_t(at, PFN_DEV | PFN_MAP));
#else
	return vmf_insert_page_mkwrite(vmf, pfn_to_page(PHYS_PFN(at)),
				       vmf->flags & FAULT_FLAG_WRITE);
#endif
}

/*
 * Insert 2 MiB of a device's memory. Since Linux 6.17 memory with struct pages would have to be a
 * folio of that size, whose pages have one reference count. Memory without them can be inserted
 * since 6.12, which keeps get_user_pages() from it.
 */
static inline vm_fault_t annex_insert_huge(struct vm_fault *vmf, phys_addr_t at, bool pages)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	bool write = vmf->flags & FAULT_FLAG_WRITE;
#ifdef ANNEX_HAS_PFN_T
	if (pages)
		return vmf_insert_pfn_pmd(vmf, phys_to_pfn_t(at, PFN_DEV | PFN_MAP), write);
	if (IS_ENABLED(CONFIG_ARCH_SUPPORTS_PMD_PFNMAP))
		return vmf_insert_pfn_pmd(vmf, phys_to_pfn_t(at, 0), write);
#else
	if (!pages && IS_ENABLED(CONFIG_ARCH_SUPPORTS_PMD_PFNMAP))
		return vmf_insert_pfn_pmd(vmf, PHYS_PFN(at), write);
#endif
#endif
	return VM_FAULT_FALLBACK;
}

/*
 * Memory type for a device's memory in user mappings: uncached. On Arm uncached device memory
 * allows aligned accesses only, which memcpy() does not guarantee.
 */
#ifdef CONFIG_ARM64
#define annex_pgprot_memory pgprot_writecombine
#else
#define annex_pgprot_memory pgprot_noncached
#endif

/* Whether the kernel can flush CPU caches of addresses that lead to other memory from now on. */
static inline bool annex_has_flush(void)
{
#ifdef ANNEX_HAS_FLUSH /* 6.2 */
	return cpu_cache_has_invalidate_memregion();
#elif defined(CONFIG_X86)
	return !boot_cpu_has(X86_FEATURE_HYPERVISOR);
#else
	return false;
#endif
}

/* Flush CPU caches of these addresses; older kernels flush all CXL memory, or everything. */
static inline void annex_flush(phys_addr_t base, size_t bytes)
{
#ifdef ANNEX_HAS_FLUSH_PART /* 6.19 */
	cpu_cache_invalidate_memregion(base, bytes);
#elif defined(ANNEX_HAS_FLUSH)
	cpu_cache_invalidate_memregion(IORES_DESC_CXL);
#elif defined(CONFIG_X86)
	wbinvd_on_all_cpus();
#endif
}

/* Bytes of the window that are a cache of the others (HMAT); older kernels do not tell: 0. */
static inline u64 annex_linear_cache(phys_addr_t base, u64 bytes)
{
	resource_size_t cache = 0;
#ifdef ANNEX_HAS_LINEAR_CACHE /* 6.15 */
	struct resource window = DEFINE_RES_MEM(base, bytes);

	/* Without an answer there is no HMAT, or no node for these addresses. */
	hmat_get_extended_linear_cache_size(&window, phys_to_target_node(base), &cache);
#endif
	return cache;
}

/* The importer's callback when a dma-buf moves, and the exporter's call that invokes it. */
#ifdef ANNEX_HAS_DMABUF_INVALIDATE /* 7.0 */
#define ANNEX_DMABUF_MOVED invalidate_mappings
#define annex_dmabuf_moved dma_buf_invalidate_mappings
#else
#define ANNEX_DMABUF_MOVED move_notify
#define annex_dmabuf_moved dma_buf_move_notify
#endif

/* The namespace of an exported symbol was a token before it became a string literal. */
#ifdef ANNEX_HAS_NS_TOKEN /* until 6.12 */
#define ANNEX_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#else
#define ANNEX_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#endif

#endif
