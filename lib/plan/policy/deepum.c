// SPDX-License-Identifier: MIT
/*
 * DeepUM (Jung et al., ASPLOS'23): demand paging with prefetches by correlation, extended to SSDs
 * as G10 section 7.1 does.
 *
 * Prefetches do not take memory from tensors of the next AHEAD kernels. A page fault does, as in
 * G10's artifact: it takes the least recently used bytes.
 *
 * DeepUM names an execution by its kernel and arguments, here the tensors. One table has for the
 * last executions the one that followed them the last time, and another the data of each execution.
 * From the kernel that runs, the first table is followed for some kernels ahead, and the data of
 * these are prefetched. An iteration whose kernels repeat in another order is predicted wrongly.
 * The tables have learned an iteration, and lose nothing: their sizes, and the number of executions
 * that an entry is for, are not known to us from text that is public.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy.h"

/* Kernels ahead, of G10's artifact. */
#define AHEAD 8
/* Executions that an entry of the table is for, the last of which it is found by. */
#define HISTORY 4

/* struct past - The names of the last executions, from the newest, when one had ended. */
struct past {
	uint64_t names[HISTORY];
	uint32_t kernel;
};

/* struct deepum - The table: all pasts of an iteration, in the order of names, then of kernels. */
struct deepum {
	const struct annex_trace *t;
	uint64_t *names;
	struct past *pasts;
};

/* FNV-1a of 64 bits, a word at a time. */
static uint64_t mix(uint64_t hash, uint64_t n)
{
	return (hash ^ n) * 0x100000001b3ull;
}

static uint64_t name_of(const struct annex_trace *t, uint32_t kernel)
{
	const struct annex_kernel *k = &t->kernels[kernel];
	uint64_t hash = 0xcbf29ce484222325ull;

	for (const char *c = k->name; c && *c; c++)
		hash = mix(hash, (unsigned char)*c);
	for (uint32_t i = k->first; i < k[1].first; i++)
		hash = mix(hash, (uint64_t)t->uses[i].tensor << 32 | t->uses[i].how);
	return hash;
}

static int compare(const void *a, const void *b)
{
	const struct past *x = a, *y = b;

	for (unsigned int i = 0; i < HISTORY; i++)
		if (x->names[i] != y->names[i])
			return x->names[i] < y->names[i] ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static void push(struct past *p, uint64_t name)
{
	for (unsigned int i = HISTORY - 1; i; i--)
		p->names[i] = p->names[i - 1];
	p->names[0] = name;
}

/* As many of the pasts as are before @p. */
static uint32_t before(const struct deepum *d, const struct past *p)
{
	uint32_t low = 0, high = d->t->n_kernels;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (compare(&d->pasts[mid], p) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * The kernel that followed @past the last time before @now, in this iteration or in the one before,
 * which has all that can be predicted.
 */
static uint32_t predict(const struct deepum *d, struct past *past, uint32_t now)
{
	uint32_t at;

	past->kernel = now;
	at = before(d, past);
	if (!at || memcmp(d->pasts[at - 1].names, past->names, sizeof(past->names))) {
		past->kernel = ANNEX_KERNEL_NONE;
		at = before(d, past);
	}
	return (d->pasts[at - 1].kernel + 1) % d->t->n_kernels;
}

/* The names before an iteration: the last of the one before. */
static struct past begin(const struct deepum *d)
{
	uint32_t n = d->t->n_kernels;
	struct past past = {.kernel = 0};

	for (uint32_t i = 0; i < HISTORY; i++)
		push(&past, d->names[(n - HISTORY % n + i) % n]);
	return past;
}

static int learn(struct deepum *d)
{
	uint32_t n = d->t->n_kernels;
	struct past past;

	d->names = calloc(n, sizeof(*d->names));
	d->pasts = calloc(n, sizeof(*d->pasts));
	if (!d->names || !d->pasts)
		return -ENOMEM;
	for (uint32_t k = 0; k < n; k++)
		d->names[k] = name_of(d->t, k);
	past = begin(d);
	for (uint32_t k = 0; k < n; k++) {
		push(&past, d->names[k]);
		d->pasts[k] = past;
		d->pasts[k].kernel = k;
	}
	qsort(d->pasts, n, sizeof(*d->pasts), compare);
	return 0;
}

static int prefetch(struct annex_plan *plan, const struct annex_vitality *v, uint32_t at,
		    uint32_t kernel)
{
	const struct annex_trace *t = v->trace;
	int err = 0;

	for (uint32_t i = t->kernels[kernel].first; i < t->kernels[kernel + 1].first && !err; i++) {
		uint32_t tensor = t->uses[i].tensor;

		err = policy_step(plan, v, ANNEX_PLAN_PREFETCH, at, tensor,
				  t->tensors[tensor].bytes, 0, false);
	}
	return err;
}

/* At each kernel the data of the one AHEAD of it; those between were prefetched before. */
static int prefetches(const struct deepum *d, const struct annex_vitality *v,
		      struct annex_plan *plan)
{
	struct past past = begin(d);
	int err = 0;

	for (uint32_t k = 0; k < d->t->n_kernels && !err; k++) {
		struct past then;
		uint32_t next = k;

		push(&past, d->names[k]);
		then = past;
		for (unsigned int i = 0; i < AHEAD; i++) {
			next = predict(d, &then, k);
			push(&then, d->names[next]);
		}
		err = prefetch(plan, v, k, next);
	}
	return err;
}

static int make(const struct annex_vitality *v, const struct annex_system *sys,
		struct annex_plan **plan)
{
	struct deepum d = {.t = v->trace};
	int err = annex_plan_create(policy_deepum.name, v->trace, sys, plan);

	if (err)
		return err;
	(*plan)->flags = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM | ANNEX_PLAN_LAZY;
	(*plan)->window = AHEAD;
	err = policy_free_dead(*plan, v);
	if (!err)
		err = learn(&d);
	if (!err)
		err = prefetches(&d, v, *plan);
	free(d.names);
	free(d.pasts);
	return err ? err : annex_plan_finish(*plan);
}

const struct annex_policy policy_deepum = {
	"deepum",
	"faults, LRU, next kernels prefetched by correlation (Jung et al.)",
	make,
};
