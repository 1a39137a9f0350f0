// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
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

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t annex_probe_median(const struct probes *p)
{
	struct probes sorted = *p;

	if (!p->n)
		return 0;
	qsort(sorted.ns, sorted.n, sizeof(*sorted.ns), compare);
	return sorted.ns[sorted.n / 2];
}
