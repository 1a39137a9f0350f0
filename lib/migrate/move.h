/* SPDX-License-Identifier: MIT */
/*
 * Moves: what was asked for, as jobs. The space's lock is held; jobs that may start are handed to
 * the caller, who gives them to their links when he has let go of it.
 */
#ifndef ANNEX_MIGRATE_MOVE_H
#define ANNEX_MIGRATE_MOVE_H

#include "tensor.h"

/**
 * struct annex_move - Pages @at to @end of a tensor are still to be looked at.
 * @to: tier that they go to. @jobs: of it that are under way. @err: the first error, of @name.
 * @detached: nobody waits for it.
 */
struct annex_move {
	struct annex_move *next;
	struct annex_space *space;
	pthread_cond_t ended;
	char *name;
	uint64_t deadline;
	uint32_t at, end, jobs;
	int err;
	uint8_t to;
	bool detached, done;
};

/* A tensor was freed: its moves end. */
void annex_moves_cancel(struct annex_space *s, struct tensor *t);

/* A page of a tensor came to rest: its moves go on. */
void annex_moves_go_on(struct annex_space *s, struct tensor *t, struct job_list *start);

/* Neighbours from @first on, which has a copy below, with copies that are neighbours as well. */
uint32_t annex_pages_together(const struct annex_space *s, uint32_t first, uint32_t n);

/*
 * Bring such pages, for @move or (NULL) for whoever waits for them. The job waits for room:
 * annex_room_made().
 */
int annex_move_in(struct annex_space *s, struct annex_move *move, enum job_kind kind,
		  uint32_t first, uint32_t n);

/* Neighbouring pages that hold nothing get room, likewise. */
int annex_move_zeroes(struct annex_space *s, struct annex_move *move, enum job_kind kind,
		      uint32_t first, uint32_t n);

/*
 * Have neighbouring pages leave the device tier, those without a copy for @tier; or another tier
 * for @tier. @move may be NULL. Return: how many pages, from the first, were seen to; a negative
 * errno.
 */
int annex_move_out(struct annex_space *s, struct annex_move *move, unsigned int tier,
		   uint32_t first, uint32_t n, struct job_list *start);

#endif
