/* SPDX-License-Identifier: MIT */
/*
 * Moves: requests, carried out by jobs. The space's lock is held. Jobs that may start are passed to
 * the caller, which passes them to their links after it has released the lock.
 */
#ifndef ANNEX_MIGRATE_MOVE_H
#define ANNEX_MIGRATE_MOVE_H

#include <annex/detail/clock.h>
#include "tensor.h"

/**
 * struct want - A request to move pages.
 * @to: destination tier.
 * @urgent: a kernel waits for the pages. Pages without contents are made as well, with a @most of 0
 *	only these.
 * @keep: into the device tier, copies below stay valid; out of it, the pages stay in it as well.
 * @fresh: into the device tier: the contents are not needed, so pages are made and not read.
 * @patient: out of the device tier: wait for kernels in streams that use the tensor.
 * @most: largest number of pages to move.
 * @deadline: as for annex_prefetch().
 */
struct want {
	uint8_t to;
	bool urgent, keep, fresh, patient;
	uint32_t most;
	uint64_t deadline;
};

/**
 * struct annex_move - A request for pages of one tensor, and its progress.
 * @next: next move of the tensor.
 * @space: its space.
 * @ended: signalled when it is @done.
 * @name: the tensor's name.
 * @want: the request.
 * @why: the eviction that failed, of which @err is: its tensor and its tier; or empty.
 * @at: the next page to handle.
 * @end: the page after the last one.
 * @jobs: number of its jobs that have not ended.
 * @promised: number of pages to be evicted when kernels in streams have ended.
 * @err: the first error, a negative errno.
 * @detached: no caller waits for it.
 * @done: it has been removed from the tensor's list.
 */
struct annex_move {
	struct annex_move *next;
	struct annex_space *space;
	pthread_cond_t ended;
	char *name;
	struct want want;
	char why[ANNEX_MEM_NAME + 64];
	uint32_t at, end, jobs, promised;
	int err;
	bool detached, done;
};

/*
 * Make a move of tensor @t; NULL: no memory. The caller sets at, end and detached. annex_move_add()
 * begins it.
 */
struct annex_move *annex_move_new(struct annex_space *s, const struct tensor *t,
				  const struct want *want);
void annex_move_add(struct annex_space *s, struct tensor *t, struct annex_move *m,
		    struct job_list *start);

/* annex_move_wait() for several moves, which share @patience of @timeout_ms. */
int annex_move_await(struct annex_move *move, struct annex_patience *patience, uint32_t timeout_ms);

/* A tensor was freed: end its moves. */
void annex_moves_cancel(struct annex_space *s, struct tensor *t);

/* A kernel uses a tensor: cancel evictions that wait for earlier kernels. */
void annex_moves_stay(struct annex_space *s, struct tensor *t, struct job_list *start);

/* A page of a tensor is no longer busy, or a kernel has ended: continue its moves. */
void annex_moves_go_on(struct annex_space *s, struct tensor *t, struct job_list *start);

/*
 * Bring in pages from @first on, whose copies below are neighbours as well, for @move or (NULL) for
 * a program that waits for them. The job waits for room: annex_room_made().
 */
int annex_move_in(struct annex_space *s, struct annex_move *move, enum job_kind kind,
		  uint32_t first, uint32_t n);

/* Make all pages of a tensor without pages; fewer, if there is no memory. */
void annex_move_make(struct annex_space *s, const struct tensor *t);

/*
 * A program waits for a page: if the job that brings it in waits for room, let it be among the
 * first to get some. Return: whether there is one.
 */
bool annex_move_expedite(struct annex_space *s, uint32_t page);

/* A program waits for a page that is neither in the device tier nor busy: bring it in. */
void annex_move_wanted(struct annex_space *s, uint32_t page);

/*
 * Evict neighbouring pages from the device tier, pages without a copy to @tier; or move them from
 * another tier to @tier. @move may be NULL. Return: number of pages, from the first, that were
 * handled; a negative errno.
 */
int annex_move_out(struct annex_space *s, struct annex_move *move, unsigned int tier,
		   uint32_t first, uint32_t n, struct job_list *start);

#endif
