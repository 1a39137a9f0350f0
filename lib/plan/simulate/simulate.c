// SPDX-License-Identifier: MIT
/*
 * The simulator's loop: from event to event until iterations repeat.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "plan/place.h"
#include "plan/trace/label.h"
#include "simulate.h"

/* Without a number of iterations, so many must do. Most plans repeat after one or two. */
#define ENOUGH 64
static int fits(const struct annex_trace *t, uint64_t capacity)
{
	char label[LABEL_SIZE];

	for (uint32_t k = 0; k < t->n_kernels; k++) {
		uint64_t bytes = 0;

		for (uint32_t i = t->kernels[k].first; i < t->kernels[k + 1].first; i++)
			bytes += t->tensors[t->uses[i].tensor].bytes;
		if (bytes > capacity)
			return annex_fail(-ENOSPC, "%s uses %llu bytes by itself; the GPU has %llu",
					  kernel_label(label, k, t->kernels[k].name),
					  (unsigned long long)bytes, (unsigned long long)capacity);
	}
	return 0;
}

/* Where a global tensor begins when nothing says where: below, so that faults bring it. */
static int below(const struct sim *s, const struct sim_gpu *g, uint32_t tensor, struct place *p)
{
	uint64_t bytes = g->trace->tensors[tensor].bytes;
	unsigned int tier = ANNEX_TIER_HOST;

	p->dirty = 0;
	for (uint32_t i = 0; i < s->sys->ssds; i++)
		p->out[ANNEX_TIER_SSD + i] = bytes / s->sys->ssds + (i < bytes % s->sys->ssds);
	if (s->sys->ssds)
		return 0;
	if (sim_room(g, tier) < bytes)
		tier = ANNEX_TIER_CXL;
	if (sim_room(g, tier) < bytes)
		return annex_fail(-ENOSPC, "tensor %u: %.2f GiB fit nowhere below the GPU", tensor,
				  (double)bytes / 0x1p30);
	p->out[tier] = bytes;
	return 0;
}

/* Entries of a tensor that is there from the start. */
static int keep(struct sim *s, struct sim_gpu *g, uint32_t tensor, const struct place *p)
{
	struct sim_tensor *x = &g->tensors[tensor];
	int err = p->born ? ptes_add(&s->ptes, x->lists, g->trace->tensors[tensor].bytes) : 0;

	x->born = p->born;
	x->dirty = p->dirty;
	for (unsigned int t = ANNEX_TIER_HOST; t < s->tiers && !err; t++) {
		uint64_t bytes = annex_place_below(p, t);

		if (bytes > sim_room(g, t))
			return annex_fail(-ENOSPC,
					  "the plans together keep more in %s memory than there is",
					  annex_tier_name(t));
		sim_take(g, t, bytes);
		sim_move(s, x->lists, sim_clean(x, t), p->clean[t]);
		sim_move(s, x->lists, sim_out(x, t), p->out[t]);
	}
	return err ? err : s->err;
}

/* The memories as they are when an iteration begins. */
static int place(struct sim *s, struct sim_gpu *g)
{
	uint32_t n = g->trace->n_tensors;
	struct place *places = calloc((size_t)n + 1, sizeof(*places));
	int err = places ? annex_plan_replay(g->plan, g->trace, s->sys, places) : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		if (g->plan->flags & ANNEX_PLAN_RECLAIM && places[i].born)
			err = below(s, g, i, &places[i]);
		g->used += annex_place_resident(&places[i]);
		if (!err)
			err = keep(s, g, i, &places[i]);
	}
	free(places);
	return err;
}

/* @lists: of the page table, of its first tensor. */
static int setup(struct sim *s, struct sim_gpu *g, const struct annex_sim_job *job,
		 struct pte_list *lists)
{
	const struct annex_trace *t = job->trace;
	int err;

	g->sim = s;
	g->trace = t;
	g->plan = job->plan;
	g->capacity = job->plan->flags & ANNEX_PLAN_UNLIMITED ? UINT64_MAX : s->sys->gpu;
	err = fits(t, g->capacity);
	if (err)
		return err;
	/* The check has seen that the plan's steps keep to them; reclaim must too. */
	for (unsigned int i = ANNEX_TIER_HOST; i < ANNEX_TIERS; i++)
		g->room[i] = UINT64_MAX / 2;
	if (g->plan->flags & ANNEX_PLAN_RECLAIM) {
		g->room[ANNEX_TIER_HOST] = g->plan->host;
		g->room[ANNEX_TIER_CXL] = g->plan->cxl;
	}
	g->oldest = g->newest = UINT32_MAX;
	g->stats = calloc(1, sizeof(*g->stats));
	g->tensors = calloc((size_t)t->n_tensors + 1, sizeof(*g->tensors));
	if (!g->stats || !g->tensors)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_tensors; i++)
		g->tensors[i].lists = lists + (size_t)i * ptes_lists(s->sys);
	return place(s, g);
}

static void sim_begin(struct sim *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		struct sim_gpu *g = &s->gpus[i];

		memset(g->stats, 0, sizeof(*g->stats));
		g->began = s->now;
		g->peak = g->used;
		sim_gpu_next(g);
	}
	memcpy(s->least_room, s->room, sizeof(s->room));
	s->ptes.copied = s->ptes.updated = 0;
}

static bool all_done(const struct sim *s)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (s->gpus[i].state != SIM_DONE)
			return false;
	return true;
}

/* Nothing moves any more. */
static int stuck(const struct sim *s)
{
	char label[LABEL_SIZE];
	const struct sim_gpu *g = s->gpus;
	bool full = false;

	for (unsigned int i = 0; i < s->n; i++) {
		if (s->gpus[i].state != SIM_DONE)
			g = &s->gpus[i];
		for (unsigned int t = 0; t < s->tiers; t++)
			full = full || s->gpus[i].out[t].head;
	}
	if (g->kernel < g->trace->n_kernels)
		kernel_label(label, g->kernel, g->trace->kernels[g->kernel].name);
	else
		snprintf(label, sizeof(label), "the end of the iteration");
	if (full)
		return annex_fail(
			-ENOSPC, "%s waits for bytes that cannot leave: all tiers are full", label);
	return annex_fail(-EDEADLK, "%s waits for ever", label);
}

/* All that can be done now. A step may wait for memory that is given out only here. */
static void go_on(struct sim_gpu *g)
{
	size_t step;

	do {
		sim_pump(g);
		step = g->step;
		sim_gpu_run(g);
	} while (g->state == SIM_NEXT && g->step != step);
	sim_pump(g);
}

static int iterate(struct sim *s)
{
	double end = s->now && s->opts->limit > 0 ? s->now + s->opts->limit * 1e9 : INFINITY;

	sim_begin(s);
	for (;;) {
		double next;

		for (unsigned int i = 0; i < s->n; i++)
			go_on(&s->gpus[i]);
		if (s->err)
			return s->err;
		if (all_done(s))
			return 0;
		sim_links_start(s);
		next = sim_links_next(s);
		for (unsigned int i = 0; i < s->n; i++)
			if (s->gpus[i].state == SIM_RUNS)
				next = fmin(next, fmax(s->gpus[i].end - s->now, 0));
		if (next == INFINITY) {
			/* Late transfers can hold room that the plan had given to others. */
			if (sim_links_divert(s))
				continue;
			return stuck(s);
		}
		for (unsigned int i = 0; i < s->n; i++)
			if (s->gpus[i].state == SIM_RUNS && sim_links_busy(&s->gpus[i]))
				s->gpus[i].stats->overlapped += next * 1e-9;
		s->now += next;
		if (s->now > end)
			return -ETIME;
		sim_links_advance(s, next);
	}
}

/* The figures of one GPU; of the memories that all share, the sum of all. */
static void collect_one(const struct sim *s, const struct sim_gpu *g, struct annex_sim_result *r)
{
	*r = *g->stats;
	r->iteration = g->time * 1e-9;
	r->gpu_peak = g->peak;
	r->host_peak = s->sys->host - s->least_room[ANNEX_TIER_HOST];
	r->cxl_peak = s->sys->cxl - s->least_room[ANNEX_TIER_CXL];
}

static void collect(const struct sim *s, struct annex_sim_result *all)
{
	memset(all, 0, sizeof(*all));
	for (unsigned int i = 0; i < s->n; i++) {
		struct annex_sim_result r, sum = *all;

		collect_one(s, &s->gpus[i], &r);
		if (s->opts->gpus)
			s->opts->gpus[i] = r;
		if (!i || r.iteration > all->iteration)
			*all = r;
		all->ideal = fmax(r.ideal, sum.ideal);
		all->faults = r.faults + sum.faults;
		all->gpu_peak = r.gpu_peak > sum.gpu_peak ? r.gpu_peak : sum.gpu_peak;
		for (unsigned int t = 0; t < ANNEX_TIERS; t++) {
			all->in[t] = r.in[t] + sum.in[t];
			all->out[t] = r.out[t] + sum.out[t];
		}
	}
}

static uint64_t chunk_for(const struct annex_sim_job *jobs, unsigned int n)
{
	double bytes = 0;
	uint64_t chunk = SIM_CHUNK;

	for (unsigned int i = 0; i < n; i++) {
		const struct annex_trace *t = jobs[i].trace;

		for (uint32_t u = 0; u < t->n_uses; u++)
			bytes += (double)t->tensors[t->uses[u].tensor].bytes;
	}
	while (bytes > SIM_MANY && (double)chunk * SIM_CHUNKS < bytes)
		chunk *= 2;
	return chunk;
}

/* One page table has the tensors of all GPUs. */
static int setup_all(struct sim *s, const struct annex_sim_job *jobs)
{
	uint32_t tensors = 0, first = 0;
	int err;

	for (unsigned int i = 0; i < s->n; i++)
		tensors += jobs[i].trace->n_tensors;
	err = ptes_init(&s->ptes, tensors, s->sys);
	for (unsigned int i = 0; i < s->n && !err; i++) {
		err = setup(s, &s->gpus[i], &jobs[i],
			    s->ptes.lists + (size_t)first * ptes_lists(s->sys));
		first += jobs[i].trace->n_tensors;
	}
	return err;
}

/* So much was written that the blocks which were free at first have all been erased since. */
static bool worn_in(const struct sim *s)
{
	return s->written >= 2 * ptes_flash_bytes(&s->ptes);
}

int annex_simulate(const struct annex_sim_job *jobs, unsigned int n, const struct annex_system *sys,
		   const struct annex_sim_options *opts, struct annex_sim_result *result)
{
	static const struct annex_sim_options defaults;
	struct sim s = {.sys = sys, .opts = opts ? opts : &defaults, .n = n};
	uint32_t most = s.opts->iterations ? s.opts->iterations : ENOUGH;
	struct sim_history history = {0};
	int err = annex_system_check(sys);

	if (!err && (!n || n > sys->gpus))
		err = annex_fail(-EINVAL, "%u traces, but %u GPUs", n, sys->gpus);
	if (err)
		return err;
	s.tiers = ANNEX_TIER_SSD + sys->ssds;
	s.chunk = chunk_for(jobs, n);
	s.random = s.opts->seed;
	for (unsigned int t = ANNEX_TIER_SSD; t < ANNEX_TIERS; t++)
		s.room[t] = sys->ssd_bytes ? sys->ssd_bytes : UINT64_MAX / 2;
	s.room[ANNEX_TIER_HOST] = sys->host;
	s.room[ANNEX_TIER_CXL] = sys->cxl;
	s.gpus = calloc(n, sizeof(*s.gpus));
	if (!s.gpus)
		return -ENOMEM;
	err = setup_all(&s, jobs);
	for (uint32_t i = 0; i < most && !err; i++) {
		const uint64_t written = s.written;

		err = iterate(&s);
		if (err)
			break;
		collect(&s, result);
		sim_remember(&history, &s, result);
		history.collects = sys->ssd_bytes && !s.opts->fresh && s.written > written;
		result->iterations = i + 1;
		result->steady = sim_steady(&history, result) &&
				 (!history.collects || worn_in(&s) || i + 1 == ENOUGH);
		sim_collected(&history, result);
		if (result->steady && !s.opts->iterations)
			break;
	}
	for (unsigned int i = 0; i < n; i++) {
		free(s.gpus[i].tensors);
		free(s.gpus[i].stats);
	}
	free(s.gpus);
	ptes_free(&s.ptes);
	sim_memory_free(&s);
	return err;
}
