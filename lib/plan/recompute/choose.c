// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/array.h"
#include "recompute.h"

/*
 * struct chooser - State of recompute_choose().
 * @writes: kernels that write tensor i, in order: from @first[i] to @first[i + 1].
 * @used: the first kernel that uses tensor i.
 * @full: number of kernels before each one at which more is live than the GPU holds.
 * @of: of each tensor, its place in the list; NONE: it is kept.
 * @needed: of each tensor, the head of the list of @points.
 * @points: kernels before which it must be alive, since a kernel that reads it runs again.
 */
struct chooser {
	const struct annex_vitality *v;
	uint32_t *first, *writes, *used, *full, *of, *needed;
	struct point {
		uint32_t at, next;
	} * points;
	uint32_t n_points, room;
	struct again *list;
};

static bool find_writes(struct chooser *c)
{
	const struct annex_trace *t = c->v->trace;

	c->first = calloc((size_t)t->n_tensors + 2, sizeof(*c->first));
	c->writes = calloc((size_t)t->n_uses + 1, sizeof(*c->writes));
	c->used = calloc((size_t)t->n_tensors + 1, sizeof(*c->used));
	if (!c->first || !c->writes || !c->used)
		return false;
	for (uint32_t u = 0; u < t->n_uses; u++)
		c->first[t->uses[u].tensor + 2] += (t->uses[u].how & ANNEX_USE_WRITE) != 0;
	for (uint32_t i = 2; i < t->n_tensors + 2; i++)
		c->first[i] += c->first[i - 1];
	for (uint32_t k = 0; k < t->n_kernels; k++)
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
			if (t->uses[u].how & ANNEX_USE_WRITE)
				c->writes[c->first[t->uses[u].tensor + 1]++] = k;
	for (uint32_t k = t->n_kernels; k--;)
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
			c->used[t->uses[u].tensor] = k;
	return true;
}

static bool find_full(struct chooser *c, const struct annex_system *sys)
{
	uint32_t n = c->v->trace->n_kernels;

	c->full = calloc((size_t)n + 1, sizeof(*c->full));
	for (uint32_t k = 0; c->full && k < n; k++)
		c->full[k + 1] = c->full[k] + (c->v->live[k] > sys->gpu);
	return c->full;
}

/* Whether a kernel after @from and before @to writes the tensor. */
static bool changes(const struct chooser *c, uint32_t tensor, uint32_t from, uint32_t to)
{
	for (uint32_t w = c->first[tensor]; w < c->first[tensor + 1]; w++)
		if (c->writes[w] > from && c->writes[w] < to)
			return true;
	return false;
}

/* The longest period in which memory is short. */
static bool find_period(const struct chooser *c, uint32_t tensor, struct again *a)
{
	const struct annex_life *life = &c->v->life[tensor];
	uint64_t longest = 0;

	for (uint32_t p = life->period; p < life->period + life->n_periods; p++) {
		const struct annex_period *period = &c->v->periods[p];

		if (period->wraps || period->from >= period->to || period->ns < longest ||
		    c->full[period->to] == c->full[period->from])
			continue;
		longest = period->ns;
		a->from = period->from;
		a->to = period->to;
	}
	return longest;
}

/* Whether the kernel can run again: its inputs are there, and it changes nothing else. */
static bool repeats(const struct chooser *c, const struct again *a)
{
	const struct annex_trace *t = c->v->trace;
	uint32_t n;
	const struct annex_use *use = uses_of(t, a->kernel, &n);

	for (; n--; use++) {
		uint32_t i = use->tensor;
		bool global = t->tensors[i].global;

		if (use->how & ANNEX_USE_WRITE) {
			if (global || use->how & ANNEX_USE_READ)
				return false;
		} else if ((!global && c->v->life[i].death < a->to) ||
			   changes(c, i, a->kernel, a->to)) {
			return false;
		}
	}
	return true;
}

static bool is_candidate(const struct chooser *c, uint32_t tensor, struct again *a)
{
	if (c->v->trace->tensors[tensor].global || c->first[tensor + 1] - c->first[tensor] != 1)
		return false;
	*a = (struct again){.tensor = tensor, .kernel = c->writes[c->first[tensor]]};
	if (!find_period(c, tensor, a) || a->from <= a->kernel)
		return false;
	return c->used[tensor] == a->kernel && repeats(c, a);
}

/* Whether a tensor that is computed again is absent before kernel @at. */
static bool is_absent(const struct again *a, uint32_t at)
{
	return a->from < at && at < a->to;
}

/* Whether it can be computed again beside the accepted ones. */
static bool fits(const struct chooser *c, const struct again *a)
{
	uint32_t n;
	const struct annex_use *use = uses_of(c->v->trace, a->kernel, &n);

	for (; n--; use++)
		if (!(use->how & ANNEX_USE_WRITE) && c->of[use->tensor] != NONE &&
		    is_absent(&c->list[c->of[use->tensor]], a->to))
			return false;
	for (uint32_t p = c->needed[a->tensor]; p != NONE; p = c->points[p].next)
		if (is_absent(a, c->points[p].at))
			return false;
	return true;
}

static int accept(struct chooser *c, uint32_t number)
{
	const struct again *a = &c->list[number];
	uint32_t n;
	const struct annex_use *use = uses_of(c->v->trace, a->kernel, &n);

	c->of[a->tensor] = number;
	for (; n--; use++) {
		if (use->how & ANNEX_USE_WRITE)
			continue;
		if (!array_grow(c->points, c->n_points, c->room))
			return -ENOMEM;
		c->points[c->n_points] = (struct point){a->to, c->needed[use->tensor]};
		c->needed[use->tensor] = c->n_points++;
	}
	return 0;
}

/* struct priced - A candidate, and nanoseconds for each of its bytes. */
struct priced {
	struct again again;
	double price;
};

static int cheaper(const void *a, const void *b)
{
	const struct priced *x = a, *y = b;

	if (x->price != y->price)
		return x->price < y->price ? -1 : 1;
	return x->again.tensor < y->again.tensor ? -1 : x->again.tensor > y->again.tensor;
}

static int choose(struct chooser *c, uint32_t *n)
{
	const struct annex_trace *t = c->v->trace;
	struct priced *priced = malloc(((size_t)t->n_tensors + 1) * sizeof(*priced));
	uint32_t found = 0;
	int err = priced ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < t->n_tensors && !err; i++)
		if (is_candidate(c, i, &priced[found].again)) {
			priced[found].price = (double)t->kernels[priced[found].again.kernel].ns /
					      (double)t->tensors[i].bytes;
			found++;
		}
	if (!err)
		qsort(priced, found, sizeof(*priced), cheaper);
	for (uint32_t i = 0; i < found && !err; i++) {
		if (!fits(c, &priced[i].again))
			continue;
		c->list[*n] = priced[i].again;
		err = accept(c, (*n)++);
	}
	free(priced);
	return err;
}

int recompute_choose(const struct annex_vitality *v, const struct annex_system *sys,
		     struct again **list, uint32_t *n)
{
	size_t tensors = (size_t)v->trace->n_tensors + 1;
	struct chooser c = {.v = v};
	int err = -ENOMEM;

	*n = 0;
	c.of = malloc(tensors * sizeof(*c.of));
	c.needed = malloc(tensors * sizeof(*c.needed));
	c.list = malloc(tensors * sizeof(*c.list));
	if (c.of && c.needed && c.list && find_writes(&c) && find_full(&c, sys)) {
		memset(c.of, 0xff, tensors * sizeof(*c.of));
		memset(c.needed, 0xff, tensors * sizeof(*c.needed));
		err = choose(&c, n);
	}
	free(c.first);
	free(c.writes);
	free(c.used);
	free(c.full);
	free(c.of);
	free(c.needed);
	free(c.points);
	if (err)
		free(c.list);
	else
		*list = c.list;
	return err;
}
