// SPDX-License-Identifier: MIT
/*
 * Policy deepum: which kernels it expects.
 */
#include <annex/plan.h>
#include <annex/vitality.h>
#include "plan_traces.h"
#include "tests/unit/unit.h"

#define TENSORS "A:1g B:1g C:1g D:1g E:1g F:1g G:1g H:1g I:1g J:1g K:1g L:1g M:1g N:1g"

/* Expect that at each kernel the tensor of a letter is prefetched. */
static void expect(const char *kernels, const char *letters)
{
	struct annex_trace *t = trace_from(TENSORS, kernels);
	const struct annex_policy *deepum = annex_policy_find("deepum");
	struct annex_vitality *v = NULL;
	struct annex_plan *p = NULL;
	struct annex_system sys;
	uint32_t at = 0;

	round_system(&sys);
	CU_ASSERT_PTR_NOT_NULL_FATAL(deepum);
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL_FATAL(deepum->make(v, &sys, &p), 0);
	for (size_t i = 0; i < p->n_steps; i++) {
		if (p->steps[i].op != ANNEX_PLAN_PREFETCH)
			continue;
		CU_ASSERT_EQUAL(p->steps[i].kernel, at);
		CU_ASSERT_EQUAL_FATAL('A' + (char)p->steps[i].tensor, letters[at]);
		at++;
	}
	CU_ASSERT_EQUAL(letters[at], '\0');
	annex_plan_free(p);
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

static void kernels_in_a_fixed_order(void)
{
	expect("1:A 1:B 1:C 1:D 1:E 1:F 1:G 1:H 1:I 1:J 1:K 1:L", "IJKLABCDEFGH");
	expect("1:A 1:B 1:C", "CAB");
	expect("1:A", "A");
}

/* ABC precede E and F in turn, which follow D and K. */
static void four_executions_tell(void)
{
	expect("1:D 1:A 1:B 1:C 1:E 1:G 1:H 1:I 1:J 1:K 1:A 1:B 1:C 1:F 1:L 1:M 1:N",
	       "JKABCFLMNDABCEGHI");
}

/* ABCD precede E and F in turn, and always the one of the last time is expected. */
static void the_last_time_is_expected(void)
{
	expect("1:A 1:B 1:C 1:D 1:E 1:G 1:H 1:I 1:J 1:A 1:B 1:C 1:D 1:F 1:K 1:L 1:M 1:N",
	       "NABCDEGHIJABCDFKLM");
}

UNIT_SUITE(deepum, {"kernels in a fixed order", kernels_in_a_fixed_order},
	   {"four executions tell", four_executions_tell},
	   {"the last time is expected", the_last_time_is_expected})
