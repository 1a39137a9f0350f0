// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a controller may reach. Owns the owner's table of mappings, and their charge
 * against RLIMIT_MEMLOCK.
 */
#include <linux/dma-buf.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <uapi/annex.h>
#include "ctrl.h"
#include "map.h"
#include "owner.h"
#include "trace.h"

#define MOST_MAPS 1000000u

/*
 * Charge pages to the caller's user, against RLIMIT_MEMLOCK: unlike the process, the user remains
 * the same after fork, exec and exit. Once for each mapping; -ENOMEM with a line.
 */
static int map_charge(struct annex_map *map, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT, now;

	map->user = get_uid(current_user());
	map->mm = current->mm;
	mmgrab(map->mm);
	map->charged = pages;
	now = atomic_long_add_return(pages, &map->user->locked_vm);
	atomic64_add(pages, &map->mm->pinned_vm);
	if (now <= limit || capable(CAP_IPC_LOCK))
		return 0;
	return annex_refuse(map->ctrl, -ENOMEM, "map: %lu pages are more than RLIMIT_MEMLOCK", now);
}

static void map_uncharge(struct annex_map *map)
{
	if (!map->user)
		return;
	atomic_long_sub(map->charged, &map->user->locked_vm);
	free_uid(map->user);
	atomic64_sub(map->charged, &map->mm->pinned_vm);
	mmdrop(map->mm);
}

static int map_host_alloc(struct annex_map *map)
{
	void *mem = alloc_pages_exact(map->bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	int err = mem ? 0 : -ENOMEM;

	for (u64 at = 0; !err && at < map->bytes; at += PAGE_SIZE) {
		struct page *page = virt_to_page(mem + at);

		err = annex_map_add(map, &page, 1, (map->bytes - at) / PAGE_SIZE - 1);
	}
	if (err && mem) /* of the first page: the others enlarge its entry */
		free_pages_exact(mem, map->bytes);
	return err;
}

static int map_cmb(struct annex_map *map)
{
	struct annex_ctrl *ctrl = map->ctrl;
	int err;

	if (!ctrl->cmb.pages)
		return annex_refuse(ctrl, -EOPNOTSUPP, "map: no controller memory");
	err = annex_cmb_take(ctrl, map->bytes / ANNEX_PAGE, &map->first);
	if (err)
		return annex_refuse(ctrl, err, "map: no 0x%llx bytes of controller memory are free",
				    map->bytes);
	map->span.segs = kmalloc(sizeof(*map->span.segs), GFP_KERNEL_ACCOUNT);
	if (!map->span.segs) {
		annex_cmb_give(ctrl, map->first, map->bytes / ANNEX_PAGE);
		return -ENOMEM;
	}
	map->span.nsegs = 1;
	map->span.segs[0].addr = ctrl->cmb.bus + (u64)map->first * ANNEX_PAGE;
	map->span.segs[0].bytes = map->bytes;
	return 0;
}

static int map_pages(struct annex_map *map, u64 like)
{
	return annex_space_map(map->ctrl, &map->table.sgt, map->bytes, like, &map->span);
}

void annex_map_unmap(struct annex_map *map)
{
	struct annex_ctrl *ctrl = map->ctrl;

	if (map->span.segs && map->id) /* without an identifier it was never counted in @maps */
		atomic64_inc(&ctrl->count.unmaps);
	switch (map->kind) {
	case ANNEX_MAP_USER:
	case ANNEX_MAP_HOST:
		annex_space_unmap(ctrl, &map->table.sgt, &map->span);
		break;
	case ANNEX_MAP_CMB:
		if (map->span.segs)
			annex_cmb_give(ctrl, map->first, map->bytes / ANNEX_PAGE);
		kfree(map->span.segs);
		map->span = (struct annex_span){};
		break;
	case ANNEX_MAP_DMABUF:
		annex_peer_unmap(map);
		break;
	}
}

/* The owner may still have some of the pages mapped. */
static void map_host_free(struct annex_map *map)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&map->table.sgt, sg, i) {
		for (unsigned int at = 0; at < sg->length; at += PAGE_SIZE)
			put_page(sg_page(sg) + (at >> PAGE_SHIFT));
	}
}

/* Free the pages and their charge, without the lock. */
static void map_free(struct annex_map *map)
{
	if (map->kind == ANNEX_MAP_USER)
		annex_unpin(map);
	else if (map->kind == ANNEX_MAP_DMABUF)
		cancel_work_sync(&map->moved); /* the work takes the controller's lock */
	else if (map->kind == ANNEX_MAP_HOST)
		map_host_free(map);
	map_uncharge(map);
	sg_free_append_table(&map->table);
	kfree(map);
}

static int map_check(struct annex_ctrl *ctrl, const struct annex_ioc_map *args)
{
	bool fresh = args->kind == ANNEX_MAP_HOST || args->kind == ANNEX_MAP_CMB;
	u64 most = fresh ? ANNEX_MAP_NEW_MAX : ANNEX_MAP_MAX;

	if (args->kind > ANNEX_MAP_DMABUF || args->rsvd)
		return annex_refuse(ctrl, -EINVAL, "map: kind %u", args->kind);
	if (!args->bytes || args->bytes > most || !PAGE_ALIGNED(args->bytes))
		return annex_refuse(ctrl, -EINVAL, "map: 0x%llx bytes", args->bytes);
	if (!PAGE_ALIGNED(args->addr) || args->addr > U64_MAX - args->bytes ||
	    (args->addr && args->kind != ANNEX_MAP_USER))
		return annex_refuse(ctrl, -EINVAL, "map: address 0x%llx", args->addr);
	if (!PAGE_ALIGNED(args->offset) || args->offset > U64_MAX - args->bytes ||
	    (args->offset && args->kind != ANNEX_MAP_DMABUF))
		return annex_refuse(ctrl, -EINVAL, "map: offset 0x%llx", args->offset);
	if (args->kind == ANNEX_MAP_DMABUF ? args->fd < 0 : args->fd >= 0)
		return annex_refuse(ctrl, -EINVAL, "map: descriptor %d", args->fd);
	return 0;
}

/* The steps that may sleep for long or access the caller's memory, without the lock. */
static int map_prepare(struct annex_map *map, const struct annex_ioc_map *args)
{
	int err = 0;

	if (map->kind == ANNEX_MAP_USER || map->kind == ANNEX_MAP_HOST)
		err = map_charge(map, map->bytes >> PAGE_SHIFT);
	if (!err && map->kind == ANNEX_MAP_USER)
		err = annex_pin(map, args->addr);
	if (!err && map->kind == ANNEX_MAP_HOST)
		err = map_host_alloc(map);
	return err;
}

static int map_publish(struct annex_owner *owner, struct annex_map *map)
{
	struct annex_ctrl *ctrl = map->ctrl;
	int err;

	for (u32 i = 0; map->kind != ANNEX_MAP_CMB && i < map->span.nsegs; i++)
		if (annex_cmb_overlaps(ctrl, map->span.segs[i].addr, map->span.segs[i].bytes))
			return annex_refuse(ctrl, -EADDRINUSE, "map: address of its own memory");
	down_write(&ctrl->view);
	/* Cyclic: page tables may still have pages of an identifier that was freed recently. */
	err = xa_alloc_cyclic(&owner->maps, &map->id, map, XA_LIMIT(1, MOST_MAPS), &owner->next,
			      GFP_KERNEL_ACCOUNT);
	up_write(&ctrl->view);
	if (err < 0)
		return err == -EBUSY ? -ENOSPC : err;
	atomic64_inc(&ctrl->count.maps);
	return 0;
}

/* Charge the whole dma-buf: all of it is pinned, even if only a part is mapped. */
static int map_peer(struct annex_map *map, int fd)
{
	int err = annex_peer_open(map, fd);

	if (err)
		return err;
	err = map_charge(map, PAGE_ALIGN(map->dmabuf->size) >> PAGE_SHIFT);
	return err ? err : annex_peer_map(map);
}

static int map_locked(struct annex_owner *owner, struct annex_map *map, struct annex_ioc_map *args,
		      struct annex_ioc_seg **segs)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	u32 room = args->nsegs;
	int err = -EINVAL;

	if (ctrl->gone)
		return -ENODEV;
	switch (map->kind) {
	case ANNEX_MAP_USER:
		err = map_pages(map, args->addr);
		break;
	case ANNEX_MAP_HOST:
		err = map_pages(map, sg_phys(map->table.sgt.sgl));
		break;
	case ANNEX_MAP_CMB:
		err = map_cmb(map);
		break;
	case ANNEX_MAP_DMABUF:
		err = map_peer(map, args->fd);
		break;
	}
	map->used = !err;
	args->nsegs = map->span.nsegs;
	if (!err && map->span.nsegs > room)
		err = -ENOSPC;
	if (!err) {
		*segs = kvmalloc_array(map->span.nsegs, sizeof(**segs), GFP_KERNEL_ACCOUNT);
		err = *segs ? map_publish(owner, map) : -ENOMEM;
	}
	if (err) {
		kvfree(*segs);
		annex_map_unmap(map);
		return err;
	}
	memcpy(*segs, map->span.segs, map->span.nsegs * sizeof(**segs));
	args->id = map->id;
	return 0;
}

int annex_map_create(struct annex_owner *owner, struct annex_ioc_map *args,
		     struct annex_ioc_seg **segs, work_func_t moved)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	struct annex_map *map;
	int err = map_check(ctrl, args);

	if (err)
		return err;
	*segs = NULL;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	map->ctrl = ctrl;
	map->kind = args->kind;
	map->bytes = args->bytes;
	map->offset = args->offset;
	INIT_WORK(&map->moved, moved);
	err = map_prepare(map, args);
	if (!err) {
		annex_ctrl_lock(ctrl);
		err = map_locked(owner, map, args, segs);
		mutex_unlock(&ctrl->lock);
	}
	trace_annex_map(&ctrl->dev, args->id, args->kind, args->bytes, err);
	if (err)
		map_free(map);
	return err;
}

int annex_map_remove(struct annex_owner *owner, u32 id)
{
	struct annex_ctrl *ctrl = owner->ctrl;
	struct annex_map *map;
	int err = 0;

	annex_ctrl_lock(ctrl);
	map = xa_load(&owner->maps, id);
	if (ctrl->gone)
		err = -ENODEV;
	else if (!map)
		err = annex_refuse(ctrl, -ENOENT, "unmap: no mapping %u", id);
	else if (map->users)
		err = annex_refuse(ctrl, -EBUSY, "unmap: a queue lies in mapping %u", id);
	else if (!ctrl->space.domain && !xa_empty(&owner->queues))
		err = -EBUSY; /* no line: commands in flight could still access the memory */
	else if (map->kind == ANNEX_MAP_CMB && annex_share_end(map))
		err = annex_refuse(ctrl, -EBUSY, "unmap: a device still accesses mapping %u", id);
	if (!err) {
		down_write(&ctrl->view);
		xa_erase(&owner->maps, id);
		up_write(&ctrl->view);
		annex_view_forget(ctrl, map);
		annex_map_unmap(map);
	}
	mutex_unlock(&ctrl->lock);
	trace_annex_unmap(&ctrl->dev, id, err);
	if (!err)
		map_free(map);
	return err;
}

void annex_map_unmap_all(struct annex_owner *owner, struct list_head *list)
{
	struct annex_map *map;
	unsigned long id;

	down_write(&owner->ctrl->view);
	xa_for_each(&owner->maps, id, map) {
		xa_erase(&owner->maps, id);
		list_add(&map->list, list);
	}
	up_write(&owner->ctrl->view);
	list_for_each_entry(map, list, list) {
		annex_view_forget(owner->ctrl, map);
		annex_map_unmap(map);
		cond_resched();
	}
}

void annex_map_free_all(struct list_head *list)
{
	struct annex_map *map, *next;

	list_for_each_entry_safe(map, next, list, list) {
		map_free(map);
		cond_resched();
	}
}

int annex_map_addr(const struct annex_map *map, u64 offset, u64 bytes, u64 *addr)
{
	u64 at = 0;

	if (bytes > map->bytes || offset > map->bytes - bytes)
		return -EINVAL;
	for (u32 i = 0; i < map->span.nsegs; at += map->span.segs[i++].bytes) {
		if (offset - at >= map->span.segs[i].bytes)
			continue;
		*addr = map->span.segs[i].addr + (offset - at);
		return bytes <= map->span.segs[i].bytes - (offset - at) ? 0 : -EOPNOTSUPP;
	}
	return -EINVAL;
}
