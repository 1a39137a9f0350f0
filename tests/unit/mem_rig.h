/* SPDX-License-Identifier: MIT */
/*
 * A space with two stores, and common operations on it.
 */
#ifndef ANNEX_TESTS_MEM_RIG_H
#define ANNEX_TESTS_MEM_RIG_H

#include <annex/mem.h>

#define MIB (1ull << 20)
#define WAIT_MS 20000u

struct mem_rig {
	struct annex_store *stores[2];
	struct annex_space *space;
};

/* Stores at @uri, both the same; NULL: none. */
void mem_rig_open(struct mem_rig *r, const char *uri, struct annex_space_opts opts);
void mem_rig_close(struct mem_rig *r);

struct annex_space_stats mem_stats(struct mem_rig *r);
/* All tensors are freed: wait until transfers in flight have ended and freed their memory. */
void mem_wait_empty(struct mem_rig *r);
void *mem_alloc(struct mem_rig *r, const char *name, uint64_t bytes);
/* The same, with each byte @value. */
void *mem_filled(struct mem_rig *r, const char *name, uint64_t bytes, int value);
void mem_evict(struct mem_rig *r, void *p, uint64_t bytes, unsigned int tier);
void mem_fetch(struct mem_rig *r, void *p, uint64_t bytes);
/* Return: the result of the move, which was begun. */
int mem_try_evict(struct mem_rig *r, void *p, uint64_t bytes, unsigned int tier);
int mem_try_fetch(struct mem_rig *r, void *p, uint64_t bytes);

#define MEM_TWINS 4u /* random programs that run at once */

/* One of them. @wrong: how often it differed from plain memory. */
struct mem_twin {
	struct mem_rig *r;
	uint64_t seed;
	unsigned int wrong;
};

/* A tensor, and its expected contents. */
struct mem_pair {
	uint8_t *p, *plain;
	uint64_t bytes;
};

/* Change a random part, in plain memory and in the tensor. */
void mem_change(uint64_t *state, const struct mem_pair *x);

/* Free it, if there is one, and make another of a random size, which may be small. */
void mem_renew(struct mem_twin *t, uint64_t *state, struct mem_pair *x);

/* Run them, until all have ended. */
void mem_twins(struct mem_rig *r, uint64_t *state, void *(*live)(void *twin));

/* Resident bytes of this process. */
uint64_t mem_resident(void);

#endif
