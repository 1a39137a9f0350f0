/* SPDX-License-Identifier: MIT */
/*
 * Small pieces without a name: a run of granules that this handle has, cut into pieces of one size.
 * Which of them are taken is known here only, in memory of the process: to everybody else the run
 * is one piece, and it is free when the handle is no more.
 */
#ifndef ANNEX_HDM_SLAB_H
#define ANNEX_HDM_SLAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/queue.h>

#define SLAB_BYTES (64u << 10) /* or one granule, if that is more */
#define SLAB_LARGEST 8192u
#define SLAB_CLASSES 24u
#define SLAB_SHARDS 32u
#define SLAB_WORDS (SLAB_BYTES / 64 / 64)

struct annex_hdm;

/*
 * struct slab - A run of granules cut into pieces of one size.
 * @prev: the slab before it in the list of slabs with free pieces.
 * @next: the slab after it there.
 * @all: the next of all slabs of its shard.
 * @at: its first granule.
 * @size: bytes of a piece.
 * @n: pieces.
 * @nfree: free pieces.
 * @scan: words of @free before this one are zero.
 * @free: a bit for each free piece.
 */
struct slab {
	struct slab *prev, *next, *all;
	uint32_t at, size, n, nfree, scan;
	uint16_t class, shard;
	uint64_t free[SLAB_WORDS];
};

/*
 * struct shard - The slabs that threads of one number share.
 * @spare: descriptions that stand for no run. Descriptions are freed with the handle only, so that
 * a stray pointer leads to one.
 */
struct shard {
	ANNEX_CACHE_ALIGNED pthread_mutex_t lock;
	struct slab *some[SLAB_CLASSES];
	struct slab *spare, *all;
};

/*
 * struct slabs - All slabs of a range.
 * @of: for each granule the slab that it is in, or NULL.
 */
struct slabs {
	struct shard *shards;
	struct slab **of;
	size_t of_bytes;
};

int slabs_init(struct annex_hdm *h);
void slabs_free(struct annex_hdm *h);

/* slab_class() - The class for such a piece; -1: it takes granules. */
int slab_class(size_t bytes, size_t align);

/* slab_take() - A piece of a class: -ENOSPC without a line. slab_give(): -EINVAL without a line. */
int slab_take(struct annex_hdm *h, unsigned int class, uint64_t *offset);
int slab_give(struct annex_hdm *h, struct slab *slab, uint64_t offset);

/* slab_take_any() - A piece of this or a larger class, of any thread's: where no run is free. */
int slab_take_any(struct annex_hdm *h, unsigned int class, size_t align, uint64_t *offset);

/* slab_of() - The slab that an offset is in, or NULL. */
struct slab *slab_of(struct annex_hdm *h, uint64_t offset);

/* slabs_trim() - Give back slabs without taken pieces. Return how many in *@freed. */
int slabs_trim(struct annex_hdm *h, uint32_t *freed);

#endif
