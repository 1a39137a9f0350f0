/* SPDX-License-Identifier: MIT */
/*
 * Tensors, and their addresses. The space's lock is held.
 */
#ifndef ANNEX_MIGRATE_TENSOR_H
#define ANNEX_MIGRATE_TENSOR_H

#include "space.h"

/* The tensor that contains [@ptr, @ptr + @bytes), or NULL. Its pages there are *@n from *@first. */
struct tensor *annex_tensor_at(struct annex_space *s, const void *ptr, uint64_t bytes,
			       uint32_t *first, uint32_t *n);

/*
 * Allocate a tensor at *@ptr; the lock is not held. *@dirty: a small tensor that must be zeroed.
 * Return: as annex_alloc().
 */
int annex_tensor_new(struct annex_space *s, const char *name, uint64_t bytes, bool any, void **ptr,
		     bool *dirty);

/* Make a tensor the most recently used. */
void annex_tensor_use(struct annex_space *s, struct tensor *t);

/*
 * Free the tensor that begins at @ptr; NULL: there is none. Its idle pages are freed; the caller
 * ends its jobs and moves, then calls annex_tensor_rest(). With *@shares it stays, since other
 * small tensors share it.
 */
struct tensor *annex_tensor_end(struct annex_space *s, const void *ptr, bool *shares);

/* Let no more small tensors share the tensor at @ptr, if any do. The lock is not held. */
void annex_tensor_shut(struct annex_space *s, const void *ptr);

/* Evict kept pages of freed tensors, at most @want. Return: their number. */
uint32_t annex_tensor_drop_kept(struct annex_space *s, uint32_t want);

/* The last kernel in a stream that used a freed tensor has ended. */
void annex_tensor_gone(struct annex_space *s, struct tensor *t);

/*
 * Make a tensor of @n pages with undefined contents before a program allocates one. The caller
 * makes its pages; then it is as if it had been freed. NULL: there is such a tensor, or the device
 * tier has no room.
 */
struct tensor *annex_tensor_ahead(struct annex_space *s, uint32_t n);

/* Free the entry of a freed tensor when it has no jobs. */
void annex_tensor_rest(struct annex_space *s, struct tensor *t);

/**
 * struct tensor_info - Properties of a tensor.
 * @ptr: its first page.
 * @bytes: bytes of its pages.
 * @serial: serial number among all tensors of the space.
 * @shared: small tensors share it.
 * @any: it was allocated with undefined contents.
 */
struct tensor_info {
	void *ptr;
	uint64_t bytes, serial;
	bool shared, any;
};

/* The tensor at @ptr; -EINVAL: none. Whether tensor @serial is alive there. Number of tensors so
 * far. The lock is not held. */
int annex_tensor_info(struct annex_space *s, const void *ptr, struct tensor_info *out);
bool annex_tensor_lives(struct annex_space *s, const void *ptr, uint64_t serial);
uint64_t annex_tensor_serials(struct annex_space *s);

const char *annex_tensor_name(const struct tensor *t);

#endif
