/* SPDX-License-Identifier: MIT */
/*
 * Tasks on cores in virtual time: threads of a program that give their core to another one when a
 * CXL-SSD says that its answer will take long (SkyByte, arXiv:2501.10682).
 *
 * Tasks are cooperative: one runs at a time, in one thread of the process, until it waits. Each is
 * bound to a core, whose clock advances as its tasks work and wait. A task that asks for its turn
 * goes on when no core's clock is behind its own: so requests to the endpoint come in the order of
 * their times (annex/models/cxlport.h, annex/models/cxltier.h).
 */
#ifndef ANNEX_CXLTASK_H
#define ANNEX_CXLTASK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_cxltasks;
struct annex_cxltask;

/**
 * enum annex_cxltask_policy - Which of a core's ready tasks goes on.
 * @ANNEX_CXLTASK_ROUND_ROBIN: the one after the last.
 * @ANNEX_CXLTASK_RANDOM: any.
 * @ANNEX_CXLTASK_FAIRNESS: the one that has had the least time.
 */
enum annex_cxltask_policy {
	ANNEX_CXLTASK_ROUND_ROBIN,
	ANNEX_CXLTASK_RANDOM,
	ANNEX_CXLTASK_FAIRNESS,
};

#define ANNEX_CXLTASK_NEVER UINT64_MAX

/**
 * struct annex_cxltasks_opts - Cores.
 * @cores: their number, at least 1.
 * @policy: as above.
 * @threshold_ns: a task whose wait is announced to be longer gives its core up;
 *	ANNEX_CXLTASK_NEVER: none does.
 * @switch_ns: that a core takes to go over to another task.
 * @stack: bytes of a task's stack; 0: 64 KiB.
 * @seed: of the random policy.
 */
struct annex_cxltasks_opts {
	uint32_t cores;
	enum annex_cxltask_policy policy;
	uint64_t threshold_ns;
	uint64_t switch_ns;
	size_t stack;
	uint64_t seed;
};

/**
 * annex_cxltasks_create() - Make cores without tasks.
 * @opts: as above.
 * @out: to be given back with annex_cxltasks_destroy().
 *
 * Return: 0; -EINVAL (no core, a policy that is none, a stack of less than 16 KiB or more than
 * 1 GiB); -ENOMEM.
 */
int annex_cxltasks_create(const struct annex_cxltasks_opts *opts, struct annex_cxltasks **out);

/**
 * annex_cxltasks_destroy() - Give them back.
 * @all: the cores, which do not run; may be NULL.
 */
void annex_cxltasks_destroy(struct annex_cxltasks *all);

/**
 * annex_cxltasks_add() - Add a task: to core 0, 1 and so on, and to core 0 again.
 * @all: the cores, which do not run.
 * @fn: the task, which ends when it returns.
 * @arg: its argument.
 *
 * Return: 0; -EINVAL (they have run); -ENOMEM.
 */
int annex_cxltasks_add(struct annex_cxltasks *all, void (*fn)(struct annex_cxltask *t, void *arg),
		       void *arg);

/**
 * struct annex_cxltasks_stats - Of a run.
 * @ns: when the last task ended; the run began at 0.
 * @idle_ns: that cores had no ready task, or stood still while one waited, added up over cores,
 *	each until @ns.
 * @switches: times that a core went over to another task.
 */
struct annex_cxltasks_stats {
	uint64_t ns;
	uint64_t idle_ns;
	uint64_t switches;
};

/**
 * annex_cxltasks_run() - Run all tasks to their ends; a second time, tell again how the run was.
 * @all: the cores.
 * @out: what they did.
 *
 * The same tasks run in the same way every time.
 */
void annex_cxltasks_run(struct annex_cxltasks *all, struct annex_cxltasks_stats *out);

/**
 * annex_cxltask_core() - Tell a task's core.
 * @t: the task.
 *
 * Return: its number.
 */
uint32_t annex_cxltask_core(const struct annex_cxltask *t);

/**
 * annex_cxltask_now() - Tell the time.
 * @t: the running task.
 *
 * Return: nanoseconds since the run began.
 */
uint64_t annex_cxltask_now(const struct annex_cxltask *t);

/**
 * annex_cxltask_work() - Let time pass in which the task works.
 * @t: the running task.
 * @ns: nanoseconds.
 */
void annex_cxltask_work(struct annex_cxltask *t, uint64_t ns);

/**
 * annex_cxltask_turn() - Go on when all other cores have come as far.
 * @t: the running task.
 */
void annex_cxltask_turn(struct annex_cxltask *t);

/**
 * annex_cxltask_wait() - Wait for an answer.
 * @t: the running task.
 * @until: when the answer comes.
 * @told: when it is known that it takes until then.
 *
 * Up to @told the core stands still, and to @until if that is not longer than the threshold. Else
 * the core takes other tasks meanwhile, and goes back to this one when it is its turn again.
 */
void annex_cxltask_wait(struct annex_cxltask *t, uint64_t until, uint64_t told);

/**
 * annex_cxltask_barrier() - Wait until all tasks that have not ended are here.
 * @t: the running task.
 *
 * The core takes other tasks meanwhile.
 */
void annex_cxltask_barrier(struct annex_cxltask *t);

#ifdef __cplusplus
}
#endif
#endif
