// SPDX-License-Identifier: GPL-2.0
/*
 * Private pieces of a range's memory, each a file of its own that one address space can map.
 * Uncached ones are for calls of a device (section III-B of M2NDP). Owns the range's list of
 * pieces, and the bitmap of their pages.
 */
#include <linux/anon_inodes.h>
#include <linux/bitmap.h>
#include <linux/file.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "filter.h"
#include "hdm.h"
#include "page.h"
#include "piece.h"
#include "range.h"
#include "trace.h"
#include "user.h"

#define ALIGNED (ANNEX_RANGE_UNIT >> PAGE_SHIFT) /* pages that one page table entry can map */

static int piece_check_map(const struct annex_piece *p, const struct vm_area_struct *vma)
{
	u64 at = (u64)vma->vm_pgoff << PAGE_SHIFT, bytes = vma->vm_end - vma->vm_start;

	if (current->mm != p->mm)
		return -EACCES;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	return bytes > p->bytes || at > p->bytes - bytes ? -EINVAL : 0;
}

/* With VM_IO, madvise() cannot clear VM_DONTCOPY: a child never inherits the mapping. */
static void piece_set_flags(const struct annex_piece *p, struct vm_area_struct *vma)
{
	vm_flags_clear(vma, VM_MAYEXEC);
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	if (p->part == ANNEX_PART_CACHED) {
		vm_flags_set(vma, VM_MIXEDMAP);
		return;
	}
	vm_flags_set(vma, VM_IO | VM_PFNMAP);
	vma->vm_page_prot = p->part == ANNEX_PART_COMBINING ? pgprot_writecombine(vma->vm_page_prot)
							    : pgprot_device(vma->vm_page_prot);
}

static int piece_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct annex_piece *p = file->private_data;
	struct annex_user *user = p->device->private_data;
	int err = piece_check_map(p, vma);

	trace_annex_hdm_map(dev_name(&user->hdm->dev), p->offset, p->bytes, err);
	if (err)
		return annex_hdm_refuse(user->hdm, err, "mmap of the piece at 0x%llx", p->offset);
	piece_set_flags(p, vma);
	vma->vm_pgoff += p->offset >> PAGE_SHIFT; /* faults use the offset in the range */
	annex_page_show(p->range, vma);
	return 0;
}

/* @free: its pages can be used again. */
static void piece_give(struct annex_range *r, struct annex_piece *p, bool free)
{
	down_write(&r->view);
	list_del(&p->list);
	if (free)
		bitmap_clear(r->taken, p->offset >> PAGE_SHIFT, p->bytes >> PAGE_SHIFT);
	up_write(&r->view);
}

/* @added: the filter has an entry. Pages where the device may still answer calls stay in use. */
static void piece_free(struct annex_piece *p, bool added)
{
	struct annex_range *r = p->range;
	bool free = !added || annex_filter_remove(&r->gate, p);

	if (!free)
		dev_warn_ratelimited(&r->members[0]->dev,
				     "m2func: the device does not release a piece\n");
	piece_give(r, p, free);
	mmdrop(p->mm);
	fput(p->device);
	kfree(p);
}

static void piece_end(struct kref *refs)
{
	struct annex_piece *p = container_of(refs, struct annex_piece, refs);

	piece_free(p, p->part == ANNEX_PART_UNCACHED);
}

void annex_piece_put(struct annex_piece *p)
{
	kref_put(&p->refs, piece_end);
}

struct annex_piece *annex_piece_find(struct annex_range *r, u64 offset, u64 bytes)
{
	struct annex_piece *p, *found = NULL;

	down_read(&r->view);
	list_for_each_entry(p, &r->pieces, list)
		if (p->mm == current->mm && offset >= p->offset && bytes <= p->bytes &&
		    offset - p->offset <= p->bytes - bytes && kref_get_unless_zero(&p->refs)) {
			found = p;
			break;
		}
	up_read(&r->view);
	return found;
}

static int piece_release(struct inode *inode, struct file *file)
{
	annex_piece_put(file->private_data);
	return 0;
}

static const struct file_operations ops = {
	.owner = THIS_MODULE,
	.mmap = piece_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.release = piece_release,
};

/* Whether an address space may have one more uncached piece: neither too many nor too much. */
static bool piece_is_allowed(const struct annex_range *r, const struct annex_piece *more)
{
	const struct annex_piece *p;
	u64 bytes = more->bytes;
	unsigned int n = 1;

	if (more->part != ANNEX_PART_UNCACHED)
		return true;
	list_for_each_entry(p, &r->pieces, list)
		if (p->mm == more->mm && p->part == more->part) {
			bytes += p->bytes;
			n++;
		}
	return n <= ANNEX_M2FUNC_PIECES && bytes <= r->uc / ANNEX_M2FUNC_SHARE;
}

/*
 * Find free pages together without poison in [@at, @end), whose first is a multiple of @align;
 * @end: there are none.
 */
static unsigned long piece_find(const struct annex_range *r, unsigned long at, unsigned long end,
				unsigned long want, unsigned long align)
{
	while (at < end && want <= min(end - at, (unsigned long)U32_MAX)) {
		at = bitmap_find_next_zero_area(r->taken, end, at, want, align - 1);
		if (at >= end || find_next_bit(r->bad, at + want, at) >= at + want)
			return min(at, end);
		at = find_last_bit(r->bad, at + want) + 1; /* the next window has none of these */
	}
	return end;
}

/* First byte of a part of the range. */
static u64 piece_part(const struct annex_range *r, u64 part)
{
	return part == ANNEX_PART_CACHED      ? 0
	       : part == ANNEX_PART_COMBINING ? r->cached
					      : r->cached + r->wc;
}

/* The first free pages from byte @from of the range on. */
static int piece_take(struct annex_range *r, struct annex_piece *p, u64 from)
{
	u64 base = piece_part(r, p->part), table = r->cached + r->wc;
	u64 end = p->part == ANNEX_PART_CACHED      ? r->cached
		  : p->part == ANNEX_PART_COMBINING ? table
						    : r->bytes;
	unsigned long at = max(base, from) >> PAGE_SHIFT, want = p->bytes >> PAGE_SHIFT, found;

	lockdep_assert_held_write(&r->view);
	if (r->state != ANNEX_RANGE_LIVE)
		return -ENODEV;
	if (p->part == ANNEX_PART_UNCACHED && r->uc && test_bit(table >> PAGE_SHIFT, r->bad))
		return -EIO; /* the packet filter is poisoned */
	end >>= PAGE_SHIFT;
	found = want < ALIGNED ? end : piece_find(r, at, end, want, ALIGNED);
	if (found >= end)
		found = piece_find(r, at, end, want, 1);
	if (found >= end)
		return -ENOSPC;
	if (!piece_is_allowed(r, p))
		return -EMFILE;
	bitmap_set(r->taken, found, want);
	p->offset = (u64)found << PAGE_SHIFT;
	list_add(&p->list, &r->pieces);
	return 0;
}

/* Take pages that are not held, and zero them: a pipe may still hold pages of the last owner. */
static int piece_take_clear(struct annex_range *r, struct annex_piece *p)
{
	u64 at = 0;
	int err;

	do {
		down_write(&r->view);
		err = piece_take(r, p, at);
		up_write(&r->view);
		if (err || p->part == ANNEX_PART_UNCACHED)
			return err; /* the filter clears it */
		at = p->offset;
		err = annex_page_clear(r, &at, p->offset + p->bytes);
		if (err)
			piece_give(r, p, true);
		at += PAGE_SIZE;
	} while (err == -EBUSY);
	return err;
}

static struct annex_piece *piece_make(struct annex_range *r, struct annex_user *user,
				      const struct annex_ioc_hdm_piece *args)
{
	struct annex_piece *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	kref_init(&p->refs);
	p->range = r;
	p->part = args->part;
	p->bytes = args->bytes;
	p->mm = current->mm;
	err = piece_take_clear(r, p);
	if (err) {
		kfree(p);
		return ERR_PTR(err);
	}
	mmgrab(p->mm);
	p->device = get_file(user->file);
	err = p->part == ANNEX_PART_UNCACHED ? annex_filter_add(&r->gate, p) : 0;
	if (err) {
		piece_free(p, false);
		return ERR_PTR(err);
	}
	return p;
}

/* The mappings belong to the device's inode, so that the range's end and poison remove them. */
static struct file *piece_open(struct annex_piece *p, struct annex_user *user)
{
	struct file *file = anon_inode_getfile("[annex-piece]", &ops, p, O_RDWR);

	if (IS_ERR(file))
		annex_piece_put(p);
	else
		file->f_mapping = user->mapping;
	return file;
}

int annex_piece_create(struct annex_range *r, struct annex_user *user,
		       struct annex_ioc_hdm_piece *args)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct annex_piece *p;
	struct file *file;

	if (fd < 0)
		return fd;
	p = piece_make(r, user, args);
	file = ERR_CAST(p);
	if (!IS_ERR(p)) {
		args->offset = p->offset;
		file = piece_open(p, user);
	}
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	args->fd = fd;
	return 0;
}
