// SPDX-License-Identifier: MIT
/*
 * Unified memory with demand paging alone.
 */
#include "policy.h"

static int make(const struct annex_vitality *v, const struct annex_system *sys,
		struct annex_plan **plan)
{
	int err = annex_plan_create(policy_uvm.name, v->trace, sys, plan);

	if (!err && sys->frees)
		err = policy_free_dead(*plan, v);
	if (err)
		return err;
	(*plan)->flags = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM;
	return annex_plan_finish(*plan);
}

const struct annex_policy policy_uvm = {
	"uvm",
	"page faults and LRU; nothing is planned, and freed only if programs do",
	make,
};
