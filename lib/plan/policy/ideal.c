// SPDX-License-Identifier: MIT
/*
 * A GPU with memory for everything: the yardstick of other policies.
 */
#include "policy.h"

static int make(const struct annex_vitality *v, const struct annex_system *sys,
		struct annex_plan **plan)
{
	int err = annex_plan_create(policy_ideal.name, v->trace, sys, plan);

	if (!err)
		err = policy_lifetimes(*plan, v, sys);
	if (!err)
		err = annex_plan_finish(*plan);
	if (!err)
		(*plan)->flags = ANNEX_PLAN_UNLIMITED | ANNEX_PLAN_OVERLAP;
	return err;
}

const struct annex_policy policy_ideal = {
	"ideal",
	"a GPU with memory for everything",
	make,
};
