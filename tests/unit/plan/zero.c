// SPDX-License-Identifier: MIT
/*
 * ZeRO-Offload and ZeRO-Infinity: weights stream in from below and are never written back,
 * gradients go to the host, and the host's optimizer waits for them.
 */
#include <errno.h>
#include <string.h>
#include <annex/generate.h>
#include <annex/log.h>
#include <annex/simulate.h>
#include "plan_traces.h"
#include "tests/unit/unit.h"

static const char *const names[] = {"zero-offload", "zero-infinity"};

static int make(const struct annex_trace *t, const struct annex_system *sys, const char *name,
		struct annex_plan **plan, struct annex_sim_result *r)
{
	struct annex_vitality *v;
	int err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(annex_policy_find(name));
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	err = annex_plan_make(annex_policy_find(name), v, sys, plan);
	if (!err)
		CU_ASSERT_EQUAL(annex_simulate(&(struct annex_sim_job){t, *plan}, 1, sys, NULL, r),
				0);
	annex_vitality_destroy(v);
	return err;
}

static void machine(struct annex_system *sys)
{
	annex_system_init(sys);
	sys->alloc = 1e18;
	sys->ssds = 2;
}

/* Steps of one kind on a tensor, as kernels: "1 4". */
static void steps_of(const struct annex_plan *plan, enum annex_plan_op op, uint32_t tensor,
		     char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < plan->n_steps && n < size; i++)
		if (plan->steps[i].op == op && plan->steps[i].tensor == tensor)
			n += (size_t)snprintf(text + n, size - n, "%s%u", n ? " " : "",
					      plan->steps[i].kernel);
}

/*
 * A, B and C forward, then backward. C is used again at once, B while it would be fetched, and A
 * beyond the distance at which weights stay. All but D, which is small, leave after their last use.
 */
static void weights_stream_in(void)
{
	struct annex_trace *t = trace_from("A:3000g B:3000g C:3000g D:0.1g",
					   "10:AD 10:B 10:C 10: 10:C 10:B 10:AD");
	static const char *const in[] = {"0 2", "0", "1", ""};
	static const char *const out[] = {"1 7", "6", "5", ""};
	uint64_t weight = 3000 * MIB;

	for (unsigned int p = 0; p < 2; p++) {
		unsigned int tier = p ? ANNEX_TIER_SSD : ANNEX_TIER_HOST;
		struct annex_sim_result r;
		struct annex_system sys;
		struct annex_plan *plan;
		char text[64];

		machine(&sys);
		sys.ssds = 1;
		CU_ASSERT_EQUAL_FATAL(make(t, &sys, names[p], &plan, &r), 0);
		CU_ASSERT_EQUAL(plan->flags, 0);
		for (uint32_t i = 0; i < 4; i++) {
			steps_of(plan, ANNEX_PLAN_PREFETCH, i, text, sizeof(text));
			CU_ASSERT_STRING_EQUAL(text, in[i]);
			steps_of(plan, ANNEX_PLAN_EVICT, i, text, sizeof(text));
			CU_ASSERT_STRING_EQUAL(text, out[i]);
		}
		CU_ASSERT_EQUAL(r.in[tier], 4 * weight);
		CU_ASSERT_EQUAL(r.out[tier], 0);
		annex_plan_free(plan);
	}
	annex_trace_free(t);
}

static uint64_t gradient_bytes(const struct annex_trace *t)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < t->n_tensors; i++)
		bytes += t->tensors[i].role == ANNEX_ROLE_GRADIENT ? t->tensors[i].bytes : 0;
	return bytes;
}

/* Each batch takes the sum so far from the host, and the host's step waits for the last one. */
static void gradients_go_to_the_host(void)
{
	struct annex_trace_spec spec = {
		.model = "llama-7b", .batch = 1, .layers = 12, .accumulate = 3, .host_step = 1e9};
	struct annex_trace *t;

	CU_ASSERT_EQUAL_FATAL(annex_trace_generate(&spec, &t), 0);
	for (unsigned int p = 0; p < 2; p++) {
		uint32_t waits = 0, gradients = 0;
		struct annex_sim_result r;
		struct annex_system sys;
		struct annex_plan *plan;

		machine(&sys);
		CU_ASSERT_EQUAL_FATAL(make(t, &sys, names[p], &plan, &r), 0);
		for (size_t i = 0; i < plan->n_steps; i++) {
			waits += plan->steps[i].op == ANNEX_PLAN_WAIT;
			CU_ASSERT(plan->steps[i].op != ANNEX_PLAN_WAIT ||
				  plan->steps[i].kernel == t->n_kernels - 1);
		}
		for (uint32_t i = 0; i < t->n_tensors; i++)
			gradients += t->tensors[i].role == ANNEX_ROLE_GRADIENT;
		CU_ASSERT_EQUAL(waits, gradients);
		CU_ASSERT_EQUAL(r.out[ANNEX_TIER_HOST], 3 * gradient_bytes(t));
		CU_ASSERT_EQUAL(r.out[ANNEX_TIER_SSD] + r.out[ANNEX_TIER_SSD + 1], 0);
		CU_ASSERT_EQUAL(r.in[ANNEX_TIER_SSD] > 0, p == 1);
		CU_ASSERT(r.iteration > r.ideal);
		annex_plan_free(plan);
	}
	annex_trace_free(t);
}

static void want_of_space_is_told(void)
{
	struct annex_trace *t = trace_from("A:64g B:64", "10:A>B 20:AB");
	struct annex_sim_result r;
	struct annex_system sys;
	struct annex_plan *plan;

	machine(&sys);
	sys.ssds = 0;
	CU_ASSERT_EQUAL(make(t, &sys, "zero-infinity", &plan, &r), -ENOSPC);
	CU_ASSERT(strstr(annex_last_error(), "SSD") != NULL);
	sys.host = 63 * MIB;
	CU_ASSERT_EQUAL(make(t, &sys, "zero-offload", &plan, &r), -ENOSPC);
	CU_ASSERT(strstr(annex_last_error(), "host memory") != NULL);
	annex_trace_free(t);
}

UNIT_SUITE(zero, {"weights stream in", weights_stream_in},
	   {"gradients go to the host", gradients_go_to_the_host},
	   {"want of space is told", want_of_space_is_told})
