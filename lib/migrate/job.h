/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_MIGRATE_JOB_H
#define ANNEX_MIGRATE_JOB_H

#include "move.h"

/* A job for pages that are then busy, counted where it has to be; NULL: no memory. Lock held. */
struct job *annex_job_new(struct annex_space *s, struct annex_move *move, enum job_kind kind,
			  uint32_t first, uint32_t n);

/* It has not begun, and does not: its pages stay, which is no error. Lock held; frees it. */
void annex_job_recall(struct annex_space *s, struct job *job, struct job_list *start);

/* It has ended with @err, without a link. Lock held; frees it. */
void annex_job_finish(struct annex_space *s, struct job *job, struct job_list *start);

#endif
