// SPDX-License-Identifier: MIT
/*
 * Plans whose memory is reclaimed: the simulator against a slow one that keeps to the same rules,
 * and cases that it found.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <annex/simulate.h>
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "simulate_reference.h"
#include "tests/unit/unit.h"

#define SHARE (UNIT_SANITIZED ? 10 : 1) /* of the random plans; the ordinary build has them all */

static uint64_t seed;

/* struct run - A trace and a plan on a machine. */
struct run {
	struct annex_trace *t;
	struct annex_plan *p;
	struct annex_system sys;
};

static bool one_in(uint32_t n)
{
	return !random_below(&seed, n);
}

static uint64_t bytes_up_to(uint64_t most)
{
	return random_next(&seed) % (most + 1);
}

/* Some are small against a chunk, and few of a round size. */
static void random_sizes(struct annex_trace *t)
{
	for (uint32_t i = 0; i < t->n_tensors; i++) {
		if (one_in(4))
			t->tensors[i].bytes = 100 + bytes_up_to(one_in(2) ? 1000 : 3 * MIB);
		else if (!one_in(4))
			t->tensors[i].bytes += bytes_up_to(MIB);
	}
}

static uint64_t random_memory(void)
{
	static const uint64_t most[] = {0, 40, 200, 2000};

	return bytes_up_to(most[random_below(&seed, 4)] * MIB);
}

static void random_machine(const struct annex_trace *t, struct annex_system *sys)
{
	uint64_t least = largest_kernel(t);

	round_system(sys);
	sys->gpu = least + random_below(&seed, 4) * bytes_up_to(100 * MIB) + !least;
	sys->host = random_memory();
	sys->cxl = one_in(3) ? random_memory() : 0;
	sys->cxl_rate = (50.0 + random_below(&seed, 1500)) * MIB;
	sys->host_link = one_in(3) ? (50.0 + random_below(&seed, 1500)) * MIB : 0;
	sys->ssds = random_below(&seed, 4);
	sys->ssd_bytes = one_in(2) ? 1ull << 40 : 0; /* the slow one has no flash */
	sys->ssd_read = (50.0 + random_below(&seed, 400)) * MIB;
	sys->ssd_write = (50.0 + random_below(&seed, 400)) * MIB;
	sys->ssd_read_ns = random_below(&seed, 2) * bytes_up_to(4000000);
	sys->ssd_write_ns = random_below(&seed, 2) * bytes_up_to(4000000);
	sys->fault_ns = random_below(&seed, 2) * bytes_up_to(2000000);
	sys->fault_bytes = 65536 + bytes_up_to(one_in(2) ? MIB : 200 * MIB);
	sys->frees = random_below(&seed, 2);
	sys->alloc = one_in(2) ? 1e18 : 4000.0 * MIB;
}

/* One of the library's plans that have memory reclaimed, or NULL: it makes none here. */
static struct annex_plan *policy_plan(const struct annex_trace *t, const struct annex_system *sys)
{
	static const char *const names[] = {"uvm", "deepum", "g10", "g10-gds", "g10-host"};
	const struct annex_policy *policy = annex_policy_find(names[random_below(&seed, 5)]);
	struct annex_vitality *v;
	struct annex_plan *p = NULL;
	int err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(policy);
	CU_ASSERT_EQUAL_FATAL(annex_vitality_create(t, &v), 0);
	err = annex_plan_make(policy, v, sys, &p);
	CU_ASSERT_FATAL(!err || err == -ENOSPC);
	annex_vitality_destroy(v);
	return p;
}

static struct annex_plan_step random_step(const struct run *run, uint32_t k, uint64_t ns)
{
	struct annex_plan_step s = {.kernel = k, .ns = ns};
	const struct annex_tensor *t;

	s.tensor = random_below(&seed, run->t->n_tensors);
	t = &run->t->tensors[s.tensor];
	s.bytes = one_in(2) ? t->bytes : 1 + bytes_up_to(t->bytes - 1);
	s.op = (uint8_t)(one_in(8) ? random_below(&seed, 2)
				   : ANNEX_PLAN_PREFETCH + random_below(&seed, 4));
	s.tier = (uint8_t)(ANNEX_TIER_HOST + random_below(&seed, 2 + run->sys.ssds));
	s.keep = (uint8_t)random_below(&seed, 2);
	return s;
}

/* The plan with some steps left out, some repeated, and some needless ones. */
static struct annex_plan *changed(const struct annex_plan *p, const struct run *run)
{
	uint32_t kept = 2 + random_below(&seed, 20), added = 1 + random_below(&seed, 10);
	struct annex_plan *q;
	uint64_t ns = 0;
	size_t step = 0;

	CU_ASSERT_EQUAL_FATAL(annex_plan_create(p->policy, run->t, &run->sys, &q), 0);
	for (uint32_t k = 0; k <= p->n_kernels; k++) {
		struct annex_plan_step s;

		for (; step < p->n_steps && p->steps[step].kernel == k; step++) {
			for (unsigned int n = one_in(kept) ? random_below(&seed, 3) : 1; n--;)
				CU_ASSERT_EQUAL_FATAL(annex_plan_add(q, &p->steps[step]), 0);
			ns = p->steps[step].ns;
		}
		s = random_step(run, k, ns);
		if (one_in(added))
			CU_ASSERT_EQUAL_FATAL(annex_plan_add(q, &s), 0);
	}
	CU_ASSERT_EQUAL_FATAL(annex_plan_finish(q), 0);
	q->flags = p->flags;
	q->window = p->window;
	return q;
}

static struct annex_plan *reclaiming_plan(const struct run *run)
{
	struct annex_plan *p = one_in(2) ? random_plan(&seed, run->t, &run->sys)
					 : policy_plan(run->t, &run->sys);

	if (!p)
		return NULL;
	p->flags |= ANNEX_PLAN_RECLAIM;
	if (one_in(2))
		p->flags ^= ANNEX_PLAN_OVERLAP;
	if (one_in(3))
		p->flags ^= ANNEX_PLAN_LAZY;
	if (one_in(30))
		p->flags ^= ANNEX_PLAN_UNLIMITED;
	if (one_in(2))
		p->window = random_below(&seed, p->n_kernels + 2);
	for (unsigned int n = random_below(&seed, 6); n--;) {
		struct annex_plan *q = changed(p, run);
		bool good = !annex_plan_check(q, run->t, &run->sys);

		annex_plan_free(good ? p : q);
		p = good ? q : p;
	}
	if (one_in(6))
		p->host = bytes_up_to(p->host);
	return p;
}

static bool agree(const struct run *run, unsigned int *stopped)
{
	struct annex_sim_job job = {run->t, run->p};
	struct annex_sim_options opts = {.iterations = 3};
	struct annex_sim_result r = {0};
	int err = annex_simulate(&job, 1, &run->sys, &opts, &r);
	double fast = err ? -1 : r.iteration, slow;

	CU_ASSERT_FATAL(!err || err == -ENOSPC || err == -EDEADLK);
	*stopped += err != 0;
	slow = demand_simulate(run->t, run->p, &run->sys, opts.iterations);
	if (err ? slow < 0 : slow >= 0 && fabs(fast - slow) <= 1e-6 * slow + 2e-9)
		return true;
	fprintf(stderr, "\n%.9f s, the slow one says %.9f s\n", fast, slow);
	return false;
}

static void print_run(const struct run *run)
{
	const struct annex_system *sys = &run->sys;

	print_case(run->t, sys, run->p);
	fprintf(stderr,
		"latencies %llu %llu, a fault %llu ns for %llu; cxl %g, host %g; plan's host "
		"%llu\n",
		(unsigned long long)sys->ssd_read_ns, (unsigned long long)sys->ssd_write_ns,
		(unsigned long long)sys->fault_ns, (unsigned long long)sys->fault_bytes,
		sys->cxl_rate, sys->host_link, (unsigned long long)run->p->host);
}

/* @made, @stopped: count traces with a plan, and plans that deadlock. */
static bool try_plan(unsigned int *made, unsigned int *stopped)
{
	struct run run;
	bool good = true;

	run.t = one_in(4) ? random_training(&seed, 1 + random_below(&seed, 4), 150 * MIB, 100000000)
			  : random_kernels(&seed, 1 + random_below(&seed, 9),
					   1 + random_below(&seed, 12), 150 * MIB, 100000000);
	random_sizes(run.t);
	random_machine(run.t, &run.sys);
	run.p = reclaiming_plan(&run);
	if (run.p) {
		++*made;
		good = agree(&run, stopped);
		CU_ASSERT(good);
		if (!good)
			print_run(&run);
	}
	annex_plan_free(run.p);
	annex_trace_free(run.t);
	return good;
}

static void as_slow_as_the_slow_one(void)
{
	const char *asked = getenv("ANNEX_PLANS");
	unsigned int want = asked ? (unsigned int)strtoul(asked, NULL, 10) : 300 / SHARE;
	unsigned int made = 0, stopped = 0;

	seed = random_seed("reclaim");
	while (made < want && try_plan(&made, &stopped))
		;
	printf(" %u plans, %u of which stop ", made, stopped);
	CU_ASSERT(made == want);
}

/* Milliseconds of the second iteration by both; -1: they disagree, or it stops. */
static double ms_of(struct run *run, const char *tensors, const char *kernels, const char *steps,
		    uint32_t flags)
{
	struct annex_sim_options opts = {.iterations = 2};
	struct annex_sim_result r = {0};
	double slow;
	int err;

	run->t = trace_from(tensors, kernels);
	run->p = plan_from(run->t, &run->sys, steps);
	run->p->flags = ANNEX_PLAN_RECLAIM | flags;
	err = annex_simulate(&(struct annex_sim_job){run->t, run->p}, 1, &run->sys, &opts, &r);
	slow = demand_simulate(run->t, run->p, &run->sys, opts.iterations);
	annex_plan_free(run->p);
	annex_trace_free(run->t);
	return err || fabs(r.iteration - slow) > 1e-8 ? -1 : slow * 1e3;
}

/*
 * Bytes of C that are reclaimed are called back, with the copy; then C is written, and freed.
 * Nothing more leaves then, but it was counted as if less than nothing did, and nothing was
 * reclaimed again.
 */
static void a_write_ends_what_leaves(void)
{
	struct run run;

	round_system(&run.sys);
	run.sys.gpu = 3 * MIB;
	run.sys.ssds = 0;
	CU_ASSERT_DOUBLE_EQUAL(ms_of(&run, "A:2 B:1 C:1", "0:BC 0: 0:>C",
				     "1 prefetch A 2; 2 prefetch C 1 keep; 3 free C", 0),
			       3, 1e-5);
}

/* C is freed while a part of it is in flight and the rest waits for memory, which then ends. */
static void the_dead_do_not_wait(void)
{
	struct run run;

	round_system(&run.sys);
	run.sys.gpu = 26 * MIB;
	run.sys.host = 0;
	run.sys.ssd_read = 351.0 * MIB;
	run.sys.ssd_read_ns = 1464330;
	run.sys.fault_ns = 0;
	run.sys.fault_bytes = 64 * MIB;
	CU_ASSERT_DOUBLE_EQUAL(
		ms_of(&run, "A:3.625 B:4.1355 C:10 D:0.25 E:5 F:17", "39: 8: 0:FD 0:CB 0:EA",
		      "0 prefetch C 10; 1 free F; 4 free C; 5 prefetch F 17", ANNEX_PLAN_LAZY),
		160.154834, 1e-5);
}

/* A is dead, and its memory has not been taken yet: none of it leaves by a step. */
static void the_dead_do_not_leave(void)
{
	struct run run;

	round_system(&run.sys);
	CU_ASSERT_DOUBLE_EQUAL(
		ms_of(&run, "A:4", "5: 0:A", "0 evict A 4 host; 2 free A", ANNEX_PLAN_LAZY), 5,
		1e-5);
}

UNIT_SUITE(reclaim, {"as the slow one", as_slow_as_the_slow_one},
	   {"a write ends what leaves", a_write_ends_what_leaves},
	   {"the dead do not wait", the_dead_do_not_wait},
	   {"the dead do not leave", the_dead_do_not_leave})
