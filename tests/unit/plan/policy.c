// SPDX-License-Identifier: MIT
/*
 * Policies: on traces and machines of all kinds, each makes a plan that runs or says why not, and
 * ours is never slower than G10's.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <annex/generate.h>
#include <annex/log.h>
#include <annex/simulate.h>
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define POLICIES 16

static uint64_t seed;

/* struct outcome - What became of a policy: an error of planning or running, or seconds. */
struct outcome {
	int err;
	double seconds;
};

static const struct annex_policy *policy(const char *name)
{
	const struct annex_policy *p = annex_policy_find(name);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	return p;
}

static bool same_plan(const struct annex_plan *a, const struct annex_plan *b)
{
	if (a->n_steps != b->n_steps || a->flags != b->flags || a->window != b->window)
		return false;
	for (size_t i = 0; i < a->n_steps; i++) {
		const struct annex_plan_step *x = &a->steps[i], *y = &b->steps[i];

		if (x->kernel != y->kernel || x->tensor != y->tensor || x->bytes != y->bytes ||
		    x->ns != y->ns || x->op != y->op || x->tier != y->tier || x->keep != y->keep)
			return false;
	}
	return true;
}

static bool complain(const char *what, const char *name)
{
	fprintf(stderr, "\n%s: %s: %s\n", name, what, annex_last_error());
	return false;
}

/* Two plans of one policy are equal. */
static bool repeats(const struct annex_policy *policy, const struct annex_vitality *v,
		    const struct annex_system *sys, const struct annex_plan *plan)
{
	struct annex_plan *again;
	bool same = !policy->make(v, sys, &again) && same_plan(plan, again);

	annex_plan_free(again);
	return same;
}

static bool judge(const struct annex_policy *policy, const struct annex_vitality *v,
		  const struct annex_system *sys, struct annex_plan *plan, double bound,
		  struct outcome *o)
{
	struct annex_sim_job jobs[ANNEX_MAX_GPUS];
	struct annex_sim_result r;
	double ideal = (double)v->start[v->trace->n_kernels] * 1e-9;
	const char *of = annex_plan_of(plan);

	for (uint32_t i = 0; i < sys->gpus; i++)
		jobs[i] = (struct annex_sim_job){v->trace, plan};
	if (of ? policy != annex_policy_find("annex") || !annex_policy_find(of)
	       : strcmp(plan->policy, policy->name))
		return complain("its plan has another name", policy->name);
	if (annex_plan_check(plan, v->trace, sys))
		return complain("its plan is not sound", policy->name);
	if (sys->strict && policy == annex_policy_find("annex") &&
	    (plan->flags & (ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM)) == ANNEX_PLAN_OVERLAP)
		return complain("kernels of its plan begin too early", policy->name);
	o->err = annex_simulate(jobs, sys->gpus, sys, NULL, &r);
	o->seconds = r.iteration;
	/* Without an SSD there may be no room for reclaimed bytes. */
	if (o->err && o->err != -ENOSPC && (o->err != -EDEADLK || sys->ssds))
		return complain("it cannot run", policy->name);
	if (!o->err && (r.host_peak > plan->host * sys->gpus || r.cxl_peak > plan->cxl * sys->gpus))
		return complain("it takes more memory than its plan has", policy->name);
	if (o->err && !annex_last_error()[0])
		return complain("no line", policy->name);
	if (o->err)
		return true;
	if (r.iteration < ideal * (1 - 1e-9) - 2e-9)
		return complain("faster than the ideal", policy->name);
	if (!(plan->flags & ANNEX_PLAN_UNLIMITED) && r.steady &&
	    r.iteration < bound * (1 - 1e-9) - 1e-9)
		return complain("faster than the bound", policy->name);
	if (!(plan->flags & ANNEX_PLAN_UNLIMITED) && r.gpu_peak > sys->gpu)
		return complain("too much on the GPU", policy->name);
	if (r.host_peak > sys->host || r.cxl_peak > sys->cxl)
		return complain("too much below", policy->name);
	return true;
}

static bool try_policy(const struct annex_policy *policy, const struct annex_vitality *v,
		       const struct annex_system *sys, double bound, struct outcome *o)
{
	struct annex_plan *plan = NULL;
	bool good;

	annex_plan_create("", v->trace, sys, &plan); /* leaves another line */
	o->err = policy->make(v, sys, &plan);
	if (o->err) {
		const char *line = annex_last_error();

		annex_plan_free(plan);
		if (o->err != -ENOSPC || !line[0] || strchr(line, '\n') || strstr(line, "letters"))
			return complain("no plan, and not for want of space", policy->name);
		return true;
	}
	good = judge(policy, v, sys, plan, bound, o);
	if (good && !repeats(policy, v, sys, plan))
		good = complain("another plan the second time", policy->name);
	annex_plan_free(plan);
	return good;
}

/* What the policies owe each other. */
static bool compare(const struct outcome *o, const struct annex_vitality *v, double allocs)
{
	const struct outcome *ideal = o, *g10 = o, *annex = o;
	double least = (double)v->start[v->trace->n_kernels] * 1e-9;

	for (unsigned int i = 0; annex_policy_at(i); i++) {
		if (annex_policy_at(i) == policy("ideal"))
			ideal = &o[i];
		if (annex_policy_at(i) == policy("g10"))
			g10 = &o[i];
		if (annex_policy_at(i) == policy("annex"))
			annex = &o[i];
	}
	if (ideal->err || fabs(ideal->seconds - least) > 1e-9 + least * 1e-9 + allocs)
		return complain("is not the ideal", "ideal");
	if (!g10->err && annex->err)
		return complain("cannot, and g10 can", "annex");
	if (!g10->err && annex->seconds > g10->seconds * 1.000001 + 1e-9) {
		fprintf(stderr, "annex %.9f s, g10 %.9f s, ideal %.9f s\n", annex->seconds,
			g10->seconds, least);
		return complain("slower than g10", "annex");
	}
	return true;
}

/* What allocation can take: the ideal has memory for all, but it is handed out no faster. */
static double allocations(const struct annex_trace *t, const struct annex_system *sys)
{
	double bytes = 0;

	for (uint32_t i = 0; i < t->n_tensors; i++)
		bytes += t->tensors[i].global ? 0 : (double)t->tensors[i].bytes;
	return bytes / sys->alloc;
}

static bool all_policies(const struct annex_trace *t, const struct annex_system *sys)
{
	struct outcome o[POLICIES] = {0};
	struct annex_vitality *v;
	double bound;
	bool good = true;

	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL_FATAL(annex_bound(v, sys, &bound), 0);
	for (unsigned int i = 0; annex_policy_at(i) && good; i++)
		good = try_policy(annex_policy_at(i), v, sys, bound, &o[i]);
	good = good && compare(o, v, allocations(t, sys));
	annex_vitality_destroy(v);
	CU_ASSERT(good);
	if (!good)
		print_case(t, sys, NULL);
	return good;
}

/* Small traces come in MiB, large ones in GiB, with links to match. */
static void random_machine(const struct annex_trace *t, uint64_t unit, struct annex_system *sys)
{
	static const uint64_t hosts[] = {0, 10, 100, 1000, 100000};
	uint64_t least = largest_kernel(t);
	double scale = (double)unit / (double)MIB;

	annex_system_init(sys);
	sys->gpus = random_below(&seed, 4) ? 1 : 1 + random_below(&seed, 4);
	sys->ssds = random_below(&seed, 5) ? 1 + random_below(&seed, 4) : 0;
	sys->gpu = least + random_below(&seed, 3) * random_below(&seed, 200) * unit + !least;
	sys->host = hosts[random_below(&seed, 5)] * unit * sys->gpus;
	sys->cxl = random_below(&seed, 4) ? 0 : random_below(&seed, 500) * unit;
	sys->cxl_rate = 500.0 * MIB * scale;
	sys->pcie = (random_below(&seed, 3) ? 1000.0 : 50.0) * MIB * scale;
	sys->ssd_read = (10.0 + random_below(&seed, 600)) * MIB * scale;
	sys->ssd_write = (10.0 + random_below(&seed, 600)) * MIB * scale;
	sys->ssd_duplex = random_below(&seed, 2) ? 2 : 0.5 + 0.25 * random_below(&seed, 6);
	if (!random_below(&seed, 4))
		sys->host_link = 700.0 * MIB * scale;
	sys->alloc = random_below(&seed, 4) ? 80 * sys->pcie : 1e18;
	sys->strict = !random_below(&seed, 3);
	sys->page_ns = random_below(&seed, 3) ? 0 : random_below(&seed, 20000);
}

static void random_small_traces(void)
{
	seed = random_seed("policies");
	for (int round = 0; round < 100; round++) {
		uint32_t n = random_below(&seed, 20);
		struct annex_trace *t =
			round % 2 ? random_kernels(&seed, n, 1 + random_below(&seed, 40), 100 * MIB,
						   100000000)
				  : random_training(&seed, 1 + n, 100 * MIB, 100000000);
		struct annex_system sys;
		bool good;

		random_machine(t, MIB, &sys);
		good = all_policies(t, &sys);
		annex_trace_free(t);
		if (!good)
			return;
	}
}

static void synthetic_training(void)
{
	seed = random_seed("synthetic");
	for (int round = 0; round < 4; round++) {
		struct annex_trace_spec spec = {.model = "synthetic",
						.kernels = 30 + random_below(&seed, 500),
						.seed = random_next(&seed),
						.peak = (20 + random_below(&seed, 100)) << 30};
		struct annex_system sys;
		struct annex_trace *t;
		bool good;

		CU_ASSERT_EQUAL_FATAL(annex_trace_generate(&spec, &t), 0);
		random_machine(t, 100 * MIB, &sys);
		if (round % 2) {
			annex_system_init(&sys);
			sys.gpu = largest_kernel(t) + (spec.peak / 1024) * random_below(&seed, 900);
		}
		good = all_policies(t, &sys);
		annex_trace_free(t);
		if (!good)
			return;
	}
}

/* Traces at the edge of what a trace can be, on machines that are small and large. */
static void degenerate_traces(void)
{
	static const char *const traces[][2] = {
		{"", "10:"},
		{"", "0:"},
		{"", "0: 0: 0:"},
		{"A:4g", "0:A"},
		{"A:64g", "10:"},
		{"A:64", "10:"},
		{"A:64g", "10:A"},
		{"A:64", "10:>A"},
		{"A:64g B:64g", "10:A 10:B"},
		{"A:64g B:64g C:64g", "0:A 0:B 0:C"},
		{"A:64g B:64g C:64g", "0:A 10:BC 0:"},
		{"A:64g B:64g C:64g", "10:A>A 10:B>B 10:C>C"},
		{"A:64g B:64 C:64g", "10:A>B 0:C 10:>B 10:C>C"},
		{"A:640g B:64g C:64g", "10:C 10:B"},
		{"A:64g B:64", "10:A 10:>B 10: 10: 10:"},
		{"A:0.00001g B:64g C:0.00001g D:60g", "1:A>B 1:C 1:A>D"},
	};
	static const uint64_t rooms[] = {0, 64, 128, 4096};

	seed = random_seed("degenerate");
	for (unsigned int i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		struct annex_trace *t = trace_from(traces[i][0], traces[i][1]);

		for (unsigned int k = 0; k < 32; k++) {
			struct annex_system sys;

			round_system(&sys);
			sys.gpu = largest_kernel(t) + rooms[k % 4] * MIB;
			sys.gpu += !sys.gpu;
			sys.host = rooms[k / 4 % 4] * MIB;
			sys.ssds = k / 16;
			if (!all_policies(t, &sys))
				fprintf(stderr, "trace %s, %s, machine %u\n", traces[i][0],
					traces[i][1], k);
		}
		annex_trace_free(t);
	}
}

/* A kernel that is larger than the GPU is named, and stops every policy but the ideal. */
static void kernels_larger_than_the_gpu(void)
{
	struct annex_trace *t = trace_from("A:64g B:64", "10:A 20:A>B");
	struct annex_vitality *v;
	struct annex_system sys;

	round_system(&sys);
	sys.gpu = 127 * MIB;
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	for (unsigned int i = 0; annex_policy_at(i); i++) {
		struct annex_plan *plan = NULL;
		struct annex_sim_result r;
		int err = annex_policy_at(i)->make(v, &sys, &plan);

		if (!err)
			err = annex_simulate(&(struct annex_sim_job){t, plan}, 1, &sys, NULL, &r);
		CU_ASSERT_EQUAL(err, annex_policy_at(i) == policy("ideal") ? 0 : -ENOSPC);
		CU_ASSERT(!err || strstr(annex_last_error(), "kernel 1") ||
			  annex_policy_at(i) == policy("flashneuron"));
		annex_plan_free(plan);
	}
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

/* Seconds of a policy on a trace of ../shared/traces; -1: it cannot run it. */
static double on_shared(const struct annex_vitality *v, const char *name)
{
	struct annex_plan *plan = NULL;
	struct annex_sim_result r;
	struct annex_system sys;
	int err;

	annex_system_init(&sys);
	err = policy(name)->make(v, &sys, &plan);
	if (!err)
		err = annex_simulate(&(struct annex_sim_job){v->trace, plan}, 1, &sys, NULL, &r);
	annex_plan_free(plan);
	return err ? -1 : r.iteration;
}

static void compare_shared(const struct annex_vitality *v, const double *g10s, double share)
{
	static const char *const names[] = {"uvm", "flashneuron", "deepum", "g10"};
	/* g10: on vit-1280 what G10's simulator does otherwise tells (docs/benchmarks.md). */
	static const double within[] = {0.25, 0.25, 0.25, 0.07};
	double seconds[4], annex = on_shared(v, "annex");

	for (int i = 0; i < 4; i++) {
		seconds[i] = on_shared(v, names[i]);
		if (g10s[i] < 0)
			CU_ASSERT(seconds[i] < 0)
		else
			CU_ASSERT(fabs(seconds[i] / g10s[i] - 1) <= within[i]);
	}
	CU_ASSERT(seconds[0] > seconds[1] && seconds[0] > seconds[2] && seconds[2] > seconds[3]);
	CU_ASSERT(annex <= seconds[3]);
	CU_ASSERT((double)v->start[v->trace->n_kernels] * 1e-9 / annex >= share);
}

/* What G10's own planner and simulator reach, as the README of the traces has it. */
static void traces_of_g10(void)
{
	static const struct {
		const char *path;
		double seconds[4], share;
	} known[] = {
		{"../shared/traces/bert-256.json", {19.650, 10.216, 9.160, 7.311}, 0.998},
		{"../shared/traces/vit-1280.json", {24.600, -1, 7.558, 5.540}, 0.95},
		{"../shared/traces/resnet152-1280.json",
		 {468.908, 175.261, 132.024, 114.420},
		 0.995},
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct annex_vitality *v;
		struct annex_trace *t;

		if (access(known[i].path, R_OK))
			continue;
		CU_ASSERT_EQUAL_FATAL(annex_trace_read(known[i].path, &t), 0);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		compare_shared(v, known[i].seconds, known[i].share);
		annex_vitality_destroy(v);
		annex_trace_free(t);
	}
}

/* Bytes that are not used again leave before they are freed: else the last tensor has no room. */
static void tensors_that_die_late(void)
{
	struct annex_trace *t = trace_from("A:64l B:64l C:64l D:64l E:64",
					   "900:>A 900:>B 900:>C 900:>D 900:>E");
	unsigned int ops[ANNEX_PLAN_OPS] = {0};
	struct annex_sim_result r;
	struct annex_vitality *v;
	struct annex_system sys;
	struct annex_plan *p;
	double bound;

	round_system(&sys);
	sys.gpu = 128 * MIB;
	sys.host = 0;
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL_FATAL(annex_plan_make(policy("annex"), v, &sys, &p), 0);
	for (size_t i = 0; i < p->n_steps; i++)
		ops[p->steps[i].op]++;
	CU_ASSERT(ops[ANNEX_PLAN_EVICT] >= 3);
	CU_ASSERT_EQUAL(ops[ANNEX_PLAN_PREFETCH], 0);
	CU_ASSERT_EQUAL(annex_simulate(&(struct annex_sim_job){t, p}, 1, &sys, NULL, &r), 0);
	CU_ASSERT(r.iteration < 4.6 && r.in[ANNEX_TIER_SSD] == 0);
	CU_ASSERT(r.out[ANNEX_TIER_SSD] >= 192 * MIB);
	/* They cannot be written faster than the link is. */
	sys.ssd_write = 20.0 * MIB;
	CU_ASSERT_EQUAL(annex_bound(v, &sys, &bound), 0);
	CU_ASSERT(bound >= 192 / 20.0);
	annex_plan_free(p);
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

/* Seconds of annex's plan on a machine. */
static double annex_takes(const struct annex_vitality *v, const struct annex_system *sys)
{
	struct annex_sim_result r;
	struct annex_plan *p;

	CU_ASSERT_EQUAL_FATAL(annex_plan_make(policy("annex"), v, sys, &p), 0);
	CU_ASSERT_EQUAL(annex_simulate(&(struct annex_sim_job){v->trace, p}, 1, sys, NULL, &r), 0);
	annex_plan_free(p);
	return r.iteration;
}

/*
 * Weights are written in the backward pass, where the link is idle, and leave in the forward pass,
 * where activations need all of it.
 */
static void weights_are_copied_early(void)
{
	struct annex_trace *t = trace_from("A:30g B:30g C:30g D:30g E:30g F:30g "
					   "G:40 H:40 I:40 J:40 K:40 L:40",
					   "30:A>G 30:BG>H 30:CH>I 30:DI>J 30:EJ>K 30:FK>L "
					   "80:FL>F 80:EK>E 80:DJ>D 80:CI>C 80:BH>B 80:AG>A");
	struct annex_vitality *v;
	struct annex_system sys;

	round_system(&sys);
	sys.gpu = 200 * MIB;
	sys.strict = true;
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT(annex_takes(v, &sys) < 0.661);
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

/* How many times its bound annex's plan takes, with GiB of GPU and host memory. */
static double times_the_bound(const char *model, uint32_t batch, uint64_t gpu, uint64_t host)
{
	struct annex_trace_spec spec = {.model = model, .batch = batch};
	struct annex_vitality *v;
	struct annex_system sys;
	struct annex_trace *t;
	double bound, s;

	annex_system_init(&sys);
	sys.gpu = gpu << 30;
	sys.host = host << 30;
	CU_ASSERT_EQUAL_FATAL(annex_trace_generate(&spec, &t), 0);
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	CU_ASSERT_EQUAL(annex_bound(v, &sys, &bound), 0);
	s = annex_takes(v, &sys);
	annex_vitality_destroy(v);
	annex_trace_free(t);
	return s / bound;
}

/* Where no plan runs without stalls, passes expect them from the beginning. */
static void stalls_are_expected(void)
{
	CU_ASSERT(times_the_bound("bert-base", 96, 6, 16) <= 1.06);
	CU_ASSERT(times_the_bound("gpt2", 8, 10, 32) <= 1.06);
}

/* A tensor of which half is in host memory and half on an SSD would wait for the SSD. */
static void tensors_leave_to_one_tier(void)
{
	CU_ASSERT(times_the_bound("gpt2", 8, 8, 6) <= 1.1);
}

/* Bit 0 of @i: a larger GPU; bit 1: more host memory; above: an SSD of twice the rate. */
static struct annex_system machine_of(unsigned int i)
{
	struct annex_system sys;

	annex_system_init(&sys);
	sys.gpu = (i & 1 ? 14ull : 10ull) << 30;
	sys.host = (i & 2 ? 32ull : 8ull) << 30;
	sys.ssd_read = sys.ssd_write = 3.2e9 * (1 << i / 4);
	return sys;
}

/* A plan for a smaller machine runs on a larger one too: the planner is at most 1 % behind it. */
static void more_machine_is_not_slower(void)
{
	static const struct annex_trace_spec specs[] = {{.model = "bert-base", .batch = 96},
							{.model = "gpt2", .batch = 8},
							{.model = "resnet50", .batch = 192}};

	for (unsigned int m = 0; m < sizeof(specs) / sizeof(*specs); m++) {
		struct annex_vitality *v;
		struct annex_trace *t;
		double s[12];

		CU_ASSERT_EQUAL_FATAL(annex_trace_generate(&specs[m], &t), 0);
		CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
		for (unsigned int i = 0; i < 12; i++) {
			struct annex_system sys = machine_of(i);

			s[i] = annex_takes(v, &sys);
			for (unsigned int less = 0; less < i; less++)
				CU_ASSERT((less & i & 3) != (less & 3) || s[i] <= s[less] * 1.01);
		}
		annex_vitality_destroy(v);
		annex_trace_free(t);
	}
}

/* A kernel that uses weights needs no second copy of these weights, which stay on the GPU. */
static void flashneuron_counts_weights_once(void)
{
	struct annex_trace *t = trace_from("A:60g B:4", "10:A>B 10:AB");
	struct annex_vitality *v;
	struct annex_system sys;
	struct annex_plan *plan = NULL;

	round_system(&sys);
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	for (unsigned int less = 0; less < 2; less++) {
		sys.gpu = 64 * MIB - less;
		CU_ASSERT_EQUAL(policy("flashneuron")->make(v, &sys, &plan), less ? -ENOSPC : 0);
		annex_plan_free(plan);
		plan = NULL;
	}
	annex_vitality_destroy(v);
	annex_trace_free(t);
}

UNIT_SUITE(policy, {"random small traces", random_small_traces},
	   {"weights are copied early", weights_are_copied_early},
	   {"stalls are expected", stalls_are_expected},
	   {"tensors leave to one tier", tensors_leave_to_one_tier},
	   {"more machine is not slower", more_machine_is_not_slower},
	   {"synthetic training", synthetic_training}, {"degenerate traces", degenerate_traces},
	   {"tensors that die late", tensors_that_die_late},
	   {"kernels larger than the GPU", kernels_larger_than_the_gpu},
	   {"flashneuron counts weights once", flashneuron_counts_weights_once},
	   {"what G10's own simulator says", traces_of_g10})
