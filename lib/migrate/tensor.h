/* SPDX-License-Identifier: MIT */
/*
 * Tensors: which addresses they have. The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_TENSOR_H
#define ANNEX_MIGRATE_TENSOR_H

#include "space.h"

/* The tensor that has the pages of [@ptr, @ptr + @bytes), or NULL; they are @n from *@first. */
struct tensor *annex_tensor_at(struct annex_space *s, const void *ptr, uint64_t bytes,
			       uint32_t *first, uint32_t *n);

/* It is now in use. */
void annex_tensor_use(struct annex_space *s, struct tensor *t);

/* A freed one is forgotten when nothing moves it any more. */
void annex_tensor_rest(struct annex_space *s, struct tensor *t);

const char *annex_tensor_name(const struct tensor *t);

#endif
