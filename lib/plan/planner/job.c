// SPDX-License-Identifier: MIT
/*
 * Transfers, in slices: where they lie, and what that does to links and memories.
 */
#include <errno.h>
#include "core/array.h"
#include "core/least.h"
#include "planner.h"

uint32_t annex_around(const struct annex_pass *p, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + p->n - from;
}

uint32_t annex_due(const struct annex_pass *p, const struct job *j)
{
	return (j->release + j->window) % p->n;
}

/* Account for a slice in memory for @len slots from @slot: it fills its destination. */
void annex_weigh(struct annex_pass *p, const struct job *j, uint32_t slot, uint32_t len,
		 int64_t bytes)
{
	if (j->reserved)
		return;
	span_add(j->dir == LINK_IN ? &p->press : &p->fill[j->below], slot, len, bytes);
}

uint32_t annex_new_slice(struct annex_pass *p, uint32_t job, uint32_t slot, uint64_t bytes)
{
	struct job *j = &p->jobs[job];

	if (!array_grow(p->slices, p->n_slices, p->most_slices)) {
		p->err = -ENOMEM;
		return NONE;
	}
	p->slices[p->n_slices] = (struct slice){
		.bytes = bytes, .slot = slot, .job = job, .next = NONE, .in_slot = p->slot[slot]};
	p->slot[slot] = p->n_slices;
	annex_take(p, j->dir, j->below, slot, (double)bytes);
	annex_weigh(p, j, slot, annex_around(p, slot, annex_due(p, j)), (int64_t)bytes);
	return p->n_slices++;
}

static void chain_slice(struct annex_pass *p, uint32_t job, uint32_t slot, uint64_t bytes)
{
	uint32_t i = annex_new_slice(p, job, slot, bytes);

	if (i == NONE)
		return;
	p->slices[i].next = p->jobs[job].slices;
	p->jobs[job].slices = i;
}

/*
 * Place a transfer as late as the links allow. Bytes that find no room are late: they are fetched
 * when they are needed, or written when they leave.
 */
static void fill_back(struct annex_pass *p, uint32_t job)
{
	const struct job j = p->jobs[job];
	uint64_t bytes = j.bytes;
	uint32_t i = j.window, back;

	while (i && bytes && !p->err) {
		uint32_t slot = (j.release + i - 1) % p->n;
		uint64_t n;

		/* Slots that are full are many, and stay so. */
		back = annex_skip(p, j.dir, j.below, slot, i - 1);
		if (back >= i)
			break;
		i -= back;
		slot = (j.release + i - 1) % p->n;
		n = least(bytes, (uint64_t)annex_free_at(p, j.dir, j.below, slot));
		chain_slice(p, job, slot, n);
		bytes -= n;
		i--;
	}
	if (bytes && !p->err)
		chain_slice(p, job, annex_due(p, &j), bytes);
}

uint32_t annex_new_job(struct annex_pass *p, const struct job *job)
{
	if (!array_grow(p->jobs, p->n_jobs, p->most_jobs)) {
		p->err = -ENOMEM;
		return NONE;
	}
	p->jobs[p->n_jobs] = *job;
	p->jobs[p->n_jobs].slices = NONE;
	fill_back(p, p->n_jobs);
	return p->n_jobs++;
}

static void unlink_slice(struct annex_pass *p, uint32_t slice)
{
	struct slice *s = &p->slices[slice];
	uint32_t *at = &p->slot[s->slot];

	while (*at != slice)
		at = &p->slices[*at].in_slot;
	*at = s->in_slot;
}

void annex_hasten_job(struct annex_pass *p, uint32_t job, uint32_t window)
{
	struct job *j = &p->jobs[job];
	uint32_t due = annex_due(p, j);

	for (uint32_t i = j->slices; i != NONE; i = p->slices[i].next) {
		struct slice *s = &p->slices[i];

		unlink_slice(p, i);
		annex_take(p, j->dir, j->below, s->slot, -(double)s->bytes);
		annex_weigh(p, j, s->slot, annex_around(p, s->slot, due), -(int64_t)s->bytes);
		s->bytes = 0;
	}
	j->slices = NONE;
	/* It is below from now on until when it was going to be. */
	annex_weigh(p, j, (j->release + window) % p->n, j->window - window, (int64_t)j->bytes);
	j->window = window;
	fill_back(p, job);
}

void annex_defer(struct annex_pass *p, uint32_t slice, uint32_t later)
{
	struct slice *s = &p->slices[slice];
	const struct job *j = &p->jobs[s->job];
	uint32_t to = (s->slot + later) % p->n;

	unlink_slice(p, slice);
	annex_weigh(p, j, s->slot, later, -(int64_t)s->bytes);
	annex_take(p, j->dir, j->below, s->slot, -(double)s->bytes);
	annex_take(p, j->dir, j->below, to, (double)s->bytes);
	s->slot = to;
	s->in_slot = p->slot[to];
	p->slot[to] = slice;
}
