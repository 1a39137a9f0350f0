// SPDX-License-Identifier: MIT
/*
 * The beginning of a pass: everything that lives is on the GPU, and no link is used.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "planner.h"
#include "plan/policy/policy.h"

/* Steps for less than this are not worth it, unless kernels are so short. */
#define CRUMB (256.0 * 1024)

/* Tensors in the order of their births, by counting; unborn ones are left out. */
static uint32_t by_birth(const struct annex_pass *p, uint32_t *first, uint32_t *order)
{
	const struct annex_trace *t = p->v->trace;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_tensors; i++)
		if (!t->tensors[i].global && p->v->life[i].used)
			first[p->v->life[i].birth + 1]++;
	for (uint32_t k = 0; k < p->n; k++)
		first[k + 1] += first[k];
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		if (t->tensors[i].global || !p->v->life[i].used)
			continue;
		order[first[p->v->life[i].birth]++] = i;
		n++;
	}
	return n;
}

/*
 * Allocations take the allocator one after the other. Each begins as late as those after it allow,
 * and as early as that, where what kernels use leaves room for it.
 */
static void place_allocs(struct annex_pass *p, const uint32_t *order, uint32_t n, uint64_t *active,
			 int64_t *live)
{
	double end = INFINITY;

	while (n--) {
		uint32_t i = order[n], k = p->v->life[i].birth;
		uint64_t bytes = p->v->trace->tensors[i].bytes;

		end = fmin(end, p->when[k]) - (double)bytes / p->sys->alloc * 1e9;
		while (k && p->when[k] > end && active[k - 1] + bytes <= p->capacity) {
			k--;
			active[k] += bytes;
			live[k] += (int64_t)bytes;
		}
		p->alloc[i] = k;
	}
}

static int schedule_allocs(struct annex_pass *p, int64_t *live)
{
	uint64_t *active = malloc((size_t)p->n * sizeof(*active));
	uint32_t *first = calloc((size_t)p->n + 2, sizeof(*first));
	uint32_t *order = malloc(((size_t)p->v->trace->n_tensors + 1) * sizeof(*order));
	int err = active && first && order ? 0 : -ENOMEM;

	if (!err) {
		memcpy(active, p->v->active, (size_t)p->n * sizeof(*active));
		place_allocs(p, order, by_birth(p, first, order), active, live);
	}
	free(active);
	free(first);
	free(order);
	return err;
}

/*
 * The epochs of a tensor: one from each kernel that writes it to the next. A period belongs to the
 * epoch of the last write before it; a new tensor was written by its first kernel.
 */
static void find_epochs(struct annex_pass *p, const uint32_t *first, const uint32_t *users,
			const uint8_t *writes, uint32_t tensor)
{
	const struct annex_life *l = &p->v->life[tensor];
	bool global = p->v->trace->tensors[tensor].global;
	uint32_t from = first[tensor], to = first[tensor + 1], last = NONE, epoch = NONE;

	/* A global tensor's first periods follow the last write of the iteration before. */
	for (uint32_t u = to; global && u-- > from && last == NONE;)
		if (writes[u])
			last = users[u];
	for (uint32_t i = 0, u = from; i < l->n_periods; i++) {
		uint32_t period = l->period + i;

		for (; u < to && users[u] < p->v->periods[period].from; u++) {
			if (!writes[u] && (global || u != from))
				continue;
			last = users[u];
			epoch = NONE;
		}
		if (epoch == NONE) {
			/* The wrapped one of a global tensor is that of its first periods. */
			epoch = p->n_epochs++;
			p->epochs[epoch] =
				(struct epoch){.written = last == NONE ? 0 : (last + 1) % p->n,
					       .jobs = NONE,
					       .always = last == NONE};
		}
		p->idle[period].epoch = epoch;
	}
	if (!global || !l->n_periods)
		return;
	/* Periods before the first write share the epoch that began at the last one. */
	for (uint32_t i = 0, u = from; i < l->n_periods; i++) {
		for (; u < to && users[u] < p->v->periods[l->period + i].from; u++)
			if (writes[u])
				return;
		p->idle[l->period + i].epoch = epoch;
	}
}

static int find_all_epochs(struct annex_pass *p)
{
	const struct annex_trace *t = p->v->trace;
	uint32_t *first = calloc((size_t)t->n_tensors + 2, sizeof(*first));
	uint32_t *users = malloc(((size_t)t->n_uses + 1) * sizeof(*users));
	uint8_t *writes = malloc((size_t)t->n_uses + 1);
	int err = first && users && writes ? 0 : -ENOMEM;

	for (uint32_t u = 0; u < t->n_uses && !err; u++)
		first[t->uses[u].tensor + 2]++;
	for (uint32_t i = 2; i < t->n_tensors + 2 && !err; i++)
		first[i] += first[i - 1];
	for (uint32_t k = 0; k < t->n_kernels && !err; k++) {
		for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
			uint32_t at = first[t->uses[u].tensor + 1]++;

			users[at] = k;
			writes[at] = t->uses[u].how & ANNEX_USE_WRITE;
		}
	}
	for (uint32_t i = 0; i < t->n_tensors && !err; i++)
		find_epochs(p, first, users, writes, i);
	free(first);
	free(users);
	free(writes);
	return err;
}

static int init_links(struct annex_pass *p)
{
	const struct annex_system *sys = p->sys;
	double share = 1.0 / sys->gpus, ssds = share * sys->ssds * (p->taste.slow ? 0.5 : 1);
	double rates[LINKS][BELOWS] = {
		{sys->host_link * share, sys->cxl_rate * share, sys->ssd_write * ssds},
		{sys->host_link * share, sys->cxl_rate * share, sys->ssd_read * ssds}};
	int err = 0;

	for (unsigned int d = 0; d < LINKS && !err; d++) {
		err = link_init(&p->pcie[d], p->n, p->ns, sys->pcie);
		for (unsigned int b = 0; b < BELOWS && !err; b++)
			if (b != BELOW_HOST || sys->host_link > 0)
				err = link_init(&p->below[d][b], p->n, p->ns, rates[d][b]);
		for (unsigned int b = 0; b < BELOWS; b++)
			p->rate[d][b] = b != BELOW_HOST || sys->host_link > 0
						? fmin(rates[d][b], sys->pcie)
						: sys->pcie;
	}
	for (unsigned int d = 0; d < LINKS; d++)
		p->takes[d] = 1 / rates[d][BELOW_SSD];
	if (!err && sys->ssds && sys->ssd_duplex < 2)
		err = link_init(&p->time, p->n, p->ns, sys->ssd_duplex);
	p->crumb = fmin(CRUMB, p->when[p->n] / p->n * sys->pcie * 1e-9 / 8);
	p->room[BELOW_HOST] = (int64_t)(sys->host / sys->gpus);
	p->room[BELOW_CXL] = (int64_t)(sys->cxl / sys->gpus);
	p->room[BELOW_SSD] = sys->ssds ? INT64_MAX / 4 : 0;
	return err;
}

static int init_rents(struct annex_pass *p)
{
	for (unsigned int b = 0; b < BELOWS; b++) {
		p->rent[b] = calloc((size_t)p->n + 1, sizeof(*p->rent[b]));
		if (!p->rent[b])
			return -ENOMEM;
		for (uint32_t k = 0; k < p->n && p->taste.rent; k++)
			p->rent[b][k + 1] = p->rent[b][k] + p->taste.rent[b][k] * p->ns[k];
	}
	return 0;
}

int annex_pass_init(struct annex_pass *p)
{
	const struct annex_vitality *v = p->v;
	int64_t *live = malloc((size_t)p->n * sizeof(*live));
	int err;

	p->idle = calloc((size_t)v->n_periods + 1, sizeof(*p->idle));
	p->epochs = calloc((size_t)v->n_periods + 1, sizeof(*p->epochs));
	p->alloc = calloc((size_t)v->trace->n_tensors + 1, sizeof(*p->alloc));
	p->slot = malloc((size_t)p->n * sizeof(*p->slot));
	p->over = calloc((size_t)p->n + 1, sizeof(*p->over));
	p->when = calloc((size_t)p->n + 1, sizeof(*p->when));
	err = live && p->idle && p->epochs && p->alloc && p->slot && p->over && p->when ? 0
											: -ENOMEM;
	for (uint32_t k = 0; k < p->n && !err; k++) {
		live[k] = (int64_t)v->live[k];
		p->slot[k] = NONE;
		p->when[k + 1] = p->when[k] + p->ns[k];
	}
	for (uint32_t i = 0; i < v->n_periods && !err; i++)
		p->idle[i].cuts = NONE;
	p->settled = p->taste.late;
	if (!err)
		err = schedule_allocs(p, live);
	if (!err)
		err = find_all_epochs(p);
	if (!err)
		err = init_links(p);
	if (!err)
		err = init_rents(p);
	if (!err)
		err = span_init(&p->press, p->n, live);
	for (unsigned int b = 0; b < BELOWS && !err; b++)
		err = span_init(&p->fill[b], p->n, NULL);
	free(live);
	return err;
}

void annex_pass_free(struct annex_pass *p)
{
	for (unsigned int d = 0; d < LINKS; d++) {
		link_free(&p->pcie[d]);
		for (unsigned int b = 0; b < BELOWS; b++)
			link_free(&p->below[d][b]);
	}
	link_free(&p->time);
	span_free(&p->press);
	for (unsigned int b = 0; b < BELOWS; b++) {
		span_free(&p->fill[b]);
		free(p->rent[b]);
	}
	free(p->idle);
	free(p->epochs);
	free(p->alloc);
	free(p->slot);
	free(p->over);
	free(p->when);
	free(p->cuts);
	free(p->jobs);
	free(p->slices);
}
