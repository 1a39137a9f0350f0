/* SPDX-License-Identifier: MIT */
/*
 * Shared by the builder, the readers and the makers of plans.
 */
#ifndef ANNEX_PLAN_FILE_H
#define ANNEX_PLAN_FILE_H

#include <annex/plan.h>

/* Capacities in files: what a JSON integer holds. */
#define PLAN_MAX_CAPACITY INT64_MAX
/* Times in files: likewise, and no sum of two overflows. */
#define PLAN_MAX_NS (1ull << 62)

/* annex_plan_new() - A plan without anything in it, to be given to annex_plan_free(); or NULL. */
struct annex_plan *annex_plan_new(void);

/* annex_plan_append() - Make room for one more step, and store it as it is. 0 or -ENOMEM. */
int annex_plan_append(struct annex_plan *plan, const struct annex_plan_step *step);

/*
 * annex_plan_sound() - Whether all of a plan that was read is within its limits and in order: 0, or
 * -EINVAL and a line that names the member or the step.
 */
int annex_plan_sound(const struct annex_plan *plan);

/* annex_policy_sound() - Whether a policy has what planning needs: 0, or -EINVAL and a line. */
int annex_policy_sound(const struct annex_policy *policy);

/* annex_plan_op_name() - "alloc", "free", ... as in files. */
const char *annex_plan_op_name(unsigned int op);

#endif
