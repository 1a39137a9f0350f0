// SPDX-License-Identifier: MIT
/*
 * The free capacity of links in each slot.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "planner.h"

int link_init(struct link *l, uint32_t n, const double *ns, double rate)
{
	l->free = calloc(n, sizeof(*l->free));
	l->sum = calloc((size_t)n + 1, sizeof(*l->sum));
	l->skip = calloc(n, sizeof(*l->skip));
	if (!l->free || !l->sum || !l->skip)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		l->free[i] = ns[i] * rate * 1e-9;
		l->sum[i + 1] = l->free[i];
	}
	for (uint32_t i = 1; i <= n; i++)
		if (i + (i & -i) <= n)
			l->sum[i + (i & -i)] += l->sum[i];
	return 0;
}

void link_free(struct link *l)
{
	free(l->free);
	free(l->sum);
	free(l->skip);
	l->free = l->sum = NULL;
	l->skip = NULL;
}

static double before(const struct link *l, uint32_t slot)
{
	double sum = 0;

	for (; slot; slot -= slot & -slot)
		sum += l->sum[slot];
	return sum;
}

static double between(const struct link *l, uint32_t n, uint32_t from, uint32_t len)
{
	uint32_t end = from + len;

	if (!l->free)
		return INFINITY;
	if (end <= n)
		return before(l, end) - before(l, from);
	return before(l, n) - before(l, from) + before(l, end - n);
}

/* Seconds of SSDs that a byte takes; 0: none. */
static double takes(const struct annex_pass *p, unsigned int dir, unsigned int below)
{
	return p->time.free && below == BELOW_SSD ? p->takes[dir] : 0;
}

double annex_link_free(const struct annex_pass *p, unsigned int dir, unsigned int below,
		       uint32_t from, uint32_t len)
{
	double each = takes(p, dir, below);
	double room = fmin(between(&p->pcie[dir], p->n, from, len),
			   between(&p->below[dir][below], p->n, from, len));

	return each > 0 ? fmin(room, between(&p->time, p->n, from, len) / each) : room;
}

double annex_free_at(const struct annex_pass *p, unsigned int dir, unsigned int below,
		     uint32_t slot)
{
	const struct link *l = &p->below[dir][below];
	double room = p->pcie[dir].free[slot], each = takes(p, dir, below);

	if (l->free)
		room = fmin(room, l->free[slot]);
	if (each > 0)
		room = fmin(room, p->time.free[slot] / each);
	return room;
}

/*
 * How many slots from @slot back are full, at most @slot + 1. A walk over full slots leaves in
 * each how many there were, so that the next walk takes them in one step (union-find's path
 * compression). Slots become empty again only when a transfer is moved: then they may be passed by.
 */
static uint32_t full_from(struct link *l, uint32_t slot, double crumb)
{
	uint32_t end = slot + 1; /* slots before it are not known to be full */

	if (!l->free)
		return 0;
	while (end && l->free[end - 1] < crumb)
		end -= l->skip[end - 1] ? l->skip[end - 1] : 1;
	for (uint32_t at = slot + 1; at > end;) {
		uint32_t past = l->skip[at - 1] ? l->skip[at - 1] : 1;

		l->skip[at - 1] = at - end;
		at -= past;
	}
	return slot + 1 - end;
}

uint32_t annex_skip(struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t slot,
		    uint32_t most)
{
	double each = takes(p, dir, below);
	uint32_t back = 0;

	while (back <= most) {
		uint32_t at = (slot + p->n - back) % p->n;
		uint32_t full = full_from(&p->pcie[dir], at, p->crumb);

		if (!full)
			full = full_from(&p->below[dir][below], at, p->crumb);
		if (!full && each > 0)
			full = full_from(&p->time, at, p->crumb * fmax(p->takes[0], p->takes[1]));
		if (!full)
			return back;
		back += full;
	}
	return most + 1;
}

/* The last slot that has no more than @bytes of room before it; rounding aside. */
static uint32_t first_with(const struct link *l, uint32_t n, double bytes)
{
	uint32_t slot = 0, step = 1;

	while (step <= n / 2)
		step *= 2;
	for (; step; step /= 2) {
		if (slot + step > n || l->sum[slot + step] > bytes)
			continue;
		slot += step;
		bytes -= l->sum[slot];
	}
	return slot;
}

/* The same from @slot on, up to the end of the iteration. */
static uint32_t full_to(struct link *l, uint32_t n, uint32_t slot, double crumb)
{
	uint32_t end = slot;

	if (!l->free)
		return 0;
	while (end < n && l->free[end] < crumb)
		end += l->skip[end] ? l->skip[end] : 1;
	for (uint32_t at = slot; at < end;) {
		uint32_t past = l->skip[at] ? l->skip[at] : 1;

		l->skip[at] = end - at;
		at += past;
	}
	return end - slot;
}

uint32_t annex_skip_ahead(struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t slot,
			  uint32_t most)
{
	double each = takes(p, dir, below);
	uint32_t ahead = 0;

	while (ahead < most) {
		uint32_t at = (slot + ahead) % p->n;
		uint32_t full = full_to(&p->pcie[dir], p->n, at, p->crumb);

		if (!full)
			full = full_to(&p->below[dir][below], p->n, at, p->crumb);
		/* The walks over the other direction go back. */
		if (!full && each > 0)
			full = p->time.free[at] < p->crumb * each;
		if (!full)
			return ahead;
		ahead += full;
	}
	return most;
}

void annex_turn(struct annex_pass *p, unsigned int dir)
{
	for (unsigned int b = 0; b <= BELOWS; b++) {
		struct link *l = b < BELOWS ? &p->below[dir][b] : &p->pcie[dir];

		if (l->free)
			memset(l->skip, 0, (size_t)p->n * sizeof(*l->skip));
	}
}

/* Slots before @to, up to @len, whose room is at least @bytes; @len when there is not so much. */
static uint32_t back_from(const struct link *l, uint32_t n, uint32_t to, uint32_t len, double bytes)
{
	double sum;
	uint32_t back;

	if (!l->free)
		return 0;
	sum = before(l, to);
	if (sum >= bytes)
		back = to - first_with(l, n, sum - bytes);
	else
		back = to + n - first_with(l, n, fmax(before(l, n) - (bytes - sum), 0));
	return back < len ? back : len;
}

uint32_t annex_reach(const struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t to,
		     uint32_t len, double bytes)
{
	uint32_t a = back_from(&p->pcie[dir], p->n, to, len, bytes);
	uint32_t b = back_from(&p->below[dir][below], p->n, to, len, bytes);
	double each = takes(p, dir, below);
	uint32_t c = each > 0 ? back_from(&p->time, p->n, to, len, bytes * each) : 0;

	a = a > b ? a : b;
	return a > c ? a : c;
}

static void take(struct link *l, uint32_t n, uint32_t slot, double bytes)
{
	if (!l->free)
		return;
	l->free[slot] -= bytes;
	for (uint32_t i = slot + 1; i <= n; i += i & -i)
		l->sum[i] -= bytes;
}

void annex_take(struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t slot,
		double bytes)
{
	double each = takes(p, dir, below);

	take(&p->pcie[dir], p->n, slot, bytes);
	take(&p->below[dir][below], p->n, slot, bytes);
	if (each > 0)
		take(&p->time, p->n, slot, bytes * each);
}
