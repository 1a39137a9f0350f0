// SPDX-License-Identifier: GPL-2.0
/*
 * User memory, pinned for as long as the controller may reach it.
 */
#include <linux/backing-dev.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <uapi/annex.h>
#include "compat.h"
#include "ctrl.h"
#include "map.h"

#define BATCH (PAGE_SIZE / sizeof(struct page *)) /* pages a call: a large page */
#define LEAST (SZ_64K >> PAGE_SHIFT) /* pages of the smallest page of hugetlbfs: Arm's */

/*
 * A file system with writeback write-protects a page while it writes it, and does not expect a
 * device to keep writing to it. Newer kernels refuse such pins themselves.
 */
static int pin_may(struct page *page)
{
#ifndef ANNEX_HAS_LONG_PINS
	struct folio *folio = page_folio(page);
	struct address_space *mapping;
	bool ok;

	/* CXL memory has ZONE_DEVICE pages; FOLL_LONGTERM refuses ones of file systems. */
	if (folio_test_anon(folio) || is_zone_device_page(page))
		return 0;
	/* Keep truncation from clearing the mapping. A file system may hold the lock for long. */
	if (folio_lock_killable(folio))
		return -EINTR;
	mapping = folio_mapping(folio);
	ok = mapping && !mapping_can_writeback(mapping);
	folio_unlock(folio);
	return ok ? 0 : -EOPNOTSUPP;
#else
	return 0;
#endif
}

/* Whether the kernel refused to pin because the page is of a file with writeback. */
static bool pin_written_back(u64 addr)
{
	struct vm_area_struct *vma;
	bool is;

	if (mmap_read_lock_killable(current->mm))
		return false;
	vma = vma_lookup(current->mm, addr);
	is = vma && (vma->vm_flags & VM_SHARED) && (vma->vm_flags & VM_WRITE) && vma->vm_file &&
	     mapping_can_writeback(vma->vm_file->f_mapping);
	mmap_read_unlock(current->mm);
	return is;
}

static int pin_refuse(struct annex_map *map, int err, u64 at, u64 from)
{
	if (err == -EINTR)
		return err;
	if (err == -EFAULT && pin_written_back(at))
		err = -EOPNOTSUPP;
	if (err == -EOPNOTSUPP)
		return annex_refuse(map->ctrl, err, "map: pages of a file that is written back");
	return annex_refuse(map->ctrl, err, "map: cannot pin page %llu of %llu",
			    (at - from) >> PAGE_SHIFT, map->bytes >> PAGE_SHIFT);
}

/* Whether a page is of hugetlbfs. Its large pages are mapped whole, and pinned once. */
static bool pin_is_huge(struct page *page)
{
	return folio_test_hugetlb(page_folio(page));
}

/* Pages from @page to the end of its large page, @most at most. */
static unsigned long pin_rest(struct page *page, unsigned long most)
{
	struct folio *folio = page_folio(page);
	unsigned long all = folio_nr_pages(folio);

	return min(most, all - folio_page_idx(folio, page));
}

/* Append @n pages of a large page from *@first on. */
static int pin_add_run(struct annex_map *map, struct page **first, unsigned long n,
		       unsigned long left)
{
	int err = annex_map_add(map, first, 1, left - n);

	if (!err)
		map->table.prv->length += (n - 1) << PAGE_SHIFT;
	return err;
}

/* Append the rest of a huge page, from *@page on, which is pinned. Returns the number of pages. */
static int pin_huge(struct annex_map *map, u64 at, unsigned long left, struct page **page)
{
	const u64 all = folio_size(page_folio(*page));
	unsigned long n = pin_rest(*page, left);
	int err = pin_may(*page);

	if (!err && (at & (all - 1)) != (page_to_phys(*page) & (all - 1)))
		err = -EFAULT; /* hugetlbfs did not map it */
	if (!err)
		err = pin_add_run(map, page, n, left);
	if (err)
		unpin_user_page(*page);
	return err ? err : n;
}

static bool pin_is_run(struct page **pages, int n)
{
	for (int i = 1; i < n; i++)
		if (pages[i] != pages[0] + i)
			return false;
	return page_folio(pages[0]) == page_folio(pages[n - 1]);
}

/* Append pages up to one of hugetlbfs. Returns their number. */
static int pin_small(struct annex_map *map, u64 at, unsigned long left, struct page **pages,
		     int got)
{
	const bool run = pin_is_run(pages, got);
	int n = run ? got : LEAST - (at >> PAGE_SHIFT) % LEAST, err = 0;

	while (n < got && !pin_is_huge(pages[n]))
		n += LEAST;
	n = min(n, got);
	unpin_user_pages(pages + n, got - n);
	for (int i = 0; !err && i < n; i++)
		err = pin_may(pages[i]);
	if (!err)
		err = run ? pin_add_run(map, pages, n, left)
			  : annex_map_add(map, pages, n, left - n);
	if (err)
		unpin_user_pages(pages, n);
	return err ? err : n;
}

/* Pin pages up to the end of a large page. Returns their number or an error. */
static int pin_batch(struct annex_map *map, u64 at, unsigned long left, struct page **pages)
{
	/* One, where it may be of hugetlbfs. */
	const bool one = !map->table.prv || pin_is_huge(sg_page(map->table.prv));
	unsigned long want = one ? 1 : min(left, BATCH - (at >> PAGE_SHIFT) % BATCH);
	int got = pin_user_pages_fast(at, want, FOLL_WRITE | FOLL_LONGTERM, pages);

	if (got <= 0)
		return got ? got : -EFAULT;
	if (!pin_is_huge(pages[0]))
		return pin_small(map, at, left, pages, got);
	map->huge = true;
	unpin_user_pages(pages + 1, got - 1);
	return pin_huge(map, at, left, pages);
}

int annex_pin(struct annex_map *map, u64 addr)
{
	struct page **pages = (struct page **)__get_free_page(GFP_KERNEL);
	u64 at = addr, end = addr + map->bytes;
	int got = pages ? 0 : -ENOMEM;

	while (got >= 0 && at < end) {
		got = pin_batch(map, at, (end - at) >> PAGE_SHIFT, pages);
		if (got > 0)
			at += (u64)got << PAGE_SHIFT;
		if (fatal_signal_pending(current))
			got = -EINTR;
		cond_resched();
	}
	free_page((unsigned long)pages);
	return got < 0 ? pin_refuse(map, got, at, addr) : 0;
}

/* Unpin a run, or its part in one large page. Returns the number of pages. */
static unsigned long pin_undo(struct annex_map *map, struct page *page, unsigned long pages)
{
	unsigned long n = map->huge ? pin_rest(page, pages) : pages;

	/* If the controller never reached the pages: do not make a file dirty. */
	unpin_user_page_range_dirty_lock(page, map->huge && pin_is_huge(page) ? 1 : n, map->used);
	return n;
}

void annex_unpin(struct annex_map *map)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&map->table.sgt, sg, i)
		for (unsigned long at = 0, all = sg->length >> PAGE_SHIFT; at < all;)
			at += pin_undo(map, sg_page(sg) + at, all - at);
}
