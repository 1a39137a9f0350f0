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
#include "fault.h"

struct flights;

/**
 * struct held_use - A tensor that is held while a kernel runs.
 * @use: the kernel's use of it.
 * @serial: serial number of the tensor: another one may be at its address by now.
 * @number: number in the record if the kernel has allocated the tensor; otherwise -1.
 */
struct held_use {
	struct annex_exec_use use;
	uint64_t serial;
	int64_t number;
};

/**
 * struct annex_exec - An executor. Times are in nanoseconds.
 * @space: its space.
 * @policy: its policy; NULL: "none".
 * @opts: the options.
 * @system: the options' system.
 * @now: record of the current iteration.
 * @kinds: earlier iterations, and their plans.
 * @plan: the plan of @kinds in use, or NULL.
 * @next: a plan that is being made, or NULL.
 * @step: next step of @plan.
 * @soon: number of plans that were begun for kinds that had occurred once.
 * @held: tensors of the running kernel.
 * @n_held: number of @held.
 * @held_room: capacity of @held.
 * @began: start of the current iteration.
 * @asked: time at which the program requested the last kernel.
 * @stall: time of this iteration in calls that bring in tensors.
 * @stalled: part of @stall before @asked.
 * @moving: processor time that the program's thread spent on moving tensors in this iteration.
 * @links: processor time of the links' threads when it began.
 * @in: bytes that had come into the device tier by then.
 * @page_ns: processor time that a page took in the last iteration with enough of them.
 * @serial: tensors from this serial number on were allocated in this iteration.
 * @order: deadline of the last prefetch, which orders prefetches.
 * @faults: page faults of the space at the start of the kernel.
 * @waited: time of all iterations spent in waits for transfers.
 * @made_bytes: bytes of tensors that were made without a plan.
 * @made_ns: time taken to make these, without waits.
 * @first: start of the first iteration.
 * @patience: deadline of the current call's waits.
 * @iterates: an iteration has begun.
 * @runs: a kernel runs.
 * @flies: that kernel is in a stream.
 * @strayed: the iteration differs from that of @plan.
 * @joined: @plan is in use since the middle of this iteration.
 * @flights: kernels in streams; NULL: none yet.
 * @probes: times of page faults, measured before there is a plan.
 * @reads: times of reads for page faults.
 * @ahead: read-ahead while no plan is followed.
 * @stats: the counters.
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
	uint64_t moving, links, in, page_ns;
	struct annex_patience patience;
	bool iterates, runs, flies, strayed, joined;
	struct flights *flights;
	struct probes probes, reads;
	struct ahead ahead;
	struct annex_exec_stats stats;
};

/* Begin a call's waits, which share the timeout of the options; wait for a move, and free it. */
void annex_uses_wait_from_now(struct annex_exec *e);
int annex_uses_wait(struct annex_exec *e, struct annex_move *move);

/* Record uses of the last kernel. Small tensors, which share pages, are brought in but not
 * recorded. */
int annex_uses_record(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n);

/* Bytes of the last kernel's tensors. annex_uses_fit(): -ENOSPC: they exceed the device tier. */
uint64_t annex_uses_bytes(const struct annex_exec *e);
int annex_uses_fit(const struct annex_exec *e);

/* Hold tensors, and bring them in. @most: most pages to read from lower tiers; pages without
 * contents are made in any case. */
int annex_uses_take(struct annex_exec *e, const struct annex_exec_use *uses, unsigned int n,
		    uint32_t most);

/* End of an iteration: record which of its new tensors are still alive. */
void annex_uses_see_stay(struct annex_exec *e);

/* End of a kernel: release its tensors, after annex_uses_forget_freed(), which removes tensors that
 * it has allocated and freed from the record. */
void annex_uses_let_go(struct annex_exec *e);
void annex_uses_forget_freed(struct annex_exec *e);

/*
 * flight.c: kernels that were launched to a GPU's stream. Their tensors are held until an event
 * after the kernel has passed, and then a thread releases them. The program continues meanwhile.
 */

/*
 * Prepare the launch of a kernel to @stream, so that its end can be detected.
 * annex_flight_begin(): its tensors are in the device tier. annex_flight_drop(): it is not
 * launched. annex_flight_launch(): it was launched, and its tensors no longer belong to the
 * executor.
 */
int annex_flight_prepare(struct annex_exec *e, void *stream);
int annex_flight_begin(struct annex_exec *e);
void annex_flight_drop(struct annex_exec *e);
void annex_flight_launch(struct annex_exec *e);

/*
 * Wait for the kernels in flight, and record the times of this iteration's kernels. Return: 0; the
 * error of one of them; -ETIMEDOUT.
 */
int annex_flights_wait(struct annex_exec *e);

/* Wait, and end the thread. */
void annex_flights_end(struct annex_exec *e);

#endif
