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

/*
 * A new tensor at *@ptr; the lock is not held. *@dirty: a small one, whose bytes are anything.
 * Return: as annex_alloc().
 */
int annex_tensor_new(struct annex_space *s, const char *name, uint64_t bytes, bool any, void **ptr,
		     bool *dirty);

/* It is now in use. */
void annex_tensor_use(struct annex_space *s, struct tensor *t);

/*
 * The tensor that begins at @ptr is freed; NULL: none does. Its idle pages are emptied; the caller
 * ends its jobs and moves, then calls annex_tensor_rest(). With *@shares it does not end, since
 * other small tensors in it live.
 */
struct tensor *annex_tensor_end(struct annex_space *s, const void *ptr, bool *shares);

/* Pages of freed tensors that wait for the next ones leave, @want at most. Return: how many. */
uint32_t annex_tensor_drop_kept(struct annex_space *s, uint32_t want);

/* The last kernel in a stream that used a freed one has ended. */
void annex_tensor_gone(struct annex_space *s, struct tensor *t);

/*
 * A tensor for the next program that wants one of @n pages, and any bytes. Its pages are to be
 * made; then it is as if it had been freed. NULL: one waits already, or the device tier has no
 * room.
 */
struct tensor *annex_tensor_ahead(struct annex_space *s, uint32_t n);

/* A freed one is forgotten when nothing moves it any more. */
void annex_tensor_rest(struct annex_space *s, struct tensor *t);

/**
 * struct tensor_info - Its pages, and its number among all that there ever were.
 */
struct tensor_info {
	void *ptr;
	uint64_t bytes, serial;
	bool shared, any;
};

/* The tensor at @ptr; the lock is not held. -EINVAL: none. Whether tensor @serial lives there. The
 * number of tensors so far. */
int annex_tensor_info(struct annex_space *s, const void *ptr, struct tensor_info *out);
bool annex_tensor_lives(struct annex_space *s, const void *ptr, uint64_t serial);
uint64_t annex_tensor_serials(struct annex_space *s);

const char *annex_tensor_name(const struct tensor *t);

#endif
