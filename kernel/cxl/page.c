// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of a range in page tables. Owns the range's struct pages, and the bitmap of poisoned
 * pages.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include "compat.h"
#include "filter.h"
#include "page.h"
#include "range.h"
#include "trace.h"
#include "user.h"

static unsigned int struct_page_percent = 25;
module_param(struct_page_percent, uint, 0644);
MODULE_PARM_DESC(struct_page_percent,
		 "Share of the host's memory that the struct pages of users' ranges may take");

static atomic64_t struct_page_bytes; /* of all ranges; a counter that orders nothing */

static vm_fault_t page_insert(struct annex_range *r, struct vm_fault *vmf, u64 at)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = vmf->address & PAGE_MASK;

	if (at < r->cached)
		return annex_insert_page(vmf, r->base + at);
	return vmf_insert_pfn(vma, addr, PHYS_PFN(r->base + at));
}

static vm_fault_t page_fault(struct vm_fault *vmf)
{
	struct annex_range *r = vmf->vma->vm_private_data;
	vm_fault_t ret;

	down_read(&r->view);
	if (r->state != ANNEX_RANGE_LIVE || vmf->pgoff >= r->bytes >> PAGE_SHIFT)
		ret = VM_FAULT_SIGBUS;
	else if (test_bit(vmf->pgoff, r->bad))
		ret = VM_FAULT_HWPOISON;
	else
		ret = page_insert(r, vmf, (u64)vmf->pgoff << PAGE_SHIFT);
	up_read(&r->view);
	return ret;
}

#ifdef ANNEX_HAS_HUGE_FAULT /* 6.6; older kernels insert no huge pages in such mappings */
/* Errors are page_fault()'s: pages of 2 MiB with poison are inserted one by one. */
static vm_fault_t page_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct vm_area_struct *vma = vmf->vma;
	struct annex_range *r = vma->vm_private_data;
	unsigned long addr = vmf->address & PMD_MASK, first, end;
	vm_fault_t ret = VM_FAULT_FALLBACK;

	if (order != PMD_SHIFT - PAGE_SHIFT || addr < vma->vm_start ||
	    vma->vm_end - addr < PMD_SIZE)
		return ret;
	first = linear_page_index(vma, addr);
	end = first + PHYS_PFN(PMD_SIZE);
	down_read(&r->view);
	if (IS_ALIGNED(PFN_PHYS(first), PMD_SIZE) && r->state == ANNEX_RANGE_LIVE &&
	    end <= r->bytes >> PAGE_SHIFT && find_next_bit(r->bad, end, first) >= end)
		ret = annex_insert_huge(vmf, r->base + PFN_PHYS(first),
					PFN_PHYS(first) < r->cached);
	up_read(&r->view);
	return ret;
}
#endif

static const struct vm_operations_struct ops = {
	.fault = page_fault,
#ifdef ANNEX_HAS_HUGE_FAULT
	.huge_fault = page_huge_fault,
#endif
};

void annex_page_show(struct annex_range *r, struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_HUGEPAGE);
	vma->vm_private_data = r; /* the mapping holds its file, which holds a reference */
	vma->vm_ops = &ops;
}

static int page_choose(struct annex_range *r, struct vm_area_struct *vma, u64 at, u64 bytes)
{
	if (bytes > r->bytes || at > r->bytes - bytes)
		return -EINVAL;
	if (!r->shared)
		return -EACCES; /* pieces have their own files */
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	if (at + bytes <= r->cached) {
		vm_flags_set(vma, VM_MIXEDMAP);
		return 0;
	}
	vm_flags_set(vma, VM_IO | VM_PFNMAP);
	if (at >= r->cached + r->wc)
		return -EACCES;
	if (at < r->cached || at + bytes > r->cached + r->wc)
		return -EINVAL; /* more than one part */
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return 0;
}

int annex_page_mmap(struct annex_user *user, struct vm_area_struct *vma)
{
	struct annex_range *r = smp_load_acquire(&user->range); /* pairs with join()'s */
	u64 at = (u64)vma->vm_pgoff << PAGE_SHIFT, bytes = vma->vm_end - vma->vm_start;
	int err = -ENODEV;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return annex_hdm_refuse(user->hdm, -EINVAL, "mmap: shared, and not executable");
	if (!r)
		return annex_hdm_refuse(user->hdm, -ENXIO, "mmap before ANNEX_IOC_HDM_RANGE");
	vm_flags_clear(vma, VM_MAYEXEC);
	down_read(&r->view);
	if (r->state == ANNEX_RANGE_LIVE)
		err = page_choose(r, vma, at, bytes);
	up_read(&r->view);
	trace_annex_hdm_map(dev_name(&user->hdm->dev), at, bytes, err);
	if (!err)
		annex_page_show(r, vma);
	if (err == -EACCES)
		return annex_hdm_refuse(user->hdm, err, "mmap: 0x%llx is for pieces", at);
	return err == -EINVAL ? annex_hdm_refuse(user->hdm, err, "mmap: 0x%llx + 0x%llx", at, bytes)
			      : err;
}

/*
 * struct page_space - An address space whose mappings may have pages of a range: of all open files
 * of one inode. Usually there is one for each member.
 * @list: entry in the range's spaces.
 * @mapping: the address space, which these files hold.
 * @files: number of these files.
 */
struct page_space {
	struct list_head list;
	struct address_space *mapping;
	unsigned int files;
};

static struct page_space *page_find_space(struct annex_range *r, struct address_space *mapping)
{
	struct page_space *space;

	lockdep_assert_held_write(&r->view);
	list_for_each_entry(space, &r->spaces, list)
		if (space->mapping == mapping)
			return space;
	return NULL;
}

int annex_page_join(struct annex_range *r, struct annex_user *user)
{
	struct page_space *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT), *space;

	if (!fresh)
		return -ENOMEM;
	down_write(&r->view);
	space = page_find_space(r, user->mapping);
	if (!space) {
		space = fresh;
		space->mapping = user->mapping;
		list_add(&space->list, &r->spaces);
	}
	space->files++;
	up_write(&r->view);
	if (space != fresh)
		kfree(fresh);
	return 0;
}

/* One walk of the mappings of each address space, however many files it has. */
static void page_zap(struct annex_range *r, u64 at, u64 bytes)
{
	struct page_space *space;

	lockdep_assert_held_write(&r->view);
	list_for_each_entry(space, &r->spaces, list)
		unmap_mapping_range(space->mapping, at, bytes, 1);
}

void annex_page_leave(struct annex_range *r, struct annex_user *user)
{
	struct page_space *space;

	down_write(&r->view);
	space = page_find_space(r, user->mapping);
	if (--space->files)
		space = NULL;
	else
		list_del(&space->list);
	up_write(&r->view);
	kfree(space);
}

void annex_page_end(struct annex_range *r)
{
	down_write(&r->view);
	annex_range_set(r, ANNEX_RANGE_ENDING);
	page_zap(r, 0, r->bytes);
	up_write(&r->view);
}

/*
 * Each page has one reference of memremap_pages(); further ones are holders'. A page that is in no
 * page table and is not held stays so, so it is checked once.
 *
 * pgmap->ref does not tell: for MEMORY_DEVICE_GENERIC it counts one for each page from
 * memremap_pages() to memunmap_pages(), however many references the pages have. When a holder's
 * reference ends, the count of the page falls to 1 and not to 0, so the kernel calls no function of
 * the pagemap, and memunmap_pages() does not wait for holders.
 */
bool annex_page_idle(struct annex_range *r)
{
	u64 pages = r->paged ? r->cached >> PAGE_SHIFT : 0;
	unsigned long pfn = PHYS_PFN(r->base);

	for (; r->idle < pages; r->idle++) {
		if (page_ref_count(pfn_to_page(pfn + r->idle)) != 1)
			return false;
		if (!(r->idle % SZ_4K))
			cond_resched();
	}
	return true;
}

static int page_clear(struct annex_range *r, u64 at, u64 bytes)
{
	void __iomem *io;

	if (at < r->cached) {
		clear_highpage(pfn_to_page(PHYS_PFN(r->base + at)));
		return 0;
	}
	io = ioremap_wc(r->base + at, bytes);
	if (!io)
		return -ENOMEM;
	memset_io(io, 0, bytes);
	iounmap(io);
	return 0;
}

/* Whether pages are neither held nor poisoned. */
static bool page_is_usable(const struct annex_range *r, u64 at, u64 bytes)
{
	unsigned long end = (at + bytes) >> PAGE_SHIFT;

	return find_next_bit(r->bad, end, at >> PAGE_SHIFT) >= end &&
	       (at >= r->cached || page_ref_count(pfn_to_page(PHYS_PFN(r->base + at))) == 1);
}

/* The view keeps the range LIVE, and the pages with it. Release it between two pages. */
static int page_clear_free(struct annex_range *r, u64 at, u64 bytes)
{
	int err = -ENODEV;

	down_read(&r->view);
	if (r->state == ANNEX_RANGE_LIVE && !READ_ONCE(r->gate.cut))
		err = page_is_usable(r, at, bytes) ? page_clear(r, at, bytes) : -EBUSY;
	up_read(&r->view);
	return err;
}

int annex_page_clear(struct annex_range *r, u64 *at, u64 end)
{
	u64 step = *at < r->cached ? PAGE_SIZE : ANNEX_RANGE_UNIT;
	int err = 0;

	for (; *at < end && !err; *at += err ? 0 : step) {
		err = fatal_signal_pending(current) ? -EINTR
						    : page_clear_free(r, *at, min(step, end - *at));
		cond_resched();
	}
	return err;
}

bool annex_page_mark_poison(struct annex_range *r, u64 first, u64 last)
{
	u64 from = first >> PAGE_SHIFT, end = (last >> PAGE_SHIFT) + 1;

	lockdep_assert_held_write(&r->view);
	if (find_next_zero_bit(r->bad, end, from) >= end)
		return false;
	bitmap_set(r->bad, from, end - from);
	if (r->uc && test_bit((r->cached + r->wc) >> PAGE_SHIFT, r->bad))
		annex_filter_poison(&r->gate);
	trace_annex_hdm_poison(dev_name(&r->members[0]->dev), from << PAGE_SHIFT,
			       (end - from) << PAGE_SHIFT);
	return true;
}

void annex_page_unmap_poison(struct annex_range *r, u64 first, u64 last)
{
	u64 from = round_down(first, PAGE_SIZE);

	page_zap(r, from, round_down(last, PAGE_SIZE) + PAGE_SIZE - from);
	WRITE_ONCE(r->poison_count, r->poison_count + 1);
}

/*
 * A machine check removes its page from the kernel's own mapping (set_mce_nospec()), and CPU caches
 * may have read poison. The kernel never sets PG_hwpoison here: it leaves the pages to
 * page_failure().
 */
static void page_revive(struct page *page)
{
	clear_mce_nospec(page_to_pfn(page));
	arch_invalidate_pmem(page_address(page), PAGE_SIZE);
	clear_highpage(page);
}

void annex_page_restore(struct annex_range *r, const unsigned long *pages, unsigned int n)
{
	down_write(&r->view);
	for (unsigned int i = 0; i < n && r->state == ANNEX_RANGE_LIVE; i++) {
		if (pages[i] < r->cached >> PAGE_SHIFT)
			page_revive(pfn_to_page(PHYS_PFN(r->base) + pages[i]));
		bitmap_clear(r->bad, pages[i], 1);
	}
	up_write(&r->view);
}

static int page_failure(struct dev_pagemap *pgmap, unsigned long pfn, unsigned long n, int flags)
{
	struct annex_range *r = container_of(pgmap, struct annex_range, pgmap);
	u64 first = PFN_PHYS(pfn) - r->base, last = min(first + PFN_PHYS(n), r->cached) - 1;

	down_write(&r->view);
	if (annex_page_mark_poison(r, first, last))
		annex_page_unmap_poison(r, first, last);
	up_write(&r->view);
	annex_range_wake(r);
	return 0;
}

static const struct dev_pagemap_ops page_ops = {.memory_failure = page_failure};

/*
 * Struct pages are in the host's memory, 16 MiB for each GiB, and the kernel charges them to no
 * memory cgroup. They are not put into the range itself (an altmap), since the kernel reads them
 * after a surprise removal too.
 */
static int page_charge(struct annex_range *r)
{
	u64 bytes = (r->cached >> PAGE_SHIFT) * sizeof(struct page);
	u64 most = (u64)totalram_pages() * PAGE_SIZE / 100 *
		   min(READ_ONCE(struct_page_percent), 100u);

	if (atomic64_add_return(bytes, &struct_page_bytes) > most && !capable(CAP_SYS_ADMIN)) {
		atomic64_sub(bytes, &struct_page_bytes);
		return annex_hdm_refuse(r->members[0], -EDQUOT, "range: see struct_page_percent");
	}
	r->charged = bytes;
	return 0;
}

int annex_page_make(struct annex_range *r)
{
	u64 pages = r->bytes >> PAGE_SHIFT;
	int err = page_charge(r);
	void *at;

	if (err)
		return err;
	r->bad = kvcalloc(BITS_TO_LONGS(pages), sizeof(long), GFP_KERNEL_ACCOUNT);
	r->taken = kvcalloc(BITS_TO_LONGS(pages), sizeof(long), GFP_KERNEL_ACCOUNT);
	if (!r->bad || !r->taken)
		return -ENOMEM;
	if (r->wc)
		err = arch_io_reserve_memtype_wc(r->base + r->cached, r->wc);
	if (err)
		return annex_hdm_refuse(r->members[0], err, "range: it cannot be write-combining");
	r->combining = r->wc;
	if (r->uc) {
		__set_bit((r->cached + r->wc) >> PAGE_SHIFT, r->taken); /* the packet filter */
		err = annex_filter_init(&r->gate, r->base + r->bytes - r->uc, r->uc,
					r->bytes - r->uc);
		if (err)
			return err;
	}
	if (!r->cached)
		return 0;
	r->pgmap.type = MEMORY_DEVICE_GENERIC;
	r->pgmap.range = (struct range){r->base, r->base + r->cached - 1};
	r->pgmap.nr_range = 1;
	r->pgmap.ops = &page_ops;
	at = memremap_pages(&r->pgmap, dev_to_node(&r->members[0]->pdev->dev));
	if (IS_ERR(at))
		return annex_hdm_refuse(r->members[0], PTR_ERR(at),
					"range: the kernel cannot make pages for 0x%llx bytes",
					r->cached);
	r->paged = true;
	return 0;
}

void annex_page_unmake(struct annex_range *r)
{
	annex_filter_exit(&r->gate);
	if (r->paged)
		memunmap_pages(&r->pgmap);
	if (r->combining)
		arch_io_free_memtype_wc(r->base + r->cached, r->wc);
	atomic64_sub(r->charged, &struct_page_bytes);
	r->charged = 0;
	r->paged = false;
	r->combining = false;
}
