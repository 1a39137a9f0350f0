// SPDX-License-Identifier: MIT
/*
 * The simulator: times computed by hand, comparison with a slow simulator, and rejected plans.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/simulate.h>
#include "plan_traces.h"
#include "tests/unit/random.h"
#include "simulate_reference.h"
#include "tests/unit/unit.h"

/* Of the slow one: seconds that it reckons at once, and how much wider its machines are. */
#define SLOW_STEP 5e-5
#define SHARE (UNIT_SANITIZED ? 4 : 1) /* of the random plans; the ordinary build has them all */
#define WIDE 256

static uint64_t seed;

/* struct run - A trace and a plan on a machine, and the result. */
struct run {
	struct annex_trace *t;
	struct annex_plan *p;
	struct annex_system sys;
	struct annex_sim_options opts;
	struct annex_sim_result r;
};

static struct run setup(const char *tensors, const char *kernels)
{
	struct run run = {.t = trace_from(tensors, kernels)};

	round_system(&run.sys);
	return run;
}

static int simulate(struct run *run, unsigned int n)
{
	struct annex_sim_job jobs[4];

	for (unsigned int i = 0; i < n; i++)
		jobs[i] = (struct annex_sim_job){run->t, run->p};
	return annex_simulate(jobs, n, &run->sys, &run->opts, &run->r);
}

/* Milliseconds of the steady iteration of @n GPUs with the same plan. */
static double ms_of(struct run *run, unsigned int n, const char *steps)
{
	int err;

	annex_plan_free(run->p);
	run->p = plan_from(run->t, &run->sys, steps);
	err = simulate(run, n);
	CU_ASSERT_EQUAL(err, 0);
	if (err)
		fprintf(stderr, "\n%s\n", annex_last_error());
	CU_ASSERT(err || run->r.steady);
	return run->r.iteration * 1e3;
}

static bool is(double ms, double want)
{
	bool same = fabs(ms - want) < 1e-5;

	if (!same)
		fprintf(stderr, "\n%.6f ms, not %.6f\n", ms, want);
	return same;
}

static void done(struct run *run)
{
	annex_plan_free(run->p);
	annex_trace_free(run->t);
}

static void out_and_back(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 100:B 10:A");

	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 64 host; 2 prefetch A 64"), 120 + 64));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 64 * MIB);
	CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_HOST], 64 * MIB);
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_SSD] + run.r.in[ANNEX_TIER_SSD], 0);
	CU_ASSERT(is(run.r.stalled * 1e3, 64));
	CU_ASSERT(is(run.r.overlapped * 1e3, 64));
	CU_ASSERT(is(run.r.ideal * 1e3, 120));
	CU_ASSERT_EQUAL(run.r.stalled_kernels, 1);
	CU_ASSERT_EQUAL(run.r.faults, 0);
	CU_ASSERT_EQUAL(run.r.gpu_peak, 68 * MIB);
	CU_ASSERT_EQUAL(run.r.host_peak, 64 * MIB);
	CU_ASSERT_EQUAL(run.r.cxl_peak, 0);
	/* To an SSD, five times as slow; it is not all out when it is asked back. */
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 20 ssd; 2 prefetch A 20"), 120 + 100));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_SSD], 20 * MIB);
	CU_ASSERT_EQUAL(run.r.host_peak, 0);
	/* Asked back in time it costs nothing. */
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 44 host; 1 prefetch A 44"), 120));
	done(&run);
}

static void what_has_not_left_stays(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 18:B 10:A");

	/* Four chunks of 4 MiB are out, the fifth one is under way and becomes a copy. */
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 64 host; 2 prefetch A 64"), 38 + 16));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 20 * MIB);
	CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_HOST], 16 * MIB);
	done(&run);
}

static void what_stays_may_leave_again(void)
{
	struct run run = setup("A:64g B:4g C:64", "10:A>A 2:B 10:>C 10:A");

	/* The chunk under way is written for nothing; then all leaves, that chunk as well. */
	run.sys.gpu = 68 * MIB;
	CU_ASSERT(is(ms_of(&run, 1,
			   "1 evict A 64 host; 2 prefetch A 64; 2 evict A 64 host; 2 alloc C; "
			   "3 free C; 3 prefetch A 64"),
		     32 + 2 + 64 + 64));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 68 * MIB);
	CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_HOST], 64 * MIB);
	done(&run);
}

static void both_ways_at_once(void)
{
	struct run run = setup("A:64g B:64g C:4g", "100:A>A 100:B>B 64:C 0:B>A");

	/* While A goes out, B comes in. */
	CU_ASSERT(is(ms_of(&run, 1,
			   "0 evict B 64 host; 1 prefetch B 64; 2 evict A 64 host; "
			   "3 prefetch A 64; "),
		     264 + 128));
	CU_ASSERT(is(ms_of(&run, 1,
			   "1 evict A 64 host; 2 evict B 64 host; 2 prefetch A 64; "
			   "3 prefetch B 64"),
		     264 + 64));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 128 * MIB);
	CU_ASSERT(is(run.r.overlapped * 1e3, 64 + 64));
	done(&run);
}

static void ssd_and_host_share_the_link(void)
{
	struct run run = setup("A:80g B:64g C:4g", "10:A>A 10:B>B 1000:C 0:AB");

	/* The SSD has its 200 MiB/s, host memory the other 800: both take 80 ms or more. */
	CU_ASSERT(is(ms_of(&run, 1,
			   "2 evict A 80 host; 2 evict B 20 ssd; 3 prefetch A 80; "
			   "3 prefetch B 20"),
		     1020 + 100));
	CU_ASSERT(is(ms_of(&run, 1,
			   "2 evict A 40 host; 2 evict B 20 ssd; 3 prefetch A 40; "
			   "3 prefetch B 20"),
		     1020 + 100));
	CU_ASSERT(is(ms_of(&run, 1,
			   "2 evict A 80 host; 2 evict B 8 ssd; 3 prefetch A 80; "
			   "3 prefetch B 8"),
		     1020 + 40 + 48));
	done(&run);
}

static void latency_of_reads(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 400:B 10:A");

	run.sys.ssd_read_ns = 5000000;
	run.sys.ssd_write_ns = 3000000;
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 64 ssd; 2 prefetch A 64"), 420 + 320 + 5));
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 64 host; 2 prefetch A 64"), 420 + 64));
	done(&run);
}

static void memory_at_a_rate(void)
{
	struct run run = setup("A:64 B:16", "10:>A 10:A>B");

	run.sys.alloc = 4000.0 * MIB;
	CU_ASSERT(is(ms_of(&run, 1, "0 alloc A; 1 alloc B; 2 free A; 2 free B"), 16 + 10 + 4 + 10));
	CU_ASSERT(is(ms_of(&run, 1, "0 alloc A; 0 alloc B; 2 free A; 2 free B"), 16 + 10 + 10));
	done(&run);
}

static void copies_leave_for_free(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 100:B 10:A 10:B 10:A");

	/* Saved while kernel 1 runs; dropped twice, brought back twice. */
	CU_ASSERT(is(ms_of(&run, 1,
			   "1 save A 64 host; 2 evict A 0.001 host; 2 prefetch A 0.001 "
			   "keep; 3 evict A 64 host; 4 prefetch A 64"),
		     140 + 64 + 0.001));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 64 * MIB);
	/* Without keeping, the copy is worth nothing the second time. */
	CU_ASSERT(is(ms_of(&run, 1,
			   "1 evict A 64 host; 2 prefetch A 64; 3 evict A 8 host; "
			   "4 prefetch A 8"),
		     140 + 64 + 8));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 72 * MIB);
	CU_ASSERT(is(ms_of(&run, 1,
			   "1 evict A 64 host; 2 prefetch A 64 keep; 3 evict A 8 host; "
			   "4 prefetch A 8"),
		     140 + 64 + 8));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 64 * MIB);
	done(&run);
}

static void writes_make_copies_stale(void)
{
	struct run run = setup("A:64g B:4g", "100:B 10:A>A 100:B 10:A");

	CU_ASSERT(is(ms_of(&run, 1, "0 save A 64 host; 2 evict A 64 host; 3 prefetch A 64 keep"),
		     220 + 64));
	/* A copy before the write, one after it; the second serves until the next iteration. */
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 64 * MIB);
	CU_ASSERT(is(ms_of(&run, 1, "0 save A 64 host; 2 evict A 64 host; 3 prefetch A 64"),
		     220 + 64));
	CU_ASSERT_EQUAL(run.r.out[ANNEX_TIER_HOST], 128 * MIB);
	done(&run);
}

static void what_returns_gives_room_back(void)
{
	struct run run = setup("A:64g B:64g C:4g", "10:A>A 100:B>B 100:C 100:A 0:B");

	run.sys.host = 100 * MIB;
	CU_ASSERT(is(ms_of(&run, 1,
			   "1 evict A 64 host; 2 prefetch A 64; 2 evict B 64 host; "
			   "4 prefetch B 64"),
		     310 + 64));
	CU_ASSERT(run.r.host_peak <= 100 * MIB && run.r.host_peak >= 64 * MIB);
	annex_plan_free(run.p);
	run.p = plan_from(run.t, &run.sys,
			  "1 evict A 64 host; 2 prefetch A 64 keep; "
			  "2 evict B 64 host; 4 prefetch B 64");
	CU_ASSERT_EQUAL(simulate(&run, 1), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "host"));
	done(&run);
}

static void gpus_share(void)
{
	struct run run = setup("A:60g B:4g", "10:A>A 1000:B 10:A");
	const char *to_ssd = "1 evict A 60 ssd; 2 prefetch A 60";
	const char *to_host = "1 evict A 60 host; 2 prefetch A 60";

	run.sys.gpus = 2;
	CU_ASSERT(is(ms_of(&run, 1, to_ssd), 1020 + 300));
	CU_ASSERT(is(ms_of(&run, 2, to_ssd), 1020 + 600));
	CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_SSD], 120 * MIB);
	CU_ASSERT(is(ms_of(&run, 2, to_host), 1020 + 60));
	CU_ASSERT_EQUAL(run.r.host_peak, 120 * MIB);
	run.sys.host_link = 1000.0 * MIB;
	CU_ASSERT(is(ms_of(&run, 2, to_host), 1020 + 120));
	run.sys.ssds = 2;
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 30 ssd0; 1 evict A 30 ssd1; 2 prefetch A 60"),
		     1020 + 150));
	CU_ASSERT(is(ms_of(&run, 2, "1 evict A 30 ssd0; 1 evict A 30 ssd1; 2 prefetch A 60"),
		     1020 + 300));
	done(&run);
}

static void each_gpu_has_its_result(void)
{
	struct run run = setup("A:60g B:4g", "10:A>A 1000:B 10:A");
	struct annex_sim_result gpus[2];
	struct annex_sim_job jobs[2];

	run.sys.gpus = 2;
	run.opts.gpus = gpus;
	run.p = plan_from(run.t, &run.sys, "1 evict A 60 ssd; 2 prefetch A 60");
	jobs[0] = (struct annex_sim_job){run.t, plan_from(run.t, &run.sys, "")};
	jobs[1] = (struct annex_sim_job){run.t, run.p};
	CU_ASSERT_EQUAL(annex_simulate(jobs, 2, &run.sys, &run.opts, &run.r), 0);
	CU_ASSERT(is(gpus[0].iteration * 1e3, 1020) && is(gpus[0].stalled * 1e3, 0));
	CU_ASSERT(is(gpus[1].iteration * 1e3, 1020 + 300) && is(gpus[1].stalled * 1e3, 300));
	CU_ASSERT_EQUAL(gpus[0].in[ANNEX_TIER_SSD], 0);
	CU_ASSERT_EQUAL(gpus[1].in[ANNEX_TIER_SSD], 60 * MIB);
	/* What all did, and how long the slowest took. */
	CU_ASSERT(is(run.r.iteration * 1e3, 1020 + 300) && is(run.r.stalled * 1e3, 300));
	CU_ASSERT_EQUAL(run.r.stalled_kernels, 1);
	annex_plan_free((struct annex_plan *)jobs[0].plan);
	done(&run);
}

/* A plan that has all of the host's memory for itself has no neighbour. */
static void plans_together_fit(void)
{
	struct run run = setup("A:60g B:4g", "10:A>A 1000:B");

	run.sys.host = 100 * MIB;
	run.p = plan_from(run.t, &run.sys, "0 prefetch A 60; 1 evict A 60 host");
	CU_ASSERT_EQUAL(simulate(&run, 1), 0);
	CU_ASSERT_EQUAL(run.r.host_peak, 60 * MIB);
	run.sys.gpus = 2;
	CU_ASSERT_EQUAL(simulate(&run, 2), -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "together"));
	run.sys.host = 120 * MIB;
	CU_ASSERT_EQUAL(simulate(&run, 2), 0);
	CU_ASSERT_EQUAL(run.r.host_peak, 120 * MIB);
	done(&run);
}

static void limited(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 100:B 10:A");

	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 64 host; 2 prefetch A 64"), 184));
	run.opts.limit = 0.185;
	CU_ASSERT_EQUAL(simulate(&run, 1), 0);
	run.opts.limit = 0.183;
	CU_ASSERT_EQUAL(simulate(&run, 1), -ETIME);
	done(&run);
}

static void cxl_memory_at_its_rate(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 1000:B 10:A");

	run.sys.cxl = 64 * MIB;
	run.sys.cxl_rate = 400.0 * MIB;
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 64 cxl; 2 prefetch A 64"), 1020 + 160));
	CU_ASSERT_EQUAL(run.r.cxl_peak, 64 * MIB);
	CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_CXL], 64 * MIB);
	/* Half from host memory: beside the 400, it has the other 600. */
	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 32 cxl; 1 evict A 32 host; 2 prefetch A 64"),
		     1020 + 80));
	run.sys.gpus = 2;
	CU_ASSERT(is(ms_of(&run, 2, "1 evict A 32 cxl; 2 prefetch A 32"), 1020 + 160));
	done(&run);
}

static void noise(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 100:B 10:A");
	struct annex_sim_result first;

	CU_ASSERT(is(ms_of(&run, 1, "1 evict A 64 host; 2 prefetch A 64"), 184));
	run.opts = (struct annex_sim_options){.noise = 0.2, .seed = 3, .iterations = 3};
	CU_ASSERT_EQUAL(simulate(&run, 1), 0);
	first = run.r;
	CU_ASSERT_EQUAL(first.iterations, 3);
	CU_ASSERT(is((first.iteration - first.ideal) * 1e3, 64));
	CU_ASSERT(fabs(first.ideal - 0.12) > 1e-9 && fabs(first.ideal - 0.12) <= 0.024);
	CU_ASSERT_EQUAL(simulate(&run, 1), 0);
	CU_ASSERT(first.iteration == run.r.iteration && first.stalled == run.r.stalled);
	run.opts.seed = 4;
	CU_ASSERT_EQUAL(simulate(&run, 1), 0);
	CU_ASSERT(fabs(first.ideal - run.r.ideal) > 1e-9);
	done(&run);
}

static void faults_bring_what_nobody_brought(void)
{
	struct run run = setup("A:64g B:4g", "10:A 10:B");

	run.p = plan_from(run.t, &run.sys, "1 evict A 64 host");
	CU_ASSERT_EQUAL(simulate(&run, 1), -EINVAL);
	run.p->flags = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM;
	CU_ASSERT_EQUAL(simulate(&run, 1), 0);
	CU_ASSERT(run.r.steady);
	CU_ASSERT_EQUAL(run.r.faults, run.r.in[ANNEX_TIER_HOST] / 4096);
	CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_HOST], run.r.out[ANNEX_TIER_HOST]);
	done(&run);
}

/*
 * When A is needed again 12 MiB of it have left, and are fetched at 1 MiB/ms. Without overlap the
 * kernel begins after that; with it the kernel stands still meanwhile. Either pays once.
 */
static void faults_are_paid_once(void)
{
	static const uint32_t flags[] = {ANNEX_PLAN_RECLAIM,
					 ANNEX_PLAN_RECLAIM | ANNEX_PLAN_OVERLAP};
	struct run run = setup("A:64g B:4g", "10:A 10:B");

	run.p = plan_from(run.t, &run.sys, "1 evict A 64 host");
	for (unsigned int i = 0; i < 2; i++) {
		run.p->flags = flags[i];
		run.sys.fault_ns = 0;
		CU_ASSERT_EQUAL(simulate(&run, 1), 0);
		CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_HOST], 12 * MIB);
		CU_ASSERT(is(run.r.iteration * 1e3, 20 + 12));
		run.sys.fault_ns = 3000000;
		run.sys.fault_bytes = 64 * MIB;
		CU_ASSERT_EQUAL(simulate(&run, 1), 0);
		CU_ASSERT_EQUAL(run.r.faults, 12 * MIB / 4096);
		CU_ASSERT(is(run.r.iteration * 1e3, 20 + 12 + 3));
		/* Faults on 5 MiB are handled together. */
		run.sys.fault_bytes = 5 * MIB;
		CU_ASSERT_EQUAL(simulate(&run, 1), 0);
		CU_ASSERT_EQUAL(run.r.faults, 12 * MIB / 4096);
		CU_ASSERT(is(run.r.iteration * 1e3, 20 + 12 + 9));
	}
	done(&run);
}

/*
 * A comes back from a slow SSD, for which 64 MiB would have to be free at once. Where a driver
 * gives memory to what arrives, C has it meanwhile.
 */
static void memory_is_taken_as_bytes_come(void)
{
	struct run run = setup("A:64g B:4g C:60", "10:A 400:B 10:>C 400:B 10:A");

	run.sys.gpu = 100 * MIB;
	run.p = plan_from(run.t, &run.sys,
			  "1 evict A 64 ssd; 2 prefetch A 64; 2 alloc C 60; 3 free C 60");
	run.p->flags = ANNEX_PLAN_RECLAIM | ANNEX_PLAN_OVERLAP;
	CU_ASSERT_EQUAL(simulate(&run, 1), 0);
	CU_ASSERT(is(run.r.iteration * 1e3, 830));
	CU_ASSERT_EQUAL(run.r.faults, 0);
	CU_ASSERT_EQUAL(run.r.in[ANNEX_TIER_SSD], 64 * MIB);
	done(&run);
}

/* More than an iteration has kernels is as much as an iteration. */
static void windows_end(void)
{
	static const uint32_t windows[] = {1, 2, 3, 1u << 31, UINT32_MAX};
	struct run run = setup("A:64g B:4g", "10:A 10:B");
	double first = 0;

	run.p = plan_from(run.t, &run.sys, "1 evict A 64 host");
	run.p->flags = ANNEX_PLAN_RECLAIM;
	for (unsigned int i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		run.p->window = windows[i];
		CU_ASSERT_EQUAL(simulate(&run, 1), 0);
		first = i ? first : run.r.iteration;
		CU_ASSERT_EQUAL(run.r.iteration, first);
	}
	done(&run);
}

static void refusals(void)
{
	struct run run = setup("A:64g B:4g", "10:A>A 100:B 10:A");
	struct annex_trace *other = trace_from("A:64g B:4g", "10:A>A 101:B 10:A");

	run.p = plan_from(other, &run.sys, "1 evict A 64 host; 2 prefetch A 64");
	CU_ASSERT_EQUAL(simulate(&run, 1), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "another trace"));
	annex_plan_free(run.p);
	run.p = plan_from(run.t, &run.sys, "1 evict A 64 host");
	CU_ASSERT_EQUAL(simulate(&run, 1), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "kernel 0"));
	run.sys.gpu = 63 * MIB;
	CU_ASSERT_EQUAL(simulate(&run, 1), -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "kernel 0"));
	annex_trace_free(other);
	done(&run);
}

static void random_machine(const struct annex_trace *t, struct annex_system *sys)
{
	static const uint64_t hosts[] = {0, 40, 200, 2000};
	uint64_t least = largest_kernel(t);

	round_system(sys);
	sys->gpu = least + random_below(&seed, 3) * random_below(&seed, 100) * MIB + !least;
	sys->host = hosts[random_below(&seed, 4)] * MIB;
	sys->cxl = random_below(&seed, 3) ? 0 : random_below(&seed, 200) * MIB;
	sys->cxl_rate = 600.0 * MIB;
	sys->ssds = random_below(&seed, 3);
	sys->ssd_write = (50.0 + random_below(&seed, 400)) * MIB;
	sys->ssd_duplex = 0.5 + 0.5 * random_below(&seed, 4);
	sys->ssd_read_ns = random_below(&seed, 2) * 2000000;
	sys->alloc = random_below(&seed, 2) ? 1e18 : 4000.0 * MIB;
}

static bool consistent(const struct run *run)
{
	const struct annex_sim_sample *s = run->opts.samples;
	uint64_t in = 0, out = 0, end = 0;

	for (uint32_t k = 0; k < run->t->n_kernels; k++) {
		if (s[k].start != end || s[k].end < s[k].start || s[k].gpu > run->sys.gpu ||
		    s[k].gpu > run->r.gpu_peak)
			return false;
		end = s[k].end;
		in += s[k].in;
		out += s[k].out;
	}
	for (unsigned int t = 0; t < ANNEX_TIERS; t++) {
		in -= run->r.in[t];
		out -= run->r.out[t];
	}
	return !in && !out && fabs((double)end * 1e-9 - run->r.iteration) < 2e-9 &&
	       run->r.gpu_peak <= run->sys.gpu && run->r.host_peak <= run->sys.host &&
	       run->r.cxl_peak <= run->sys.cxl &&
	       run->r.iteration >= run->r.ideal * (1 - 1e-9) - 1e-9;
}

/* A valid plan never blocks, and its result is consistent. */
static bool goes_on(struct run *run)
{
	int err;

	run->opts.samples = calloc(run->t->n_kernels, sizeof(*run->opts.samples));
	CU_ASSERT_PTR_NOT_NULL_FATAL(run->opts.samples);
	err = simulate(run, 1);
	if (err)
		fprintf(stderr, "\n%d: %s\n", err, annex_last_error());
	else if (!consistent(run))
		fprintf(stderr, "\nthe result contradicts itself\n");
	err = err || !consistent(run);
	free(run->opts.samples);
	run->opts.samples = NULL;
	return !err;
}

/*
 * The slow one has no chunks, and steps of a fixed time. Either can make each step of the plan that
 * much later, or earlier.
 */
static double tolerance(const struct run *run, double step)
{
	double slowest = fmin(run->sys.ssd_write, run->sys.ssd_read);

	return (double)run->p->n_steps * 4.0 * MIB / slowest +
	       (double)(run->p->n_steps + run->t->n_kernels) * step;
}

static bool close_to_reference(struct run *run)
{
	double fast, slow, step = SLOW_STEP;

	run->opts = (struct annex_sim_options){.iterations = 3};
	CU_ASSERT_EQUAL_FATAL(simulate(run, 1), 0);
	fast = run->r.iteration;
	/* Where its steps add up it comes closer with shorter ones. */
	for (unsigned int i = 0; i < 2; i++, step /= 4) {
		slow = reference_simulate(run->t, run->p, &run->sys, 3, step);
		if (fabs(fast - slow) <= tolerance(run, step))
			return true;
	}
	fprintf(stderr, "\n%.6f s, the slow one says %.6f s\n", fast, slow);
	return false;
}

/* More of everything in the same time, so that a chunk is little. */
static void widen(struct annex_trace *t, struct annex_system *sys)
{
	for (uint32_t i = 0; i < t->n_tensors; i++)
		t->tensors[i].bytes *= WIDE;
	sys->gpu *= WIDE;
	sys->host *= WIDE;
	sys->cxl *= WIDE;
	sys->pcie *= WIDE;
	sys->cxl_rate *= WIDE;
	sys->ssd_read *= WIDE;
	sys->ssd_write *= WIDE;
	sys->alloc = fmin(sys->alloc * WIDE, 1e18);
	sys->page_ns = random_below(&seed, 3) ? 0 : random_below(&seed, 80);
}

/*
 * A random plan on which the two disagreed: the slow one let the bytes of a chunk leave one by one,
 * so that a recall paid a read's latency that is not there. Its quotes are single here.
 */
static const char disagreed_trace[] =
	"{'format':'annex-trace/1','tensors':[{'id':0,'bytes':26843545600,'global':true},"
	"{'id':1,'bytes':51997696,'global':false}],'kernels':[{'ns':0,'in':[1],'out':[0]},"
	"{'ns':26445871,'in':[],'out':[0]},"
	"{'ns':75782119,'in':[1,0],'out':[]},"
	"{'ns':0,'in':[],'out':[]},"
	"{'ns':63858674,'in':[],'out':[0]},"
	"{'ns':87843909,'in':[0,1],'out':[0,1]},"
	"{'ns':58062767,'in':[0,1],'out':[0,1]},"
	"{'ns':51847644,'in':[],'out':[]}]}";
static const char disagreed_plan[] =
	"{'format':'annex-plan/1','policy':'random',"
	"'trace':'2c44a58223202668','kernels':8,'tensors':2,"
	"'overlap':false,'reclaim':false,'lazy':false,'unlimited':false,'window':0,"
	"'gpu':61792152576,'host':10737418240,'cxl':0,"
	"'steps':[{'kernel':0,'ns':0,'op':'alloc','tensor':1,'bytes':51997696},"
	"{'kernel':0,'ns':0,'op':'prefetch','tensor':0,'bytes':18765946933,'keep':true},"
	"{'kernel':0,'ns':0,'op':'prefetch','tensor':0,'bytes':8077598667},"
	"{'kernel':0,'ns':0,'op':'save','tensor':1,'bytes':42411847,'to':'ssd0'},"
	"{'kernel':3,'ns':0,'op':'evict','tensor':0,'bytes':26843545600,'to':'ssd0'},"
	"{'kernel':3,'ns':0,'op':'save','tensor':1,'bytes':51997696,'to':'host'},"
	"{'kernel':4,'ns':0,'op':'evict','tensor':1,'bytes':1064185,'to':'ssd0'},"
	"{'kernel':4,'ns':0,'op':'prefetch','tensor':0,'bytes':26843545600,'keep':true},"
	"{'kernel':4,'ns':0,'op':'prefetch','tensor':1,'bytes':1064185},"
	"{'kernel':6,'ns':0,'op':'save','tensor':1,'bytes':51997696,'to':'host'},"
	"{'kernel':8,'ns':0,'op':'free','tensor':1,'bytes':51997696},"
	"{'kernel':8,'ns':0,'op':'evict','tensor':0,'bytes':26843545600,'to':'ssd0'}]}";

static char *json(const char *text)
{
	char *copy = strdup(text);

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	for (char *c = strchr(copy, '\''); c; c = strchr(c, '\''))
		*c = '"';
	return copy;
}

static void a_recall_pays_no_latency_twice(void)
{
	char *trace = json(disagreed_trace), *plan = json(disagreed_plan);
	struct run run = {.t = NULL};

	CU_ASSERT_EQUAL_FATAL(annex_trace_parse(trace, strlen(trace), &run.t), 0);
	CU_ASSERT_EQUAL_FATAL(annex_plan_parse(plan, strlen(plan), &run.p), 0);
	round_system(&run.sys);
	run.sys.gpu = 61792152576;
	run.sys.host = 40 * MIB;
	run.sys.ssd_write = 157.0 * MIB;
	run.sys.ssd_read_ns = 2000000;
	run.sys.alloc = 4000.0 * MIB;
	run.sys.host *= WIDE;
	run.sys.pcie *= WIDE;
	run.sys.ssd_read *= WIDE;
	run.sys.ssd_write *= WIDE;
	run.sys.alloc *= WIDE;
	CU_ASSERT(close_to_reference(&run));
	CU_ASSERT_DOUBLE_EQUAL(run.r.iteration, 1.502826, 1e-6);
	free(trace);
	free(plan);
	done(&run);
}

/* @made: counts traces with a plan. */
static bool try_random_plan(unsigned int *made, bool compare)
{
	uint32_t layers = 1 + random_below(&seed, 3);
	struct run run = {.opts = {.iterations = 4}};
	bool good = true;

	run.t = random_below(&seed, 4)
			? random_kernels(&seed, 1 + random_below(&seed, 7),
					 1 + random_below(&seed, 10), 150 * MIB, 100000000)
			: random_training(&seed, layers, 150 * MIB, 100000000);
	random_machine(run.t, &run.sys);
	if (compare)
		widen(run.t, &run.sys);
	run.p = random_plan(&seed, run.t, &run.sys);
	if (run.p) {
		++*made;
		run.p->flags |= random_below(&seed, 2) ? ANNEX_PLAN_OVERLAP : 0;
		run.opts.noise = random_below(&seed, 3) ? 0 : 0.3;
		good = goes_on(&run) && (!compare || close_to_reference(&run));
		CU_ASSERT(good);
		if (!good)
			print_case(run.t, &run.sys, run.p);
	}
	done(&run);
	return good;
}

static void sound_plans_never_block(void)
{
	unsigned int made = 0;

	seed = random_seed("sound plans");
	for (int i = 0; i < 12000 / SHARE && try_random_plan(&made, false); i++)
		;
	printf(" %u plans ", made);
	CU_ASSERT(made > 2000 / SHARE);
}

/* Strict plans, and those whose kernels begin before their tensors are there. */
static void as_slow_as_the_slow_one(void)
{
	const char *asked = getenv("ANNEX_PLANS");
	unsigned int want = asked ? (unsigned int)strtoul(asked, NULL, 10) : 40 / SHARE, made = 0;

	seed = random_seed("reference");
	while (made < want && try_random_plan(&made, true))
		;
	printf(" %u plans ", made);
	CU_ASSERT(made == want);
}

UNIT_SUITE(simulate, {"out and back", out_and_back},
	   {"bytes that were not evicted stay", what_has_not_left_stays},
	   {"bytes that stay may be evicted again", what_stays_may_leave_again},
	   {"both ways at once", both_ways_at_once},
	   {"an SSD and host memory share the link", ssd_and_host_share_the_link},
	   {"latency of reads", latency_of_reads}, {"memory at a rate", memory_at_a_rate},
	   {"copies leave for free", copies_leave_for_free},
	   {"writes make copies stale", writes_make_copies_stale},
	   {"what returns gives room back", what_returns_gives_room_back},
	   {"GPUs share host memory and SSDs", gpus_share},
	   {"each GPU has its result", each_gpu_has_its_result},
	   {"plans together fit", plans_together_fit}, {"an iteration has a limit", limited},
	   {"CXL memory at its rate", cxl_memory_at_its_rate}, {"noise", noise},
	   {"faults bring in absent bytes", faults_bring_what_nobody_brought},
	   {"faults are paid once", faults_are_paid_once},
	   {"memory is taken as bytes come", memory_is_taken_as_bytes_come},
	   {"windows end", windows_end}, {"refusals", refusals},
	   {"sound plans never block", sound_plans_never_block},
	   {"a recall pays no latency twice", a_recall_pays_no_latency_twice},
	   {"as slow as the slow one", as_slow_as_the_slow_one})
