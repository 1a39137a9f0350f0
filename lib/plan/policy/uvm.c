// SPDX-License-Identifier: MIT
/*
 * Baselines over unified memory: plain demand paging, and DeepUM's correlation prefetching,
 * extended to SSDs as G10 section 7.1 does.
 */
#include "policy.h"

/*
 * DeepUM records which kernel follows which and prefetches for as many kernels ahead; iterations
 * repeat, so its tables predict without fail after the first.
 */
#define DEEPUM_AHEAD 8

static int free_dead(struct annex_plan *plan, const struct annex_vitality *v)
{
	const struct annex_trace *t = v->trace;
	int err = 0;

	for (uint32_t i = 0; i < t->n_tensors && !err; i++)
		if (!t->tensors[i].global && v->life[i].used)
			err = policy_step(plan, v, ANNEX_PLAN_FREE, v->life[i].death + 1, i,
					  t->tensors[i].bytes, 0, false);
	return err;
}

static int make_uvm(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan)
{
	int err = annex_plan_create(policy_uvm.name, v->trace, sys, plan);

	if (!err && sys->frees)
		err = free_dead(*plan, v);
	if (err)
		return err;
	(*plan)->flags = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM;
	return annex_plan_finish(*plan);
}

static int prefetch_kernel(struct annex_plan *plan, const struct annex_vitality *v, uint32_t at,
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

static int make_deepum(const struct annex_vitality *v, const struct annex_system *sys,
		       struct annex_plan **plan)
{
	const struct annex_trace *t = v->trace;
	int err = annex_plan_create(policy_deepum.name, t, sys, plan);

	if (err)
		return err;
	(*plan)->flags = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM | ANNEX_PLAN_LAZY;
	(*plan)->window = DEEPUM_AHEAD;
	err = free_dead(*plan, v);
	for (uint32_t k = 0; k < t->n_kernels && !err; k++)
		err = prefetch_kernel(*plan, v, k, (k + DEEPUM_AHEAD) % t->n_kernels);
	return err ? err : annex_plan_finish(*plan);
}

const struct annex_policy policy_uvm = {
	"uvm",
	"page faults and LRU; nothing is planned, and freed only if programs do",
	make_uvm,
};

const struct annex_policy policy_deepum = {
	"deepum",
	"faults, LRU, next kernels prefetched by correlation (Jung et al.)",
	make_deepum,
};
