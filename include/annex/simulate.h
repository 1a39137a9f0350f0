/* SPDX-License-Identifier: MIT */
/*
 * The one judge of plans: an event-driven simulator of kernels, links and memories, and a lower
 * bound that no plan can pass.
 */
#ifndef ANNEX_SIMULATE_H
#define ANNEX_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/plan.h>
#include <annex/system.h>
#include <annex/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_sim_job - The job of one GPU.
 * @trace: the trace that it runs.
 * @plan: the plan that it runs under.
 */
struct annex_sim_job {
	const struct annex_trace *trace;
	const struct annex_plan *plan;
};

/**
 * struct annex_sim_sample - One kernel of the last iteration of GPU 0, for plots.
 * @start: nanoseconds from the start of that iteration.
 * @end: nanoseconds from the start of that iteration.
 * @gpu: bytes in use on the GPU while it ran (the most).
 * @in: bytes that its link brought.
 * @out: bytes that its link took away.
 *
 * Samples follow each other without gaps; the last one ends with the iteration.
 */
struct annex_sim_sample {
	uint64_t start, end;
	uint64_t gpu;
	uint64_t in, out;
};

/**
 * struct annex_sim_result - The last iteration. Times in seconds.
 * @ideal: the sum of the times of its kernels, with their noise; of several GPUs, the most.
 * @iteration: its time, of the GPU that took longest.
 * @stalled: time that kernels took beyond their own, of that GPU.
 * @overlapped: time in which links moved data while a kernel ran unhindered, of that GPU.
 * @stalled_kernels: kernels that took longer than their time, by @stalled seconds together, of that
 *	GPU.
 * @iterations: number of iterations that were run.
 * @steady: all is where it was an iteration before, and took as long; or, where memory is reclaimed
 *	and no iteration is quite like another, the means of four and of the four before agree
 *	within half a percent: then @iteration and @ideal are such means.
 *	With annex_system.ssd_bytes also: each block of flash was erased, or there were 64
 *	iterations.
 * @faults: page faults, of all GPUs.
 * @in: bytes that came from each tier, of all GPUs.
 * @out: bytes that went to each tier, of all GPUs.
 * @ssd_copied: bytes that garbage collection wrote again in an iteration, on all SSDs: the mean of
 *	the last four.
 * @gpu_peak: the most bytes on the fullest GPU.
 * @host_peak: the most bytes of host memory that all GPUs took.
 * @cxl_peak: the most bytes of CXL memory that all GPUs took.
 */
struct annex_sim_result {
	double ideal, iteration;
	double stalled, overlapped;
	uint32_t stalled_kernels, iterations;
	bool steady;
	uint64_t faults;
	uint64_t in[ANNEX_TIERS], out[ANNEX_TIERS];
	uint64_t ssd_copied;
	uint64_t gpu_peak, host_peak, cxl_peak;
};

/**
 * struct annex_sim_options - How to simulate. Zeroes are the defaults.
 * @iterations: so many, and report the last; 0: until they are steady.
 * @limit: seconds; an iteration that takes longer ends the simulation with -ETIME, unless it is the
 *	first, which finds the memories as no iteration leaves them. 0: none.
 * @noise: each kernel takes 1 +- this share of its time, drawn anew each iteration from @seed.
 * @seed: seed of @noise.
 * @samples: NULL, or n_kernels of GPU 0's trace.
 * @gpus: NULL, or one for each job: the result of each GPU by itself.
 */
struct annex_sim_options {
	uint32_t iterations;
	double limit;
	double noise;
	uint64_t seed;
	struct annex_sim_sample *samples;
	struct annex_sim_result *gpus;
};

/**
 * annex_simulate() - Run jobs, one a GPU, on a system with as many.
 * @jobs: the jobs.
 * @n: how many.
 * @sys: the system.
 * @opts: NULL: the defaults.
 * @result: the result.
 *
 * Deterministic. The simulator checks as it goes that no kernel starts (with ANNEX_PLAN_OVERLAP:
 * ends) without its tensors, that no byte is lost or doubled, and that no memory is ever more than
 * full.
 *
 * Return: 0; -EINVAL (annex_system_check() or annex_plan_check() fails, or @n is 0 or more than the
 * system's GPUs); -ENOSPC (a kernel does not fit, or bytes that must leave find no room below);
 * -EDEADLK (the plan stops for ever: a kernel waits for bytes that no step brings); -ETIME (@opts'
 * limit); -ENOMEM.
 */
int annex_simulate(const struct annex_sim_job *jobs, unsigned int n, const struct annex_system *sys,
		   const struct annex_sim_options *opts, struct annex_sim_result *result);

/**
 * annex_bound() - A time that no plan's steady iteration can be shorter than, on one of the GPUs.
 * @v: vitality of the trace.
 * @sys: the system. Memory and links that its GPUs share count as if this one had all of them.
 * @seconds: the time.
 *
 * Return: 0 or -ENOMEM.
 */
int annex_bound(const struct annex_vitality *v, const struct annex_system *sys, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
