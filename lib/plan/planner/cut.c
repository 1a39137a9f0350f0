// SPDX-License-Identifier: MIT
/*
 * One cut: its cost, and its effect on memories and links.
 */
#include <errno.h>
#include <math.h>
#include "core/array.h"
#include "core/least.h"
#include "planner.h"
#include "plan/trace/ends.h"

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
 * struct copies - Of @bytes more that leave in a period: bytes with a copy in time (@clean), with a
 * copy that must be made earlier than was planned (@soon), and without one (@fresh).
 */
struct copies {
	uint64_t clean, soon, fresh;
};

/* Bytes of an epoch that have a copy @window slots after the write. */
static uint64_t in_time(const struct annex_pass *p, const struct epoch *e, uint32_t window)
{
	uint64_t bytes = e->always ? e->copied : 0;

	for (uint32_t i = e->jobs; i != NONE; i = p->jobs[i].sibling)
		if (p->jobs[i].window <= window)
			bytes += p->jobs[i].bytes;
	return bytes;
}

static struct copies find_copies(const struct annex_pass *p, uint32_t period, uint32_t window,
				 uint64_t bytes)
{
	const struct idle *idle = &p->idle[period];
	const struct epoch *e = &p->epochs[idle->epoch];
	uint64_t made = in_time(p, e, window);
	struct copies c;

	c.clean = made > idle->out ? least(bytes, made - idle->out) : 0;
	c.soon = (e->copied > idle->out ? least(bytes, e->copied - idle->out) : 0) - c.clean;
	c.fresh = bytes - c.clean - c.soon;
	return c;
}

/* Slots, from the end of what copies of the epoch fill, to the end of a period @to_end after. */
static uint32_t longer(const struct epoch *e, uint32_t to_end)
{
	return !e->always && to_end > e->until ? to_end - e->until : 0;
}

/* Jobs are hastened as they are: their bytes, until @bytes are there. */
static uint64_t hastened(const struct annex_pass *p, const struct epoch *e, uint32_t window,
			 uint64_t bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = e->jobs; i != NONE && sum < bytes; i = p->jobs[i].sibling)
		if (p->jobs[i].window > window)
			sum += p->jobs[i].bytes;
	return sum;
}

/* Whether they have room below from then on. */
static bool room_for_sooner(const struct annex_pass *p, const struct epoch *e, uint32_t window,
			    uint64_t bytes)
{
	uint64_t sum = 0, all = hastened(p, e, window, bytes);

	for (uint32_t i = e->jobs; i != NONE && sum < bytes; i = p->jobs[i].sibling) {
		const struct job *j = &p->jobs[i];

		if (j->window <= window)
			continue;
		sum += j->bytes;
		if (!span_fits(&p->fill[j->below], (j->release + window) % p->n,
			       limit(p, j->window - window), p->room[j->below] - (int64_t)all))
			return false;
	}
	return true;
}

static bool has_room(const struct annex_pass *p, const struct epoch *e, uint32_t window,
		     uint32_t end, const struct copies *c, unsigned int below)
{
	const struct span *fill = &p->fill[below];
	uint32_t gap = longer(e, end);

	if (c->fresh && !span_fits(fill, e->always ? 0 : (e->written + window) % p->n,
				   e->always ? p->n : limit(p, end - window),
				   p->room[below] - (int64_t)c->fresh))
		return false;
	for (unsigned int b = 0; b < BELOWS && gap; b++)
		if (e->at[b] && !span_fits(&p->fill[b], (e->written + e->until) % p->n,
					   limit(p, gap), p->room[b] - (int64_t)e->at[b]))
			return false;
	return true;
}

/* Of sums before each slot: that of slots [@from, @from + @len). */
static double sum_of(const struct annex_pass *p, const double *before, uint32_t from, uint32_t len)
{
	uint32_t end = from + len;

	return end <= p->n ? before[end] - before[from]
			   : before[p->n] - before[from] + before[end - p->n];
}

static void price_return(const struct annex_pass *p, uint32_t drop, uint32_t len, uint64_t bytes,
			 unsigned int below, struct annex_price *price)
{
	uint32_t reach = annex_reach(p, LINK_IN, below, (drop + len) % p->n, len - 1,
				     (double)bytes);

	/* Nothing passes in the slot of the cut itself. */
	price->in = len > 1 ? annex_link_free(p, LINK_IN, below, (drop + 1) % p->n, len - 1) : 0;
	price->away = len - reach;
	price->lead = sum_of(p, p->when, (drop + price->away) % p->n, reach);
	price->takes = (double)bytes / p->rate[LINK_IN][below] * 1e9;
	price->late = fmax((double)bytes - price->in, 0);
}

bool annex_price(const struct annex_pass *p, uint32_t period, uint32_t drop, uint64_t bytes,
		 unsigned int below, struct annex_price *price)
{
	const struct epoch *e = &p->epochs[p->idle[period].epoch];
	uint32_t len = away(p, period, drop), window = annex_around(p, e->written, drop);
	struct copies c = find_copies(p, period, window, bytes);

	if (!has_room(p, e, window, window + len + 1, &c, below) ||
	    !room_for_sooner(p, e, window, c.soon))
		return false;
	*price = (struct annex_price){.writes = e->always ? 0 : c.fresh + c.soon,
				      .in = INFINITY,
				      .out = INFINITY,
				      .away = len};
	if (!period_is_end(p->v, &p->v->periods[period]))
		price_return(p, drop, len, bytes, below, price);
	if (price->writes) {
		price->out = annex_link_free(p, LINK_OUT, below, e->written, window);
		price->late += fmax((double)price->writes - price->out, 0);
	}
	if (c.fresh)
		price->rent = sum_of(p, p->rent[below], drop, e->always ? p->n : limit(p, len + 1));
	return true;
}

static int add_cut(struct annex_pass *p, uint32_t period, uint32_t drop, uint64_t bytes,
		   unsigned int below)
{
	if (!array_grow(p->cuts, p->n_cuts, p->most_cuts))
		return -ENOMEM;
	p->cuts[p->n_cuts++] = (struct cut){.bytes = bytes,
					    .period = period,
					    .drop = drop,
					    .next = p->idle[period].cuts,
					    .below = (uint8_t)below};
	p->idle[period].cuts = p->n_cuts - 1;
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
	/*
	 * From the cut on it is below, and still when kernels that wait for it are about to start;
	 * how much of it before, its slices say.
	 */
	span_add(&p->fill[below], drop, limit(p, len + 1), (int64_t)bytes);
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

	if (bytes && !p->err && !period_is_end(p->v, &p->v->periods[period]))
		annex_new_job(p, &j);
}

/* Copies stay from the last period that used them to the end of this one, or to that from this. */
static void keep_copies(struct annex_pass *p, uint32_t period, struct epoch *e, uint32_t window,
			uint32_t end)
{
	uint32_t gap = longer(e, end);

	for (unsigned int b = 0; b < BELOWS && gap; b++)
		if (e->at[b])
			span_add(&p->fill[b], (e->written + e->until) % p->n, limit(p, gap),
				 (int64_t)e->at[b]);
	if (gap && e->copied)
		p->idle[e->last].keep = e->copied;
	/* Copies for later periods that are made before this one. */
	if (e->until > end)
		p->idle[period].keep = in_time(p, e, window);
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

	/* Bytes that have a copy go to the tier of the copy. */
	p->err = add_cut(p, period, drop, bytes, c.fresh ? below : e->below);
	if (p->err)
		return;
	span_add(&p->press, drop, len, -(int64_t)bytes);
	if (c.soon)
		hasten(p, e, window, c.soon);
	keep_copies(p, period, e, window, window + len + 1);
	if (c.fresh)
		make_copies(p, period, e, drop, len, below, c.fresh);
	if (idle->out + bytes > e->copied)
		e->copied = idle->out + bytes;
	idle->out += bytes;
	bring_back(p, period, drop, len, e->below, bytes - c.fresh);
	bring_back(p, period, drop, len, below, c.fresh);
}

uint32_t annex_later_cut(const struct annex_pass *p, uint32_t period, uint32_t drop)
{
	uint32_t from = p->v->periods[period].from % p->n, now = annex_around(p, from, drop);

	for (uint32_t i = p->idle[period].cuts; i != NONE; i = p->cuts[i].next)
		if (annex_around(p, from, p->cuts[i].drop) > now)
			return i;
	return NONE;
}

/* Of the bytes of a cut, those whose copies would have to be made sooner. */
static uint64_t copies_sooner(const struct annex_pass *p, const struct epoch *e, uint32_t window,
			      uint64_t bytes)
{
	return least(hastened(p, e, window, bytes), bytes);
}

bool annex_price_sooner(const struct annex_pass *p, uint32_t cut, uint32_t drop,
			struct annex_price *price)
{
	const struct cut *c = &p->cuts[cut];
	const struct epoch *e = &p->epochs[p->idle[c->period].epoch];
	uint32_t window = annex_around(p, e->written, drop);

	*price = (struct annex_price){.in = INFINITY,
				      .out = INFINITY,
				      .away = annex_around(p, drop, c->drop),
				      .writes = copies_sooner(p, e, window, c->bytes)};
	if (!price->writes)
		return true;
	price->out = annex_link_free(p, LINK_OUT, e->below, e->written, window);
	price->late = fmax((double)price->writes - price->out, 0);
	return room_for_sooner(p, e, window, price->writes);
}

void annex_cut_sooner(struct annex_pass *p, uint32_t cut, uint32_t drop)
{
	struct cut *c = &p->cuts[cut];
	struct epoch *e = &p->epochs[p->idle[c->period].epoch];
	uint32_t window = annex_around(p, e->written, drop);

	span_add(&p->press, drop, annex_around(p, drop, c->drop), -(int64_t)c->bytes);
	hasten(p, e, window, copies_sooner(p, e, window, c->bytes));
	c->drop = drop;
}
