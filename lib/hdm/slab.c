// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "hdm.h"

int slabs_init(struct annex_hdm *h)
{
	struct slabs *s = &h->slabs;
	void *of;

	s->of_bytes = h->t.g.granules * sizeof(struct slab *);
	of = mmap(NULL, s->of_bytes, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	s->of = of == MAP_FAILED ? NULL : of;
	s->shards = aligned_alloc(64, SLAB_SHARDS * sizeof(*s->shards));
	if (!s->of || !s->shards)
		return annex_fail(-ENOMEM, "%s: out of memory", h->uri);
	for (unsigned int i = 0; i < SLAB_SHARDS; i++) {
		s->shards[i] = (struct shard){.spare = NULL};
		pthread_mutex_init(&s->shards[i].lock, NULL);
	}
	return 0;
}

void slabs_free(struct annex_hdm *h)
{
	struct slabs *s = &h->slabs;

	for (unsigned int i = 0; s->shards && i < SLAB_SHARDS; i++) {
		for (struct slab *slab = s->shards[i].all, *next; slab; slab = next) {
			next = slab->all;
			free(slab);
		}
		pthread_mutex_destroy(&s->shards[i].lock);
	}
	free(s->shards);
	if (s->of)
		munmap(s->of, s->of_bytes);
}

/* Eight sizes up to 512, then four to each power of two. */
static unsigned int class_of(size_t bytes)
{
	unsigned int log;

	if (bytes <= 512)
		return (unsigned int)((bytes + 63) / 64 - 1);
	log = 63 - (unsigned int)__builtin_clzll(bytes - 1);
	return 4 + (log - 9) * 4 + (unsigned int)((bytes - 1) >> (log - 2));
}

static uint32_t class_size(unsigned int class)
{
	return class < 8 ? 64 * (class + 1) : (class % 4 + 5) << (class / 4 - 2 + 7);
}

int slab_class(size_t bytes, size_t align)
{
	unsigned int class;

	if (bytes > SLAB_LARGEST || align > HDM_PAGE)
		return -1;
	class = class_of(bytes);
	while (class < SLAB_CLASSES && class_size(class) % align)
		class ++;
	return class < SLAB_CLASSES ? (int)class : -1;
}

static struct shard *my_shard(struct annex_hdm *h)
{
	static unsigned int threads;
	static _Thread_local unsigned int number; /* from 1; 0: not numbered yet */

	if (!number) /* relaxed: the number only has to be unique */
		number = annex_atomic_add(&threads, 1, ANNEX_RELAXED) + 1;
	return &h->slabs.shards[number % SLAB_SHARDS];
}

static void push(struct shard *sh, struct slab *slab)
{
	struct slab **head = &sh->some[slab->class];

	slab->prev = NULL;
	slab->next = *head;
	if (*head)
		(*head)->prev = slab;
	*head = slab;
}

static void unlink_slab(struct shard *sh, struct slab *slab)
{
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		sh->some[slab->class] = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
}

static void set_of(struct annex_hdm *h, const struct slab *slab, struct slab *to)
{
	uint64_t n = h->t.g.granule < SLAB_BYTES ? SLAB_BYTES / h->t.g.granule : 1;

	/* Release: with the acquire of slab_of(), which finds the description written. */
	for (uint64_t i = 0; i < n; i++)
		annex_atomic_store(&h->slabs.of[slab->at + i], to, ANNEX_RELEASE);
}

struct slab *slab_of(struct annex_hdm *h, uint64_t offset)
{
	/* Acquire: with the release of set_of(). */
	return annex_atomic_load(&h->slabs.of[offset / h->t.g.granule], ANNEX_ACQUIRE);
}

/* A description, with the lock of its shard. */
static struct slab *describe(struct annex_hdm *h, struct shard *sh)
{
	struct slab *slab = sh->spare;

	if (slab) {
		sh->spare = slab->next;
		return slab;
	}
	slab = calloc(1, sizeof(*slab));
	if (slab) {
		slab->all = sh->all;
		sh->all = slab;
		slab->shard = (uint16_t)(sh - h->slabs.shards);
	}
	return slab;
}

/* One slab more. The lock of the shard is not held meanwhile, but is afterwards. */
static int grow(struct annex_hdm *h, struct shard *sh, unsigned int class)
{
	uint64_t bytes = h->t.g.granule > SLAB_BYTES ? h->t.g.granule : SLAB_BYTES;
	uint32_t most = SLAB_WORDS * 64, at;
	struct slab *slab;
	int err;

	pthread_mutex_unlock(&sh->lock);
	err = hdm_take_run(h, bytes, 1, &at);
	pthread_mutex_lock(&sh->lock);
	if (err)
		return err;
	slab = describe(h, sh);
	if (!slab) {
		pthread_mutex_unlock(&sh->lock);
		hdm_give_run(h, at);
		pthread_mutex_lock(&sh->lock);
		return annex_fail(-ENOMEM, "%s: out of memory", h->uri);
	}
	slab->at = at;
	slab->class = (uint16_t) class;
	slab->size = class_size(class);
	slab->n = bytes / slab->size < most ? (uint32_t)(bytes / slab->size) : most;
	slab->nfree = slab->n;
	slab->scan = 0;
	for (uint32_t i = 0; i < SLAB_WORDS; i++) {
		uint32_t left = slab->n > i * 64 ? slab->n - i * 64 : 0;

		slab->free[i] = left >= 64 ? UINT64_MAX : (1ull << left) - 1;
	}
	set_of(h, slab, slab);
	push(sh, slab);
	return 0;
}

/* The next free piece of a slab that has one. */
static uint64_t take_first(struct annex_hdm *h, struct shard *sh, struct slab *slab)
{
	uint32_t bit;

	while (!slab->free[slab->scan])
		slab->scan++;
	bit = (uint32_t)__builtin_ctzll(slab->free[slab->scan]);
	slab->free[slab->scan] &= slab->free[slab->scan] - 1;
	if (!--slab->nfree)
		unlink_slab(sh, slab);
	return slab->at * h->t.g.granule + (slab->scan * 64 + bit) * slab->size;
}

/* Take an existing free piece; the shard is locked. A piece on poisoned pages stays taken,
 * unused. */
static bool take_good(struct annex_hdm *h, struct shard *sh, unsigned int class, uint64_t *offset)
{
	while (sh->some[class]) {
		*offset = take_first(h, sh, sh->some[class]);
		if (!hdm_poisoned(h, *offset, class_size(class)))
			return true;
	}
	return false;
}

int slab_take(struct annex_hdm *h, unsigned int class, uint64_t *offset)
{
	struct shard *sh = my_shard(h);
	int err = hdm_poison_recall(h);

	if (err)
		return err;
	pthread_mutex_lock(&sh->lock);
	while (!err && !take_good(h, sh, class, offset))
		err = grow(h, sh, class);
	pthread_mutex_unlock(&sh->lock);
	return err;
}

int slab_take_any(struct annex_hdm *h, unsigned int class, size_t align, uint64_t *offset)
{
	bool good = false;

	for (unsigned int i = 0; i < SLAB_SHARDS && !good; i++) {
		struct shard *sh = &h->slabs.shards[i];

		pthread_mutex_lock(&sh->lock);
		for (unsigned int c = class; c < SLAB_CLASSES && !good; c++)
			good = class_size(c) % align == 0 && take_good(h, sh, c, offset);
		pthread_mutex_unlock(&sh->lock);
	}
	return good ? 0 : -ENOSPC;
}

/* Its description stands for no run any more; that is the caller's then. */
static void retire(struct annex_hdm *h, struct shard *sh, struct slab *slab)
{
	unlink_slab(sh, slab);
	set_of(h, slab, NULL);
	slab->next = sh->spare;
	sh->spare = slab;
	slab->n = 0;
}

int slab_give(struct annex_hdm *h, struct slab *slab, uint64_t offset)
{
	struct shard *sh = &h->slabs.shards[slab->shard];
	uint64_t in, bit;
	uint32_t at;
	bool empty = false;
	int err = -EINVAL;

	pthread_mutex_lock(&sh->lock);
	at = slab->at;
	in = offset - at * h->t.g.granule;
	/* It may have gone since it was found, if the piece is freed twice. */
	bit = in / slab->size;
	if (bit < slab->n && in % slab->size == 0 && !(slab->free[bit / 64] >> bit % 64 & 1)) {
		err = 0;
		slab->free[bit / 64] |= 1ull << bit % 64;
		if (slab->scan > bit / 64)
			slab->scan = (uint32_t)(bit / 64);
		if (!slab->nfree++)
			push(sh, slab);
		/* One that is empty stays, for a program that takes and gives back in turn. */
		empty = slab->nfree == slab->n && (slab->prev || slab->next);
		if (empty)
			retire(h, sh, slab);
	}
	pthread_mutex_unlock(&sh->lock);
	return empty ? hdm_give_run(h, at) : err;
}

/* One slab of which nothing is taken, retired; NULL: there is none. */
static struct slab *retire_one(struct annex_hdm *h, struct shard *sh, uint32_t *at)
{
	for (unsigned int class = 0; class < SLAB_CLASSES; class ++) {
		for (struct slab *slab = sh->some[class]; slab; slab = slab->next) {
			if (slab->nfree != slab->n)
				continue;
			*at = slab->at;
			retire(h, sh, slab);
			return slab;
		}
	}
	return NULL;
}

int slabs_trim(struct annex_hdm *h, uint32_t *freed)
{
	for (unsigned int i = 0; i < SLAB_SHARDS; i++) {
		struct shard *sh = &h->slabs.shards[i];
		struct slab *slab;
		uint32_t at = 0;

		do {
			int err = 0;

			pthread_mutex_lock(&sh->lock);
			slab = retire_one(h, sh, &at);
			pthread_mutex_unlock(&sh->lock);
			if (slab)
				err = hdm_give_run(h, at);
			if (err)
				return err;
			*freed += !!slab;
		} while (slab);
	}
	return 0;
}
