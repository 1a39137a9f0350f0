/* SPDX-License-Identifier: MIT */
/*
 * Migration plans: when each tensor leaves the GPU and when it returns (G10 sections 4.3, 4.4).
 *
 * A plan is a list of steps, each carried out when a kernel is about to start. Steps only start
 * things: transfers run beside the kernels, in the order of their steps for each link and
 * direction. A kernel starts when its tensors are there. File format: annex-plan/1,
 * docs/plan-format.md.
 *
 * Without ANNEX_PLAN_RECLAIM, memory is given out in the order of the steps, and a plan whose steps
 * would fit if each were done at once can therefore not block; annex_plan_check() looks at that.
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
 * @ANNEX_PLAN_ALLOC: a tensor is born: take GPU memory for it.
 * @ANNEX_PLAN_FREE: it is dead: give back its memory everywhere.
 * @ANNEX_PLAN_PREFETCH: bring bytes back. The copy below is kept (and stays valid until a kernel
 *	writes the tensor) if the step says so, else given up as they arrive.
 * @ANNEX_PLAN_EVICT: take bytes out of the GPU: those whose copy below is valid at once, the rest
 *	by writing them to the step's tier.
 * @ANNEX_PLAN_SAVE: write bytes that have no copy to the step's tier, and keep them on the GPU: a
 *	later eviction of them costs nothing.
 * @ANNEX_PLAN_WAIT: the kernel starts only when all of the tensor that was to leave has left.
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
 * struct annex_plan_step - One instruction.
 * @kernel: carried out when this kernel is about to start, n_kernels: when the last has ended;
 *	steps are in the order of kernels.
 * @tensor: the tensor.
 * @bytes: how many of the tensor; alloc, free and wait: all.
 * @ns: when that is expected to be, from the start of the iteration.
 * @op: enum annex_plan_op.
 * @tier: where to (evict, save); where from is known.
 * @keep: prefetch: keep the copy below.
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
 * How a plan wants to be carried out.
 * OVERLAP: a kernel starts at once and faults on what is absent (unified memory); without it, it
 *	starts when everything is there.
 * RECLAIM: when memory is short, the least recently used bytes leave.
 * LAZY: a dead tensor keeps its memory until that is reclaimed.
 * UNLIMITED: on a GPU that has memory for everything, whatever the system says.
 */
#define ANNEX_PLAN_OVERLAP 1
#define ANNEX_PLAN_RECLAIM 2
#define ANNEX_PLAN_LAZY 4
#define ANNEX_PLAN_UNLIMITED 8

/**
 * struct annex_plan - A plan. Read it, do not write it; its policy may set flags and window.
 * @policy: name of the policy that made it; "annex+g10" where annex took over
 *	the plan of g10.
 * @hash: annex_trace_hash() of the trace it was made for.
 * @n_kernels: kernels of that trace.
 * @n_tensors: tensors of that trace.
 * @flags: ANNEX_PLAN_OVERLAP and so on.
 * @window: with RECLAIM, number of next kernels whose tensors are not taken (DeepUM); 0: only those
 *	of the current one.
 * @gpu: bytes of GPU memory it was made for, of which it uses no more.
 * @host: bytes of host memory, likewise.
 * @cxl: bytes of CXL memory, likewise.
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
 * annex_plan_of() - Whose plan it is, where a policy took that of another over.
 * @plan: a plan.
 *
 * Return: the other policy's name, a part of @plan; NULL: it is that of the policy that made it.
 */
const char *annex_plan_of(const struct annex_plan *plan);

/**
 * annex_plan_create() - An empty plan, for annex_plan_add() and annex_plan_finish().
 * @policy: name of the policy that makes it, up to 31 bytes; copied.
 * @trace: the trace that it is for.
 * @sys: the system that it is for.
 * @plan: the plan, to be given back with annex_plan_free().
 *
 * A plan is for one GPU: of host and CXL memory it has the part that one of @sys's GPUs gets.
 *
 * Return: 0, -EINVAL (the name, or as annex_system_check()), -ENOMEM.
 */
int annex_plan_create(const char *policy, const struct annex_trace *trace,
		      const struct annex_system *sys, struct annex_plan **plan);

/**
 * annex_plan_add() - Add a step, in any order of kernels.
 * @plan: the plan.
 * @step: the step. The bytes of an alloc, a free or a wait are the tensor's, whatever the step
 *	says.
 *
 * Return: 0, -EINVAL (a finished plan; no such kernel, tensor, tier; more bytes than the tensor
 * has), -ENOMEM.
 */
int annex_plan_add(struct annex_plan *plan, const struct annex_plan_step *step);

/**
 * annex_plan_finish() - Sort the steps by kernel, those of one kernel as they were added.
 * @plan: the plan.
 *
 * Return: 0, -EINVAL (times that go back), -ENOMEM.
 */
int annex_plan_finish(struct annex_plan *plan);

/**
 * annex_plan_free() - Free a plan.
 * @plan: the plan; NULL is allowed.
 */
void annex_plan_free(struct annex_plan *plan);

/**
 * annex_plan_check() - Whether a plan is one for a trace and a system.
 * @plan: the plan.
 * @trace: the trace.
 * @sys: the system.
 *
 * Every tensor is allocated before, and freed after, its uses, and not thrown away between two of
 * them; no step touches one that does not live; nothing is evicted twice or brought back twice;
 * capacities hold when each step is done at once; and after a few iterations each ends with
 * everything where it was when it began. With RECLAIM, missing or excess bytes are made up for as
 * it runs, and only the lives of tensors are looked at.
 *
 * Return: 0; -EINVAL with the step, kernel and tensor named in annex_last_error(); -ENOMEM.
 */
int annex_plan_check(const struct annex_plan *plan, const struct annex_trace *trace,
		     const struct annex_system *sys);

/**
 * annex_plan_read() - Read annex-plan/1.
 * @path: the file; "-" is standard input.
 * @plan: the plan, to be given back with annex_plan_free().
 *
 * Return: 0; -EINVAL (not such a file; annex_last_error() names the step); -E2BIG; -ENOMEM; an
 * error of reading. Whether the plan fits a trace: annex_plan_check().
 */
int annex_plan_read(const char *path, struct annex_plan **plan);

/**
 * annex_plan_parse() - Read annex-plan/1 from memory.
 * @data: the file's contents.
 * @len: their bytes.
 * @plan: the plan, to be given back with annex_plan_free().
 *
 * Return: as annex_plan_read().
 */
int annex_plan_parse(const void *data, size_t len, struct annex_plan **plan);

/**
 * annex_plan_write() - Write a plan as JSON, one step a line.
 * @plan: the plan.
 * @f: where to.
 *
 * Return: 0; -EIO when @f takes no more.
 */
int annex_plan_write(const struct annex_plan *plan, FILE *f);

/**
 * struct annex_policy - A way to make plans: one of the library's, or a program's own.
 * @name: its name, as annex_plan_create() takes it.
 * @summary: one line for people.
 * @make: plan for one GPU of the machine sys, whose other GPUs get the same share of their common
 *	memory and links. 0; -ENOSPC (this policy cannot run the trace on this system;
 *	annex_last_error() says why); -ENOMEM. After a failure *plan is NULL, or a plan that the
 *	caller frees. annex_plan_make() calls it.
 */
struct annex_policy {
	const char *name;
	const char *summary;
	int (*make)(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan);
};

/**
 * annex_plan_make() - Have a policy make a plan, and check the plan.
 * @policy: the policy: one of the library's, or a program's own.
 * @v: the trace's vitality.
 * @sys: the machine.
 * @plan: the plan, to be given back with annex_plan_free(); NULL after a failure.
 *
 * Return: 0; -EINVAL (a policy without a name or a make(); as annex_plan_check()); an error of the
 * policy's make().
 */
int annex_plan_make(const struct annex_policy *policy, const struct annex_vitality *v,
		    const struct annex_system *sys, struct annex_plan **plan);

/**
 * annex_policy_at() - Walk over the policies.
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
