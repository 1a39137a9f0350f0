/* SPDX-License-Identifier: MIT */
/*
 * Programs whose iterations are alike, such as training: what each kernel uses is written down
 * once, a plan is made of it, and from then on tensors leave the device tier and return to it
 * before anybody waits for them (G10 section 4, TERAIO).
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
 * A plan says when things move, never what they hold: a wrong one costs time. On a GPU kernels are
 * launched to streams, after annex_exec_before_on(): annex_exec_after() then comes at once, and the
 * next kernel may be launched behind this one. After a plain annex_exec_before() the kernel has
 * ended when annex_exec_after() comes.
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
 * @policy: a policy's name (annex_policy_find(), "annex"), or "none": absent tensors are brought
 *	when a kernel wants them, and the least recently used leave. Until a policy has a plan,
 *	tensors move likewise; but where kernels use them in the order in which they were made, or
 *	backwards, the next ones are brought beforehand.
 * @record: iterations to look at before a plan is made (1). Each kind of iterations has a plan of
 *	its own. The first two kinds get it at once: an optimizer makes its state in the first
 *	iteration, whose plan serves the next one until the optimizer's turn. A later kind gets it
 *	when an iteration is like one of the 16 kinds that were seen last.
 * @drift: a plan is made anew when kernels take so many times as long as they did, or as little, in
 *	three iterations (1.3), and that is more than a tenth of the time of all. If the plan is of
 *	a kind that was seen once, the second time counts. A kernel's time goes on until the next
 *	one, without that of calls here.
 * @system: rates of the links, and what faults cost; it is copied, and its sizes are not looked at.
 *	NULL: as they are measured while iterations are recorded.
 * @timeout_ms: how long all of a kernel's tensors may take to come (60000).
 * @own: a policy that the program brings, in place of @policy, which is then NULL. It stays valid
 *	until annex_exec_destroy(). Its make() is called in a thread of the library, and a plan that
 *	annex_plan_check() refuses is not followed.
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
 * @s: the space; it must outlive it.
 * @opts: NULL: the defaults.
 * @out: the planner, to be given back with annex_exec_destroy().
 *
 * Return: 0; -EINVAL (no such policy; an @own without a name or a make(), or with a @policy; a
 * drift that is not above 1); -ENOMEM.
 */
int annex_exec_create(struct annex_space *s, const struct annex_exec_opts *opts,
		      struct annex_exec **out);

/**
 * annex_exec_destroy() - Free a planner. The space stays as it is.
 * @e: the planner; NULL is allowed.
 */
void annex_exec_destroy(struct annex_exec *e);

/**
 * annex_exec_begin() - Begin an iteration.
 * @e: the planner.
 *
 * Tensors that were allocated before, and are not freed in it, live across iterations.
 *
 * Return: 0; -EINVAL: out of turn.
 */
int annex_exec_begin(struct annex_exec *e);

/**
 * annex_exec_restart() - The iteration begins here: what was recorded of it is forgotten.
 * @e: the planner.
 *
 * For a program that has prepared itself, by kernels that do not come again. Kernels in streams
 * have ended when it returns.
 *
 * Return: 0; -EINVAL: out of turn; -EIO, -ETIMEDOUT: as annex_exec_end(), and the iteration begins
 * all the same.
 */
int annex_exec_restart(struct annex_exec *e);

/**
 * annex_exec_end() - End an iteration.
 * @e: the planner.
 *
 * Kernels in streams have ended when it returns.
 *
 * Return: 0; -EINVAL: out of turn; -ENOMEM; -EAGAIN (no thread to plan in); -EIO: a kernel in a
 * stream has failed; -ETIMEDOUT: one has not ended; or, as annex_exec_before(), an error of the
 * plan's last steps. But for -EINVAL the iteration has ended
 * all the same.
 */
int annex_exec_end(struct annex_exec *e);

/**
 * struct annex_exec_use - A kernel uses a tensor.
 * @ptr: anywhere in the tensor.
 * @how: ANNEX_USE_*. In a GPU's memory nobody else sees a kernel's writes: tensors that it only
 *	reads are not written back. ANNEX_USE_WRITE alone is for a kernel that writes all of the
 *	tensor that is read later: what the tensor held is not brought, and is lost, also where
 *	annex_exec_before() fails. A kernel that writes a part uses both.
 */
struct annex_exec_use {
	const void *ptr;
	uint32_t how;
};

/**
 * annex_exec_before() - Begin a kernel: bring its tensors to the device tier.
 * @e: the planner.
 * @name: the kernel's name.
 * @uses: the tensors that it uses.
 * @n: number of uses.
 *
 * Returns when they are there; there they stay until annex_exec_after().
 *
 * Return: 0; -EINVAL (out of turn; no such tensor; a use that is none); -ENOSPC (their bytes do not
 * fit, or nothing can leave for them); -EIO and others of storage, with the tensor named in
 * annex_last_error(); -ETIMEDOUT; -ENOMEM. After an error the kernel must not run, and the
 * iteration ends with annex_exec_end().
 */
int annex_exec_before(struct annex_exec *e, const char *name, const struct annex_exec_use *uses,
		      unsigned int n);

/**
 * annex_exec_before_on() - Begin a kernel that will be launched to a GPU's stream.
 * @e: the planner.
 * @stream: where it will be launched to: of CUDA, a cudaStream_t. It must live until the kernel has
 *	ended. Of the host (annex_gpu_memory_host()) NULL: the program runs the kernel itself.
 * @name: as of annex_exec_before().
 * @uses: as of annex_exec_before().
 * @n: as of annex_exec_before().
 *
 * Returns when the tensors are in the device tier, so that storage's errors, and those of
 * checksums, are known before the kernel is launched. They stay until the kernel has ended on the
 * GPU, also if annex_exec_after() comes earlier: kernels may be launched ahead, as many as have
 * room for their tensors at once. Tensors may be freed as soon as the kernel is launched: their
 * memory goes to others when it has ended. Kernels of several streams that share tensors must be
 * ordered by the program.
 *
 * How long kernels take is then measured in the stream. annex_exec_end() waits for them.
 *
 * Return: as annex_exec_before(); -EOPNOTSUPP: the space is not in a GPU's memory; -EAGAIN: no
 * thread to wait for kernels in.
 */
int annex_exec_before_on(struct annex_exec *e, void *stream, const char *name,
			 const struct annex_exec_use *uses, unsigned int n);

/**
 * annex_exec_made() - The kernel that runs has made a tensor, and writes it.
 * @e: the planner.
 * @ptr: anywhere in the tensor, which is new.
 *
 * Some kernels allocate tensors while they run, so these are unknown when the kernel begins. The
 * tensor's pages come at once, as zeroes or (annex_alloc_uninit()) anything, and stay until
 * annex_exec_after(). The kernel uses the
 * tensor in the record too (ANNEX_USE_WRITE), unless it is freed before annex_exec_after(). Plans
 * are for kernels that make the same tensors in the same order.
 *
 * Return: 0; -EINVAL (no kernel runs; no such tensor); -ENOSPC (the kernel's tensors do not fit
 * into the device tier, or nothing can leave for this one); -EIO and others of storage, as
 * annex_exec_before(); -ETIMEDOUT; -ENOMEM. After an error the kernel still runs: it must not touch
 * this tensor, and annex_exec_after() ends it.
 */
int annex_exec_made(struct annex_exec *e, const void *ptr);

/**
 * annex_exec_after() - End a kernel, or (annex_exec_before_on()) say that it was launched.
 * @e: the planner.
 *
 * Return: 0; -EINVAL: out of turn.
 */
int annex_exec_after(struct annex_exec *e);

/**
 * struct annex_exec_stats - Of the last finished iteration; @iterations and @plans are totals.
 * @ns: nanoseconds from begin to end.
 * @stall_ns: nanoseconds of @ns that were spent in annex_exec_before(), annex_exec_made() and
 *	annex_exec_end().
 * @planned: it was under a plan, from its first kernel on. A plan that comes in the middle of an
 *	iteration is followed from there on.
 * @strayed: it differed from the iteration that the plan was made for.
 * @iterations: iterations since the beginning.
 * @plans: plans made since the beginning.
 * @plan_err: why the plan that was tried last could not be made, or 0. It is tried again with other
 *	iterations, or another budget.
 * @planning: a plan is being made.
 * @until_plan_ns: from the beginning of the first iteration until a plan was followed; 0: none was.
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
 * annex_exec_plan() - The plan in use, for tools to look at.
 * @e: the planner.
 * @trace: set to the trace that the plan was made of; left alone without a plan.
 * @sys: set to the system that it was made for, likewise.
 *
 * All three stay until the next annex_exec_begin(); without a plan, or astray, until the next
 * annex_exec_before().
 *
 * Return: the plan; NULL: none.
 */
const struct annex_plan *annex_exec_plan(const struct annex_exec *e,
					 const struct annex_trace **trace,
					 const struct annex_system **sys);

/**
 * annex_exec_trace() - A trace of the last finished iteration, with or without a plan.
 * @e: the planner.
 * @trace: the trace, to be given back with annex_trace_free().
 *
 * Return: 0; -ENODATA (no iteration has ended, or it had no kernel); -ENOMEM; as
 * annex_trace_finish().
 */
int annex_exec_trace(const struct annex_exec *e, struct annex_trace **trace);

#ifdef __cplusplus
}
#endif
#endif
