/* SPDX-License-Identifier: MIT */
/*
 * Programs whose iterations are alike, such as training. The executor records which tensors each
 * kernel uses and makes a plan from the record. From then on it evicts tensors from the device tier
 * and prefetches them before a kernel needs them (G10 section 4, TERAIO).
 *
 *	annex_exec_create(space, &(struct annex_exec_opts){.policy = "annex"}, &exec);
 *	for (;;) {
 *		annex_exec_begin(exec);
 *		annex_exec_before(exec, "matmul", uses, 3);
 *		matmul(...);
 *		annex_exec_after(exec);
 *		...
 *		annex_exec_end(exec);
 *	}
 *
 * A plan affects when tensors move, never their contents: a wrong plan only costs time. On a GPU,
 * call annex_exec_before_on(), launch the kernel to a stream, and call annex_exec_after() at once;
 * the next kernel may be launched while this one runs. After annex_exec_before(), the program calls
 * annex_exec_after() when the kernel has ended. docs/examples/plan.c is a complete program.
 */
#ifndef ANNEX_EXEC_H
#define ANNEX_EXEC_H

#include <annex/mem.h>
#include <annex/plan.h>
#include <annex/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_exec;

/**
 * struct annex_exec_opts - Zero means the default.
 * @policy: name of a policy (annex_policy_find(); default "annex"), or "none": a tensor is brought
 *	in when a kernel needs it, and the least recently used tensors are evicted. Until a policy
 *	has a plan, tensors move in the same way, except that the next tensors are prefetched while
 *	kernels use tensors in the order of their allocation, or in reverse.
 * @record: number of iterations to record before a plan is made (default 1). Each kind of iteration
 *	has its own plan. The first two kinds get one at once: an optimizer allocates its state in
 *	the first iteration, whose plan then serves the next iteration up to the optimizer's
 *	kernels. A later kind gets a plan when an iteration equals one of the last 16 kinds.
 * @drift: ratio of measured to planned kernel time above which the executor replans (default 1.3;
 *	must be greater than 1). It replans after three consecutive iterations of a kind in which
 *	kernels ran longer than @drift times, or shorter than 1/@drift times, the time in the plan,
 *	if the differences add up to more than 10 % of the planned time of all kernels. For a plan
 *	made from a kind that had occurred once, a second occurrence with shorter times suffices. A
 *	kernel's time runs from its start to the start of the next kernel, excluding time spent in
 *	this library.
 * @system: rates of the links and costs of faults, copied; its sizes are ignored. NULL: the rates
 *	measured while iterations are recorded.
 * @timeout_ms: time limit for bringing in all tensors of a kernel, in milliseconds (default 60000).
 * @own: the program's own policy, in place of @policy, which must then be NULL. It must stay valid
 *	until annex_exec_destroy(). A thread of the library calls its make(). A plan that
 *	annex_plan_check() rejects is not used.
 */
struct annex_exec_opts {
	const char *policy;
	uint32_t record;
	double drift;
	const struct annex_system *system;
	uint32_t timeout_ms;
	const struct annex_policy *own;
};

/**
 * annex_exec_create() - Make a planner for one space, to be used by one thread at a time.
 * @s: the space; it must outlive the planner.
 * @opts: the options; NULL means the defaults.
 * @out: the planner; release it with annex_exec_destroy().
 *
 * Return: 0; -EINVAL (unknown policy; own without a name or a make(), or together with policy;
 * drift not above 1); -ENOMEM.
 */
int annex_exec_create(struct annex_space *s, const struct annex_exec_opts *opts,
		      struct annex_exec **out);

/**
 * annex_exec_give() - Give the planner a plan of an earlier run, to be followed from the first
 * iteration on.
 * @e: the planner, which has a policy that makes plans.
 * @trace: the trace of annex_exec_plan(); after success it belongs to the planner.
 * @plan: the plan, likewise.
 *
 * As any plan, it is followed as long as an iteration is like its trace. A plan that
 * annex_plan_check() accepts for the space's sizes is accepted, also of another policy.
 *
 * Return: 0; -EINVAL (an iteration is under way; the policy is "none"; as annex_plan_check());
 * -ENOMEM.
 */
int annex_exec_give(struct annex_exec *e, struct annex_trace *trace, struct annex_plan *plan);

/**
 * annex_exec_destroy() - Free a planner. The space and its tensors are left unchanged.
 * @e: the planner; NULL is allowed.
 */
void annex_exec_destroy(struct annex_exec *e);

/**
 * annex_exec_begin() - Begin an iteration.
 * @e: the planner.
 *
 * A tensor that was allocated before the iteration, and is not freed in it, lives across
 * iterations.
 *
 * Return: 0; -EINVAL: an iteration has already begun.
 */
int annex_exec_begin(struct annex_exec *e);

/**
 * annex_exec_restart() - Restart the iteration here, and discard its record so far.
 * @e: the planner.
 *
 * For programs that begin with preparatory kernels that later iterations do not repeat. Waits for
 * kernels in streams to end.
 *
 * Return: 0; -EINVAL: called out of order; -EIO, -ETIMEDOUT: as annex_exec_end(), but the iteration
 * has been restarted.
 */
int annex_exec_restart(struct annex_exec *e);

/**
 * annex_exec_end() - End an iteration.
 * @e: the planner.
 *
 * Waits for kernels in streams to end.
 *
 * Return: 0; -EINVAL: called out of order; -ENOMEM; -EAGAIN: the planning thread could not be
 * started; -EIO: a kernel in a stream has failed; -ETIMEDOUT: a kernel has not ended; or an error
 * of the plan's last steps, as annex_exec_before(). After any error except -EINVAL the iteration
 * has ended.
 */
int annex_exec_end(struct annex_exec *e);

/**
 * struct annex_exec_use - Use of a tensor by a kernel.
 * @ptr: any address in the tensor.
 * @how: ANNEX_USE_*. The library cannot observe a kernel's writes to GPU memory and relies on these
 *	bits: a tensor that is only read is not written back. Use ANNEX_USE_WRITE alone if the
 *	kernel overwrites every byte that is read later. The old contents are then not brought in,
 *	and are lost even if annex_exec_before() fails. Set both bits for a kernel that writes a
 *	part.
 */
struct annex_exec_use {
	const void *ptr;
	uint32_t how;
};

/**
 * annex_exec_before() - Begin a kernel: bring its tensors into the device tier.
 * @e: the planner.
 * @name: the kernel's name.
 * @uses: the tensors that the kernel uses.
 * @n: number of uses.
 *
 * Returns when all of these tensors are in the device tier. They stay there until
 * annex_exec_after().
 *
 * Return: 0; -EINVAL (called out of order; no such tensor; bad bits in how); -ENOSPC (the tensors
 * do not fit, or nothing can be evicted for them); -EIO and other errors of storage, with the
 * tensor named in annex_last_error(); -ETIMEDOUT; -ENOMEM. After an error the kernel must not run,
 * and the program ends the iteration with annex_exec_end().
 */
int annex_exec_before(struct annex_exec *e, const char *name, const struct annex_exec_use *uses,
		      unsigned int n);

/**
 * annex_exec_before_on() - Begin a kernel that will be launched to a GPU's stream.
 * @e: the planner.
 * @stream: the stream that it will be launched to, with CUDA a cudaStream_t. It must live until the
 *	kernel has ended. With annex_gpu_memory_host() NULL: the program runs the kernel itself.
 * @name: as for annex_exec_before().
 * @uses: as for annex_exec_before().
 * @n: as for annex_exec_before().
 *
 * Returns when the tensors are in the device tier, so that errors of storage and of checksums are
 * reported before the launch. The tensors stay there until the kernel has ended on the GPU, even
 * if annex_exec_after() is called earlier. Kernels may therefore be launched ahead, as long as the
 * tensors of all of them fit at once. A tensor may be freed as soon as the kernel is launched; its
 * memory is reused when the kernel has ended. The program must order kernels of different streams
 * that share tensors.
 *
 * The time of these kernels is measured in the stream. annex_exec_end() waits for them.
 *
 * Return: as annex_exec_before(); -EOPNOTSUPP: the space is not in a GPU's memory; -EAGAIN: the
 * thread that waits for kernels could not be started.
 */
int annex_exec_before_on(struct annex_exec *e, void *stream, const char *name,
			 const struct annex_exec_use *uses, unsigned int n);

/**
 * annex_exec_made() - Declare a tensor that the running kernel has allocated and will write.
 * @e: the planner.
 * @ptr: any address in the new tensor.
 *
 * For kernels that allocate tensors while they run. The tensor gets device memory at once and keeps
 * it until annex_exec_after(). Its contents are zeroes, or undefined after annex_alloc_uninit().
 * The record counts it as a use by this kernel (ANNEX_USE_WRITE), unless it is freed before
 * annex_exec_after(). A plan applies while kernels allocate the same tensors in the same order.
 *
 * Return: 0; -EINVAL (no kernel runs; no such tensor); -ENOSPC (the kernel's tensors do not fit
 * into the device tier, or nothing can be evicted for this one); -EIO and other errors of storage,
 * as annex_exec_before(); -ETIMEDOUT; -ENOMEM. After an error the kernel still runs until
 * annex_exec_after(), but it must not touch this tensor.
 */
int annex_exec_made(struct annex_exec *e, const void *ptr);

/**
 * annex_exec_after() - End a kernel; after annex_exec_before_on(): declare it launched.
 * @e: the planner.
 *
 * Return: 0; -EINVAL: no kernel was begun.
 */
int annex_exec_after(struct annex_exec *e);

/**
 * struct annex_exec_stats - Figures of the last finished iteration, and totals.
 * @ns: nanoseconds from annex_exec_begin() to annex_exec_end().
 * @stall_ns: nanoseconds of @ns spent in annex_exec_before(), annex_exec_made() and
 *	annex_exec_end().
 * @planned: the iteration followed a plan from its first kernel on. A plan that is finished in the
 *	middle of an iteration is followed from there on.
 * @strayed: the iteration differed from the one that the plan was made for.
 * @iterations: total number of iterations.
 * @plans: total number of plans made.
 * @plan_err: 0, or the error of the last attempt to plan. The executor tries again when the
 *	iterations or the budget change.
 * @planning: a plan is being made.
 * @until_plan_ns: nanoseconds from the start of the first iteration until a plan was first
 *	followed; 0: no plan was followed yet.
 */
struct annex_exec_stats {
	uint64_t ns, stall_ns;
	bool planned, strayed;
	uint64_t iterations, plans;
	int plan_err;
	bool planning;
	uint64_t until_plan_ns;
};

/**
 * annex_exec_get_stats() - Read the counters.
 * @e: the planner.
 * @out: the counters.
 */
void annex_exec_get_stats(const struct annex_exec *e, struct annex_exec_stats *out);

/**
 * annex_exec_plan() - The plan in use, for inspection.
 * @e: the planner.
 * @trace: set to the trace that the plan was made from; unchanged if there is no plan.
 * @sys: set to the system that the plan was made for, likewise.
 *
 * All three stay valid until the next annex_exec_begin(). If there is no plan, or the iteration
 * has strayed from it, they stay valid until the next annex_exec_before() only.
 *
 * Return: the plan, or NULL.
 */
const struct annex_plan *annex_exec_plan(const struct annex_exec *e,
					 const struct annex_trace **trace,
					 const struct annex_system **sys);

/**
 * annex_exec_trace() - A trace of the last finished iteration, with or without a plan.
 * @e: the planner.
 * @trace: the trace; release it with annex_trace_free().
 *
 * Return: 0; -ENODATA (no iteration has ended, or the last had no kernel); -ENOMEM; or as
 * annex_trace_finish().
 */
int annex_exec_trace(const struct annex_exec *e, struct annex_trace **trace);

#ifdef __cplusplus
}
#endif
#endif
