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

/* struct queues - Tensors for which something is due at each kernel, in the order of their ids. */
struct queues {
	uint32_t *first, *next;
};

struct flash {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct annex_plan *plan;
	uint32_t loss;    /* the first kernel of the backward pass */
	uint64_t largest; /* most that one kernel uses beside weights */
	uint64_t room;    /* for activations that stay */
	uint32_t *left;   /* of each tensor: the kernel at which it leaves, or ANNEX_KERNEL_NONE */
	struct queues births, leaves, deaths; /* of tensors that @lasting() */
	/* The rehearsal: places and times of tensors, and the writes to the SSD in order. */
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
		err = policy_evict(f->plan, f->v, f->sys, at, i, bytes, ANNEX_TIER_SSD);
	}
	if (!err && total > f->room)
		err = annex_fail(-ENOSPC,
				 "flashneuron: %.2f GiB of activations stay on the GPU, which has "
				 "%.2f GiB for them",
				 (double)total / 0x1p30, (double)f->room / 0x1p30);
	return err;
}

/*
 * A rehearsal with FlashNeuron's allocator: one block of memory a tensor, lasting tensors from the
 * left and leaving ones from the right. It tells when each tensor can be asked back, and whether
 * memory falls into pieces that are too small.
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

/* The oldest write to the SSD ends; its tensor is off the GPU. */
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

/* All others live for one kernel. */
static bool lasting(const struct flash *f, uint32_t i)
{
	return !f->v->trace->tensors[i].global && f->v->life[i].used &&
	       f->v->life[i].birth != f->v->life[i].death;
}

/* The kernel is about to run: its tensors are allocated, and unneeded ones leave. */
static int before_kernel(struct flash *f, uint32_t k)
{
	const struct annex_trace *t = f->v->trace;
	int err = 0;

	for (uint32_t i = f->leaves.first[k]; i != ANNEX_KERNEL_NONE; i = f->leaves.next[i])
		begin_write(f, i);
	if (k == f->loss) {
		/* The backward pass begins when everything has left. */
		while (finish_write(f))
			;
		if (f->n_writes)
			err = policy_step(f->plan, f->v, ANNEX_PLAN_WAIT, k, f->last,
					  t->tensors[f->last].bytes, 0, false);
	}
	for (uint32_t i = f->births.first[k]; i != ANNEX_KERNEL_NONE && !err; i = f->births.next[i])
		err = need(f, k, i);
	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first && !err; u++)
		if (lasting(f, t->uses[u].tensor))
			err = need(f, k, t->uses[u].tensor);
	return err;
}

static int rehearse(struct flash *f)
{
	const struct annex_trace *t = f->v->trace;
	int err = 0;

	for (uint32_t k = 0; k < t->n_kernels && !err; k++) {
		err = before_kernel(f, k);
		f->now += (double)t->kernels[k].ns;
		while (f->written < f->n_writes && f->ends[f->written] <= f->now)
			finish_write(f);
		for (uint32_t i = f->deaths.first[k]; i != ANNEX_KERNEL_NONE && !err;
		     i = f->deaths.next[i])
			if (f->where[i] != NOWHERE)
				release(f, i);
		if (k >= f->loss && k + 1 < t->n_kernels && !err)
			err = bring(f, k + 1);
	}
	return err;
}

/* Allocated at its first kernel (@op ANNEX_PLAN_ALLOC), or freed after its last. */
static int lifetimes(struct flash *f, enum annex_plan_op op)
{
	const struct annex_trace *t = f->v->trace;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tensors && !err; i++) {
		const struct annex_life *l = &f->v->life[i];

		if (!t->tensors[i].global && l->used)
			err = policy_step(f->plan, f->v, op,
					  op == ANNEX_PLAN_ALLOC ? l->birth : l->death + 1, i,
					  t->tensors[i].bytes, 0, false);
	}
	return err;
}

/* Beside the weights, what lives for a single kernel has a place of its own. */
static int scratch(const struct annex_vitality *v, uint64_t *most)
{
	uint64_t *bytes = calloc(v->trace->n_kernels, sizeof(*bytes));

	if (!bytes)
		return -ENOMEM;
	*most = 0;
	for (uint32_t i = 0; i < v->trace->n_tensors; i++) {
		uint32_t k = v->life[i].birth;

		if (v->trace->tensors[i].global || !v->life[i].used || k != v->life[i].death)
			continue;
		bytes[k] += v->trace->tensors[i].bytes;
		if (bytes[k] > *most)
			*most = bytes[k];
	}
	free(bytes);
	return 0;
}

static int queues_init(struct queues *q, const struct annex_trace *t)
{
	q->first = malloc((size_t)t->n_kernels * sizeof(*q->first));
	q->next = malloc(((size_t)t->n_tensors + 1) * sizeof(*q->next));
	if (!q->first || !q->next)
		return -ENOMEM;
	memset(q->first, 0xff, (size_t)t->n_kernels * sizeof(*q->first));
	return 0;
}

static void queues_free(struct queues *q)
{
	free(q->first);
	free(q->next);
}

static void queue(struct queues *q, uint32_t kernel, uint32_t tensor)
{
	q->next[tensor] = q->first[kernel];
	q->first[kernel] = tensor;
}

static int make_queues(struct flash *f)
{
	const struct annex_trace *t = f->v->trace;

	if (queues_init(&f->births, t) || queues_init(&f->leaves, t) || queues_init(&f->deaths, t))
		return -ENOMEM;
	for (uint32_t i = t->n_tensors; i--;) {
		if (!lasting(f, i))
			continue;
		queue(&f->births, f->v->life[i].birth, i);
		queue(&f->deaths, f->v->life[i].death, i);
		if (f->left[i] != ANNEX_KERNEL_NONE)
			queue(&f->leaves, f->left[i], i);
	}
	return 0;
}

static int setup(struct flash *f)
{
	const struct annex_vitality *v = f->v;
	size_t n = (size_t)v->trace->n_tensors + 1;
	uint64_t apart = 0;
	int err = scratch(v, &apart);

	if (err)
		return err;
	apart += v->global_bytes;
	f->loss = find_loss(v);
	for (uint32_t k = 0; k < v->trace->n_kernels; k++) {
		uint64_t mine = locals(v->trace, k);

		if (mine > f->largest)
			f->largest = mine;
	}
	if (v->global_bytes + f->largest > f->sys->gpu || apart > f->sys->gpu)
		return annex_fail(
			-ENOSPC,
			"flashneuron: weights (%.2f GiB) and the largest kernel (%.2f GiB) "
			"leave no room on the GPU",
			(double)v->global_bytes / 0x1p30, (double)f->largest / 0x1p30);
	if (!f->sys->ssds)
		return annex_fail(-ENOSPC, "flashneuron: there is no SSD");
	f->room = f->sys->gpu - v->global_bytes - f->largest;
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

static int make(const struct annex_vitality *v, const struct annex_system *sys,
		struct annex_plan **plan)
{
	struct flash f = {.v = v, .sys = sys};
	int err = annex_plan_create(policy_flashneuron.name, v->trace, sys, &f.plan);

	if (!err)
		err = setup(&f);
	/* Steps of a kernel are done in this order: evictions make room for the others. */
	if (!err)
		err = lifetimes(&f, ANNEX_PLAN_FREE);
	if (!err)
		err = choose(&f);
	if (!err)
		err = lifetimes(&f, ANNEX_PLAN_ALLOC);
	if (!err)
		err = make_queues(&f);
	if (!err)
		err = rehearse(&f);
	if (!err)
		err = annex_plan_finish(f.plan);
	free(f.left);
	free(f.at);
	free(f.where);
	free(f.writes);
	free(f.ends);
	queues_free(&f.births);
	queues_free(&f.leaves);
	queues_free(&f.deaths);
	heap_free(&f.heap);
	if (err) {
		annex_plan_free(f.plan);
		return err;
	}
	*plan = f.plan;
	return 0;
}

const struct annex_policy policy_flashneuron = {
	"flashneuron",
	"activations to the SSD, chosen in order of layers (Bae et al.)",
	make,
};
