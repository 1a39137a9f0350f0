// SPDX-License-Identifier: GPL-2.0
/*
 * Pieces of a range's uncached memory for calls of a device (section III-B of M2NDP), each a file
 * of its own that one address space can map. Owns the range's list of pieces.
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
static int piece_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct annex_piece *p = file->private_data;
	struct annex_user *user = p->device->private_data;
	int err = piece_check_map(p, vma);

	trace_annex_hdm_map(dev_name(&user->hdm->dev), p->offset, p->bytes, err);
	if (err)
		return annex_hdm_refuse(user->hdm, err, "mmap of the piece at 0x%llx", p->offset);
	vm_flags_clear(vma, VM_MAYEXEC);
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_pgoff += p->offset >> PAGE_SHIFT; /* faults use the offset in the range */
	annex_page_show(p->range, vma);
	return 0;
}

/* @added: the filter has an entry. Pages where the device may still answer calls stay in use. */
static void piece_free(struct annex_piece *p, bool added)
{
	struct annex_range *r = p->range;
	bool free = !added || annex_filter_remove(&r->gate, p);

	if (!free)
		dev_warn(&r->members[0]->dev, "m2func: the device does not release a piece\n");
	down_write(&r->view);
	list_del(&p->list);
	if (free)
		bitmap_clear(r->uncached, (p->offset - r->cached - r->wc) >> PAGE_SHIFT,
			     p->bytes >> PAGE_SHIFT);
	up_write(&r->view);
	mmdrop(p->mm);
	fput(p->device);
	kfree(p);
}

static int piece_release(struct inode *inode, struct file *file)
{
	piece_free(file->private_data, true);
	return 0;
}

static const struct file_operations ops = {
	.owner = THIS_MODULE,
	.mmap = piece_mmap,
	.release = piece_release,
};

/* Whether an address space may have one more piece: neither too many nor too large a share. */
static bool piece_is_allowed(const struct annex_range *r, const struct annex_piece *more)
{
	const struct annex_piece *p;
	u64 bytes = more->bytes;
	unsigned int n = 1;

	list_for_each_entry(p, &r->pieces, list)
		if (p->mm == more->mm) {
			bytes += p->bytes;
			n++;
		}
	return n <= ANNEX_M2FUNC_PIECES && bytes <= r->uc / ANNEX_M2FUNC_SHARE;
}

/* The first of @want free pages together without poison; @pages: there are none. */
static unsigned long piece_find(struct annex_range *r, unsigned long pages, unsigned long want)
{
	unsigned long first = (r->cached + r->wc) >> PAGE_SHIFT, at = 0, bad;

	for (; want <= pages; at = bad - first + 1) {
		at = bitmap_find_next_zero_area(r->uncached, pages, at, want, 0);
		if (at >= pages)
			break;
		bad = find_next_bit(r->bad, first + at + want, first + at);
		if (bad >= first + at + want)
			return at;
	}
	return pages;
}

static int piece_take(struct annex_range *r, struct annex_piece *p)
{
	unsigned long pages = r->uc >> PAGE_SHIFT, want = p->bytes >> PAGE_SHIFT, at;

	lockdep_assert_held_write(&r->view);
	if (r->state != ANNEX_RANGE_LIVE)
		return -ENODEV;
	if (r->uc && test_bit((r->cached + r->wc) >> PAGE_SHIFT, r->bad))
		return -EIO; /* the packet filter is poisoned */
	at = piece_find(r, pages, want);
	if (at >= pages)
		return -ENOSPC;
	if (!piece_is_allowed(r, p))
		return -EMFILE;
	bitmap_set(r->uncached, at, want);
	p->offset = r->cached + r->wc + ((u64)at << PAGE_SHIFT);
	list_add(&p->list, &r->pieces);
	return 0;
}

static struct annex_piece *piece_make(struct annex_range *r, struct annex_user *user, u64 bytes)
{
	struct annex_piece *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	p->range = r;
	p->bytes = bytes;
	p->mm = current->mm;
	down_write(&r->view);
	err = piece_take(r, p);
	up_write(&r->view);
	if (err) {
		kfree(p);
		return ERR_PTR(err);
	}
	mmgrab(p->mm);
	p->device = get_file(user->file);
	err = annex_filter_add(&r->gate, p);
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
		piece_free(p, true);
	else
		file->f_mapping = user->mapping;
	return file;
}

int annex_piece_create(struct annex_range *r, struct annex_user *user,
		       struct annex_ioc_hdm_m2func *args)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct annex_piece *p;
	struct file *file;

	if (fd < 0)
		return fd;
	p = piece_make(r, user, args->bytes);
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
