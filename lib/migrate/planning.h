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
 * @log: the iteration that the plan is made from.
 * @once: of a kind that was seen once. If it fails, that is no warning yet.
 * @done: the thread has ended; @plan or @err is set.
 */
struct planning {
	const struct annex_policy *policy;
	struct annex_system sys;
	struct iteration_log log;
	struct annex_trace *trace;
	struct annex_plan *plan;
	pthread_t thread;
	uint32_t done;
	bool running, once;
	int err;
};

/* Begin, with a copy of the log, and kernels' usual times. -ENOMEM, -EAGAIN, -EINVAL. */
int annex_planning_start(struct planning *p, const struct annex_policy *policy,
			 const struct annex_system *sys, const struct iteration_log *log,
			 bool once);

/* Whether it has come to its end, which annex_planning_join() then takes. */
bool annex_planning_ended(const struct planning *p);
void annex_planning_join(struct planning *p);

/* Waits for it if it runs. */
void annex_planning_clear(struct planning *p);

#endif
