// SPDX-License-Identifier: MIT
/*
 * Tensor vitality analysis: passes over the uses, in the order of kernels, and sums of differences.
 */
#include <errno.h>
#include <stdlib.h>
#include <annex/vitality.h>
#include "core/log.h"
#include "ends.h"

/* The first and the last use of each tensor, and how many periods lie between the others. */
static void find_lives(struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;

	for (uint32_t i = 0; i < t->n_tensors; i++)
		v->life[i].birth = v->life[i].death = ANNEX_KERNEL_NONE;
	for (uint32_t k = 0; k < t->n_kernels; k++) {
		for (uint32_t i = t->kernels[k].first; i < t->kernels[k + 1].first; i++) {
			struct annex_life *life = &v->life[t->uses[i].tensor];

			if (!life->used)
				life->birth = k;
			else if (k > life->death + 1)
				life->n_periods++;
			life->death = k;
			life->used = true;
		}
	}
}

/* Whether a global tensor rests at all between its last use and the first one of the next time. */
static bool rests_at_the_end(const struct annex_vitality *v, const struct annex_life *life)
{
	return !life->used || life->birth > 0 || life->death + 1 < v->trace->n_kernels;
}

/* Whether a local tensor rests between its last use and its death. */
static bool rests_before_death(const struct annex_vitality *v, uint32_t i)
{
	const struct annex_tensor *t = &v->trace->tensors[i];

	return v->life[i].used && t->death != ANNEX_KERNEL_NONE && t->death > v->life[i].death;
}

/* Each tensor's periods follow the periods of the tensor before it. */
static uint32_t place_periods(struct annex_vitality *v, bool ends)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->trace->n_tensors; i++) {
		struct annex_life *life = &v->life[i];

		if (v->trace->tensors[i].global && rests_at_the_end(v, life))
			life->n_periods++;
		if (ends && rests_before_death(v, i))
			life->n_periods++;
		life->period = n;
		n += life->n_periods;
	}
	return n;
}

static void add_period(struct annex_vitality *v, uint32_t *next, uint32_t tensor, uint32_t from,
		       uint32_t to)
{
	bool wraps = to <= from;
	uint64_t once = wraps ? v->start[v->trace->n_kernels] : 0;

	v->periods[(*next)++] = (struct annex_period){
		.tensor = tensor,
		.from = from,
		.to = to,
		.ns = once + v->start[to] - v->start[from],
		.wraps = wraps,
	};
}

/* @last: the last use so far, of each tensor; @next: where its next period goes. */
static void fill_periods(struct annex_vitality *v, bool ends, uint32_t *last, uint32_t *next)
{
	const struct annex_trace *t = v->trace;

	for (uint32_t i = 0; i < t->n_tensors; i++) {
		last[i] = v->life[i].birth;
		next[i] = v->life[i].period;
	}
	for (uint32_t k = 0; k < t->n_kernels; k++) {
		for (uint32_t i = t->kernels[k].first; i < t->kernels[k + 1].first; i++) {
			uint32_t id = t->uses[i].tensor;

			if (k > last[id] + 1)
				add_period(v, &next[id], id, last[id] + 1, k);
			last[id] = k;
		}
	}
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		const struct annex_life *life = &v->life[i];

		if (t->tensors[i].global && rests_at_the_end(v, life))
			add_period(v, &next[i], i, life->used ? life->death + 1 : 0,
				   life->used ? life->birth : 0);
		if (ends && rests_before_death(v, i))
			add_period(v, &next[i], i, life->death + 1, t->tensors[i].death + 1);
	}
}

/* From here on a life is what the trace says it is, not only what the uses do. */
static void extend_lives(struct annex_vitality *v)
{
	for (uint32_t i = 0; i < v->trace->n_tensors; i++) {
		const struct annex_tensor *tensor = &v->trace->tensors[i];
		struct annex_life *life = &v->life[i];

		if (tensor->global) {
			life->birth = 0;
			life->death = v->trace->n_kernels - 1;
		}
		if (tensor->birth != ANNEX_KERNEL_NONE)
			life->birth = tensor->birth;
		if (tensor->death != ANNEX_KERNEL_NONE)
			life->death = tensor->death;
	}
}

static void sum_times(struct annex_vitality *v)
{
	for (uint32_t k = 0; k < v->trace->n_kernels; k++)
		v->start[k + 1] = v->start[k] + v->trace->kernels[k].ns;
}

/* Changes first, which wrap around when they are negative; their sums are sizes again. */
static void sum_bytes(struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;

	for (uint32_t i = 0; i < t->n_tensors; i++) {
		uint64_t bytes = t->tensors[i].bytes;

		if (t->tensors[i].global)
			v->global_bytes += bytes;
		if (v->life[i].birth == ANNEX_KERNEL_NONE)
			continue;
		v->live[v->life[i].birth] += bytes;
		v->live[v->life[i].death + 1] -= bytes;
	}
	for (uint32_t k = 0; k < t->n_kernels; k++) {
		v->live[k + 1] += v->live[k];
		for (uint32_t i = t->kernels[k].first; i < t->kernels[k + 1].first; i++)
			v->active[k] += t->tensors[t->uses[i].tensor].bytes;
		if (v->live[k] > v->peak_bytes) {
			v->peak_bytes = v->live[k];
			v->peak_kernel = k;
		}
	}
}

static int analyse(struct annex_vitality *v, bool ends)
{
	uint32_t n = v->trace->n_tensors;
	uint32_t *last = malloc((n + 1ull) * sizeof(*last));
	uint32_t *next = malloc((n + 1ull) * sizeof(*next));
	int err = -ENOMEM;

	if (last && next) {
		sum_times(v);
		find_lives(v);
		v->n_periods = place_periods(v, ends);
		v->periods = malloc((v->n_periods + 1ull) * sizeof(*v->periods));
	}
	if (v->periods) {
		fill_periods(v, ends, last, next);
		extend_lives(v);
		sum_bytes(v);
		err = 0;
	}
	free(last);
	free(next);
	return err;
}

static int create(const struct annex_trace *trace, bool ends, struct annex_vitality **vitality)
{
	struct annex_vitality *v = calloc(1, sizeof(*v));
	size_t kernels = trace->n_kernels + 1ull; /* each array has an end */

	*vitality = NULL;
	if (v) {
		v->trace = trace;
		v->life = calloc(trace->n_tensors + 1ull, sizeof(*v->life));
		v->start = calloc(kernels, sizeof(*v->start));
		v->live = calloc(kernels, sizeof(*v->live));
		v->active = calloc(kernels, sizeof(*v->active));
	}
	if (!v || !v->life || !v->start || !v->live || !v->active || analyse(v, ends)) {
		annex_vitality_destroy(v);
		return annex_fail(-ENOMEM, "no memory to analyse %u kernels and %u tensors",
				  trace->n_kernels, trace->n_tensors);
	}
	*vitality = v;
	return 0;
}

int annex_vitality_create(const struct annex_trace *trace, struct annex_vitality **vitality)
{
	return create(trace, false, vitality);
}

int annex_vitality_with_ends(const struct annex_trace *trace, struct annex_vitality **vitality)
{
	return create(trace, true, vitality);
}

void annex_vitality_destroy(struct annex_vitality *vitality)
{
	if (!vitality)
		return;
	free(vitality->life);
	free(vitality->periods);
	free(vitality->start);
	free(vitality->live);
	free(vitality->active);
	free(vitality);
}
