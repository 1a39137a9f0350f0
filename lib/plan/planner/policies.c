// SPDX-License-Identifier: MIT
/*
 * The table of policies. It stands above them and the planner, none of which uses it.
 */
#include <string.h>
#include "plan/policy/policy.h"

#define ENTRY(name) &policy_##name,
static const struct annex_policy *const policies[] = {POLICIES(ENTRY) NULL};

const struct annex_policy *annex_policy_at(unsigned int i)
{
	return i < sizeof(policies) / sizeof(policies[0]) ? policies[i] : NULL;
}

const struct annex_policy *annex_policy_find(const char *name)
{
	for (unsigned int i = 0; policies[i]; i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}
