/* SPDX-License-Identifier: MIT */
/*
 * A plan made in the background.
 */
#ifndef ANNEX_MIGRATE_PLANNING_H
#define ANNEX_MIGRATE_PLANNING_H

#include <pthread.h>
#include <annex/plan.h>
#include "log.h"

/**
 * struct planning - A thread that makes a plan.
 * @policy: the policy that makes it.
 * @sys: the system that it is for.
 * @log: the iteration that it is made from.
 * @trace: the trace of that iteration.
 * @plan: the plan.
 * @thread: the thread.
 * @done: the thread has ended; @plan or @err is set.
 * @running: @thread was started and not joined.
 * @once: the kind of iteration occurred once. A failure is then no warning.
 * @given: it is from an earlier run, and @log has no addresses yet.
 * @err: 0, or the error.
 */
struct planning {
	const struct annex_policy *policy;
	struct annex_system sys;
	struct iteration_log log;
	struct annex_trace *trace;
	struct annex_plan *plan;
	pthread_t thread;
	uint32_t done;
	bool running, once, given;
	int err;
};

/* Begin, with a copy of the log, and kernels' usual times. -ENOMEM, -EAGAIN, -EINVAL. */
int annex_planning_start(struct planning *p, const struct annex_policy *policy,
			 const struct annex_system *sys, const struct iteration_log *log,
			 bool once);

/* Take over a trace and a plan of an earlier run. -ENOMEM: they still belong to the caller. */
int annex_planning_take(struct planning *p, const struct annex_system *sys,
			struct annex_trace *trace, struct annex_plan *plan);

/* Learn the addresses of tensors from an iteration of the plan's kind, if it has none. */
void annex_planning_learn(struct planning *p, const struct iteration_log *last);

/* Whether the thread has ended; wait for its end. */
bool annex_planning_ended(const struct planning *p);
void annex_planning_join(struct planning *p);

/* Wait for the thread if it runs, and free the plan. */
void annex_planning_clear(struct planning *p);

#endif
