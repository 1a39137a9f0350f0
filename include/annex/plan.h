/* SPDX-License-Identifier: MIT */
/*
 * Migration plans: when each tensor is evicted from the GPU and when it returns (G10 sections 4.3,
 * 4.4).
 *
 * A plan is a list of steps, each carried out when a kernel is about to start. A step only starts a
 * transfer: transfers run while kernels run, in the order of their steps on each link and in each
 * direction. A kernel starts when its tensors are in GPU memory. File format: annex-plan/1,
 * docs/plan-format.md.
 *
 * Without ANNEX_PLAN_RECLAIM, memory is allocated in the order of the steps. A plan whose steps
 * would fit if each took no time can therefore not deadlock; annex_plan_check() verifies that.
 */
#ifndef ANNEX_PLAN_H
#define ANNEX_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <annex/system.h>
#include <annex/trace.h>
#include <annex/vitality.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum annex_plan_op - Operation of a step on a tensor.
 * @ANNEX_PLAN_ALLOC: allocate GPU memory for a new tensor.
 * @ANNEX_PLAN_FREE: free a dead tensor in all tiers.
 * @ANNEX_PLAN_PREFETCH: bring bytes into GPU memory. With keep, the copy in the lower tier is kept
 *	and stays valid until a kernel writes the tensor; otherwise it is freed.
 * @ANNEX_PLAN_EVICT: evict bytes from the GPU: bytes with a valid copy in a lower tier at once, the
 *	rest by writing them to the step's tier.
 * @ANNEX_PLAN_SAVE: write bytes without a copy to the step's tier, and keep them on the GPU, so
 *	that a later eviction needs no write.
 * @ANNEX_PLAN_WAIT: start the kernel only when all evictions of the tensor have ended.
 * @ANNEX_PLAN_OPS: number of operations.
 */
enum annex_plan_op {
	ANNEX_PLAN_ALLOC,
	ANNEX_PLAN_FREE,
	ANNEX_PLAN_PREFETCH,
	ANNEX_PLAN_EVICT,
	ANNEX_PLAN_SAVE,
	ANNEX_PLAN_WAIT,
	ANNEX_PLAN_OPS,
};

/**
 * struct annex_plan_step - One step.
 * @kernel: the step is carried out when this kernel is about to start; n_kernels: when the last
 *	kernel has ended. Steps are in the order of kernels.
 * @tensor: the tensor.
 * @bytes: number of bytes of the tensor; alloc, free and wait: all.
 * @ns: expected time of the step, in nanoseconds from the start of the iteration.
 * @op: enum annex_plan_op.
 * @tier: destination of evict and save.
 * @keep: prefetch: keep the copy in the lower tier.
 */
struct annex_plan_step {
	uint32_t kernel;
	uint32_t tensor;
	uint64_t bytes;
	uint64_t ns;
	uint8_t op;
	uint8_t tier;
	uint8_t keep;
};

/*
 * Flags of a plan.
 * OVERLAP: kernels start at once, and page faults bring in absent bytes (unified memory); without
 *	it, a kernel starts when all of its tensors are in GPU memory.
 * RECLAIM: when memory is short, the least recently used bytes are evicted.
 * LAZY: a dead tensor keeps its memory until that is reclaimed.
 * UNLIMITED: assume a GPU with memory for everything, whatever the system says.
 */
#define ANNEX_PLAN_OVERLAP 1
#define ANNEX_PLAN_RECLAIM 2
#define ANNEX_PLAN_LAZY 4
#define ANNEX_PLAN_UNLIMITED 8

/**
 * struct annex_plan - A plan. Read only for callers, except that its policy may set @flags and
 * @window.
 * @policy: name of the policy that made the plan; "annex+g10" if annex adopted the plan of g10.
 * @hash: annex_trace_hash() of the trace that it was made for.
 * @n_kernels: number of kernels in that trace.
 * @n_tensors: number of tensors in that trace.
 * @flags: ANNEX_PLAN_OVERLAP and so on.
 * @window: with RECLAIM, number of next kernels whose tensors are reclaimed for page faults only,
 *	not for steps of the plan (DeepUM); tensors of the current kernel are never reclaimed.
 * @gpu: limit of the bytes of GPU memory that the plan uses.
 * @host: limit of the bytes of host memory, likewise.
 * @cxl: limit of the bytes of CXL memory, likewise.
 * @n_steps: number of steps.
 * @steps: the steps, in the order of their kernels.
 */
struct annex_plan {
	char policy[32];
	uint64_t hash;
	uint32_t n_kernels, n_tensors;
	uint32_t flags, window;
	uint64_t gpu, host, cxl;
	size_t n_steps;
	struct annex_plan_step *steps;
};

/**
 * annex_plan_of() - Name of the policy whose plan another policy adopted.
 * @plan: a plan.
 *
 * Return: the name, a part of @plan; NULL if the plan's own policy made it.
 */
const char *annex_plan_of(const struct annex_plan *plan);

/**
 * annex_plan_create() - An empty plan, for annex_plan_add() and annex_plan_finish().
 * @policy: name of the policy that makes it, up to 31 bytes; copied.
 * @trace: the trace that it is for.
 * @sys: the system that it is for.
 * @plan: the plan; release it with annex_plan_free().
 *
 * A plan is for one GPU, with one GPU's share of the host and CXL memory of @sys.
 *
 * Return: 0, -EINVAL (the name, or as annex_system_check()), -ENOMEM.
 */
int annex_plan_create(const char *policy, const struct annex_trace *trace,
		      const struct annex_system *sys, struct annex_plan **plan);

/**
 * annex_plan_add() - Add a step, in any order of kernels.
 * @plan: the plan.
 * @step: the step. Its bytes are ignored for alloc, free and wait.
 *
 * Return: 0, -EINVAL (the plan is finished; no such kernel, tensor or tier; more bytes than the
 * tensor has), -ENOMEM.
 */
int annex_plan_add(struct annex_plan *plan, const struct annex_plan_step *step);

/**
 * annex_plan_finish() - Sort the steps by kernel, within a kernel in the order of their addition.
 * @plan: the plan.
 *
 * Return: 0, -EINVAL (times that decrease), -ENOMEM.
 */
int annex_plan_finish(struct annex_plan *plan);

/**
 * annex_plan_free() - Free a plan.
 * @plan: the plan; NULL is allowed.
 */
void annex_plan_free(struct annex_plan *plan);

/**
 * annex_plan_check() - Verify that a plan is valid for a trace and a system.
 * @plan: the plan.
 * @trace: the trace.
 * @sys: the system.
 *
 * Every tensor is allocated before its first use, freed after its last use, and not in between. No
 * step uses a tensor that is not alive. No byte is evicted or brought in twice. Capacities suffice
 * if each step takes no time. After a few iterations, each iteration ends with all tensors where
 * they were at its start. With RECLAIM, missing or excess bytes are handled at run time, and only
 * the lifetimes of tensors are verified.
 *
 * Return: 0; -EINVAL with the step, kernel and tensor named in annex_last_error(); -ENOMEM.
 */
int annex_plan_check(const struct annex_plan *plan, const struct annex_trace *trace,
		     const struct annex_system *sys);

/**
 * annex_plan_read() - Read annex-plan/1.
 * @path: the file; "-" is standard input.
 * @plan: the plan; release it with annex_plan_free().
 *
 * Return: 0; -EINVAL (the format; annex_last_error() names the step); -E2BIG; -ENOMEM; an error of
 * reading. annex_plan_check() verifies that the plan fits a trace.
 */
int annex_plan_read(const char *path, struct annex_plan **plan);

/**
 * annex_plan_parse() - Read annex-plan/1 from memory.
 * @data: the file's contents.
 * @len: number of bytes.
 * @plan: the plan; release it with annex_plan_free().
 *
 * Return: as annex_plan_read().
 */
int annex_plan_parse(const void *data, size_t len, struct annex_plan **plan);

/**
 * annex_plan_write() - Write a plan as JSON, one step a line.
 * @plan: the plan.
 * @f: the stream to write to.
 *
 * Return: 0; -EIO (writing to @f failed).
 */
int annex_plan_write(const struct annex_plan *plan, FILE *f);

/**
 * struct annex_policy - An algorithm that makes plans: one of the library's, or a program's own.
 * @name: its name, for annex_plan_create().
 * @summary: one line for users.
 * @make: make a plan for one GPU of the machine sys; the GPUs share memory and links equally.
 *	Called by annex_plan_make(). Returns 0; -ENOSPC (the policy cannot run the trace on this
 *	system; annex_last_error() says why); -ENOMEM. After a failure *plan is NULL, or a plan that
 *	the caller frees.
 */
struct annex_policy {
	const char *name;
	const char *summary;
	int (*make)(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan);
};

/**
 * annex_plan_make() - Make a plan by a policy, and check the plan.
 * @policy: the policy: one of the library's, or a program's own.
 * @v: the trace's vitality.
 * @sys: the machine.
 * @plan: the plan; release it with annex_plan_free(); NULL after a failure.
 *
 * Return: 0; -EINVAL (a policy without a name or a make(); as annex_plan_check()); an error of the
 * policy's make().
 */
int annex_plan_make(const struct annex_policy *policy, const struct annex_vitality *v,
		    const struct annex_system *sys, struct annex_plan **plan);

/**
 * annex_policy_at() - Iterate over the policies.
 * @i: from 0 up to the first NULL.
 *
 * Return: the policy, or NULL.
 */
const struct annex_policy *annex_policy_at(unsigned int i);

/**
 * annex_policy_find() - A policy by its name.
 * @name: the name.
 *
 * Return: the policy, or NULL.
 */
const struct annex_policy *annex_policy_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
