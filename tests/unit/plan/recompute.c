// SPDX-License-Identifier: MIT
/*
 * Tensors that are computed again: kernels read the same as before, and the plan is no slower.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/simulate.h>
#include "plan/recompute/recompute.h"
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static uint64_t seed;

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15ull;
	return a ^ a >> 29;
}

/* A sum of the values that a kernel reads, in any order. */
static uint64_t read_by(const struct annex_trace *t, uint32_t k, const uint64_t *value)
{
	uint64_t sum = 0;

	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++)
		if (t->uses[u].how & ANNEX_USE_READ)
			sum += mix(value[t->uses[u].tensor], 1);
	return sum;
}

/* Results of kernel @number, which is kernel @k of @t; @origin: the first ids of tensors. */
static void write_to(const struct annex_trace *t, uint32_t k, uint32_t number, uint64_t *value,
		     const uint32_t *origin)
{
	uint64_t in = mix(read_by(t, k, value), number + 1);

	for (uint32_t u = t->kernels[k].first; u < t->kernels[k + 1].first; u++) {
		uint32_t i = t->uses[u].tensor;

		if (t->uses[u].how & ANNEX_USE_WRITE)
			value[i] = mix(in, origin[i]);
	}
}

static int in_order(const void *a, const void *b)
{
	const struct again *x = a, *y = b;
	uint64_t p = (uint64_t)x->to << 32 | x->kernel, q = (uint64_t)y->to << 32 | y->kernel;

	return p != q ? (p < q ? -1 : 1) : (int)x->tensor - (int)y->tensor;
}

/* Whether the kernels of both traces read the same. */
static bool alike(const struct annex_trace *t, const struct annex_trace *new, struct again *list,
		  uint32_t n)
{
	uint64_t *read = calloc((size_t)t->n_kernels + 1, sizeof(*read));
	uint64_t *value = calloc((size_t) new->n_tensors + 1, sizeof(*value));
	uint32_t *origin = calloc((size_t) new->n_tensors + 1, sizeof(*origin)), at = 0, next = 0;
	bool same = new->n_kernels == t->n_kernels + n;

	CU_ASSERT_FATAL(read && value && origin);
	qsort(list, n, sizeof(*list), in_order);
	for (uint32_t i = 0; i < new->n_tensors; i++)
		origin[i] = i < t->n_tensors       ? i
			    : i < t->n_tensors + n ? list[i - t->n_tensors].tensor
						   : NONE;
	for (uint32_t k = 0; k < t->n_kernels; k++) {
		read[k] = read_by(t, k, value);
		write_to(t, k, k, value, origin);
	}
	memset(value, 0, ((size_t) new->n_tensors + 1) * sizeof(*value));
	for (uint32_t k = 0; k < t->n_kernels && same; k++) {
		for (; next < n && list[next].to == k && same; next++, at++) {
			same = read_by(new, at, value) == read[list[next].kernel] &&
			       new->kernels[at].ns == t->kernels[list[next].kernel].ns;
			write_to(new, at, list[next].kernel, value, origin);
		}
		same = same && read_by(new, at, value) == read[k];
		write_to(new, at++, k, value, origin);
	}
	free(read);
	free(value);
	free(origin);
	return same;
}

/* No tensor lives on in the period for which it is freed. */
static bool are_freed(const struct annex_trace *t, const struct annex_trace *new,
		      const struct again *list, uint32_t n)
{
	struct annex_vitality *v;
	bool good = true;

	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(new, &v), 0);
	for (uint32_t i = 0; i < n; i++)
		good = good && v->life[list[i].tensor].death < v->life[t->n_tensors + i].birth;
	annex_vitality_destroy(v);
	return good;
}

static struct annex_trace *random_trace(int round)
{
	if (round % 2)
		return random_kernels(&seed, 1 + random_below(&seed, 20),
				      1 + random_below(&seed, 40), 100 * MIB, 100000000);
	return random_training(&seed, 1 + random_below(&seed, 10), 100 * MIB, 100000000);
}

static void random_machine(const struct annex_trace *t, struct annex_system *sys)
{
	uint64_t least = largest_kernel(t);

	round_system(sys);
	sys->gpu = 2 * least + random_below(&seed, 200) * MIB + !least;
	sys->host = random_below(&seed, 2) * random_below(&seed, 1000) * MIB;
	sys->ssd_duplex = 1 + random_below(&seed, 2);
	sys->page_ns = random_below(&seed, 3) ? 0 : random_below(&seed, 20000);
	sys->gpus = 1 + random_below(&seed, 3);
}

static void kernels_read_the_same(void)
{
	uint32_t chosen = 0;

	seed = random_seed("kernels read the same");
	for (int round = 0; round < 400; round++) {
		struct annex_trace *t = random_trace(round), *new;
		struct annex_vitality *v;
		struct annex_system sys;
		struct again *list;
		uint32_t n;

		random_machine(t, &sys);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		CU_ASSERT_EQUAL_FATAL(recompute_choose(v, &sys, &list, &n), 0);
		n = random_below(&seed, n + 1);
		CU_ASSERT_EQUAL_FATAL(recompute_trace(v, list, n, &new), 0);
		CU_ASSERT(alike(t, new, list, n));
		CU_ASSERT(are_freed(t, new, list, n));
		chosen += n;
		free(list);
		annex_trace_free(new);
		annex_vitality_destroy(v);
		annex_trace_free(t);
	}
	CU_ASSERT(chosen > 100);
}

static double simulated(const struct annex_trace *t, const struct annex_plan *plan,
			const struct annex_system *sys)
{
	struct annex_sim_job jobs[ANNEX_MAX_GPUS];
	struct annex_sim_result r;

	for (uint32_t i = 0; i < sys->gpus; i++)
		jobs[i] = (struct annex_sim_job){t, plan};
	return annex_simulate(jobs, sys->gpus, sys, NULL, &r) ? INFINITY : r.iteration;
}

/* Against the plan without repeated kernels, and against both bounds. */
static bool is_sound(const struct annex_vitality *v, const struct annex_system *sys)
{
	const struct annex_policy *policy = annex_policy_find("annex");
	struct annex_recomputed r;
	struct annex_plan *plan = NULL;
	double least, without, kept;
	bool good;

	CU_ASSERT_EQUAL_FATAL(annex_bound(v, sys, &kept), 0);
	CU_ASSERT_EQUAL_FATAL(annex_recompute_bound(v, sys, &least), 0);
	good = least <= kept * (1 + 1e-9);
	without = annex_plan_make(policy, v, sys, &plan) ? INFINITY
							 : simulated(v->trace, plan, sys);
	annex_plan_free(plan);
	if (annex_recompute(policy, v, sys, &r))
		return good && isinf(without);
	good = good && r.seconds <= without && r.seconds >= least * (1 - 1e-9) &&
	       r.seconds == simulated(r.trace, r.plan, sys);
	annex_plan_free(r.plan);
	annex_trace_free(r.trace);
	return good;
}

static void never_slower_nor_below_the_bound(void)
{
	seed = random_seed("never slower");
	for (int round = 0; round < (UNIT_SANITIZED ? 50 : 200); round++) {
		struct annex_trace *t = random_trace(round);
		struct annex_vitality *v;
		struct annex_system sys;
		bool good;

		random_machine(t, &sys);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		good = is_sound(v, &sys);
		CU_ASSERT(good);
		if (!good)
			print_case(t, &sys, NULL);
		annex_vitality_destroy(v);
		annex_trace_free(t);
		if (!good)
			return;
	}
}

/* A tensor that takes a millisecond to compute is not moved for 54. */
static void a_cheap_kernel_runs_again(void)
{
	struct annex_trace *t = trace_from("A:100 B:100 C:100 D:10g",
					   "1:D>A 10:D>B 10:D>C 10:B 10:C 10:A");
	struct annex_recomputed r;
	struct annex_vitality *v;
	struct annex_system sys;
	double least;

	round_system(&sys);
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL_FATAL(annex_recompute(annex_policy_find("annex"), v, &sys, &r), 0);
	CU_ASSERT(fabs(r.seconds - 0.052) < 1e-9);
	CU_ASSERT_EQUAL(r.kernels, 1);
	CU_ASSERT_EQUAL(r.bytes, 100 * MIB);
	CU_ASSERT_EQUAL(r.ns, 1000000);
	CU_ASSERT_EQUAL(annex_recompute_bound(v, &sys, &least), 0);
	CU_ASSERT(least > 0.051 && least <= 0.052 + 1e-9);
	annex_plan_free(r.plan);
	annex_trace_free(r.trace);
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

/* Where an iteration with a repeated kernel is longer than traces can be, none is repeated. */
static void an_iteration_stays_within_limits(void)
{
	struct annex_trace *t = trace_from("A:102400 B:102400g C:102400g D:10g",
					   "5000000000:D>A 10:D>B 10:D>C 10:B 10:C 10:A");
	struct annex_recomputed r;
	struct annex_vitality *v;
	struct annex_system sys;

	round_system(&sys);
	sys.gpu <<= 10;
	sys.pcie = 1e6;
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL(annex_recompute(annex_policy_find("annex"), v, &sys, &r), 0);
	CU_ASSERT(r.plan && r.kernels == 0);
	annex_plan_free(r.plan);
	annex_trace_free(r.trace);
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

/* A long name is cut between two characters. */
static void new_names_are_utf8(void)
{
	for (unsigned int pad = 0; pad < 3; pad++) {
		struct annex_trace *t = trace_from("A:100 B:100", "1:>A 10:>B 10:A"), *new = NULL;
		struct again again = {.tensor = 0, .kernel = 0, .from = 1, .to = 2};
		struct annex_vitality *v;
		char name[100] = "aa";

		for (unsigned int i = 0; i < 96; i++)
			name[pad + i] = "\xe2\x82\xac"[i % 3];
		free(t->kernels[0].name);
		t->kernels[0].name = strdup(name);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		CU_ASSERT_EQUAL(recompute_trace(v, &again, 1, &new), 0);
		annex_trace_free(new);
		annex_vitality_destroy(v);
		annex_trace_free(t);
	}
}

UNIT_SUITE(recompute, {"kernels read the same", kernels_read_the_same},
	   {"never slower nor below the bound", never_slower_nor_below_the_bound},
	   {"a cheap kernel runs again", a_cheap_kernel_runs_again},
	   {"an iteration stays within limits", an_iteration_stays_within_limits},
	   {"new names are UTF-8", new_names_are_utf8})
