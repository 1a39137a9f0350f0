// SPDX-License-Identifier: MIT
/*
 * The guest's table is looked at again and again, since nothing in it can ring. What stands there
 * is copied and checked before it is used: it may be anything.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <annex/clock.h>
#include <uapi/annex.h>
#include "core/log.h"
#include "front.h"
#include "guest.h"

#define LOOK_NS ANNEX_NSEC_PER_MSEC
#define DOZE_MS 1
#define UNIT (2ull << 20)

/**
 * struct guest_client - An entry of the table that was looked at. @asid: 0: none. @front: NULL: it
 * is not served.
 */
struct guest_client {
	uint32_t asid;
	struct ndp_front *front;
	pthread_t thread;
};

/* struct ndp_guest - @bytes: of the file; kernels reach the first @cached of them. */
struct ndp_guest {
	struct annex_ndp *ndp;
	int fd;
	char *base;
	uint64_t bytes, cached;
	struct annex_filter *table;
	uint32_t stop;
	pthread_t thread;
	struct guest_client client[ANNEX_FILTER_ENTRIES];
};

static void *watch(void *arg)
{
	ndp_front_watch(arg);
	return NULL;
}

static void drop(struct guest_client *c)
{
	c->asid = 0;
	if (!c->front)
		return;
	ndp_front_stop(c->front);
	pthread_join(c->thread, NULL);
	ndp_front_end(c->front);
	ndp_front_close(c->front);
	c->front = NULL;
}

/* Whole pages of the uncached part, the table's own excluded, and nobody else's. */
static bool is_right(const struct ndp_guest *g, const struct annex_filter_entry *all,
		     unsigned int i)
{
	const struct annex_filter_entry *e = &all[i];

	if (e->base >= e->bound || (e->base | e->bound) % ANNEX_M2_PAGE ||
	    e->base < g->cached + ANNEX_M2_PAGE || e->bound > g->bytes)
		return false;
	for (unsigned int k = 0; k < ANNEX_FILTER_ENTRIES; k++)
		if (k != i && all[k].asid && all[k].base < e->bound && e->base < all[k].bound)
			return false;
	return true;
}

/* A thread that serves a region; NULL, with a line: it cannot be served. */
static struct ndp_front *serve_region(struct ndp_guest *g, const struct ndp_front_opts *opts,
				      pthread_t *thread)
{
	struct bell none = BELL_NONE;
	struct ndp_client *client;
	struct ndp_front *f;

	if (ndp_client_open(g->ndp, false, &client))
		return NULL;
	if (ndp_front_open(g->ndp, client, opts, &none, &f)) {
		ndp_client_close(client);
		return NULL;
	}
	if (!pthread_create(thread, NULL, watch, f))
		return f;
	ndp_front_end(f);
	ndp_front_close(f);
	return NULL;
}

/*
 * The owner of a region says first how he wants it. Nothing yet: he will. What is not to be had is
 * not looked at again before the entry is another's.
 */
static void begin(struct ndp_guest *g, struct guest_client *c, const struct annex_filter_entry *e)
{
	struct annex_m2_head *wish = (void *)(g->base + e->base);
	struct ndp_front_opts opts = {.transport = ANNEX_M2_CELLS,
				      .region = (char *)wish,
				      .room = e->bound - e->base,
				      .doze_ms = DOZE_MS,
				      .memory = g->base,
				      .memory_bytes = g->cached};

	/* Acquire: what was stored before. */
	if (!annex_atomic_load(&wish->version, ANNEX_ACQUIRE))
		return;
	if (annex_atomic_load(&wish->magic, ANNEX_RELAXED)) {
		/* A device before this one had it, and its kernels and answers are gone. */
		annex_atomic_store(&wish->gone, 1u, ANNEX_RELEASE);
		c->asid = e->asid;
		return;
	}
	opts.stride = annex_atomic_load(&wish->stride, ANNEX_RELAXED);
	opts.slots = annex_atomic_load(&wish->slots, ANNEX_RELAXED);
	c->asid = e->asid;
	c->front = serve_region(g, &opts, &c->thread);
}

/* Whether what was copied belongs together. */
static bool copy_table(struct ndp_guest *g, struct annex_filter_entry *to, uint64_t *change)
{
	struct annex_filter *t = g->table;
	const uint64_t *from = (const uint64_t *)(const void *)t->entry;
	uint64_t words[sizeof(t->entry) / 8], before;

	/* Acquire, each: @change, then the magic that is there when it is, entries, @change again.
	 */
	before = annex_atomic_load((uint64_t *)&t->change, ANNEX_ACQUIRE);
	if (before % 2)
		return false;
	if (annex_atomic_load((uint64_t *)&t->magic, ANNEX_ACQUIRE) != ANNEX_FILTER_MAGIC ||
	    t->version != ANNEX_FILTER_VERSION || t->entries != ANNEX_FILTER_ENTRIES) {
		memset(to, 0, sizeof(t->entry));
		*change = 0;
		return true;
	}
	for (size_t i = 0; i < sizeof(words) / 8; i++)
		words[i] = annex_atomic_load(&from[i], ANNEX_ACQUIRE);
	memcpy(to, words, sizeof(words));
	*change = before;
	return annex_atomic_load((uint64_t *)&t->change, ANNEX_ACQUIRE) == before;
}

static void look(struct ndp_guest *g)
{
	struct annex_filter_entry now[ANNEX_FILTER_ENTRIES];
	uint64_t change;

	if (!copy_table(g, now, &change))
		return;
	for (unsigned int i = 0; i < ANNEX_FILTER_ENTRIES; i++) {
		struct guest_client *c = &g->client[i];

		if (c->asid && c->asid != now[i].asid)
			drop(c);
	}
	for (unsigned int i = 0; i < ANNEX_FILTER_ENTRIES; i++) {
		struct guest_client *c = &g->client[i];

		if (!c->asid && now[i].asid && is_right(g, now, i))
			begin(g, c, &now[i]);
	}
	/* Release: those that are gone from the table are not served any more. */
	if (change)
		annex_atomic_store((uint64_t *)&g->table->seen, change, ANNEX_RELEASE);
}

static void *serve(void *arg)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct ndp_guest *g = arg;
	uint64_t beat = 0;

	/* Acquire: with ndp_guest_close(). */
	while (!annex_atomic_load(&g->stop, ANNEX_ACQUIRE)) {
		/* First: before somebody is served, a device is seen to live. */
		annex_atomic_store((uint64_t *)&g->table->beat, ++beat, ANNEX_RELAXED);
		look(g);
		nanosleep(&pause, NULL);
	}
	for (unsigned int i = 0; i < ANNEX_FILTER_ENTRIES; i++)
		if (g->client[i].asid)
			drop(&g->client[i]);
	return NULL;
}

static int map_file(struct ndp_guest *g, const char *path, uint64_t uncached)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st)) {
		int err = annex_fail(-errno, "%s: %s", path, strerror(errno));

		if (fd >= 0)
			close(fd);
		return err;
	}
	g->bytes = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode) || !uncached || uncached % UNIT || uncached > g->bytes ||
	    g->bytes % UNIT) {
		close(fd);
		return annex_fail(-EINVAL, "%s: %llu uncached bytes of %llu: multiples of 2M", path,
				  (unsigned long long)uncached, (unsigned long long)g->bytes);
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return annex_fail(-EBUSY, "%s: another device serves it", path);
	}
	at = mmap(NULL, g->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		int err = annex_fail(-errno, "%s: it cannot be mapped: %s", path, strerror(errno));

		close(fd);
		return err;
	}
	g->fd = fd; /* whose lock it is */
	g->base = at;
	g->cached = g->bytes - uncached;
	g->table = (void *)(g->base + g->cached);
	return 0;
}

static void release(struct ndp_guest *g)
{
	munmap(g->base, g->bytes);
	close(g->fd);
}

int ndp_guest_open(struct annex_ndp *ndp, const char *path, uint64_t uncached,
		   struct ndp_guest **out)
{
	struct ndp_guest *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return annex_fail(-ENOMEM, "%s: out of memory", path);
	g->ndp = ndp;
	err = map_file(g, path, uncached);
	if (!err) {
		err = -pthread_create(&g->thread, NULL, serve, g);
		if (err)
			annex_fail(err, "%s: cannot start its thread: %s", path, strerror(-err));
	}
	if (err) {
		if (g->base)
			release(g);
		free(g);
		return err;
	}
	*out = g;
	return 0;
}

void ndp_guest_close(struct ndp_guest *g)
{
	if (!g)
		return;
	/* Release: with serve(). */
	annex_atomic_store(&g->stop, 1u, ANNEX_RELEASE);
	pthread_join(g->thread, NULL);
	release(g);
	free(g);
}
