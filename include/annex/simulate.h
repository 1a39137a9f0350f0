/* SPDX-License-Identifier: MIT */
/*
 * Evaluation of plans: an event-driven simulator of kernels, links, memories and page table, and a
 * lower bound on the time of an iteration under any plan.
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
 * @gpu: largest number of bytes in use on the GPU meanwhile.
 * @in: bytes that the GPU's link moved to it.
 * @out: bytes that the GPU's link moved away from it.
 *
 * Samples have no gaps between them; the last one ends with the iteration.
 */
struct annex_sim_sample {
	uint64_t start, end;
	uint64_t gpu;
	uint64_t in, out;
};

/**
 * struct annex_sim_result - The last iteration. Times are in seconds.
 * @ideal: sum of the times of its kernels, with their noise; of several GPUs, the largest sum.
 * @iteration: time of the iteration, on the GPU that took longest.
 * @stalled: time that kernels of that GPU took beyond their own (waits for data or memory, page
 *	faults), and the wait for the last steps of the iteration.
 * @overlapped: time in which links of that GPU moved data while a kernel ran without waiting.
 * @stalled_kernels: number of kernels of that GPU that took longer than their own time, by at
 *	least 0.01 %.
 * @iterations: number of iterations that were run.
 * @steady: all bytes are where they were an iteration before, and the iteration took as long. With
 *	reclaim, where iterations differ slightly: the means of the last four iterations and of the
 *	four before agree within half a percent, and @iteration and @ideal are such means. If the
 *	iteration wrote to SSDs with ssd_bytes in struct annex_system, also: every block of flash
 *	was erased, or there were 64 iterations.
 * @faults: page faults, of 4 KiB each, of all GPUs.
 * @in: bytes read from each tier, of all GPUs.
 * @out: bytes written to each tier, of all GPUs.
 * @ssd_copied: bytes that garbage collection rewrote per iteration, on all SSDs: the mean of the
 *	last four iterations.
 * @ssd_updated: page table entries, of 4 KiB pages that are on SSDs only, that garbage collection
 *	updated per iteration: likewise.
 * @gpu_peak: peak of the bytes on the fullest GPU.
 * @host_peak: peak of the bytes in host memory, of all GPUs.
 * @cxl_peak: peak of the bytes in CXL memory, of all GPUs.
 */
struct annex_sim_result {
	double ideal, iteration;
	double stalled, overlapped;
	uint32_t stalled_kernels, iterations;
	bool steady;
	uint64_t faults;
	uint64_t in[ANNEX_TIERS], out[ANNEX_TIERS];
	uint64_t ssd_copied, ssd_updated;
	uint64_t gpu_peak, host_peak, cxl_peak;
};

/**
 * struct annex_sim_options - Options of annex_simulate(). Zero means the default.
 * @iterations: number of iterations to run, of which the last is reported; 0: until they are
 *	steady.
 * @limit: limit of an iteration in seconds; a longer one ends the simulation with -ETIME, except
 *	the first iteration. In that one each tensor begins where the plan's steps would leave it if
 *	they took no time; with ANNEX_PLAN_RECLAIM, global tensors begin below the GPU. 0: no limit.
 * @fresh: end at the first steady iteration, although blocks of flash were not yet erased.
 * @noise: relative noise of kernel times: each time is multiplied by a random factor within
 *	1 +- @noise, drawn for each iteration.
 * @seed: seed of @noise.
 * @samples: NULL, or an array for the n_kernels of GPU 0's trace.
 * @gpus: NULL, or an array for the result of each job's GPU.
 */
struct annex_sim_options {
	uint32_t iterations;
	double limit;
	bool fresh;
	double noise;
	uint64_t seed;
	struct annex_sim_sample *samples;
	struct annex_sim_result *gpus;
};

/**
 * annex_simulate() - Simulate jobs, one per GPU.
 * @jobs: the jobs.
 * @n: number of jobs.
 * @sys: the system.
 * @opts: the options; NULL means the defaults.
 * @result: the result.
 *
 * Deterministic. The simulator verifies that no kernel starts (with ANNEX_PLAN_OVERLAP: ends)
 * without its tensors, that no byte is lost or duplicated, and that no memory exceeds its capacity.
 *
 * Return: 0; -EINVAL (annex_system_check() or annex_plan_check() fails, or @n is 0 or more than the
 * system's GPUs); -ENOSPC (a kernel does not fit, or evicted bytes find no room in lower tiers);
 * -EDEADLK (a kernel waits for bytes that no step brings in); -ETIME (limit of @opts); -ENOMEM.
 */
int annex_simulate(const struct annex_sim_job *jobs, unsigned int n, const struct annex_system *sys,
		   const struct annex_sim_options *opts, struct annex_sim_result *result);

/**
 * annex_bound() - Lower bound on the time of a steady iteration on one GPU, under any plan.
 * @v: vitality of the trace.
 * @sys: the system. The bound assumes that this GPU has all of the shared memory and links.
 * @seconds: set to the bound.
 *
 * Return: 0 or -ENOMEM.
 */
int annex_bound(const struct annex_vitality *v, const struct annex_system *sys, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
