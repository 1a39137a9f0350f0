// SPDX-License-Identifier: MIT
/*
 * G10's planner: smart tensor eviction (section 4.3, Algorithm 1) and eager prefetching (4.4).
 *
 * Where the paper is silent this does what its public artifact does: one percent of the memory is
 * left alone; the benefit of an eviction counts from when half of it has left until half of it is
 * back; transfers are estimated against what earlier ones left of each link, kernel by kernel.
 *
 * When no period has a benefit left and the estimate is still too high, since links are full before
 * memory is, it ends, as Algorithm 1 does. The artifact goes on with periods in an order that its
 * sort leaves undefined, until it meets one that it has used.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "policy.h"
#include "span.h"
#include "sum.h"

/* The artifact's parameters. */
#define TARGET 0.99 /* of the memory is planned for */
#define MARGIN 0.5  /* of a transfer's time is added to be safe */
#define SSD_US 20.0 /* latency that is reckoned with */
#define FAULT_US 45.0
#define GIB 1.073741824 /* it reckons with gigabytes of 2^30 bytes */

/* Bytes that a link has room for in an iteration, at most: one of more is never full. */
#define ROOM_MOST 0x1p60

enum { SSD_OUT, SSD_IN, PCIE_OUT, PCIE_IN, LINKS };

struct move {
	uint32_t period;
	uint32_t from, to;   /* kernels, from < to; those beyond n wrap */
	uint32_t left, back; /* out of memory when kernel @left ends, asked for at @back */
	bool looped;
	double gain; /* as it was last reckoned: it only falls */
	double rest; /* byte-nanoseconds that it lasts */
};

/*
 * Values that an eviction changes are kept in trees. Sizes and times are whole bytes and
 * nanoseconds, so that equal gains are equal to the last bit, in any order of additions.
 */
struct g10 {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct annex_plan *plan;
	uint32_t n;
	double *us;               /* start of each kernel; 2n + 1 */
	struct span mem;          /* estimated pressure, in bytes */
	struct span host;         /* estimated use of host memory */
	struct above excess;      /* where pressure is above the line */
	double ssd_cap, pcie_cap; /* bytes a microsecond */
	struct sum link[LINKS];   /* bytes that each kernel's time still takes */
	struct move *moves;       /* a heap of candidates, by gain */
	uint32_t n_moves;
	struct move *eager;
	uint32_t n_eager;
	double target;
	int64_t host_line;
};

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The kernel during which @bytes that start at kernel @from have passed. */
static uint32_t passes(const struct g10 *g, unsigned int l, int64_t bytes, uint32_t from)
{
	const struct sum *room = &g->link[l];
	uint32_t k = sum_reach(room, sum_before(room, from) + bytes - 1);

	return k < g->n ? k : g->n - 1;
}

/* The last kernel from whose start @bytes pass before kernel @to. */
static uint32_t starts(const struct g10 *g, unsigned int l, int64_t bytes, uint32_t to)
{
	const struct sum *room = &g->link[l];

	return sum_reach(room, sum_before(room, to) - bytes);
}

/* The first kernel, at or after @from, that has room; n if none has. */
static uint32_t with_room(const struct sum *room, uint32_t from)
{
	return sum_reach(room, sum_before(room, from));
}

/*
 * Traffic takes room of its own link and of the one that it shares. Kernels that have none to take
 * are passed over, so that each step but the last empties one.
 */
static void take(struct g10 *g, unsigned int ssd, unsigned int pcie, bool is_ssd, int64_t bytes,
		 uint32_t from)
{
	struct sum *s = &g->link[ssd], *p = &g->link[pcie];

	while (bytes > 0) {
		uint32_t k = with_room(s, from), other = is_ssd ? k : with_room(p, from);
		int64_t s_room, p_room, n, p_left;

		k = other < k ? other : k;
		if (k == g->n)
			break;
		s_room = sum_at(s, k);
		p_room = sum_at(p, k);
		n = smaller(bytes, is_ssd ? s_room : p_room);
		bytes -= n;
		p_left = p_room - smaller(n, p_room);
		sum_add(p, k, p_left - p_room);
		sum_add(s, k, is_ssd ? -n : smaller(p_left - s_room, 0));
		from = k + 1;
	}
}

static int64_t bytes_of(const struct g10 *g, const struct move *m)
{
	return (int64_t)g->v->trace->tensors[g->v->periods[m->period].tensor].bytes;
}

/* Byte-nanoseconds of excess that an eviction takes away. */
static double benefit(const struct g10 *g, const struct move *m)
{
	int64_t bytes = bytes_of(g, m), half = (bytes + 1) / 2;
	uint32_t from = m->looped ? m->from : passes(g, SSD_OUT, half, m->from);
	uint32_t to = m->looped ? m->to : starts(g, SSD_IN, half, m->to);

	return (double)bytes * (double)above_ns(&g->excess, from, to);
}

static bool over(const struct g10 *g, const struct move *m)
{
	return !span_fits(&g->mem, m->from % g->n, m->to - m->from, (int64_t)g->target);
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
	return policy_evict(g->plan, g->v, g->sys, m->from % g->n, g->v->periods[m->period].tensor,
			    (uint64_t)bytes_of(g, m), tier);
}

/* Bytes that have left by the end of a move's kernel @left are away until its kernel @back. */
static void empty(struct g10 *g, const struct move *m)
{
	uint32_t from = m->left + 1;

	if (from >= m->back)
		return;
	span_add(&g->mem, from % g->n, m->back - from, -bytes_of(g, m));
	above_fall(&g->excess, from % g->n, m->back - from, bytes_of(g, m));
}

/* A period that wraps: estimated by itself, as if the links were idle. */
static int looped(struct g10 *g, struct move *m, int64_t bytes, unsigned int tier, double move_us)
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
	empty(g, m);
	return err;
}

static void fill_host(struct g10 *g, const struct move *m, int64_t bytes)
{
	span_add(&g->host, m->from % g->n, m->to - m->from, bytes);
}

static int straight(struct g10 *g, struct move *m, int64_t bytes, bool ssd)
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
	empty(g, m);
	return err;
}

/* Algorithm 1, lines 7 to 19: where to, and when. */
static int schedule(struct g10 *g, struct move *m)
{
	const struct annex_period *p = &g->v->periods[m->period];
	int64_t bytes = bytes_of(g, m);
	double us = (double)p->ns / 1e3;
	double ssd_us = SSD_US + FAULT_US + (double)bytes / g->ssd_cap;
	double host_us = FAULT_US + (double)bytes / g->pcie_cap;
	bool host = span_most(&g->host, 0, g->n) + bytes <= g->host_line;

	if (m->to - m->from == 1 || !over(g, m))
		return 0;
	if (us > ssd_us * (2 + MARGIN)) {
		uint32_t ideal;

		if (m->looped)
			return looped(g, m, bytes, ANNEX_TIER_SSD, ssd_us);
		ideal = kernel_at(g, g->us[m->from] + ssd_us, m->from, m->to);
		if (host && with_room(&g->link[SSD_OUT], m->from) >= ideal)
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
static bool before(const struct move *a, const struct move *b)
{
	if (a->gain != b->gain)
		return a->gain > b->gain;
	return a->rest > b->rest;
}

static void sift(struct g10 *g, uint32_t i)
{
	struct move m = g->moves[i];

	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= g->n_moves)
			break;
		if (c + 1 < g->n_moves && before(&g->moves[c + 1], &g->moves[c]))
			c++;
		if (!before(&g->moves[c], &m))
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
static bool find_best(struct g10 *g)
{
	while (g->n_moves) {
		double now = benefit(g, &g->moves[0]);

		if (now >= g->moves[0].gain)
			return now > 0;
		g->moves[0].gain = now;
		sift(g, 0);
	}
	return false;
}

static int evictions(struct g10 *g)
{
	int err = 0;

	for (uint32_t i = 0; i < g->n_moves; i++)
		g->moves[i].gain = benefit(g, &g->moves[i]);
	for (uint32_t i = g->n_moves / 2; i--;)
		sift(g, i);
	while (!err && !span_fits(&g->mem, 0, g->n, (int64_t)g->target) && find_best(g)) {
		err = schedule(g, &g->moves[0]);
		g->moves[0] = g->moves[--g->n_moves];
		if (g->n_moves)
			sift(g, 0);
	}
	return err;
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
		uint32_t tensor = g->v->periods[m->period].tensor, at = m->left + 1;
		uint32_t full = span_last(&g->mem, at, m->back - at, (int64_t)ceil(g->target));
		int64_t bytes = bytes_of(g, m);

		at = full < g->n ? full + 1 : at;
		span_add(&g->mem, at, m->back - at, bytes);
		err = policy_step(g->plan, g->v, ANNEX_PLAN_PREFETCH, at, tensor, (uint64_t)bytes,
				  0, false);
	}
	return err;
}

/* Fill in the bytes that live at each kernel, from when they are allocated. */
static void fill_memory(const struct g10 *g, int64_t *mem)
{
	const struct annex_vitality *v = g->v;
	int64_t asked = 0;

	/* Changes first; a tensor that is asked for at its birth changes nothing. */
	for (uint32_t i = 0; i < v->trace->n_tensors; i++) {
		const struct annex_life *l = &v->life[i];
		uint64_t bytes = v->trace->tensors[i].bytes;

		if (v->trace->tensors[i].global || !l->used)
			continue;
		mem[policy_alloc_at(v, g->sys, l->birth, bytes)] += (int64_t)bytes;
		mem[l->birth] -= (int64_t)bytes;
	}
	for (uint32_t k = 0; k < g->n; k++) {
		asked += mem[k];
		mem[k] = (int64_t)v->live[k] + asked;
	}
}

/* Memory, and how far it is above the GPU's. */
static int setup_memory(struct g10 *g)
{
	size_t n = g->n + 1ull; /* never none */
	int64_t *mem = calloc(n, sizeof(*mem));
	int64_t *above = calloc(n, sizeof(*above));
	int err = -ENOMEM;

	if (mem && above) {
		fill_memory(g, mem);
		for (uint32_t k = 0; k < g->n; k++)
			above[k] = mem[k] - (int64_t)g->sys->gpu;
		err = span_init(&g->mem, g->n, mem);
		if (!err)
			err = span_init(&g->host, g->n, NULL);
		if (!err)
			err = above_init(&g->excess, g->n, above, g->v->start);
	}
	free(mem);
	free(above);
	return err;
}

/* Whole bytes that a link carries in each kernel's time; fractions go to the next kernel. */
static int setup_link(struct g10 *g, unsigned int l, double cap)
{
	int64_t *room = calloc(g->n + 1ull, sizeof(*room));
	double total = cap * g->us[g->n];
	int err = -ENOMEM;

	if (total > ROOM_MOST)
		cap *= ROOM_MOST / total;
	if (room) {
		for (uint32_t k = 0; k < g->n; k++)
			room[k] = (int64_t)(cap * g->us[k + 1]) - (int64_t)(cap * g->us[k]);
		err = sum_init(&g->link[l], g->n, room);
	}
	free(room);
	return err;
}

static void find_moves(struct g10 *g)
{
	for (uint32_t i = 0; i < g->v->n_periods; i++) {
		const struct annex_period *p = &g->v->periods[i];
		struct move m = {.period = i, .from = p->from, .to = p->to, .looped = p->wraps};

		m.rest = (double)p->ns * (double)bytes_of(g, &m);
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
	int err;

	g->ssd_cap = fmin(g->sys->ssd_read, g->sys->ssd_write) * g->sys->ssds * GIB / 1e6;
	g->pcie_cap = g->sys->pcie * GIB / 1e6;
	g->target = (double)g->sys->gpu * TARGET;
	g->host_line = (int64_t)g->plan->host;
	g->us = calloc(2 * (size_t)n + 1, sizeof(double));
	g->moves = calloc((size_t)v->n_periods + 1, sizeof(*g->moves));
	g->eager = calloc((size_t)v->n_periods + 1, sizeof(*g->eager));
	if (!g->us || !g->moves || !g->eager)
		return -ENOMEM;
	for (uint32_t k = 0; k <= 2 * n; k++)
		g->us[k] = (double)(k < n ? v->start[k] : v->start[n] + v->start[k - n]) / 1e3;
	err = setup_memory(g);
	for (unsigned int l = 0; l < LINKS && !err; l++)
		err = setup_link(g, l, l == SSD_OUT || l == SSD_IN ? g->ssd_cap : g->pcie_cap);
	find_moves(g);
	return err;
}

static void discard(struct g10 *g)
{
	free(g->us);
	span_free(&g->mem);
	span_free(&g->host);
	above_free(&g->excess);
	for (unsigned int l = 0; l < LINKS; l++)
		sum_free(&g->link[l]);
	free(g->moves);
	free(g->eager);
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

static int make_host(const struct annex_vitality *v, const struct annex_system *sys,
		     struct annex_plan **plan)
{
	return make(v, sys, policy_g10_host.name, ANNEX_PLAN_RECLAIM, plan);
}

static int make_gds(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan)
{
	struct annex_system alone = *sys;

	alone.host = 0;
	return make(v, &alone, policy_g10_gds.name, ANNEX_PLAN_RECLAIM, plan);
}

static int make_g10(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan)
{
	return make(v, sys, policy_g10.name, ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM, plan);
}

const struct annex_policy policy_g10_gds = {
	"g10-gds",
	"G10 without host memory and without unified memory",
	make_gds,
};

const struct annex_policy policy_g10_host = {
	"g10-host",
	"G10 without unified memory",
	make_host,
};

const struct annex_policy policy_g10 = {
	"g10",
	"G10: smart eviction and prefetching over unified memory",
	make_g10,
};
