// SPDX-License-Identifier: MIT
/*
 * Public access to the page table.
 */
#include <errno.h>
#include <stdio.h>
#include "core/log.h"
#include "tensor.h"

int annex_mem_lookup(struct annex_space *s, const void *ptr, struct annex_mem_page *out)
{
	uint32_t first, n;
	struct annex_mem_page page;
	struct tensor *t;

	if (s->fork.child)
		return fork_refuse("space");
	pthread_mutex_lock(&s->lock);
	t = annex_tensor_at(s, ptr, 1, &first, &n);
	if (t) {
		const struct page *p = &s->pages[first];

		page = (struct annex_mem_page){
			.device = p->flags & PAGE_DEVICE,
			.below = p->flags & PAGE_BELOW,
			.busy = p->flags & PAGE_BUSY,
			.tier = p->flags & PAGE_BELOW ? p->tier : ANNEX_TIER_GPU,
			.at = p->flags & PAGE_BELOW ? pages_bytes(p->loc) : 0,
		};
	}
	pthread_mutex_unlock(&s->lock);
	if (!t)
		return annex_fail(-EINVAL, "lookup: %p is in no tensor", ptr);
	/* *@out may be in the space itself: the handler of its fault needs the lock. */
	*out = page;
	return 0;
}

static void count(const struct annex_space *s, const struct tensor *t, struct annex_mem_tensor *out)
{
	for (uint32_t i = t->first; i < t->first + t->n; i++) {
		const struct page *p = &s->pages[i];

		if (p->flags & PAGE_DEVICE)
			out->device += ANNEX_MEM_PAGE;
		if (p->flags & PAGE_BELOW)
			out->below[p->tier] += ANNEX_MEM_PAGE;
		if (!(p->flags & (PAGE_DEVICE | PAGE_BELOW | PAGE_BUSY)))
			out->zero += ANNEX_MEM_PAGE;
		if (p->flags & PAGE_BUSY)
			out->moving += ANNEX_MEM_PAGE;
	}
}

/* The first live tensor from page @i on, or NULL. */
static const struct tensor *from_page(const struct annex_space *s, uint64_t i)
{
	for (; i < s->n_pages; i++)
		if (s->pages[i].tensor && tensor_of(s, (uint32_t)i)->live)
			return tensor_of(s, (uint32_t)i);
	return NULL;
}

int annex_mem_next(struct annex_space *s, const void **cursor, struct annex_mem_tensor *out)
{
	uint64_t at = *cursor ? (uintptr_t)*cursor - (uintptr_t)s->base : 0;
	struct annex_mem_tensor found = {.bytes = 0};
	const struct tensor *t;

	if (s->fork.child)
		return 0;
	pthread_mutex_lock(&s->lock);
	t = from_page(s, (at + ANNEX_MEM_PAGE - 1) / ANNEX_MEM_PAGE);
	if (t) {
		snprintf(found.name, sizeof(found.name), "%s", annex_tensor_name(t));
		found.ptr = s->base + pages_bytes(t->first);
		found.bytes = pages_bytes(t->n);
		found.held = t->holds;
		count(s, t, &found);
	}
	pthread_mutex_unlock(&s->lock);
	if (!t)
		return 0;
	*out = found;
	*cursor = (const uint8_t *)found.ptr + found.bytes;
	return 1;
}
