/* SPDX-License-Identifier: MIT */
/*
 * Moves: what was asked for, as jobs. The space's lock is held; jobs that may start are handed to
 * the caller, who gives them to their links when he has let go of it.
 */
#ifndef ANNEX_MIGRATE_MOVE_H
#define ANNEX_MIGRATE_MOVE_H

#include <annex/detail/clock.h>
#include "tensor.h"

/**
 * struct want - A request: pages are to be in tier @to.
 * @urgent: a kernel waits for them; pages that hold nothing yet come as well, and with no @most
 * these alone, whatever the others do.
 * @keep: on the way in, copies below stay good; on the way out, pages stay in the device tier too.
 * @fresh: on the way in, what pages hold is of no use: they are not brought, but made.
 * @patient: on the way out, kernels in streams that use the tensor end first.
 * @most: so many of the pages that are elsewhere.
 * @deadline: as for annex_prefetch().
 */
struct want {
	uint8_t to;
	bool urgent, keep, fresh, patient;
	uint32_t most;
	uint64_t deadline;
};

/**
 * struct annex_move - A request for pages of one tensor, and how far it is.
 * @next: of the tensor.
 * @ended: signalled when it is @done.
 * @name: the tensor's.
 * @victim: the tensor that could not leave for it, and that @err is of; or empty.
 * @at: the next page to be looked at.
 * @end: the page after the last one.
 * @jobs: of it that have not ended.
 * @promised: pages that leave when kernels in streams have ended.
 * @err: the first error, a negative errno.
 * @detached: nobody waits for it.
 * @done: it is not in the tensor's list any more.
 */
struct annex_move {
	struct annex_move *next;
	struct annex_space *space;
	pthread_cond_t ended;
	char *name;
	struct want want;
	char victim[ANNEX_MEM_NAME];
	uint32_t at, end, jobs, promised;
	int err;
	bool detached, done;
};

/*
 * A move of tensor @t, whose caller sets @at, @end and @detached; NULL: no memory. With
 * annex_move_add() it begins.
 */
struct annex_move *annex_move_new(struct annex_space *s, const struct tensor *t,
				  const struct want *want);
void annex_move_add(struct annex_space *s, struct tensor *t, struct annex_move *m,
		    struct job_list *start);

/* annex_move_wait(), which has @patience of @timeout_ms with several moves. */
int annex_move_await(struct annex_move *move, struct annex_patience *patience, uint32_t timeout_ms);

/* A tensor was freed: its moves end. */
void annex_moves_cancel(struct annex_space *s, struct tensor *t);

/* A kernel uses a tensor: what was to leave after those before it stays. */
void annex_moves_stay(struct annex_space *s, struct tensor *t, struct job_list *start);

/* A page of a tensor came to rest, or a kernel has ended: its moves go on. */
void annex_moves_go_on(struct annex_space *s, struct tensor *t, struct job_list *start);

/*
 * Bring pages from @first on, whose copies below are neighbours as well, for @move or (NULL) for a
 * program that waits for them. The job waits for room: annex_room_made().
 */
int annex_move_in(struct annex_space *s, struct annex_move *move, enum job_kind kind,
		  uint32_t first, uint32_t n);

/* Make all pages of a tensor, which has none; some, if there is no memory. */
void annex_move_make(struct annex_space *s, const struct tensor *t);

/* A program waits for a page that is not in the device tier, and not busy: a job brings it. */
void annex_move_wanted(struct annex_space *s, uint32_t page);

/*
 * Have neighbouring pages leave the device tier, those without a copy for @tier; or another tier
 * for @tier. @move may be NULL. Return: how many pages, from the first, were seen to; a negative
 * errno.
 */
int annex_move_out(struct annex_space *s, struct annex_move *move, unsigned int tier,
		   uint32_t first, uint32_t n, struct job_list *start);

#endif
