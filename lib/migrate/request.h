/* SPDX-License-Identifier: MIT */
/*
 * Requests of programs: tensors come, leave, are held, and are freed (annex/mem.h). The space's
 * lock is not held.
 */
#ifndef ANNEX_MIGRATE_REQUEST_H
#define ANNEX_MIGRATE_REQUEST_H

#include "move.h"

/*
 * Ask for @want, for pages of one tensor. @move may be NULL. Return: as annex_prefetch().
 */
int annex_move_begin(struct annex_space *s, const void *ptr, uint64_t bytes,
		     const struct want *want, struct annex_move **move);

/*
 * As annex_hold() and annex_let_go(). With @writes the holder may write it: stores to a GPU's
 * memory make no fault that would tell. annex_tensor_is_there(): whether a prefetch of it would do
 * nothing.
 */
int annex_tensor_hold(struct annex_space *s, const void *ptr, bool on, bool writes);
bool annex_tensor_is_there(struct annex_space *s, const void *ptr);

/*
 * The same for a kernel in a stream: a tensor that it holds may be freed, and goes when the kernel
 * has ended. annex_tensor_land() is the end of it, with the lock held.
 */
int annex_tensor_fly(struct annex_space *s, const void *ptr, bool on, bool writes);
void annex_tensor_land(struct annex_space *s, const void *ptr, bool writes, struct job_list *start);

/* A program will want a new tensor of so many bytes, which may be any: its pages are made. */
void annex_tensor_expect(struct annex_space *s, uint64_t bytes);
/* All of it is about to be written: its copies below are no longer good, and writes do not fault.
 */
int annex_tensor_write(struct annex_space *s, const void *ptr);

#endif
