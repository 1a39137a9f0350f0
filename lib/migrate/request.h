/* SPDX-License-Identifier: MIT */
/*
 * Requests of programs: prefetch, evict, hold and free tensors (annex/mem.h). The space's lock is
 * not held.
 */
#ifndef ANNEX_MIGRATE_REQUEST_H
#define ANNEX_MIGRATE_REQUEST_H

#include "move.h"

/*
 * Request @want for pages of one tensor. @move may be NULL. Return: as annex_prefetch().
 */
int annex_move_begin(struct annex_space *s, const void *ptr, uint64_t bytes,
		     const struct want *want, struct annex_move **move);

/*
 * As annex_hold() and annex_let_go(). With @writes the holder may write the tensor: stores to a
 * GPU's memory cause no page faults. annex_tensor_is_there(): whether all of it is in the device
 * tier.
 */
int annex_tensor_hold(struct annex_space *s, const void *ptr, bool on, bool writes);
bool annex_tensor_is_there(struct annex_space *s, const void *ptr);

/*
 * The same for a kernel in a stream: if the tensor is freed meanwhile, its memory is freed when the
 * kernel has ended. annex_tensor_land() ends the hold, with the lock held.
 */
int annex_tensor_fly(struct annex_space *s, const void *ptr, bool on, bool writes);
void annex_tensor_land(struct annex_space *s, const void *ptr, bool writes, struct job_list *start);

/* Make the pages of a tensor that a program will allocate soon, with undefined contents. */
void annex_tensor_expect(struct annex_space *s, uint64_t bytes);
/* All of it is about to be written: invalidate its copies below, and make its pages writable. */
int annex_tensor_write(struct annex_space *s, const void *ptr);

#endif
