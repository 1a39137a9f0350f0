// SPDX-License-Identifier: MIT
/*
 * Memory that the host has mapped for the controller. Device addresses are process addresses; every
 * address of every command is looked up in this table (dptr.c), as an IOMMU does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "core/array.h"
#include "backend.h"
#include "state.h"

static unsigned int find(const struct emu_maps *maps, uint64_t addr)
{
	return range_search(maps->v, maps->n, sizeof(*maps->v), addr);
}

/* The table changes only while all queues are held, so that lookups need no lock. */
static void hold_all(struct annex_emu *emu)
{
	for (unsigned int i = 1; i < EMU_QUEUES; i++)
		annex_emu_hold(&emu->sqs[i]);
}

static void release_all(struct annex_emu *emu)
{
	for (unsigned int i = 1; i < EMU_QUEUES; i++) {
		emu->sqs[i].last = NULL;
		annex_emu_release(emu, &emu->sqs[i]);
	}
}

static int get_buf(struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	return emu->backend->map ? emu->backend->map(emu, addr, len) : -1;
}

static void put_buf(struct annex_emu *emu, int buf, uint64_t len)
{
	if (buf >= 0)
		emu->backend->unmap(emu, buf, len);
}

enum kind { PLAIN, SPARSE, FAR };

static int insert(struct annex_emu *emu, uint64_t addr, uint64_t len, enum kind kind)
{
	struct emu_maps *maps = &emu->maps;
	unsigned int i = find(maps, addr);

	if (i < maps->n && maps->v[i].range.addr < addr + len)
		return annex_fail(-EEXIST, "map: the range overlaps a mapped one");
	if (!array_grow(maps->v, maps->n, maps->room))
		return annex_fail(-ENOMEM, "map: no memory for the table of ranges");
	memmove(&maps->v[i + 1], &maps->v[i], (maps->n - i) * sizeof(*maps->v));
	maps->v[i].range.addr = addr;
	maps->v[i].range.len = len;
	maps->v[i].buf = kind == PLAIN ? get_buf(emu, addr, len) : -1;
	maps->v[i].far = kind == FAR;
	maps->n++;
	return 0;
}

static int check_pages(uint64_t start, uint64_t len)
{
	if (!len || (start | len) % ANNEX_NVME_PAGE || start + len < start)
		return annex_fail(-EINVAL, "map: range is not made of whole pages");
	return 0;
}

static int map(struct annex_ctrl *ctrl, void *ptr, size_t len, enum kind kind, uint64_t *addr)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	uint64_t start = (uintptr_t)ptr;
	int err = check_pages(start, len);

	if (err)
		return err;
	/* Finds holes, and writes nothing for memory without a file. */
	if (msync(ptr, len, MS_ASYNC))
		return annex_fail(-EFAULT, "map: no memory at part of the range");
	pthread_mutex_lock(&emu->ctl);
	hold_all(emu);
	err = insert(emu, start, len, kind);
	release_all(emu);
	pthread_mutex_unlock(&emu->ctl);
	if (!err)
		*addr = start;
	return err;
}

int annex_emu_map(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr)
{
	return map(ctrl, ptr, len, PLAIN, addr);
}

int annex_emu_map_sparse(struct annex_ctrl *ctrl, void *ptr, size_t len, uint64_t *addr)
{
	return map(ctrl, ptr, len, SPARSE, addr);
}

int annex_emu_map_far(struct annex_ctrl *ctrl, uint64_t far, size_t len,
		      const struct annex_copier *copier, uint64_t *addr)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	int err = check_pages(far, len);

	if (err)
		return err;
	pthread_mutex_lock(&emu->ctl);
	hold_all(emu);
	err = annex_emu_far_get(emu, copier);
	if (!err) {
		err = insert(emu, far, len, FAR);
		if (err)
			annex_emu_far_put(emu);
	}
	release_all(emu);
	pthread_mutex_unlock(&emu->ctl);
	if (!err)
		*addr = far;
	return err;
}

static bool overlaps(uint64_t a, uint64_t a_len, const void *ptr, uint64_t b_len)
{
	uint64_t b = (uintptr_t)ptr;

	return a < b + b_len && b < a + a_len;
}

/* Whether the controller still reads or writes part of a range. */
static bool in_use(struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	bool gone = annex_atomic_load(&emu->gone, ANNEX_ACQUIRE), used;

	for (unsigned int i = 1; i < EMU_QUEUES && !gone; i++) {
		struct emu_sq *sq = &emu->sqs[i];
		struct emu_cq *cq = &emu->cqs[i];

		if (annex_atomic_load(&sq->state, ANNEX_ACQUIRE) != EMU_SQ_NONE &&
		    overlaps(addr, len, sq->ring, sq->entries * sizeof(struct annex_sqe)))
			return true;
		if (annex_atomic_load(&cq->live, ANNEX_ACQUIRE) &&
		    overlaps(addr, len, cq->ring, cq->entries * sizeof(struct annex_cqe)))
			return true;
	}
	pthread_mutex_lock(&emu->async);
	used = annex_emu_reqs_use(emu, addr, len);
	pthread_mutex_unlock(&emu->async);
	return used;
}

static int remove_range(struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	struct emu_maps *maps = &emu->maps;
	unsigned int i = find(maps, addr);

	if (i == maps->n || maps->v[i].range.addr != addr || maps->v[i].range.len != len)
		return -ENOENT;
	if (in_use(emu, addr, len))
		return -EBUSY;
	put_buf(emu, maps->v[i].buf, len);
	if (maps->v[i].far)
		annex_emu_far_put(emu);
	maps->n--;
	memmove(&maps->v[i], &maps->v[i + 1], (maps->n - i) * sizeof(*maps->v));
	return 0;
}

int annex_emu_unmap(struct annex_ctrl *ctrl, uint64_t addr, size_t len)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	int err;

	annex_emu_pass(emu);
	/* Requests of a removed controller end without completions: wait for its I/O. */
	if (annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		annex_emu_drain(emu, NULL);
	pthread_mutex_lock(&emu->ctl);
	hold_all(emu);
	err = remove_range(emu, addr, len);
	release_all(emu);
	pthread_mutex_unlock(&emu->ctl);
	if (err == -ENOENT)
		return annex_fail(err, "unmap: no such range is mapped");
	if (err)
		return annex_fail(err, "unmap: a queue or a command still uses the range");
	return 0;
}
