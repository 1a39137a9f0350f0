// SPDX-License-Identifier: MIT
/*
 * Memory that the controller can reach.
 *
 * Behind an IOMMU a mapping is contiguous for the controller, and its addresses are the device
 * addresses. Without one its pages are scattered: then this file assigns device addresses, and a
 * table translates each page for the queue code.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <annex/nvme.h>
#include "core/array.h"
#include "core/log.h"
#include "module.h"

#define PAGES (1ull << 26) /* of 4 KiB that can be mapped without an IOMMU: 256 GiB */
#define FIRST 1            /* the page at which assigned addresses begin */

int module_pages_init(struct module *p)
{
	void *table;

	if (p->info.flags & ANNEX_INFO_IOMMU)
		return 0;
	/* Only used pages of it take memory. */
	table = mmap(NULL, PAGES * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED)
		return annex_fail(-ENOMEM, "pci:%s: no room for a table of pages", p->name);
	p->ctrl.pages = table;
	p->ctrl.npages = PAGES;
	return 0;
}

void module_pages_free(struct module *p)
{
	if (p->ctrl.pages)
		munmap((void *)p->ctrl.pages, PAGES * sizeof(uint64_t));
}

static unsigned int search(const struct module *p, uint64_t addr)
{
	return range_search(p->maps, p->n, sizeof(*p->maps), addr);
}

static void insert(struct module *p, const struct module_map *m)
{
	unsigned int i = search(p, m->range.addr);

	memmove(&p->maps[i + 1], &p->maps[i], (p->n - i) * sizeof(*p->maps));
	p->maps[i] = *m;
	p->n++;
}

static bool overlaps(const struct module *p, const char *ptr, size_t len)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (ptr < p->maps[i].ptr + p->maps[i].range.len && p->maps[i].ptr < ptr + len)
			return true;
	return false;
}

/* The lowest free device addresses. */
static int place(const struct module *p, size_t len, uint64_t *addr)
{
	uint64_t at = FIRST * ANNEX_NVME_PAGE;

	for (unsigned int i = 0; i < p->n; i++) {
		if (p->maps[i].range.addr - at >= len)
			break;
		at = p->maps[i].range.addr + p->maps[i].range.len;
	}
	if (len > PAGES * ANNEX_NVME_PAGE - at)
		return -ENOMEM;
	*addr = at;
	return 0;
}

static void fill(struct module *p, uint64_t addr, const struct annex_ioc_seg *segs, uint32_t n)
{
	uint64_t *page = (uint64_t *)p->ctrl.pages + addr / ANNEX_NVME_PAGE;

	for (uint32_t i = 0; i < n; i++)
		for (uint64_t at = 0; at < segs[i].bytes; at += ANNEX_NVME_PAGE)
			*page++ = segs[i].addr + at;
}

/* Have the module map it, and note the mapping. The lock is held. */
static int map_locked(struct module *p, struct annex_ioc_map *args, struct module_map *m)
{
	bool straight = !p->ctrl.pages;
	uint32_t room = straight ? 1 : (uint32_t)(args->bytes / ANNEX_NVME_PAGE);
	struct annex_ioc_seg *segs = calloc(room, sizeof(*segs));
	int err = segs && array_grow(p->maps, p->n, p->room) ? 0 : -ENOMEM;

	args->segs = (uintptr_t)segs;
	args->nsegs = room;
	if (!err && !straight)
		err = place(p, args->bytes, &m->range.addr);
	if (!err)
		err = module_call(p, ANNEX_IOC_MAP, args, "mapping memory");
	if (err == -ENOSPC)
		annex_fail(err, "pci:%s: no %zu bytes for the controller in one piece", p->name,
			   (size_t)args->bytes);
	if (!err) {
		m->range.len = args->bytes;
		m->id = args->id;
		if (straight)
			m->range.addr = segs[0].addr;
		else
			fill(p, m->range.addr, segs, args->nsegs);
		insert(p, m);
	}
	free(segs);
	return err;
}

int module_map(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr)
{
	struct module *p = module_of(ctrl);
	struct annex_ioc_map args = {.size = sizeof(args),
				     .kind = ANNEX_MAP_USER,
				     .addr = (uintptr_t)ptr,
				     .bytes = len,
				     .fd = -1};
	struct module_map m = {.ptr = ptr};
	int err;

	pthread_mutex_lock(&p->lock);
	err = overlaps(p, ptr, len)
		      ? annex_fail(-EEXIST, "pci:%s: memory is mapped already", p->name)
		      : map_locked(p, &args, &m);
	pthread_mutex_unlock(&p->lock);
	*addr = m.range.addr;
	return err;
}

/* The module keeps the pages until the queue pairs are deleted; no command uses them any more. */
static int put_off(struct module *p, uint32_t id, uint64_t bytes)
{
	struct module_late *more = p->late;

	if (p->nlate == p->late_room) {
		more = realloc(p->late, (p->late_room * 2 + 16) * sizeof(*more));
		if (!more)
			return -EBUSY; /* it stays mapped */
		p->late = more;
		p->late_room = p->late_room * 2 + 16;
	}
	p->late[p->nlate++] = (struct module_late){id, bytes};
	annex_atomic_add(&p->ctrl.late, bytes, ANNEX_RELAXED); /* a count only */
	return 0;
}

void module_settle(struct module *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->nlate) {
		const struct module_late *last = &p->late[p->nlate - 1];
		struct annex_ioc_unmap args = {.size = sizeof(args), .id = last->id};

		if (ioctl(p->fd, ANNEX_IOC_UNMAP, &args) && errno == EBUSY)
			break; /* other queue pairs still exist */
		annex_atomic_sub(&p->ctrl.late, last->bytes, ANNEX_RELAXED);
		p->nlate--;
	}
	pthread_mutex_unlock(&p->lock);
}

int module_unmap(struct annex_ctrl *ctrl, uint64_t addr, size_t len)
{
	struct module *p = module_of(ctrl);
	struct annex_ioc_unmap args = {.size = sizeof(args)};
	unsigned int i;
	int err = -ENOENT;

	pthread_mutex_lock(&p->lock);
	i = search(p, addr);
	if (i < p->n && p->maps[i].range.addr == addr && p->maps[i].range.len == len) {
		args.id = p->maps[i].id;
		err = ioctl(p->fd, ANNEX_IOC_UNMAP, &args) ? -errno : 0;
		if (err == -EBUSY && p->ctrl.pages)
			err = put_off(p, args.id, len);
		if (err == -ENODEV) /* a removed controller reaches nothing */
			err = 0;
		if (err)
			annex_fail(err, "pci:%s: unmapping memory: %s", p->name, strerror(-err));
	}
	if (!err) {
		if (p->ctrl.pages)
			memset((uint64_t *)p->ctrl.pages + addr / ANNEX_NVME_PAGE, 0,
			       len / ANNEX_NVME_PAGE * sizeof(uint64_t));
		memmove(&p->maps[i], &p->maps[i + 1], (p->n - i - 1) * sizeof(*p->maps));
		p->n--;
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

int module_find(struct module *p, uint64_t addr, uint32_t *id, uint64_t *offset)
{
	unsigned int i;
	int err = -ENOENT;

	pthread_mutex_lock(&p->lock);
	i = search(p, addr);
	if (i < p->n && addr >= p->maps[i].range.addr) {
		*id = p->maps[i].id;
		*offset = addr - p->maps[i].range.addr;
		err = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

int module_alloc(struct annex_ctrl *ctrl, enum annex_place place, size_t len, void **ptr,
		 uint64_t *addr)
{
	struct module *p = module_of(ctrl);
	struct annex_ioc_map args = {.size = sizeof(args),
				     .kind = place == ANNEX_PLACE_CMB ? ANNEX_MAP_CMB
								      : ANNEX_MAP_HOST,
				     .bytes = len,
				     .fd = -1};
	struct module_map m = {.ptr = NULL};
	int err;

	pthread_mutex_lock(&p->lock);
	err = map_locked(p, &args, &m);
	if (!err) {
		*ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd,
			    (off_t)ANNEX_MMAP_NEW(m.id));
		p->maps[search(p, m.range.addr)].ptr = *ptr;
	}
	pthread_mutex_unlock(&p->lock);
	*addr = m.range.addr;
	if (err)
		return err;
	if (*ptr == MAP_FAILED) {
		module_unmap(ctrl, m.range.addr, len);
		return annex_fail(-ENOMEM, "pci:%s: cannot map %zu bytes", p->name, len);
	}
	if (place == ANNEX_PLACE_CMB) /* it has the data of its last user */
		memset(*ptr, 0, len);
	return 0;
}

int module_map_dmabuf(struct annex_ctrl *ctrl, int fd, uint64_t offset, void *ptr, size_t len,
		      uint64_t *addr)
{
	struct module *p = module_of(ctrl);
	struct annex_ioc_map args = {.size = sizeof(args),
				     .kind = ANNEX_MAP_DMABUF,
				     .offset = offset,
				     .bytes = len,
				     .fd = fd};
	struct module_map m = {.ptr = ptr};
	int err;

	pthread_mutex_lock(&p->lock);
	err = map_locked(p, &args, &m);
	pthread_mutex_unlock(&p->lock);
	*addr = m.range.addr;
	return err;
}

void module_free(struct annex_ctrl *ctrl, void *ptr, size_t bytes, uint64_t addr)
{
	munmap(ptr, bytes);
	module_unmap(ctrl, addr, bytes);
}
