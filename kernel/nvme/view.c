// SPDX-License-Identifier: GPL-2.0
/*
 * A controller's doorbells and memory in the owner's page tables. Owns the mapped pages, and the
 * dummy page that replaces them during and after a reset.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <uapi/annex.h>
#include "compat.h"
#include "ctrl.h"
#include "map.h"
#include "owner.h"

#define OFFSET_SHIFT (32 - PAGE_SHIFT) /* of vm_pgoff: number of the object, above its pages */
#define FIRST_NEW 3

static unsigned long view_which(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff >> OFFSET_SHIFT;
}

static unsigned long view_first_page(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff & ((1ul << OFFSET_SHIFT) - 1);
}

void annex_view_forget(struct annex_ctrl *ctrl, const struct annex_map *map)
{
	if (map->kind != ANNEX_MAP_CMB)
		return;
	unmap_mapping_range(ctrl->owner->mapping, ANNEX_MMAP_NEW(map->id), map->bytes, 1);
	annex_share_end(map);
}

/* Remove the pages of the controller; new host memory stays mapped. */
static void view_zap(struct annex_ctrl *ctrl)
{
	const struct annex_map *map;
	unsigned long id;

	if (!ctrl->owner)
		return;
	unmap_mapping_range(ctrl->owner->mapping, 0, ANNEX_MMAP_NEW(0), 1);
	xa_for_each(&ctrl->owner->maps, id, map) {
		annex_view_forget(ctrl, map);
		cond_resched();
	}
}

void annex_view_open(struct annex_ctrl *ctrl)
{
	down_write(&ctrl->view);
	ctrl->open = true;
	up_write(&ctrl->view);
	view_zap(ctrl); /* remove the dummy page */
}

void annex_view_close(struct annex_ctrl *ctrl)
{
	down_write(&ctrl->view);
	ctrl->open = false;
	up_write(&ctrl->view);
	view_zap(ctrl);
}

void annex_view_end(struct annex_ctrl *ctrl)
{
	down_write(&ctrl->view);
	WRITE_ONCE(ctrl->gone, true); /* poll() reads it without a lock */
	ctrl->open = false;
	up_write(&ctrl->view);
	view_zap(ctrl);
}

/* The page to be inserted by a fault: the controller's, or else the dummy page. */
static unsigned long view_find_pfn(struct annex_ctrl *ctrl, struct annex_owner *owner,
				   unsigned long thing, unsigned long page)
{
	const struct annex_map *map;

	if (!ctrl->open)
		return page_to_pfn(ctrl->dummy);
	if (thing && thing < FIRST_NEW)
		return virt_to_phys(ctrl->shadow.area[thing - 1].at) >> PAGE_SHIFT;
	if (!thing)
		return ((pci_resource_start(ctrl->pdev, 0) + NVME_REG_DBS) >> PAGE_SHIFT) + page;
	map = xa_load(&owner->maps, thing - FIRST_NEW);
	if (!map || map->kind != ANNEX_MAP_CMB || page >= map->bytes >> PAGE_SHIFT)
		return page_to_pfn(ctrl->dummy);
	return (ctrl->cmb.phys >> PAGE_SHIFT) + map->first + page;
}

static vm_fault_t view_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct annex_owner *owner = vma->vm_file->private_data;
	struct annex_ctrl *ctrl = owner->ctrl;
	unsigned long page = vmf->pgoff & ((1ul << OFFSET_SHIFT) - 1), pfn;
	pgprot_t prot = vma->vm_page_prot;
	vm_fault_t ret;

	down_read(&ctrl->view);
	pfn = view_find_pfn(ctrl, owner, view_which(vma), page);
	/* Cached: uncached reads could return old data before the zeroes leave the caches. */
	if (pfn == page_to_pfn(ctrl->dummy))
		prot = vm_get_page_prot(vma->vm_flags);
	ret = vmf_insert_pfn_prot(vma, vmf->address & PAGE_MASK, pfn, prot);
	up_read(&ctrl->view);
	return ret;
}

static const struct vm_operations_struct device_ops = {.fault = view_fault};

/*
 * Map without page references: a direct transfer or a pipe could keep them longer than the file,
 * and the next owner gets the same pages.
 */
static int view_map_by_fault(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &device_ops;
	return 0;
}

static int view_map_doorbells(struct vm_area_struct *vma)
{
	vma->vm_page_prot = pgprot_device(vma->vm_page_prot);
	return view_map_by_fault(vma);
}

static int view_map_cmb(struct vm_area_struct *vma)
{
	vma->vm_page_prot = annex_pgprot_memory(vma->vm_page_prot);
	return view_map_by_fault(vma);
}

/* A contiguous block of pages, with a reference for each. */
static int view_map_host(struct vm_area_struct *vma, const struct annex_map *map)
{
	struct page *first = sg_page(map->table.sgt.sgl);
	int err = 0;

	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	for (unsigned long i = 0; !err && i < vma_pages(vma); i++)
		err = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, first + i);
	return err;
}

static int view_map_new(struct vm_area_struct *vma, struct annex_owner *owner, u32 id)
{
	const struct annex_map *map = xa_load(&owner->maps, id);

	if (!map || view_first_page(vma) || vma_pages(vma) != map->bytes >> PAGE_SHIFT)
		return -EINVAL;
	if (map->kind == ANNEX_MAP_CMB)
		return view_map_cmb(vma);
	return map->kind == ANNEX_MAP_HOST ? view_map_host(vma, map) : -EINVAL;
}

int annex_view_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct annex_owner *owner = file->private_data;
	struct annex_ctrl *ctrl = owner->ctrl;
	unsigned long thing = view_which(vma);
	int err = -EINVAL;

	/* Check this first: mappings of a file opened for reading lack VM_SHARED. */
	if (!(file->f_mode & FMODE_WRITE))
		return annex_refuse(ctrl, -EACCES, "mmap: opened for reading");
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return annex_refuse(ctrl, -EINVAL, "mmap: shared, and not executable");
	if (!READ_ONCE(owner->version_checked))
		return annex_refuse(ctrl, -EPROTO, "mmap before ANNEX_IOC_INFO");
	vm_flags_clear(vma, VM_MAYEXEC);
	down_read(&ctrl->view);
	if (ctrl->gone)
		err = -ENODEV;
	else if (thing >= FIRST_NEW && thing - FIRST_NEW <= U32_MAX)
		err = view_map_new(vma, owner, thing - FIRST_NEW);
	else if (!thing && view_first_page(vma) + vma_pages(vma) <= ctrl->door_bytes >> PAGE_SHIFT)
		err = view_map_doorbells(vma);
	else if (thing && thing < FIRST_NEW && ctrl->shadow.on && !view_first_page(vma) &&
		 vma_pages(vma) == 1)
		err = view_map_by_fault(vma);
	up_read(&ctrl->view);
	return err == -EINVAL ? annex_refuse(ctrl, err, "mmap: nothing at offset 0x%llx",
					     (u64)vma->vm_pgoff << PAGE_SHIFT)
			      : err;
}
