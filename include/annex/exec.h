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
 * A plan says when things move, never what they hold: a wrong one costs time. On a GPU
 * annex_exec_after() comes when the kernel has ended.
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
 * @policy: a policy's name (annex_policy_find(), "annex"), or "none": what is absent is brought
 *	when a kernel wants it, and what was used longest ago leaves.
 * @record: iterations to look at before a plan is made, at least 2, of which the last two must be
 *	alike (2).
 * @drift: a plan is made anew when a kernel takes so many times as long as it did, or as little, in
 *	three iterations (1.3). Its time goes on until the next one, and what it waits for is not
 *	in it.
 * @system: what the links can do; it is copied, and how much there is of what is not looked at.
 *	NULL: as it is measured while iterations are recorded.
 * @timeout_ms: how long all of a kernel's tensors may take to come (60000).
 */
struct annex_exec_opts {
	const char *policy;
	uint32_t record;
	double drift;
	const struct annex_system *system;
	uint32_t timeout_ms;
};

/**
 * annex_exec_create() - For one space, and one thread at a time.
 *
 * Return: 0; -EINVAL (no such policy, a drift or a record that is not above 1); -ENOMEM.
 */
int annex_exec_create(struct annex_space *s, const struct annex_exec_opts *opts,
		      struct annex_exec **out);

/**
 * annex_exec_destroy() - NULL is allowed. The space stays as it is.
 */
void annex_exec_destroy(struct annex_exec *e);

/**
 * annex_exec_begin() - An iteration begins. annex_exec_end() - It has ended.
 *
 * What was allocated before, and is not freed in it, lives across iterations.
 *
 * Return: 0; -EINVAL: out of turn; annex_exec_end() also -ENOMEM, -EAGAIN (no thread to plan in),
 * and as annex_exec_before() what the plan's last steps met: the iteration has ended all the same.
 */
int annex_exec_begin(struct annex_exec *e);
int annex_exec_end(struct annex_exec *e);

/**
 * struct annex_exec_use - A kernel uses the tensor that @ptr is in; @how: ANNEX_USE_*. In a GPU's
 * memory nobody else sees what it writes: what it only reads is not written back.
 */
struct annex_exec_use {
	const void *ptr;
	uint32_t how;
};

/**
 * annex_exec_before() - A kernel is about to start. Returns when its tensors are in the device
 * tier; there they stay until annex_exec_after().
 *
 * Return: 0; -EINVAL (out of turn; no such tensor; a use that is none); -ENOSPC (their bytes do not
 * fit, or nothing can leave for them); -EIO and others of storage, with the tensor named in
 * annex_last_error(); -ETIMEDOUT; -ENOMEM. After an error the kernel must not run, and the
 * iteration ends with annex_exec_end().
 */
int annex_exec_before(struct annex_exec *e, const char *name, const struct annex_exec_use *uses,
		      unsigned int n);

/**
 * annex_exec_after() - It has ended. Return: 0; -EINVAL: out of turn.
 */
int annex_exec_after(struct annex_exec *e);

/**
 * struct annex_exec_stats - Of the last iteration that has ended, but for the last three.
 * @ns: from begin to end. @stall_ns: of it, in annex_exec_before().
 * @planned: it was under a plan. @strayed: it did not do what the plan was made for.
 * @iterations, @plans: since the beginning.
 * @plan_err: why the plan that was tried last could not be made, or 0. It is tried again with other
 *	iterations, or another budget.
 */
struct annex_exec_stats {
	uint64_t ns, stall_ns;
	bool planned, strayed;
	uint64_t iterations, plans;
	int plan_err;
};

/**
 * annex_exec_get_stats() - Tell it.
 */
void annex_exec_get_stats(const struct annex_exec *e, struct annex_exec_stats *out);

/**
 * annex_exec_plan() - The plan in use, and the trace it was made of, for tools to look at; NULL:
 * none. Both stay until the next annex_exec_begin().
 */
const struct annex_plan *annex_exec_plan(const struct annex_exec *e,
					 const struct annex_trace **trace,
					 const struct annex_system **sys);

#ifdef __cplusplus
}
#endif
#endif
