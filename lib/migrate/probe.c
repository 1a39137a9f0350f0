// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "page.h"
#include "probe.h"
#include "request.h"
#include "tensor.h"

/* Return: false: its pages are shown still, or not in the device tier. */
static bool hide(struct annex_space *s, const void *ptr)
{
	bool hidden = false;
	uint32_t first, n;

	pthread_mutex_lock(&s->lock);
	if (annex_tensor_at(s, ptr, s->opts.fault_bytes, &first, &n) &&
	    annex_pages_alike(s, first, n, PAGE_DEVICE | PAGE_BUSY) == n &&
	    (s->pages[first].flags & (PAGE_DEVICE | PAGE_BUSY)) == PAGE_DEVICE)
		hidden = annex_pages_hide(s, first, n);
	pthread_mutex_unlock(&s->lock);
	return hidden;
}

static int bring(struct annex_space *s, void *ptr, uint32_t timeout_ms)
{
	struct want want = {.to = ANNEX_TIER_GPU, .urgent = true, .most = UINT32_MAX};
	struct annex_move *move;
	int err = annex_move_begin(s, ptr, s->opts.fault_bytes, &want, &move);

	if (err)
		return err;
	err = annex_move_wait(move, timeout_ms);
	if (err == -ETIMEDOUT)
		annex_move_forget(move);
	return err;
}

void annex_probe_fault(struct annex_space *s, struct probes *p, uint32_t timeout_ms)
{
	uint64_t since;
	void *ptr;

	if (s->frames || p->n == PROBES || annex_alloc(s, "probe", s->opts.fault_bytes, &ptr))
		return;
	/* Held, it comes although it is empty, and stays while it is hidden. */
	if (!annex_tensor_hold(s, ptr, true, false)) {
		if (!bring(s, ptr, timeout_ms) && hide(s, ptr)) {
			since = annex_now();
			(void)*(volatile const uint8_t *)ptr;
			p->ns[p->n++] = annex_now() - since;
		}
		annex_tensor_hold(s, ptr, false, false);
	}
	annex_free(s, ptr);
}

void annex_probe_read(const struct annex_store *store, uint32_t bytes, struct probes *p)
{
	struct annex_io io = {.opcode = ANNEX_NVM_READ,
			      .nsid = store->opts.nsid,
			      .slba = store->opts.first / store->block,
			      .nlb = bytes / store->block,
			      .bytes = bytes};
	uint64_t since;
	void *buffer;

	if (p->n == PROBES)
		return;
	buffer = aligned_alloc(ANNEX_MEM_PAGE, bytes);
	if (!buffer)
		return;
	memset(buffer, 0, bytes); /* or its pages would be made in the time that is taken */
	if (!annex_dev_map(store->dev, buffer, bytes, &io.addr)) {
		since = annex_now();
		if (!annex_dev_io(store->dev, &io, 1, NULL))
			p->ns[p->n++] = annex_now() - since;
		annex_dev_unmap(store->dev, io.addr, bytes);
	}
	free(buffer);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static struct probes sorted(const struct probes *p)
{
	struct probes copy = *p;

	qsort(copy.ns, copy.n, sizeof(*copy.ns), compare);
	return copy;
}

uint64_t annex_probe_median(const struct probes *p)
{
	return p->n ? sorted(p).ns[p->n / 2] : 0;
}

uint64_t annex_probe_least(const struct probes *p)
{
	return p->n ? sorted(p).ns[0] : 0;
}
