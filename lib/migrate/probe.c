// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "page.h"
#include "fault.h"
#include "request.h"
#include "tensor.h"

/* Return: false: some of its pages are still shown, or not in the device tier. */
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

/* Move the probe's tensor, and wait. */
static int move(struct annex_space *s, void *ptr, unsigned int to, uint32_t timeout_ms)
{
	struct want want = {.to = (uint8_t)to, .urgent = to == ANNEX_TIER_GPU, .most = UINT32_MAX};
	struct annex_move *moved;
	int err = annex_move_begin(s, ptr, s->opts.fault_bytes, &want, &moved);

	if (err)
		return err;
	err = annex_move_wait(moved, timeout_ms);
	if (err == -ETIMEDOUT)
		annex_move_forget(moved);
	return err;
}

static void time_fault(struct annex_space *s, struct probes *p, void *ptr)
{
	uint64_t since;

	if (!hide(s, ptr))
		return;
	since = annex_now();
	(void)*(volatile const uint8_t *)ptr;
	p->ns[p->n++] = annex_now() - since;
}

static void time_return(struct annex_space *s, struct probes *p, void *ptr, unsigned int tier,
			uint32_t timeout_ms)
{
	uint64_t since;

	if (move(s, ptr, tier, timeout_ms))
		return;
	since = annex_now();
	if (!move(s, ptr, ANNEX_TIER_GPU, timeout_ms))
		p->ns[p->n++] = annex_now() - since;
}

void annex_probe(struct annex_space *s, unsigned int tier, struct probes *p, uint32_t timeout_ms)
{
	void *ptr;

	if (s->frames || p->n == PROBES || annex_alloc(s, "probe", s->opts.fault_bytes, &ptr))
		return;
	/* A held tensor gets pages although it is empty, and keeps them while it is hidden. */
	if (!annex_tensor_hold(s, ptr, true, false)) {
		bool there = !move(s, ptr, ANNEX_TIER_GPU, timeout_ms);

		if (there && tier == ANNEX_TIER_GPU)
			time_fault(s, p, ptr);
		annex_tensor_hold(s, ptr, false, false);
		if (there && tier != ANNEX_TIER_GPU)
			time_return(s, p, ptr, tier, timeout_ms);
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
	struct probes copy = *p;

	qsort(copy.ns, copy.n, sizeof(*copy.ns), compare);
	return copy.n ? copy.ns[copy.n / 2] : 0;
}
