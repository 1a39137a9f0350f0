// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "file.h"

int annex_policy_sound(const struct annex_policy *policy)
{
	if (policy->name && policy->make)
		return 0;
	return annex_fail(-EINVAL, "a policy of one's own has a name and a make()");
}

int annex_plan_make(const struct annex_policy *policy, const struct annex_vitality *v,
		    const struct annex_system *sys, struct annex_plan **plan)
{
	int err = annex_policy_sound(policy);

	*plan = NULL;
	if (!err)
		err = policy->make(v, sys, plan);
	if (!err)
		err = annex_plan_check(*plan, v->trace, sys);
	if (err) {
		annex_plan_free(*plan);
		*plan = NULL;
	}
	return err;
}
