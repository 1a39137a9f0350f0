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
 * enum annex_plan_op - What a step does with a tensor.
 * @ANNEX_PLAN_ALLOC: a tensor is born: take GPU memory for it.
 * @ANNEX_PLAN_FREE: it is dead: give back its memory everywhere.
 * @ANNEX_PLAN_PREFETCH: bring bytes back. The copy below is kept (and stays valid until a kernel
 *	writes the tensor) if the step says so, else given up as they arrive.
 * @ANNEX_PLAN_EVICT: take bytes out of the GPU: those whose copy below is valid at once, the rest
 *	by writing them to the step's tier.
 * @ANNEX_PLAN_SAVE: write bytes that have no copy to the step's tier, and keep them on the GPU: a
 *	later eviction of them costs nothing.
 * @ANNEX_PLAN_WAIT: the kernel starts only when all of the tensor that was to leave has left.
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
 * @ns: when that is expected to be, from the start of the iteration.
 * @bytes: how many of the tensor; alloc, free and wait: all.
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
 * struct annex_plan - Read it, do not write it.
 * @hash: annex_trace_hash() of the trace it was made for.
 * @window: with RECLAIM, what the next so many kernels use is not taken (DeepUM); 0: only what the
 *	current one uses.
 * @gpu, @host, @cxl: the capacities it was made for, of which it uses no more.
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
 * annex_plan_create() - An empty plan. annex_plan_add() - Add a step, in any order of kernels.
 * annex_plan_finish() - Sort the steps by kernel, those of one kernel as they were added.
 *
 * annex_plan_free() - Free a plan; NULL is allowed.
 *
 * A plan is for one GPU: of host and CXL memory it has the part that one of @sys's GPUs gets. The
 * bytes of an alloc, a free or a wait are the tensor's, whatever the step says.
 *
 * Return: 0, -EINVAL (no such kernel, tensor, tier, more bytes than the tensor has; times that go
 * back), -ENOMEM.
 */
int annex_plan_create(const char *policy, const struct annex_trace *trace,
		      const struct annex_system *sys, struct annex_plan **plan);
int annex_plan_add(struct annex_plan *plan, const struct annex_plan_step *step);
int annex_plan_finish(struct annex_plan *plan);
void annex_plan_free(struct annex_plan *plan);

/**
 * annex_plan_check() - Whether a plan is one for this trace and this system: every tensor is
 * allocated before, and freed after, its uses, and not thrown away between two of them; no step
 * touches one that does not live; nothing is evicted twice or brought back twice; capacities hold
 * when each step is done at once; and after a few iterations each ends with everything where it was
 * when it began. With RECLAIM, what is missing or too much is made up for as it runs, and only what
 * concerns the lives of tensors is looked at.
 *
 * Return: 0, or -EINVAL with the step, kernel and tensor named in annex_last_error().
 */
int annex_plan_check(const struct annex_plan *plan, const struct annex_trace *trace,
		     const struct annex_system *sys);

/**
 * annex_plan_read() - Read annex-plan/1, JSON or binary; "-" is standard input.
 * annex_plan_parse() - Read it from memory.
 * annex_plan_write() - Write it as JSON, one step a line. annex_plan_write_binary() - 40 bytes a
 *	step or less.
 *
 * Return: 0; -EINVAL (not such a file; annex_last_error() names the step); -E2BIG; -ENOMEM; an
 * error of reading or writing. Whether the plan fits a trace: annex_plan_check().
 */
int annex_plan_read(const char *path, struct annex_plan **plan);
int annex_plan_parse(const void *data, size_t len, struct annex_plan **plan);
int annex_plan_write(const struct annex_plan *plan, FILE *f);
int annex_plan_write_binary(const struct annex_plan *plan, FILE *f);

/**
 * struct annex_policy - A way to make plans. All have this one signature.
 * @make: plan for one GPU of the machine @sys, whose other GPUs get the same share of what they
 *	share. 0; -ENOSPC (this policy cannot run the trace on this system; annex_last_error() says
 *	why); -ENOMEM. After a failure *@plan is NULL, or a plan that the caller frees.
 */
struct annex_policy {
	const char *name;
	const char *summary;
	int (*make)(const struct annex_vitality *v, const struct annex_system *sys,
		    struct annex_plan **plan);
};

/**
 * annex_policy_at() - The @i-th of them, or NULL. annex_policy_find() - By name, or NULL.
 */
const struct annex_policy *annex_policy_at(unsigned int i);
const struct annex_policy *annex_policy_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
