// SPDX-License-Identifier: MIT
/*
 * One cut: what it costs, and what it does to memories and links.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "annex.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t limit(const struct annex_pass *p, uint32_t len)
{
	return len < p->n ? len : p->n;
}

/* Slots from a cut until the period ends: at least 1; n for a whole iteration. */
static uint32_t away(const struct annex_pass *p, uint32_t period, uint32_t drop)
{
	uint32_t len = annex_around(p, drop, p->v->periods[period].to % p->n);

	return len ? len : p->n;
}

/*
 * struct copies - Of @bytes more that leave in a period: those that have a copy in time (@clean),
 * those whose copy must be made earlier than was planned (@soon), and those without (@fresh).
 */
struct copies {
	uint64_t clean, soon, fresh;
};

static struct copies find_copies(const struct annex_pass *p, uint32_t period, uint32_t window,
				 uint64_t bytes)
{
	const struct idle *idle = &p->idle[period];
	const struct epoch *e = &p->epochs[idle->epoch];
	uint64_t in_time = e->always ? e->copied : 0, any = 0;
	struct copies c;

	for (uint32_t i = e->jobs; i != NONE; i = p->jobs[i].sibling)
		if (p->jobs[i].window <= window)
			in_time += p->jobs[i].bytes;
	if (in_time > idle->out)
		any = in_time - idle->out;
	c.clean = least(bytes, any);
	any = e->copied > idle->out ? e->copied - idle->out : 0;
	c.soon = least(bytes, any) - c.clean;
	c.fresh = bytes - c.clean - c.soon;
	return c;
}

/* Slots, from the end of what copies of the epoch fill, to the end of a period @to_end after. */
static uint32_t longer(const struct epoch *e, uint32_t to_end)
{
	return !e->always && to_end > e->until ? to_end - e->until : 0;
}

static bool has_room(const struct annex_pass *p, const struct epoch *e, uint32_t end,
		     const struct copies *c, unsigned int below)
{
	const struct span *fill = &p->fill[below];
	uint32_t gap = longer(e, end);
	int64_t most;

	if (c->fresh) {
		most = e->always ? span_most(fill, 0, p->n)
				 : span_most(fill, e->written, limit(p, end));
		if (most + (int64_t)c->fresh > p->room[below])
			return false;
	}
	if (c->soon) {
		most = span_most(&p->fill[e->below], e->written, limit(p, e->until));
		if (most + (int64_t)c->soon > p->room[e->below])
			return false;
	}
	for (unsigned int b = 0; b < BELOWS && gap; b++) {
		most = span_most(&p->fill[b], (e->written + e->until) % p->n, limit(p, gap));
		if (e->at[b] && most + (int64_t)e->at[b] > p->room[b])
			return false;
	}
	return true;
}

/* Nanoseconds of slots [@from, @from + @len). */
static double time_of(const struct annex_pass *p, uint32_t from, uint32_t len)
{
	uint32_t end = from + len;

	return end <= p->n ? p->when[end] - p->when[from]
			   : p->when[p->n] - p->when[from] + p->when[end - p->n];
}

bool annex_price(const struct annex_pass *p, uint32_t period, uint32_t drop, uint64_t bytes,
		 unsigned int below, struct annex_price *price)
{
	const struct epoch *e = &p->epochs[p->idle[period].epoch];
	uint32_t len = away(p, period, drop), window = annex_around(p, e->written, drop), reach;
	struct copies c = find_copies(p, period, window, bytes);

	if (!has_room(p, e, window + len, &c, below))
		return false;
	price->writes = e->always ? 0 : c.fresh + c.soon;
	/* Nothing passes in the slot of the cut itself. */
	price->in = len > 1 ? annex_free(p, LINK_IN, below, (drop + 1) % p->n, len - 1) : 0;
	reach = annex_reach(p, LINK_IN, below, (drop + len) % p->n, len - 1, (double)bytes);
	price->away = len - reach;
	price->lead = time_of(p, (drop + price->away) % p->n, reach);
	price->takes = (double)bytes / p->rate[LINK_IN][below] * 1e9;
	price->out = INFINITY;
	price->late = fmax((double)bytes - price->in, 0);
	if (price->writes) {
		price->out = annex_free(p, LINK_OUT, below, e->written, window);
		price->late += fmax((double)price->writes - price->out, 0);
	}
	return true;
}

static int add_cut(struct annex_pass *p, uint32_t period, uint32_t drop, uint64_t bytes,
		   unsigned int below)
{
	if (p->n_cuts == p->most_cuts) {
		uint32_t most = p->most_cuts * 2 + 256;
		struct cut *cuts = realloc(p->cuts, most * sizeof(*cuts));

		if (!cuts)
			return -ENOMEM;
		p->cuts = cuts;
		p->most_cuts = most;
	}
	p->cuts[p->n_cuts++] = (struct cut){
		.bytes = bytes, .period = period, .drop = drop, .below = (uint8_t)below};
	return 0;
}

/* Copies of an epoch that were to be made for later periods are made for this one. */
static void hasten(struct annex_pass *p, struct epoch *e, uint32_t window, uint64_t bytes)
{
	uint64_t done = 0;

	for (uint32_t i = e->jobs; i != NONE && done < bytes && !p->err; i = p->jobs[i].sibling) {
		if (p->jobs[i].window <= window)
			continue;
		done += p->jobs[i].bytes;
		annex_hasten_job(p, i, window);
	}
}

static void make_copies(struct annex_pass *p, uint32_t period, struct epoch *e, uint32_t drop,
			uint32_t len, unsigned int below, uint64_t bytes)
{
	uint32_t window = annex_around(p, e->written, drop), job;
	struct job j = {.period = period,
			.release = e->written,
			.window = window,
			.bytes = bytes,
			.sibling = e->jobs,
			.dir = LINK_OUT,
			.below = (uint8_t)below};

	if (!e->copied)
		e->below = (uint8_t)below;
	e->at[below] += bytes;
	if (e->always) {
		span_add(&p->fill[below], 0, p->n, (int64_t)bytes);
		return;
	}
	/* From the cut on it is below; how much before, its slices say. */
	span_add(&p->fill[below], drop, len, (int64_t)bytes);
	job = annex_new_job(p, &j);
	if (job != NONE)
		e->jobs = job;
}

static void bring_back(struct annex_pass *p, uint32_t period, uint32_t drop, uint32_t len,
		       unsigned int below, uint64_t bytes)
{
	struct job j = {.period = period,
			.release = (drop + 1) % p->n,
			.window = len - 1,
			.bytes = bytes,
			.dir = LINK_IN,
			.below = (uint8_t)below};

	if (bytes && !p->err)
		annex_new_job(p, &j);
}

/* Copies stay from the last period that used them to the end of this one, or to that from this. */
static void keep_copies(struct annex_pass *p, uint32_t period, struct epoch *e, uint32_t end)
{
	uint32_t gap = longer(e, end);

	for (unsigned int b = 0; b < BELOWS && gap; b++)
		if (e->at[b])
			span_add(&p->fill[b], (e->written + e->until) % p->n, limit(p, gap),
				 (int64_t)e->at[b]);
	if (gap && e->copied)
		p->idle[e->last].keep = e->copied;
	if (e->until > end)
		p->idle[period].keep = e->copied;
	if (end > e->until) {
		e->until = end;
		e->last = period;
	}
}

void annex_cut(struct annex_pass *p, uint32_t period, uint32_t drop, uint64_t bytes,
	       unsigned int below)
{
	struct idle *idle = &p->idle[period];
	struct epoch *e = &p->epochs[idle->epoch];
	uint32_t len = away(p, period, drop), window = annex_around(p, e->written, drop);
	struct copies c = find_copies(p, period, window, bytes);

	p->err = add_cut(p, period, drop, bytes, below);
	if (p->err)
		return;
	span_add(&p->press, drop, len, -(int64_t)bytes);
	if (c.soon)
		hasten(p, e, window, c.soon);
	keep_copies(p, period, e, window + len);
	if (c.fresh)
		make_copies(p, period, e, drop, len, below, c.fresh);
	if (idle->out + bytes > e->copied)
		e->copied = idle->out + bytes;
	idle->out += bytes;
	bring_back(p, period, drop, len, e->below, bytes - c.fresh);
	bring_back(p, period, drop, len, below, c.fresh);
}
