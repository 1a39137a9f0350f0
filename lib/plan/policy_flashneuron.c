// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
/*
 * FlashNeuron (Bae et al., FAST'21), as G10 compares with it: enough activations go to the SSD
 * during the forward pass, chosen in the order of layers, and come back ahead of the backward pass
 * as memory allows. Weights stay, and there is neither host nor unified memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "heap.h"
#include "policy.h"

enum { NOWHERE, ON_GPU };

struct flash {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct annex_plan *plan;
	uint32_t loss;    /* the first kernel of the backward pass */
	uint64_t largest; /* most that one kernel uses beside weights */
	uint64_t room;    /* for activations that stay */
	uint32_t *left;   /* of each tensor: the kernel at which it leaves, or ANNEX_KERNEL_NONE */
	/* The rehearsal: what is where, when, and the writes to the SSD in their order. */
	struct heap heap;
	uint64_t *at;
	uint8_t *where;
	uint32_t *writes, n_writes, written, last;
	double *ends, now;
};

/* The kernel named after the loss; without one, where memory is fullest. */
static uint32_t find_loss(const struct annex_vitality *v)
{
	for (uint32_t k = 0; k < v->trace->n_kernels; k++)
		if (v->trace->kernels[k].name && strcasestr(v->trace->kernels[k].name, "loss"))
			return k;
	return v->peak_kernel;
}

static uint64_t locals(const struct annex_trace *t, uint32_t kernel)
{
	uint64_t bytes = 0;

	for (uint32_t i = t->kernels[kernel].first; i < t->kernels[kernel + 1].first; i++)
		if (!t->tensors[t->uses[i].tensor].global)
			bytes += t->tensors[t->uses[i].tensor].bytes;
	return bytes;
}

/* The last idle time that begins in the forward pass and ends in the backward pass. */
static uint32_t leaves_at(const struct flash *f, uint32_t tensor)
{
	const struct annex_life *l = &f->v->life[tensor];

	for (uint32_t i = l->n_periods; i--;) {
		const struct annex_period *p = &f->v->periods[l->period + i];

		if (p->from <= f->loss)
			return p->to > f->loss ? p->from : ANNEX_KERNEL_NONE;
	}
	return ANNEX_KERNEL_NONE;
}

/* Activations of the forward pass that the backward pass reads leave, until the rest fits. */
static int choose(struct flash *f)
{
	const struct annex_trace *t = f->v->trace;
	uint64_t total = 0;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tensors; i++)
		if (!t->tensors[i].global && f->v->life[i].used && f->v->life[i].birth < f->loss &&
		    f->v->life[i].death >= f->loss)
			total += t->tensors[i].bytes;
	for (uint32_t u = 0; u < t->kernels[f->loss].first && total >= f->room && !err; u++) {
		uint32_t i = t->uses[u].tensor;
		uint64_t bytes = t->tensors[i].bytes;
		uint32_t at;

		if (t->tensors[i].global || f->v->life[i].death < f->loss ||
		    f->left[i] != ANNEX_KERNEL_NONE)
			continue;
		at = leaves_at(f, i);
		if (at == ANNEX_KERNEL_NONE)
			continue;
		f->left[i] = at;
		total -= bytes;
		err = policy_step(f->plan, f->v, ANNEX_PLAN_EVICT, at, i, bytes, ANNEX_TIER_SSD,
				  false);
	}
	if (!err && total > f->room)
		err = annex_fail(-ENOSPC,
				 "flashneuron: %.2f GiB of activations stay on the GPU, which has "
				 "%.2f GiB for them",
				 (double)total / 0x1p30, (double)f->room / 0x1p30);
	return err;
}

/*
 * A rehearsal with FlashNeuron's allocator: one block of memory a tensor, what stays from the left
 * and what leaves from the right. It tells when each tensor can be asked back, and whether memory
 * falls into pieces that are too small.
 */
static bool allocate(struct flash *f, uint32_t i)
{
	uint64_t bytes = f->v->trace->tensors[i].bytes;

	return f->left[i] == ANNEX_KERNEL_NONE ? heap_take_low(&f->heap, bytes, &f->at[i])
					       : heap_take_high(&f->heap, bytes, &f->at[i]);
}

static void release(struct flash *f, uint32_t i)
{
	heap_give(&f->heap, f->at[i], f->v->trace->tensors[i].bytes);
	f->where[i] = NOWHERE;
}

/* The oldest write to the SSD ends; what it wrote is off the GPU. */
static bool finish_write(struct flash *f)
{
	if (f->written == f->n_writes)
		return false;
	if (f->now < f->ends[f->written])
		f->now = f->ends[f->written];
	f->last = f->writes[f->written++];
	release(f, f->last);
	return true;
}

static void begin_write(struct flash *f, uint32_t i)
{
	double from = f->n_writes ? f->ends[f->n_writes - 1] : 0;

	f->writes[f->n_writes] = i;
	f->ends[f->n_writes++] = (from > f->now ? from : f->now) +
				 (double)f->v->trace->tensors[i].bytes / f->sys->ssd_write * 1e9;
}

static int need(struct flash *f, uint32_t k, uint32_t i)
{
	bool back = f->left[i] != ANNEX_KERNEL_NONE && f->v->life[i].birth != k;

	if (f->where[i] != NOWHERE)
		return 0;
	while (!allocate(f, i))
		if (!finish_write(f))
			return annex_fail(-ENOSPC,
					  "flashneuron: kernel %u: no block of %.2f GiB is free", k,
					  (double)f->v->trace->tensors[i].bytes / 0x1p30);
	f->where[i] = ON_GPU;
	return back ? policy_step(f->plan, f->v, ANNEX_PLAN_PREFETCH, k, i,
				  f->v->trace->tensors[i].bytes, 0, false)
		    : 0;
}

/* Ask back what the next kernels need, in their order, while the largest one still fits. */
static int bring(struct flash *f, uint32_t k)
{
	const struct annex_trace *t = f->v->trace;
	uint64_t free = heap_largest(&f->heap);
	uint64_t room = free > f->largest ? free - f->largest : 0;
	int err = 0;

	for (uint32_t u = t->kernels[k].first; u < t->n_uses && !err; u++) {
		uint32_t i = t->uses[u].tensor;
		uint64_t bytes = t->tensors[i].bytes;

		if (f->left[i] == ANNEX_KERNEL_NONE || f->where[i] != NOWHERE ||
		    f->v->life[i].birth >= k)
			continue;
		if (bytes >= room || !allocate(f, i))
			break;
		room -= bytes;
		f->where[i] = ON_GPU;
		err = policy_step(f->plan, f->v, ANNEX_PLAN_PREFETCH, k, i, bytes, 0, false);
	}
	return err;
}

static bool lasting(const struct flash *f, uint32_t i)
{
	return !f->v->trace->tensors[i].global && f->v->life[i].birth != f->v->life[i].death;
}

static int rehearse_kernel(struct flash *f, uint32_t k)
{
	const struct annex_trace *t = f->v->trace;
	uint32_t first = t->kernels[k].first, end = t->kernels[k + 1].first;
	int err = 0;

	if (k == f->loss) {
		/* The backward pass begins when everything has left. */
		while (finish_write(f))
			;
		if (f->n_writes)
			err = policy_step(f->plan, f->v, ANNEX_PLAN_WAIT, k, f->last,
					  t->tensors[f->last].bytes, 0, false);
	}
	for (uint32_t u = first; u < end && !err; u++)
		if (lasting(f, t->uses[u].tensor))
			err = need(f, k, t->uses[u].tensor);
	f->now += (double)t->kernels[k].ns;
	while (f->written < f->n_writes && f->ends[f->written] <= f->now)
		finish_write(f);
	for (uint32_t u = first; u < end && !err; u++)
		if (lasting(f, t->uses[u].tensor) && f->v->life[t->uses[u].tensor].death == k)
			release(f, t->uses[u].tensor);
	if (k >= f->loss && k + 1 < t->n_kernels && !err)
		err = bring(f, k + 1);
	return err;
}

static int rehearse(struct flash *f)
{
	const struct annex_trace *t = f->v->trace;
	int err = 0;

	for (uint32_t k = 0; k < t->n_kernels && !err; k++) {
		for (uint32_t i = 0; k < f->loss && i < t->n_tensors; i++)
			if (f->left[i] == k)
				begin_write(f, i);
		err = rehearse_kernel(f, k);
	}
	return err;
}

/* Beside the weights, the largest tensor of a single kernel has a place of its own. */
static uint64_t scratch(const struct annex_vitality *v)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < v->trace->n_tensors; i++)
		if (!v->trace->tensors[i].global && v->life[i].used &&
		    v->life[i].birth == v->life[i].death && v->trace->tensors[i].bytes > most)
			most = v->trace->tensors[i].bytes;
	return most;
}

static int setup(struct flash *f)
{
	const struct annex_vitality *v = f->v;
	size_t n = (size_t)v->trace->n_tensors + 1;
	uint64_t most = 0, apart = v->global_bytes + scratch(v);

	f->loss = find_loss(v);
	for (uint32_t k = 0; k < v->trace->n_kernels; k++) {
		uint64_t mine = locals(v->trace, k);

		if (mine > f->largest)
			f->largest = mine;
		if (v->active[k] > most)
			most = v->active[k];
	}
	if (v->global_bytes + most >= f->sys->gpu || apart >= f->sys->gpu)
		return annex_fail(
			-ENOSPC,
			"flashneuron: weights (%.2f GiB) and the largest kernel (%.2f GiB) "
			"leave no room on the GPU",
			(double)v->global_bytes / 0x1p30, (double)most / 0x1p30);
	if (!f->sys->ssds)
		return annex_fail(-ENOSPC, "flashneuron: there is no SSD");
	f->room = f->sys->gpu - v->global_bytes - most;
	f->left = malloc(n * sizeof(*f->left));
	f->at = calloc(n, sizeof(*f->at));
	f->where = calloc(n, sizeof(*f->where));
	f->writes = calloc(n, sizeof(*f->writes));
	f->ends = calloc(n, sizeof(*f->ends));
	if (!f->left || !f->at || !f->where || !f->writes || !f->ends)
		return -ENOMEM;
	memset(f->left, 0xff, n * sizeof(*f->left));
	return heap_init(&f->heap, f->sys->gpu - apart, n);
}

int policy_flashneuron(const struct annex_vitality *v, const struct annex_system *sys,
		       struct annex_plan **plan)
{
	struct flash f = {.v = v, .sys = sys};
	int err = annex_plan_create("flashneuron", v->trace, sys, &f.plan);

	if (!err)
		err = setup(&f);
	if (!err)
		err = policy_lifetimes(f.plan, v, sys);
	if (!err)
		err = choose(&f);
	if (!err)
		err = rehearse(&f);
	if (!err)
		err = annex_plan_finish(f.plan);
	free(f.left);
	free(f.at);
	free(f.where);
	free(f.writes);
	free(f.ends);
	heap_free(&f.heap);
	if (err) {
		annex_plan_free(f.plan);
		return err;
	}
	*plan = f.plan;
	return 0;
}
