// SPDX-License-Identifier: MIT
/*
 * A GPU of the simulator: kernels one after the other, and the steps of its plan between them.
 */
#include <math.h>
#include <annex/detail/random.h>
#include "simulate.h"

/* Of its time, which a kernel exceeds if it stalls: so G10's artifact counts for its figure 13. */
#define STALLED 1.0001

static const struct annex_use *uses(const struct sim_gpu *g, uint32_t kernel, unsigned int *n)
{
	*n = g->trace->kernels[kernel + 1].first - g->trace->kernels[kernel].first;
	return g->trace->uses + g->trace->kernels[kernel].first;
}

static void prefetch(struct sim_gpu *g, const struct annex_plan_step *st)
{
	struct sim_tensor *t = &g->tensors[st->tensor];
	uint64_t bytes = st->bytes;

	if (!t->born && !t->allocating) {
		sim_born(g, st->tensor, false);
		return;
	}
	sim_recall(g, st->tensor, &bytes, st->keep);
	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers && bytes; i++) {
		uint64_t n = sim_out(t, i)->bytes - t->pending[i];

		n = n < bytes ? n : bytes;
		if (n)
			sim_fetch(g, st->tensor, i, n, st->keep, false);
		bytes -= n;
	}
}

static void carry_out(struct sim_gpu *g, const struct annex_plan_step *st)
{
	struct sim_tensor *t = &g->tensors[st->tensor];

	switch (st->op) {
	case ANNEX_PLAN_ALLOC:
		if (!t->born && !t->allocating)
			sim_born(g, st->tensor, false);
		break;
	case ANNEX_PLAN_FREE:
		sim_free(g, st->tensor);
		break;
	case ANNEX_PLAN_PREFETCH:
		prefetch(g, st);
		break;
	case ANNEX_PLAN_EVICT:
		if (t->born)
			sim_evict(g, st->tensor, st->bytes, st->tier);
		break;
	case ANNEX_PLAN_SAVE:
		if (t->born)
			sim_save(g, st->tensor, st->bytes, st->tier);
		break;
	}
}

/*
 * Whether a step must wait for those before it. Where faults mend what a plan gets wrong, none
 * does.
 */
static bool must_wait(const struct sim_gpu *g, const struct annex_plan_step *st)
{
	if (g->plan->flags & ANNEX_PLAN_RECLAIM)
		return false;
	if (st->op == ANNEX_PLAN_PREFETCH)
		return !sim_can_prefetch(g, st->tensor, st->bytes);
	if (st->op == ANNEX_PLAN_EVICT)
		return !sim_can_evict(g, st->tensor, st->bytes);
	return st->op == ANNEX_PLAN_SAVE && !sim_can_save(g, st->tensor, st->bytes);
}

/* Steps of the kernel that is next, or of the end of the iteration. True when all are done. */
static bool carry_out_all(struct sim_gpu *g)
{
	const struct annex_plan *p = g->plan;

	for (; g->step < p->n_steps && p->steps[g->step].kernel == g->kernel; g->step++) {
		if (must_wait(g, &p->steps[g->step]))
			return false;
		carry_out(g, &p->steps[g->step]);
	}
	return true;
}

/*
 * Bytes that take @s to fetch, from a tier with a latency of @ns. Each page is a fault; faults
 * that are handled together pay the latencies once.
 */
static void faulted(struct sim_gpu *g, uint64_t bytes, double s, uint64_t ns)
{
	const struct annex_system *sys = g->sim->sys;
	uint64_t times = bytes / sys->fault_bytes + !!(bytes % sys->fault_bytes);

	g->fault += (double)times * ((double)sys->fault_ns + (double)ns);
	g->fetch += s * 1e9;
	g->stats->faults += (bytes + PTE_PAGE - 1) / PTE_PAGE;
}

/* Fetch the bytes of a tensor that are neither there nor on their way. */
static void fault(struct sim_gpu *g, uint32_t tensor)
{
	const struct annex_system *sys = g->sim->sys;
	struct sim_tensor *t = &g->tensors[tensor];
	double striped = 0;
	uint64_t sum = 0;

	sim_hurry(g, tensor);
	if (!t->born) {
		if (!t->allocating) {
			g->absent += g->trace->tensors[tensor].bytes;
			sim_born(g, tensor, true);
		}
		return;
	}
	for (unsigned int i = ANNEX_TIER_HOST; i < g->sim->tiers; i++) {
		uint64_t n = sim_out(t, i)->bytes - t->pending[i];
		double rate = i == ANNEX_TIER_CXL ? fmin(sys->cxl_rate, sys->pcie) : sys->pcie;

		if (!n)
			continue;
		g->absent += n;
		sim_fetch(g, tensor, i, n, false, true);
		if (i < ANNEX_TIER_SSD) {
			faulted(g, n, (double)n / rate, 0);
			continue;
		}
		/* A fault reads from all SSDs at once. */
		striped = fmax(striped, (double)n / sys->ssd_read);
		sum += n;
	}
	if (sum)
		faulted(g, sum, fmax(striped, (double)sum / sys->pcie), sys->ssd_read_ns);
}

/* Steps do not reclaim tensors of the next @window kernels, at most of all. */
static void guard(struct sim_gpu *g)
{
	uint32_t n = g->trace->n_kernels;
	uint32_t window = g->plan->window < n ? g->plan->window : n - 1;

	for (uint32_t w = g->count ? window : 0; w <= window; w++) {
		unsigned int n_uses;
		const struct annex_use *u = uses(g, (uint32_t)((g->count + w) % n), &n_uses);

		for (unsigned int i = 0; i < n_uses; i++)
			g->tensors[u[i].tensor].guarded = g->count + w + 1;
	}
}

/* A measured time with all bytes absent has the faults and the transfers of these bytes. */
static void measured_faults(struct sim_gpu *g)
{
	const struct annex_kernel *k = &g->trace->kernels[g->kernel];
	uint64_t all = 0;

	for (uint32_t i = k->first; i < k[1].first; i++)
		all += g->trace->tensors[g->trace->uses[i].tensor].bytes;
	g->fault = fmax((double)(k->fault_ns - k->ns) * (double)g->absent / (double)all - g->fetch,
			0);
}

static void issue(struct sim_gpu *g)
{
	const struct annex_plan *p = g->plan;
	unsigned int n;
	const struct annex_use *u = uses(g, g->kernel, &n);

	g->issued = g->sim->now;
	g->fault = g->fetch = 0;
	g->absent = 0;
	for (unsigned int i = 0; i < n; i++) {
		uint64_t all = UINT64_MAX;

		g->tensors[u[i].tensor].active = g->count + 1;
		sim_recall(g, u[i].tensor, &all, false);
		if (p->flags & ANNEX_PLAN_RECLAIM)
			fault(g, u[i].tensor);
	}
	if (g->absent && g->trace->kernels[g->kernel].fault_ns)
		measured_faults(g);
	g->cost = (double)g->trace->kernels[g->kernel].ns;
	if (g->sim->opts->noise > 0)
		g->cost *= 1 + g->sim->opts->noise * (2 * annex_random_unit(&g->sim->random) - 1);
	g->stats->ideal += g->cost * 1e-9;
	g->state = SIM_WAITS;
}

/* Whether memory that a step of this kernel waits for is still leaving. */
static bool held_up(const struct sim_gpu *g)
{
	for (size_t i = g->first; i < g->step; i++)
		if (g->plan->steps[i].op == ANNEX_PLAN_WAIT &&
		    g->tensors[g->plan->steps[i].tensor].leaving)
			return true;
	return false;
}

/* Processor time for the pages that came since the kernel before. */
static double handle_pages(struct sim_gpu *g)
{
	double pages = (double)(g->moved_in - g->paid) / PTE_PAGE;

	g->paid = g->moved_in;
	return pages * (double)g->sim->sys->page_ns;
}

/*
 * Its tensors are there: it runs, or, if it ran into faults, it may end. A kernel that began before
 * them stood still while its faults were served; for one that begins now that time is over.
 */
static void launch(struct sim_gpu *g)
{
	unsigned int n;
	const struct annex_use *u = uses(g, g->kernel, &n);

	if (held_up(g))
		return;
	for (unsigned int i = 0; i < n; i++)
		if (!sim_ready(g, u[i].tensor))
			return;
	for (unsigned int i = 0; i < n; i++) {
		if (u[i].how & ANNEX_USE_WRITE)
			sim_written(g, u[i].tensor);
		sim_touch(g, u[i].tensor);
	}
	if (g->plan->flags & ANNEX_PLAN_OVERLAP)
		g->end = fmax(g->issued + g->cost + g->fault + g->fetch, g->sim->now);
	else
		g->end = g->sim->now + g->cost + g->fault;
	g->end += handle_pages(g);
	g->state = SIM_RUNS;
}

static struct annex_sim_sample *sample_of(const struct sim_gpu *g, uint32_t kernel)
{
	struct annex_sim_sample *s = g->sim->opts->samples;

	return s && g == g->sim->gpus ? s + kernel : NULL;
}

/* This sample gets all events since the one before. */
static void sample(struct sim_gpu *g, struct annex_sim_sample *s)
{
	if (s) {
		s->end = (uint64_t)llround(g->sim->now - g->began);
		s->gpu = s->gpu > g->sample_peak ? s->gpu : g->sample_peak;
		s->in += g->moved_in - g->sample_in;
		s->out += g->moved_out - g->sample_out;
	}
	g->sample_peak = g->used;
	g->sample_in = g->moved_in;
	g->sample_out = g->moved_out;
}

static void end(struct sim_gpu *g)
{
	struct annex_sim_sample *s = sample_of(g, g->kernel);
	double took = g->sim->now - g->next;

	/* A nanosecond is what rounding leaves. */
	if (took > g->cost + 1)
		g->stats->stalled += (took - g->cost) * 1e-9;
	if (took > g->cost * STALLED + 1)
		g->stats->stalled_kernels++;
	if (s)
		*s = (struct annex_sim_sample){.start = (uint64_t)llround(g->next - g->began)};
	sample(g, s);
	g->count++;
	g->kernel++;
	sim_gpu_next(g);
}

void sim_gpu_next(struct sim_gpu *g)
{
	g->state = SIM_NEXT;
	g->next = g->sim->now;
	g->first = g->step;
	if (g->kernel < g->trace->n_kernels)
		guard(g);
}

/* The steps at the end of the iteration may have waited. */
static void finish(struct sim_gpu *g)
{
	sample(g, sample_of(g, g->kernel - 1));
	g->stats->stalled += (g->sim->now - g->next) * 1e-9;
	g->kernel = 0;
	g->step = 0;
	g->time = g->sim->now - g->began;
	g->state = SIM_DONE;
}

void sim_gpu_run(struct sim_gpu *g)
{
	/* A thousandth of a nanosecond is what rounding leaves. */
	if (g->state == SIM_RUNS && g->sim->now >= g->end - 1e-3)
		end(g);
	if (g->state == SIM_NEXT && carry_out_all(g)) {
		if (g->kernel < g->trace->n_kernels)
			issue(g);
		else
			finish(g);
	}
	if (g->state == SIM_WAITS)
		launch(g);
}
