// SPDX-License-Identifier: MIT
/*
 * Steps that several policies add to their plans.
 */
#include "policy.h"

int policy_step(struct annex_plan *plan, const struct annex_vitality *v, enum annex_plan_op op,
		uint32_t kernel, uint32_t tensor, uint64_t bytes, unsigned int tier, bool keep)
{
	struct annex_plan_step step = {.kernel = kernel,
				       .tensor = tensor,
				       .bytes = bytes,
				       .ns = v->start[kernel],
				       .op = (uint8_t)op,
				       .tier = (uint8_t)tier,
				       .keep = keep};

	return annex_plan_add(plan, &step);
}

int policy_evict(struct annex_plan *plan, const struct annex_vitality *v,
		 const struct annex_system *sys, uint32_t kernel, uint32_t tensor, uint64_t bytes,
		 unsigned int tier)
{
	uint32_t parts = tier == ANNEX_TIER_SSD ? sys->ssds : 1;
	int err = 0;

	for (uint32_t i = 0; i < parts && !err; i++) {
		uint64_t part = bytes / (parts - i);

		bytes -= part;
		if (part)
			err = policy_step(plan, v, ANNEX_PLAN_EVICT, kernel, tensor, part, tier + i,
					  false);
	}
	return err;
}

uint32_t policy_alloc_at(const struct annex_vitality *v, const struct annex_system *sys,
			 uint32_t kernel, uint64_t bytes)
{
	double due = (double)v->start[kernel] - (double)bytes / sys->alloc * 1e9;
	uint32_t late = kernel;

	if ((double)v->start[kernel] <= due)
		return kernel;
	for (kernel = 0; kernel + 1 < late;) {
		uint32_t mid = kernel + (late - kernel) / 2;

		if ((double)v->start[mid] <= due)
			kernel = mid;
		else
			late = mid;
	}
	return kernel;
}

int policy_lifetimes(struct annex_plan *plan, const struct annex_vitality *v,
		     const struct annex_system *sys)
{
	const struct annex_trace *t = v->trace;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tensors && !err; i++) {
		const struct annex_life *l = &v->life[i];
		uint64_t bytes = t->tensors[i].bytes;

		if (t->tensors[i].global || !l->used)
			continue;
		err = policy_step(plan, v, ANNEX_PLAN_ALLOC,
				  policy_alloc_at(v, sys, l->birth, bytes), i, bytes, 0, false);
		if (!err)
			err = policy_step(plan, v, ANNEX_PLAN_FREE, l->death + 1, i, bytes, 0,
					  false);
	}
	return err;
}

int policy_free_dead(struct annex_plan *plan, const struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tensors && !err; i++)
		if (!t->tensors[i].global && v->life[i].used)
			err = policy_step(plan, v, ANNEX_PLAN_FREE, v->life[i].death + 1, i,
					  t->tensors[i].bytes, 0, false);
	return err;
}
