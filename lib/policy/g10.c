// SPDX-License-Identifier: MIT
/*
 * G10's planner: smart tensor eviction (section 4.3, Algorithm 1) and eager prefetching (4.4).
 *
 * Where the paper is silent this does what its public artifact does: one percent of the memory is
 * left alone; the benefit of an eviction counts from when half of it has left until half of it is
 * back; transfers are estimated against what earlier ones left of each link, kernel by kernel.
 *
 * When no period has a benefit left and the estimate is still too high, since links are full before
 * memory is, the artifact goes on with periods in an order that its sort leaves undefined, until it
 * meets one that it has used. Here it goes on with those that would relieve the most if links were
 * fast, until they would cover the excess with the margin that it adds to transfers.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "policy.h"

/* The artifact's parameters. */
#define TARGET 0.99 /* of the memory is planned for */
#define MARGIN 0.5  /* of a transfer's time is added to be safe */
#define SSD_US 20.0 /* latency that is reckoned with */
#define FAULT_US 45.0
#define GIB 1.073741824 /* it reckons with gigabytes of 2^30 bytes */

/* struct link - How much of one direction each kernel's time still takes. */
struct link {
	double *room; /* bytes */
	double *sum;  /* room of all kernels before each; n + 1 */
};

enum { SSD_OUT, SSD_IN, PCIE_OUT, PCIE_IN, LINKS };

struct move {
	uint32_t period;
	uint32_t from, to;   /* kernels, from < to; those beyond n wrap */
	uint32_t left, back; /* out of memory when kernel @left ends, asked for at @back */
	bool looped;
	double gain; /* as it was last reckoned: it only falls */
};

struct g10 {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct annex_plan *plan;
	uint32_t n;
	double *us;               /* start of each kernel; 2n + 1 */
	double *mem;              /* estimated pressure, in bytes */
	double *plain;            /* what must still leave, were links fast */
	double *host;             /* estimated use of host memory */
	double *excess;           /* microseconds above the line before each kernel; n + 1 */
	double *uncovered;        /* those in which something must still leave */
	double ssd_cap, pcie_cap; /* bytes a microsecond */
	struct link link[LINKS];
	struct move *moves; /* a heap of candidates, by gain */
	uint32_t n_moves;
	struct move *eager;
	uint32_t n_eager;
	double line, target, host_line;
};

static void resum(struct g10 *g)
{
	for (uint32_t k = 0; k < g->n; k++) {
		double us = g->us[k + 1] - g->us[k];

		g->excess[k + 1] = g->excess[k] + (g->mem[k] > g->line ? us : 0);
		g->uncovered[k + 1] = g->uncovered[k] + (g->plain[k] > 0 ? us : 0);
	}
	for (unsigned int l = 0; l < LINKS; l++)
		for (uint32_t k = 0; k < g->n; k++)
			g->link[l].sum[k + 1] = g->link[l].sum[k] + g->link[l].room[k];
}

/* The kernel during which @bytes that start at kernel @from have passed. */
static uint32_t passes(const struct g10 *g, unsigned int l, double bytes, uint32_t from)
{
	const double *sum = g->link[l].sum;
	double want = sum[from] + bytes;
	uint32_t lo = from, hi = g->n - 1;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (sum[mid + 1] >= want)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The last kernel from whose start @bytes pass before kernel @to. */
static uint32_t starts(const struct g10 *g, unsigned int l, double bytes, uint32_t to)
{
	const double *sum = g->link[l].sum;
	double want = sum[to] - bytes;
	uint32_t lo = 0, hi = to ? to - 1 : 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;

		if (sum[mid] <= want)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* Traffic takes room of its own link and of the one that it shares. */
static void take(struct g10 *g, unsigned int ssd, unsigned int pcie, bool is_ssd, double bytes,
		 uint32_t from)
{
	for (uint32_t k = from; k < g->n && bytes > 0; k++) {
		double *s = &g->link[ssd].room[k], *p = &g->link[pcie].room[k];
		double n = fmin(bytes, is_ssd ? *s : *p);

		bytes -= n;
		*p = fmax(*p - n, 0);
		*s = is_ssd ? fmax(*s - n, 0) : fmin(*s, *p);
	}
}

static double bytes_of(const struct g10 *g, const struct move *m)
{
	return (double)g->v->trace->tensors[g->v->periods[m->period].tensor].bytes;
}

/* Of @sums before each kernel, what lies in a period that may wrap. */
static double within(const struct g10 *g, const double *sums, uint32_t from, uint32_t to)
{
	if (to <= g->n)
		return to > from ? sums[to] - sums[from] : 0;
	return sums[g->n] - sums[from] + sums[to - g->n];
}

/* Byte-microseconds of excess that an eviction takes away. */
static double benefit(const struct g10 *g, const struct move *m)
{
	double bytes = bytes_of(g, m);

	if (m->looped)
		return bytes * within(g, g->excess, m->from, m->to);
	return bytes * within(g, g->excess, passes(g, SSD_OUT, bytes / 2, m->from),
			      starts(g, SSD_IN, bytes / 2, m->to));
}

/* The same, were links fast. */
static double relief(const struct g10 *g, const struct move *m)
{
	return bytes_of(g, m) * within(g, g->uncovered, m->from, m->to);
}

static bool over(const struct g10 *g, double line, const struct move *m)
{
	for (uint32_t k = m->from; k < m->to; k++)
		if (g->mem[k % g->n] > line)
			return true;
	return false;
}

static double most(const double *x, uint32_t n)
{
	double max = 0;

	for (uint32_t k = 0; k < n; k++)
		max = fmax(max, x[k]);
	return max;
}

static uint32_t kernel_at(const struct g10 *g, double us, uint32_t lo, uint32_t hi)
{
	while (lo + 1 < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->us[mid] <= us)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int evict(struct g10 *g, const struct move *m, unsigned int tier)
{
	for (uint32_t k = m->from; k < m->to; k++)
		g->plain[k % g->n] -= bytes_of(g, m);
	return policy_step(g->plan, g->v, ANNEX_PLAN_EVICT, m->from % g->n,
			   g->v->periods[m->period].tensor, (uint64_t)bytes_of(g, m), tier, false);
}

/* A period that wraps: estimated by itself, without what others leave of the links. */
static int looped(struct g10 *g, struct move *m, double bytes, unsigned int tier, double move_us)
{
	uint32_t tensor = g->v->periods[m->period].tensor;
	int err;

	m->left = kernel_at(g, g->us[m->from] + move_us, m->from, m->to);
	m->back = kernel_at(g, g->us[m->to] - move_us * (1 + MARGIN), m->from, m->to);
	if (m->back == m->from)
		return 0;
	err = evict(g, m, tier);
	if (!err)
		err = policy_step(g->plan, g->v, ANNEX_PLAN_PREFETCH, m->back % g->n, tensor,
				  (uint64_t)bytes, 0, false);
	for (uint32_t k = m->left + 1; k < m->back; k++)
		g->mem[k % g->n] -= bytes;
	return err;
}

static void fill_host(struct g10 *g, const struct move *m, double bytes)
{
	for (uint32_t k = m->from; k < m->to; k++)
		g->host[k % g->n] += bytes;
}

static int straight(struct g10 *g, struct move *m, double bytes, bool ssd)
{
	unsigned int out = ssd ? SSD_OUT : PCIE_OUT, in = ssd ? SSD_IN : PCIE_IN;
	int err;

	m->left = passes(g, out, bytes, m->from);
	m->back = starts(g, in, bytes, m->to);
	if (m->back <= m->left)
		return 0;
	err = evict(g, m, ssd ? ANNEX_TIER_SSD : ANNEX_TIER_HOST);
	g->eager[g->n_eager++] = *m;
	take(g, SSD_IN, PCIE_IN, ssd, bytes, m->back);
	take(g, SSD_OUT, PCIE_OUT, ssd, bytes, m->from);
	if (!ssd)
		fill_host(g, m, bytes);
	for (uint32_t k = m->left + 1; k < m->back; k++)
		g->mem[k] -= bytes;
	return err;
}

/* Algorithm 1, lines 7 to 19: where to, and when. */
static int schedule(struct g10 *g, struct move *m)
{
	const struct annex_period *p = &g->v->periods[m->period];
	double bytes = bytes_of(g, m);
	double us = (double)p->ns / 1e3;
	double ssd_us = SSD_US + FAULT_US + bytes / g->ssd_cap;
	double host_us = FAULT_US + bytes / g->pcie_cap;
	bool host = most(g->host, g->n) + bytes <= g->host_line;

	if (m->to - m->from == 1 || !over(g, g->target, m))
		return 0;
	if (us > ssd_us * (2 + MARGIN)) {
		uint32_t ideal;

		if (m->looped)
			return looped(g, m, bytes, ANNEX_TIER_SSD, ssd_us);
		ideal = kernel_at(g, g->us[m->from] + ssd_us, m->from, m->to);
		if (g->link[SSD_OUT].sum[ideal] - g->link[SSD_OUT].sum[m->from] <= 0 && host)
			return straight(g, m, bytes, false);
		return straight(g, m, bytes, true);
	}
	if (us <= host_us * (2 + MARGIN) || !host)
		return 0;
	if (!m->looped)
		return straight(g, m, bytes, false);
	fill_host(g, m, bytes);
	return looped(g, m, bytes, ANNEX_TIER_HOST, host_us);
}

/* Of equal gains, the one that lasts longer, and is larger, comes first. */
static bool before(const struct g10 *g, const struct move *a, const struct move *b)
{
	if (a->gain != b->gain)
		return a->gain > b->gain;
	return (double)g->v->periods[a->period].ns * bytes_of(g, a) >
	       (double)g->v->periods[b->period].ns * bytes_of(g, b);
}

static void sift(struct g10 *g, uint32_t i)
{
	struct move m = g->moves[i];

	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= g->n_moves)
			break;
		if (c + 1 < g->n_moves && before(g, &g->moves[c + 1], &g->moves[c]))
			c++;
		if (!before(g, &g->moves[c], &m))
			break;
		g->moves[i] = g->moves[c];
		i = c;
	}
	g->moves[i] = m;
}

/*
 * The candidate with the most gain to the front. Gains only fall, as memory empties and links fill:
 * one that was reckoned anew and is still the first is the first.
 */
static bool find_best(struct g10 *g, double (*gain)(const struct g10 *, const struct move *))
{
	while (g->n_moves) {
		double now = gain(g, &g->moves[0]);

		if (now >= g->moves[0].gain)
			return now > 0;
		g->moves[0].gain = now;
		sift(g, 0);
	}
	return false;
}

static int evict_while(struct g10 *g, double (*gain)(const struct g10 *, const struct move *))
{
	int err = 0;

	resum(g);
	for (uint32_t i = 0; i < g->n_moves; i++)
		g->moves[i].gain = gain(g, &g->moves[i]);
	for (uint32_t i = g->n_moves / 2; i--;)
		sift(g, i);
	while (!err && most(g->mem, g->n) > g->target) {
		resum(g);
		if (!find_best(g, gain))
			break;
		err = schedule(g, &g->moves[0]);
		g->moves[0] = g->moves[--g->n_moves];
		if (g->n_moves)
			sift(g, 0);
	}
	return err;
}

static int evictions(struct g10 *g)
{
	int err = evict_while(g, benefit);

	return err ? err : evict_while(g, relief);
}

static int by_back(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	return x->back < y->back ? -1 : x->back > y->back;
}

/* Section 4.4: each prefetch as early as memory allows. */
static int prefetches(struct g10 *g)
{
	int err = 0;

	qsort(g->eager, g->n_eager, sizeof(*g->eager), by_back);
	for (uint32_t i = 0; i < g->n_eager && !err; i++) {
		struct move *m = &g->eager[i];
		uint32_t tensor = g->v->periods[m->period].tensor, at = m->back;
		uint64_t bytes = g->v->trace->tensors[tensor].bytes;

		while (at > m->left + 1 && g->mem[at - 1] < g->target)
			g->mem[--at] += (double)bytes;
		err = policy_step(g->plan, g->v, ANNEX_PLAN_PREFETCH, at, tensor, bytes, 0, false);
	}
	return err;
}

/* What lives, from when it is asked for. */
static void fill_memory(struct g10 *g)
{
	const struct annex_vitality *v = g->v;

	for (uint32_t k = 0; k < g->n; k++)
		g->mem[k] = (double)v->live[k];
	for (uint32_t i = 0; i < v->trace->n_tensors; i++) {
		const struct annex_life *l = &v->life[i];
		uint64_t bytes = v->trace->tensors[i].bytes;

		if (v->trace->tensors[i].global || !l->used)
			continue;
		for (uint32_t k = policy_alloc_at(v, g->sys, l->birth, bytes); k < l->birth; k++)
			g->mem[k] += (double)bytes;
	}
	for (uint32_t k = 0; k < g->n; k++)
		g->plain[k] = (g->mem[k] - g->target) * (1 + MARGIN);
}

static void find_moves(struct g10 *g)
{
	for (uint32_t i = 0; i < g->v->n_periods; i++) {
		const struct annex_period *p = &g->v->periods[i];
		struct move m = {.period = i, .from = p->from, .to = p->to, .looped = p->wraps};

		if (p->from == g->n) {
			m.from = 0;
			m.looped = false;
		} else if (p->wraps) {
			m.to += g->n;
		}
		if (m.to > m.from)
			g->moves[g->n_moves++] = m;
	}
}

static int setup(struct g10 *g)
{
	const struct annex_vitality *v = g->v;
	uint32_t n = g->n = v->trace->n_kernels;

	g->ssd_cap = fmin(g->sys->ssd_read, g->sys->ssd_write) * g->sys->ssds * GIB / 1e6;
	g->pcie_cap = g->sys->pcie * GIB / 1e6;
	g->line = (double)g->sys->gpu;
	g->target = g->line * TARGET;
	g->host_line = (double)g->plan->host;
	g->us = calloc(2 * (size_t)n + 1, sizeof(double));
	g->mem = calloc(n, sizeof(double));
	g->plain = calloc(n, sizeof(double));
	g->host = calloc(n, sizeof(double));
	g->excess = calloc((size_t)n + 1, sizeof(double));
	g->uncovered = calloc((size_t)n + 1, sizeof(double));
	g->moves = calloc((size_t)v->n_periods + 1, sizeof(*g->moves));
	g->eager = calloc((size_t)v->n_periods + 1, sizeof(*g->eager));
	for (unsigned int l = 0; l < LINKS; l++) {
		g->link[l].room = calloc(n, sizeof(double));
		g->link[l].sum = calloc((size_t)n + 1, sizeof(double));
		if (!g->link[l].room || !g->link[l].sum)
			return -ENOMEM;
	}
	if (!g->us || !g->mem || !g->plain || !g->host || !g->excess || !g->uncovered ||
	    !g->moves || !g->eager)
		return -ENOMEM;
	for (uint32_t k = 0; k <= 2 * n; k++)
		g->us[k] = (double)(k < n ? v->start[k] : v->start[n] + v->start[k - n]) / 1e3;
	for (uint32_t k = 0; k < n; k++) {
		double us = g->us[k + 1] - g->us[k];

		g->link[SSD_OUT].room[k] = g->link[SSD_IN].room[k] = g->ssd_cap * us;
		g->link[PCIE_OUT].room[k] = g->link[PCIE_IN].room[k] = g->pcie_cap * us;
	}
	fill_memory(g);
	find_moves(g);
	return 0;
}

static void discard(struct g10 *g)
{
	free(g->us);
	free(g->mem);
	free(g->plain);
	free(g->host);
	free(g->excess);
	free(g->uncovered);
	free(g->moves);
	free(g->eager);
	for (unsigned int l = 0; l < LINKS; l++) {
		free(g->link[l].room);
		free(g->link[l].sum);
	}
}

static int make(const struct annex_vitality *v, const struct annex_system *sys, const char *name,
		uint32_t flags, struct annex_plan **plan)
{
	struct g10 g = {.v = v, .sys = sys};
	int err = annex_plan_create(name, v->trace, sys, &g.plan);

	if (!err)
		err = setup(&g);
	if (!err)
		err = policy_lifetimes(g.plan, v, sys);
	if (!err)
		err = evictions(&g);
	if (!err)
		err = prefetches(&g);
	if (!err)
		err = annex_plan_finish(g.plan);
	discard(&g);
	if (err) {
		annex_plan_free(g.plan);
		return err;
	}
	g.plan->flags = flags;
	*plan = g.plan;
	return 0;
}

int policy_g10_host(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan)
{
	return make(v, sys, "g10-host", ANNEX_PLAN_RECLAIM, plan);
}

int policy_g10_gds(const struct annex_vitality *v, const struct annex_system *sys,
		   struct annex_plan **plan)
{
	struct annex_system alone = *sys;

	alone.host = 0;
	return make(v, &alone, "g10-gds", ANNEX_PLAN_RECLAIM, plan);
}

int policy_g10(const struct annex_vitality *v, const struct annex_system *sys,
	       struct annex_plan **plan)
{
	return make(v, sys, "g10", ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM, plan);
}
