// SPDX-License-Identifier: GPL-2.0
/*
 * User memory, pinned for as long as the controller may reach it.
 */
#include <linux/backing-dev.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <uapi/annex.h>
#include "ctrl.h"
#include "map.h"

#define BATCH 512ul /* pages a call */

/*
 * A file system that tracks what is dirty writes a page protects it, and does not expect a device to
 * write on. Kernels of today refuse such pins themselves; 6.1 does not.
 */
static bool may_pin(struct page *page)
{
	struct folio *folio = page_folio(page);
	struct address_space *mapping;
	bool ok;

	if (folio_test_anon(folio))
		return true;
	folio_lock(folio); /* or truncation takes the mapping away */
	mapping = folio_mapping(folio);
	ok = mapping && !mapping_can_writeback(mapping);
	folio_unlock(folio);
	return ok;
}

int annex_pin(struct annex_map *map, u64 addr)
{
	unsigned long want = map->bytes >> PAGE_SHIFT;

	map->pages = kvmalloc_array(want, sizeof(*map->pages), GFP_KERNEL_ACCOUNT);
	if (!map->pages)
		return -ENOMEM;
	while (map->npages < want) {
		int got = pin_user_pages_fast(addr + map->npages * PAGE_SIZE,
					      min(want - map->npages, BATCH),
					      FOLL_WRITE | FOLL_LONGTERM, map->pages + map->npages);

		if (got <= 0)
			return annex_refuse(map->ctrl, got ? got : -EFAULT,
					    "map: cannot pin page %lu of %lu", map->npages, want);
		map->npages += got;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	for (unsigned long i = 0; i < map->npages; i++)
		if (!may_pin(map->pages[i]))
			return annex_refuse(map->ctrl, -EOPNOTSUPP,
					    "map: pages of a file that is written back");
	return 0;
}

static int read_segs(struct annex_map *map)
{
	struct scatterlist *sg;
	unsigned int i;
	u32 n = 0;

	map->segs = kvcalloc(map->sgt.nents, sizeof(*map->segs), GFP_KERNEL_ACCOUNT);
	if (!map->segs)
		return -ENOMEM;
	for_each_sgtable_dma_sg(&map->sgt, sg, i) {
		u64 addr = sg_dma_address(sg), bytes = sg_dma_len(sg);

		if (!annex_ctrl_sees(map->ctrl, addr))
			return annex_refuse(map->ctrl, -EOPNOTSUPP, "map: memory is not coherent");
		if (n && map->segs[n - 1].addr + map->segs[n - 1].bytes == addr)
			map->segs[n - 1].bytes += bytes;
		else
			map->segs[n++] = (struct annex_ioc_seg){addr, bytes};
	}
	map->nsegs = n;
	return 0;
}

int annex_pin_map(struct annex_map *map)
{
	struct device *dma = &map->ctrl->pdev->dev;
	int err;

	err = sg_alloc_table_from_pages_segment(&map->sgt, map->pages, map->npages, 0, map->bytes,
						dma_get_max_seg_size(dma), GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	err = dma_map_sgtable(dma, &map->sgt, DMA_BIDIRECTIONAL, 0);
	if (err) {
		sg_free_table(&map->sgt);
		return err;
	}
	map->live = true;
	return read_segs(map);
}

void annex_pin_cut(struct annex_map *map)
{
	if (!map->live)
		return;
	/* A strict domain has forgotten the addresses when this returns. */
	dma_unmap_sgtable(&map->ctrl->pdev->dev, &map->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&map->sgt);
}

void annex_unpin(struct annex_map *map)
{
	if (map->npages)
		unpin_user_pages_dirty_lock(map->pages, map->npages, true);
}
