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
#define LARGE (GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)
/* Only coherent memory is accepted, which needs no sync; so a page may be mapped twice. */
#define NO_SYNC DMA_ATTR_SKIP_CPU_SYNC

/*
 * A file system with writeback write-protects a page while it writes it, and does not expect a
 * device to keep writing to it. Newer kernels refuse such pins themselves; 6.1 does not.
 */
static int pin_may(struct page *page)
{
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

static int pin_refuse(struct annex_map *map, int err, u64 addr)
{
	if (err == -EFAULT && pin_written_back(addr))
		err = -EOPNOTSUPP;
	if (err == -EOPNOTSUPP)
		return annex_refuse(map->ctrl, err, "map: pages of a file that is written back");
	return annex_refuse(map->ctrl, err, "map: cannot pin page %lu of %llu", map->npages,
			    map->bytes >> PAGE_SHIFT);
}

int annex_pin(struct annex_map *map, u64 addr)
{
	unsigned long want = map->bytes >> PAGE_SHIFT;

	map->pages = kvmalloc_array(want, sizeof(*map->pages), LARGE);
	if (!map->pages)
		return -ENOMEM;
	while (map->npages < want) {
		u64 at = addr + map->npages * PAGE_SIZE;
		int got = pin_user_pages_fast(at, min(want - map->npages, BATCH),
					      FOLL_WRITE | FOLL_LONGTERM, map->pages + map->npages);

		if (got <= 0)
			return pin_refuse(map, got ? got : -EFAULT, at);
		map->npages += got;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	for (unsigned long i = 0; i < map->npages; i++) {
		int err = pin_may(map->pages[i]);

		if (err)
			return pin_refuse(map, err, addr);
	}
	return 0;
}

static int pin_read_segs(struct annex_map *map)
{
	struct scatterlist *sg;
	unsigned int i;
	u32 n = 0;

	map->segs = kvcalloc(map->sgt.nents, sizeof(*map->segs), LARGE);
	if (!map->segs)
		return -ENOMEM;
	for_each_sgtable_dma_sg(&map->sgt, sg, i) {
		u64 addr = sg_dma_address(sg), bytes = sg_dma_len(sg);

		if (!annex_ctrl_is_coherent(map->ctrl, addr))
			return annex_ctrl_refuse_incoherent(map->ctrl);
		if (n && map->segs[n - 1].addr + map->segs[n - 1].bytes == addr)
			map->segs[n - 1].bytes += bytes;
		else
			map->segs[n++] = (struct annex_ioc_seg){addr, bytes};
	}
	map->nsegs = n;
	return 0;
}

/* A mapping that needs bounce buffers can fail because they are too small. */
static int pin_unmappable(struct annex_map *map, int err)
{
	if (dma_max_mapping_size(&map->ctrl->pdev->dev) == SIZE_MAX)
		return err;
	return annex_ctrl_refuse_incoherent(map->ctrl);
}

int annex_pin_map(struct annex_map *map)
{
	struct device *dma = &map->ctrl->pdev->dev;
	int err;

	err = sg_alloc_table_from_pages_segment(&map->sgt, map->pages, map->npages, 0, map->bytes,
						dma_get_max_seg_size(dma), GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	err = dma_map_sgtable(dma, &map->sgt, DMA_BIDIRECTIONAL, NO_SYNC);
	if (err) {
		sg_free_table(&map->sgt);
		return pin_unmappable(map, err);
	}
	map->live = true;
	return pin_read_segs(map);
}

void annex_pin_unmap(struct annex_map *map)
{
	if (!map->live)
		return;
	/* A strict domain has invalidated the addresses when this returns. */
	dma_unmap_sgtable(&map->ctrl->pdev->dev, &map->sgt, DMA_BIDIRECTIONAL, NO_SYNC);
	sg_free_table(&map->sgt);
}

void annex_unpin(struct annex_map *map)
{
	/* Without @segs the controller never reached the pages: do not make a file dirty. */
	if (map->npages)
		unpin_user_pages_dirty_lock(map->pages, map->npages, map->segs);
}
