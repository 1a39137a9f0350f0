// SPDX-License-Identifier: MIT
/*
 * Transfers move into idle slots before theirs, in the order in which they are due (G10 section
 * 4.4 does it for what returns). Reads take memory of the GPU earlier, writes memory below: only
 * where there is some.
 */
#include <errno.h>
#include <stdlib.h>
#include "planner.h"

/* struct due - A job that may move, by when its first slice that is left is due. */
struct due {
	uint32_t job;
	uint32_t slot; /* slots from kernel 0, maybe of the next iteration */
};

struct queue {
	struct due *e;
	uint32_t n;
};

static void push(struct queue *q, struct due d)
{
	uint32_t i = q->n++;

	for (; i && q->e[(i - 1) / 2].slot > d.slot; i = (i - 1) / 2)
		q->e[i] = q->e[(i - 1) / 2];
	q->e[i] = d;
}

static void pop(struct queue *q)
{
	struct due e = q->e[--q->n];
	uint32_t i = 0;

	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= q->n)
			break;
		if (c + 1 < q->n && q->e[c + 1].slot < q->e[c].slot)
			c++;
		if (q->e[c].slot >= e.slot)
			break;
		q->e[i] = q->e[c];
		i = c;
	}
	q->e[i] = e;
}

/* A job's slots count from kernel 0 of the iteration in which it is released. */
static uint32_t absolute(const struct annex_pass *p, const struct job *j, uint32_t slot)
{
	return slot >= j->release ? slot : slot + p->n;
}

/* Bytes that may be in memory for slots [@from, @from + @len) in addition. */
static int64_t room(const struct annex_pass *p, const struct job *j, uint32_t from, uint32_t len)
{
	if (j->dir == LINK_IN)
		return (int64_t)p->capacity - span_most(&p->press, from, len);
	return p->room[j->below] - span_most(&p->fill[j->below], from, len);
}

/* Move bytes of the job's first slice to @slot. Returns how many: 0 when nothing has room. */
static uint64_t pull(struct annex_pass *p, uint32_t job, uint32_t slot)
{
	struct job *j = &p->jobs[job];
	struct slice *s = &p->slices[j->slices];
	uint32_t len = absolute(p, j, s->slot) - absolute(p, j, slot);
	double link = annex_free_at(p, j->dir, j->below, slot);
	int64_t most = room(p, j, slot, len < p->n ? len : p->n);
	uint64_t n = s->bytes;

	if (link < (double)n)
		n = link > 0 ? (uint64_t)link : 0;
	if (most < (int64_t)n)
		n = most > 0 ? (uint64_t)most : 0;
	if (!n || ((double)n < p->crumb && n < s->bytes))
		return 0;
	annex_take(p, j->dir, j->below, s->slot, -(double)n);
	annex_weigh(p, j, s->slot, annex_around(p, s->slot, annex_due(p, j)), -(int64_t)n);
	s->bytes -= n;
	annex_new_slice(p, job, slot, n);
	return n;
}

/* The job's next slice that lies after @slot; those before it stay where they are. */
static bool next_slice(struct annex_pass *p, uint32_t job, uint32_t slot, uint32_t *at)
{
	struct job *j = &p->jobs[job];

	for (; j->slices != NONE; j->slices = p->slices[j->slices].next) {
		*at = absolute(p, j, p->slices[j->slices].slot);
		if (*at > slot && p->slices[j->slices].bytes)
			return true;
	}
	return false;
}

static void fill_slot(struct annex_pass *p, struct queue *q, uint32_t slot)
{
	while (q->n && !p->err) {
		struct due top = q->e[0];
		uint32_t at;

		if (!next_slice(p, top.job, slot, &at)) {
			pop(q);
			continue;
		}
		if (at != top.slot) {
			pop(q);
			push(q, (struct due){top.job, at});
			continue;
		}
		if (!pull(p, top.job, slot))
			return;
	}
}

/* Jobs by the slot at which they are released, by counting. */
static void sort_jobs(const struct annex_pass *p, uint32_t *first, uint32_t *order)
{
	for (uint32_t i = 0; i < p->n_jobs; i++)
		first[p->jobs[i].release + 1]++;
	for (uint32_t k = 0; k < p->n; k++)
		first[k + 1] += first[k];
	for (uint32_t i = 0; i < p->n_jobs; i++)
		order[first[p->jobs[i].release]++] = i;
	for (uint32_t k = p->n; k; k--)
		first[k] = first[k - 1];
	first[0] = 0;
}

static void pull_all(struct annex_pass *p, struct queue q[LINKS][BELOWS], const uint32_t *first,
		     const uint32_t *order)
{
	for (uint32_t k = 0; k < p->n && !p->err; k++) {
		for (uint32_t i = first[k]; i < first[k + 1]; i++) {
			const struct job *j = &p->jobs[order[i]];
			uint32_t at;

			if (next_slice(p, order[i], k, &at))
				push(&q[j->dir][j->below], (struct due){order[i], at});
		}
		for (unsigned int d = 0; d < LINKS; d++)
			for (unsigned int b = 0; b < BELOWS; b++)
				fill_slot(p, &q[d][b], k);
	}
}

void annex_pull(struct annex_pass *p)
{
	struct queue q[LINKS][BELOWS] = {0};
	uint32_t *first = calloc((size_t)p->n + 1, sizeof(*first));
	uint32_t *order = malloc(((size_t)p->n_jobs + 1) * sizeof(*order));
	bool ok = first && order;

	for (unsigned int d = 0; d < LINKS; d++) {
		for (unsigned int b = 0; b < BELOWS; b++) {
			q[d][b].e = malloc(((size_t)p->n_jobs + 1) * sizeof(struct due));
			ok = ok && q[d][b].e;
		}
	}
	if (ok) {
		sort_jobs(p, first, order);
		pull_all(p, q, first, order);
	} else {
		p->err = -ENOMEM;
	}
	for (unsigned int d = 0; d < LINKS; d++)
		for (unsigned int b = 0; b < BELOWS; b++)
			free(q[d][b].e);
	free(first);
	free(order);
}
