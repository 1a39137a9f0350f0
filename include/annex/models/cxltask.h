/* SPDX-License-Identifier: MIT */
/*
 * Tasks on cores in virtual time: threads of a program that yield their core to another one when a
 * CXL-SSD announces a long latency (SkyByte, arXiv:2501.10682).
 *
 * Tasks are cooperative: one runs at a time, in one thread of the process, until it waits. Each is
 * bound to a core, whose clock advances as its tasks work and wait. annex_cxltask_turn() returns
 * when no core's clock is behind the task's own: so requests reach the endpoint in the order of
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
 * enum annex_cxltask_policy - Choice of the next task among a core's ready tasks.
 * @ANNEX_CXLTASK_ROUND_ROBIN: the task after the last one.
 * @ANNEX_CXLTASK_RANDOM: a random task.
 * @ANNEX_CXLTASK_FAIRNESS: the task that has run for the shortest time.
 */
enum annex_cxltask_policy {
	ANNEX_CXLTASK_ROUND_ROBIN,
	ANNEX_CXLTASK_RANDOM,
	ANNEX_CXLTASK_FAIRNESS,
};

#define ANNEX_CXLTASK_NEVER UINT64_MAX

/**
 * struct annex_cxltasks_opts - Options of annex_cxltasks_create().
 * @cores: number of cores, at least 1.
 * @policy: choice of the next task.
 * @threshold_ns: a task yields its core if a longer wait is announced; ANNEX_CXLTASK_NEVER: it
 *	never does.
 * @switch_ns: time of a switch to another task.
 * @stack: bytes of a task's stack; 0: 64 KiB.
 * @seed: seed of the random policy.
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
 * @opts: the options.
 * @out: the cores; release it with annex_cxltasks_destroy().
 *
 * Return: 0; -EINVAL (no core, an unknown policy, a stack of less than 16 KiB or more than 1 GiB);
 * -ENOMEM.
 */
int annex_cxltasks_create(const struct annex_cxltasks_opts *opts, struct annex_cxltasks **out);

/**
 * annex_cxltasks_destroy() - Free the cores.
 * @all: the cores, which must not be running; may be NULL.
 */
void annex_cxltasks_destroy(struct annex_cxltasks *all);

/**
 * annex_cxltasks_add() - Add a task to the next core, in a round robin from core 0.
 * @all: the cores, which must not be running.
 * @fn: the task, which ends when it returns.
 * @arg: its argument.
 *
 * Return: 0; -EINVAL (they have run); -ENOMEM.
 */
int annex_cxltasks_add(struct annex_cxltasks *all, void (*fn)(struct annex_cxltask *t, void *arg),
		       void *arg);

/**
 * struct annex_cxltasks_stats - Result of a run.
 * @ns: time at which the last task ended; the run began at 0.
 * @idle_ns: sum over all cores of the time until @ns without a ready task or with a task that
 *	waited on its core.
 * @switches: number of switches to another task.
 */
struct annex_cxltasks_stats {
	uint64_t ns;
	uint64_t idle_ns;
	uint64_t switches;
};

/**
 * annex_cxltasks_run() - Run all tasks until they end. A second call returns the same result.
 * @all: the cores.
 * @out: the result.
 *
 * Runs are deterministic.
 */
void annex_cxltasks_run(struct annex_cxltasks *all, struct annex_cxltasks_stats *out);

/**
 * annex_cxltask_core() - A task's core.
 * @t: the task.
 *
 * Return: its number.
 */
uint32_t annex_cxltask_core(const struct annex_cxltask *t);

/**
 * annex_cxltask_now() - A task's time.
 * @t: the running task.
 *
 * Return: nanoseconds since the run began.
 */
uint64_t annex_cxltask_now(const struct annex_cxltask *t);

/**
 * annex_cxltask_work() - Advance the core's clock by the task's work.
 * @t: the running task.
 * @ns: nanoseconds.
 */
void annex_cxltask_work(struct annex_cxltask *t, uint64_t ns);

/**
 * annex_cxltask_turn() - Wait until no other core's clock is behind.
 * @t: the running task.
 */
void annex_cxltask_turn(struct annex_cxltask *t);

/**
 * annex_cxltask_wait() - Wait for an answer.
 * @t: the running task.
 * @until: arrival of the answer.
 * @told: time at which @until is known.
 *
 * The core is idle until @told, and until @until if the remaining wait does not exceed the
 * threshold. Otherwise the core runs other tasks, and returns to this one by its policy.
 */
void annex_cxltask_wait(struct annex_cxltask *t, uint64_t until, uint64_t told);

/**
 * annex_cxltask_barrier() - Wait until all tasks that have not ended are at the barrier.
 * @t: the running task.
 *
 * The core runs other tasks meanwhile.
 */
void annex_cxltask_barrier(struct annex_cxltask *t);

#ifdef __cplusplus
}
#endif
#endif
