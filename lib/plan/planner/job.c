// SPDX-License-Identifier: MIT
/*
 * Transfers, in slices: where they lie, and what that does to links and memories.
 */
#include <errno.h>
#include <stdlib.h>
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
	if (j->dir == LINK_OUT && !p->settled)
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
 * Place a write as early as the links allow. Cuts are made in the order of their slots, so this is
 * the schedule of earliest deadlines: bytes that it leaves over are late in every schedule.
 */
static uint64_t fill_forth(struct annex_pass *p, uint32_t job)
{
	const struct job j = p->jobs[job];
	uint64_t bytes = j.bytes;

	for (uint32_t i = 0; bytes && !p->err; i++) {
		uint32_t slot;
		uint64_t n;

		i += annex_skip_ahead(p, j.dir, j.below, (j.release + i) % p->n, j.window - i);
		if (i >= j.window)
			break;
		slot = (j.release + i) % p->n;
		n = least(bytes, (uint64_t)annex_free_at(p, j.dir, j.below, slot));
		chain_slice(p, job, slot, n);
		bytes -= n;
	}
	return bytes;
}

/* Bytes of a write that have room below for @len slots from @slot. Reads were given theirs. */
static uint64_t room_below(const struct annex_pass *p, const struct job *j, uint32_t slot,
			   uint32_t len)
{
	int64_t room = INT64_MAX;

	if (j->dir == LINK_OUT)
		room = p->room[j->below] - span_most(&p->fill[j->below], slot, len);
	return room > 0 ? (uint64_t)room : 0;
}

/* Place a transfer as late as the links allow. */
static uint64_t fill_back(struct annex_pass *p, uint32_t job)
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
		n = least(n, room_below(p, &j, slot, j.window - i + 1));
		if (!n)
			break;
		chain_slice(p, job, slot, n);
		bytes -= n;
		i--;
	}
	return bytes;
}

/* Bytes without a place are late: fetched when they are needed, or written when they leave. */
static void place(struct annex_pass *p, uint32_t job)
{
	bool early = p->jobs[job].dir == LINK_OUT && !p->settled;
	uint64_t late = early ? fill_forth(p, job) : fill_back(p, job);

	if (late && !p->err)
		chain_slice(p, job, annex_due(p, &p->jobs[job]), late);
}

uint32_t annex_new_job(struct annex_pass *p, const struct job *job)
{
	if (!array_grow(p->jobs, p->n_jobs, p->most_jobs)) {
		p->err = -ENOMEM;
		return NONE;
	}
	p->jobs[p->n_jobs] = *job;
	p->jobs[p->n_jobs].slices = NONE;
	place(p, p->n_jobs);
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

/* Take the writes from all slots. */
static void withdraw_writes(struct annex_pass *p)
{
	for (uint32_t k = 0; k < p->n; k++)
		p->slot[k] = NONE;
	for (uint32_t i = 0; i < p->n_slices; i++) {
		struct slice *s = &p->slices[i];
		struct job *j = &p->jobs[s->job];

		if (j->dir == LINK_OUT) {
			annex_take(p, j->dir, j->below, s->slot, -(double)s->bytes);
			s->bytes = 0;
			j->slices = NONE;
			continue;
		}
		s->in_slot = p->slot[s->slot];
		p->slot[s->slot] = i;
	}
}

/* Slots from the beginning of the walk to a job's release, which may lie an iteration before. */
static int64_t released(const struct annex_pass *p, uint32_t start, const struct job *j)
{
	return (int64_t)annex_around(p, start, (annex_due(p, j) + p->n - 1) % p->n) + 1 - j->window;
}

/* Writes by their release, the last ones first, by counting. Returns their number. */
static uint32_t sort_writes(const struct annex_pass *p, uint32_t start, uint32_t *first,
			    uint32_t *order)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_jobs; i++)
		if (p->jobs[i].dir == LINK_OUT)
			first[p->n - released(p, start, &p->jobs[i]) + 1]++;
	for (uint32_t k = 0; k <= 2 * p->n; k++)
		first[k + 1] += first[k];
	for (uint32_t i = 0; i < p->n_jobs; i++) {
		if (p->jobs[i].dir != LINK_OUT)
			continue;
		order[first[p->n - released(p, start, &p->jobs[i])]++] = i;
		n++;
	}
	return n;
}

void annex_settle(struct annex_pass *p, uint32_t start)
{
	uint32_t *order = malloc(((size_t)p->n_jobs + 1) * sizeof(*order));
	uint32_t *first = calloc(2 * (size_t)p->n + 2, sizeof(*first));

	if (order && first) {
		uint32_t n = sort_writes(p, start, first, order);

		withdraw_writes(p);
		annex_turn(p, LINK_OUT);
		p->settled = true;
		for (uint32_t i = 0; i < n && !p->err; i++)
			place(p, order[i]);
	} else {
		p->err = -ENOMEM;
	}
	free(order);
	free(first);
}

void annex_hasten_job(struct annex_pass *p, uint32_t job, uint32_t window)
{
	struct job *j = &p->jobs[job];

	for (uint32_t i = j->slices; i != NONE; i = p->slices[i].next) {
		struct slice *s = &p->slices[i];

		unlink_slice(p, i);
		annex_take(p, j->dir, j->below, s->slot, -(double)s->bytes);
		annex_weigh(p, j, s->slot, annex_around(p, s->slot, annex_due(p, j)),
			    -(int64_t)s->bytes);
		s->bytes = 0;
	}
	j->slices = NONE;
	/* It is below from now on until when it was going to be. */
	span_add(&p->fill[j->below], (j->release + window) % p->n, j->window - window,
		 (int64_t)j->bytes);
	j->window = window;
	place(p, job);
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
