/* SPDX-License-Identifier: MIT */
/*
 * Traces and plans for tests: in a few words, or at random.
 */
#ifndef ANNEX_TESTS_PLAN_TRACES_H
#define ANNEX_TESTS_PLAN_TRACES_H

#include <annex/plan.h>
#include <annex/system.h>
#include <annex/trace.h>

#define MIB (1ull << 20)

/*
 * trace_from() - Tensors "A:64g B:16l": one letter from A on, in order, MiB, g for global, l for
 * one that dies with the last kernel. Kernels "10:AB>C 0.5:C": milliseconds, tensors read, tensors
 * written.
 * plan_from() - Steps "1 evict A 64 host; 2 prefetch A 64 keep; 2 free B", a kernel each.
 */
struct annex_trace *trace_from(const char *tensors, const char *kernels);
struct annex_plan *plan_from(const struct annex_trace *t, const struct annex_system *sys,
			     const char *steps);

/* A machine with a link of one MiB a millisecond, SSDs of a fifth of that, and no latencies. */
void round_system(struct annex_system *sys);

uint32_t random_below(uint64_t *seed, uint32_t n);

/*
 * random_kernels() - Tensors of up to @most bytes, and kernels of up to @ns that use some of them.
 * random_training() - Layers with weights, forward, backward, and perhaps an optimizer.
 */
struct annex_trace *random_kernels(uint64_t *seed, uint32_t tensors, uint32_t kernels,
				   uint64_t most, uint64_t ns);
struct annex_trace *random_training(uint64_t *seed, uint32_t layers, uint64_t most, uint64_t ns);

uint64_t largest_kernel(const struct annex_trace *t);

/*
 * random_plan() - A strict plan of saves, partial evictions and prefetches to and from all tiers,
 * that annex_plan_check() accepts; NULL when luck failed.
 */
struct annex_plan *random_plan(uint64_t *seed, const struct annex_trace *t,
			       const struct annex_system *sys);

/* print_case() - A trace, a system and a plan on standard error, to repeat a failure by hand. */
void print_case(const struct annex_trace *t, const struct annex_system *sys,
		const struct annex_plan *p);

#endif
