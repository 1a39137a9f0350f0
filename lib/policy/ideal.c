// SPDX-License-Identifier: MIT
/*
 * A GPU with memory for everything: what others are measured against.
 */
#include "policy.h"

int policy_ideal(const struct annex_vitality *v, const struct annex_system *sys,
		 struct annex_plan **plan)
{
	int err = annex_plan_create("ideal", v->trace, sys, plan);

	if (!err)
		err = policy_lifetimes(*plan, v, sys);
	if (!err)
		err = annex_plan_finish(*plan);
	if (!err)
		(*plan)->flags = ANNEX_PLAN_UNLIMITED | ANNEX_PLAN_OVERLAP;
	return err;
}
