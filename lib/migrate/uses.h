/* SPDX-License-Identifier: MIT */
/*
 * The executor's state, and the tensors of the kernel that runs.
 */
#ifndef ANNEX_MIGRATE_USES_H
#define ANNEX_MIGRATE_USES_H

#include <annex/detail/clock.h>
#include <annex/exec.h>
#include "ahead.h"
#include "kind.h"
#include "planning.h"
#include "probe.h"

struct flights;

/**
 * struct held_use - A tensor that is held while a kernel runs.
 * @use: the kernel's use of it.
 * @serial: serial number of the tensor: another one may be at its address by now.
 * @number: number in the record, of a tensor that the kernel has made; -1: of another.
 */
struct held_use {
	struct annex_exec_use use;
	uint64_t serial;
	int64_t number;
};

/**
 * struct annex_exec - @now: the iteration under way; @kinds: those before, and their plans.
 * @plan: of @kinds, in use, if there is one; @next: being made. @step: of the plan, the next one.
 * @soon: plans that were begun of kinds that were seen once.
 * @joined: it is in use since the middle of this iteration. @first: when the first one began.
 * @held: tensors of the kernel that runs.
 * @serial: tensors from this one on were made in this iteration. @order: of prefetches.
 * @patience: of the present call's waits.
 * @flights: kernels in streams; NULL: none yet. @flies: the kernel that runs is one of them.
 * @asked: when the program asked for the last kernel. @stall: time of this iteration in calls that
 * bring tensors; @stalled: of that, before @asked. @faults: of the space, when the kernel started.
 * @probes: of faults, before there is a plan; @reads: of faults that read.
 * @ahead: what is used while no plan is followed.
 * @waited: of all iterations, for transfers. @made_bytes: of new tensors without a plan, which took
 * @made_ns beside waits.
 */
struct annex_exec {
	struct annex_space *space;
	const struct annex_policy *policy;
	struct annex_exec_opts opts;
	struct annex_system system;
	struct iteration_log now;
	struct kinds kinds;
	struct planning *plan, *next;
	size_t step;
	unsigned int soon;
	struct held_use *held;
	uint32_t n_held, held_room;
	uint64_t began, asked, stall, stalled, serial, order, faults;
	uint64_t waited, made_bytes, made_ns, first;
	struct annex_patience patience;
	bool iterates, runs, flies, strayed, joined;
	struct flights *flights;
	struct probes probes, reads;
	struct ahead ahead;
	struct annex_exec_stats stats;
};

/* Wait for moves, for the timeout of options together. Nothing is left of them afterwards. */
void annex_uses_wait_from_now(struct annex_exec *e);
int annex_uses_wait(struct annex_exec *e, struct annex_move *move);

/* Write uses down as the last kernel's. Tensors that share pages with others come and go with them:
 * they are brought, and not planned. */
int annex_uses_record(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n);

/* Bytes of the last kernel's tensors. annex_uses_fit() - -ENOSPC: more than the device tier. */
uint64_t annex_uses_bytes(const struct annex_exec *e);
int annex_uses_fit(const struct annex_exec *e);

/* Hold tensors, and bring them. @most: pages to come from below; pages that hold nothing yet come
 * in any case. */
int annex_uses_take(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n,
		    uint32_t most);

/* The iteration has ended: see which of the tensors that were made in it live on. */
void annex_uses_see_stay(struct annex_exec *e);

/* The kernel has ended: let its tensors go. Tensors that it has made and freed leave the record,
 * which annex_uses_forget_freed() does alone. */
void annex_uses_let_go(struct annex_exec *e);
void annex_uses_forget_freed(struct annex_exec *e);

#endif
