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

/* Append the pages of a batch, which are often one large page. */
static int pin_add(struct annex_map *map, struct page **pages, int n, unsigned long left)
{
	int run = 1, err;

	while (run < n && pages[run] == pages[0] + run)
		run++;
	if (run < n || page_folio(pages[0]) != page_folio(pages[n - 1]))
		return annex_map_add(map, pages, n, left);
	err = annex_map_add(map, pages, 1, left);
	if (!err)
		map->table.prv->length += (n - 1) << PAGE_SHIFT;
	return err;
}

/* Pin pages up to the end of a large page. Returns their number or an error. */
static int pin_batch(struct annex_map *map, u64 at, unsigned long left, struct page **pages)
{
	unsigned long want = min(left, BATCH - (at >> PAGE_SHIFT) % BATCH);
	int got = pin_user_pages_fast(at, want, FOLL_WRITE | FOLL_LONGTERM, pages);
	int err = got ? 0 : -EFAULT;

	if (got < 0)
		return got;
	for (int i = 0; !err && i < got; i++)
		err = pin_may(pages[i]);
	if (!err)
		err = pin_add(map, pages, got, left - got);
	if (err)
		unpin_user_pages(pages, got);
	return err ? err : got;
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

void annex_unpin(struct annex_map *map)
{
	struct scatterlist *sg;
	unsigned int i;

	/* If the controller never reached the pages: do not make a file dirty. */
	for_each_sgtable_sg(&map->table.sgt, sg, i)
		unpin_user_page_range_dirty_lock(sg_page(sg), sg->length >> PAGE_SHIFT, map->used);
}
