// SPDX-License-Identifier: MIT
/*
 * The guest's table is looked at again and again, since nothing in it can ring. An entry is
 * copied and checked before it is used: it may be anything.
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
#include <annex/detail/clock.h>
#include <uapi/annex_hdm.h>
#include "core/log.h"
#include "core/mapping.h"
#include "front.h"
#include "guest.h"

#define LOOK_NS ANNEX_NSEC_PER_MSEC
#define DOZE_MS 1
#define UNIT (2ull << 20)

/**
 * struct guest_table - A consistent copy of the table.
 * @change: number of its last change; 0: no table.
 * @generation: number of the guest's start.
 * @entry: the entries.
 */
struct guest_table {
	uint64_t change, generation;
	struct annex_filter_entry entry[ANNEX_FILTER_ENTRIES];
};

/**
 * struct guest_client - A client of an entry.
 * @entry: the entry; its asid is 0: none.
 * @front: its front end; NULL: not served.
 * @thread: its thread.
 */
struct guest_client {
	struct annex_filter_entry entry;
	struct ndp_front *front;
	pthread_t thread;
};

/**
 * struct ndp_guest - A guest.
 * @ndp: the device.
 * @fd: the file of its memory.
 * @base: mapping of the file.
 * @mapping: guard of the mapping against truncation.
 * @bytes: bytes of the file.
 * @cached: bytes at its start that kernels reach.
 * @table: the table in its memory.
 * @generation: generation of the table that @client is from.
 * @beat: last heartbeat.
 * @stop: ends the threads.
 * @watched: @thread polls the table.
 * @thread: the thread that polls.
 * @client: clients of the entries.
 */
struct ndp_guest {
	struct annex_ndp *ndp;
	int fd;
	char *base;
	struct annex_mapping *mapping;
	uint64_t bytes, cached;
	struct annex_filter *table;
	uint64_t generation, beat;
	uint32_t stop;
	bool watched;
	pthread_t thread;
	struct guest_client client[ANNEX_FILTER_ENTRIES];
};

static void *watch(void *arg)
{
	ndp_front_watch(arg);
	return NULL;
}

/* A device whose heart stands still is taken for a dead one, so also while it is busy with many. */
static void beat(struct ndp_guest *g)
{
	/* Relaxed: it only has to change. */
	annex_atomic_store((uint64_t *)&g->table->heartbeat, ++g->beat, ANNEX_RELAXED);
}

/* Drop the clients whose entries have changed; NULL: all. They end at the same time, so it takes no
 * longer than one. */
static void drop(struct ndp_guest *g, const struct annex_filter_entry *now)
{
	bool over[ANNEX_FILTER_ENTRIES];

	for (unsigned int i = 0; i < ANNEX_FILTER_ENTRIES; i++) {
		const struct annex_filter_entry *e = &g->client[i].entry;

		over[i] = e->asid && (!now || e->asid != now[i].asid || e->base != now[i].base ||
				      e->bound != now[i].bound);
		if (over[i] && g->client[i].front)
			ndp_front_stop(g->client[i].front);
	}
	for (unsigned int i = 0; i < ANNEX_FILTER_ENTRIES; i++) {
		struct guest_client *c = &g->client[i];

		if (!over[i])
			continue;
		c->entry.asid = 0;
		if (!c->front)
			continue;
		pthread_join(c->thread, NULL);
		ndp_front_end(c->front);
		ndp_front_close(c->front);
		c->front = NULL;
		beat(g);
	}
}

/* Whether an entry has whole pages of the uncached part, outside of the table and other entries. */
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
	int err;

	if (ndp_client_open(g->ndp, false, &client))
		return NULL;
	if (ndp_front_open(g->ndp, client, opts, &none, &f)) {
		ndp_client_close(client);
		return NULL;
	}
	err = pthread_create(thread, NULL, watch, f);
	if (!err)
		return f;
	annex_fail(-err, "no thread for it: %s", strerror(err));
	ndp_front_end(f);
	ndp_front_close(f);
	return NULL;
}

/*
 * The owner of a region says first how he wants it. Until then, look again. A
 * region that cannot be had is not looked at again before the entry is another's.
 */
static void start_client(struct ndp_guest *g, struct guest_client *c,
			 const struct annex_filter_entry *e)
{
	struct annex_m2_head *wish = (void *)(g->base + e->base);
	struct ndp_front_opts opts = {.region = (char *)wish,
				      .room = e->bound - e->base,
				      .doze_ms = DOZE_MS,
				      .memory = g->base,
				      .memory_bytes = g->cached};

	/* Acquire: orders the loads of the other words after this one. */
	if (!annex_atomic_load(&wish->version, ANNEX_ACQUIRE))
		return;
	if (annex_atomic_load(&wish->magic, ANNEX_RELAXED)) {
		/* A device before this one had it, and its kernels and answers are gone. */
		annex_atomic_store(&wish->gone, 1u, ANNEX_RELEASE);
		c->entry = *e;
		return;
	}
	opts.stride = annex_atomic_load(&wish->stride, ANNEX_RELAXED);
	opts.slots = annex_atomic_load(&wish->slots, ANNEX_RELAXED);
	c->entry = *e;
	c->front = serve_region(g, &opts, &c->thread);
	if (!c->front)
		annex_log(ANNEX_LOG_WARNING, "ndp: a region of the guest is not served: %s",
			  annex_last_error());
}

static uint64_t field(const struct annex_filter *t, size_t at)
{
	/* Acquire: later loads are at least as new. */
	return annex_atomic_load((const uint64_t *)(const void *)((const char *)t + at),
				 ANNEX_ACQUIRE);
}

#define FIELD(t, member) field(t, offsetof(struct annex_filter, member))

/* Version and number of entries are one word. */
static bool is_table(const struct annex_filter *t)
{
	const uint32_t right[2] = {ANNEX_FILTER_VERSION, ANNEX_FILTER_ENTRIES};
	uint64_t word = FIELD(t, version);

	return FIELD(t, magic) == ANNEX_FILTER_MAGIC && !memcmp(&word, right, sizeof(word));
}

/* Copy the table. Return: whether the copy is consistent: no change or restart meanwhile. */
static bool copy_table(const struct annex_filter *t, struct guest_table *to)
{
	uint64_t words[sizeof(to->entry) / 8];

	memset(to, 0, sizeof(*to));
	to->change = FIELD(t, change);
	if (to->change % 2)
		return false;
	to->generation = FIELD(t, generation);
	if (!is_table(t)) {
		to->change = 0;
		return true;
	}
	for (size_t i = 0; i < sizeof(words) / 8; i++)
		words[i] = field(t, offsetof(struct annex_filter, entry) + 8 * i);
	memcpy(to->entry, words, sizeof(words));
	return FIELD(t, generation) == to->generation && FIELD(t, change) == to->change;
}

void ndp_guest_look(struct ndp_guest *g)
{
	struct guest_table now;

	/* Serve no client from memory that the guest does not share. */
	if (annex_mapping_check(g->mapping)) {
		drop(g, NULL);
		return;
	}
	beat(g); /* first: clients must see the heartbeat before they are served */
	if (!copy_table(g->table, &now))
		return;
	/* A guest that was started again may have the same entries. */
	if (now.generation != g->generation)
		drop(g, NULL);
	g->generation = now.generation;
	drop(g, now.entry);
	for (unsigned int i = 0; i < ANNEX_FILTER_ENTRIES; i++) {
		struct guest_client *c = &g->client[i];

		if (!c->entry.asid && now.entry[i].asid && is_right(g, now.entry, i))
			start_client(g, c, &now.entry[i]);
	}
	/* Release: entries removed from the table are no longer served. */
	if (now.change)
		annex_atomic_store((uint64_t *)&g->table->acknowledged, now.change, ANNEX_RELEASE);
}

static void *serve(void *arg)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	struct ndp_guest *g = arg;

	/* Acquire: with ndp_guest_close(). */
	while (!annex_atomic_load(&g->stop, ANNEX_ACQUIRE)) {
		ndp_guest_look(g);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int map_file(struct ndp_guest *g, const char *path, uint64_t uncached)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st)) {
		int err = annex_fail(-errno, "%s: %m", path);

		if (fd >= 0)
			close(fd);
		return err;
	}
	g->bytes = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode) || !uncached || uncached % UNIT || uncached > g->bytes ||
	    g->bytes % UNIT) {
		close(fd);
		return annex_fail(-EINVAL, "%s: %llu uncached bytes of %llu: multiples of 2M", path,
				  (ull)uncached, (ull)g->bytes);
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return annex_fail(-EBUSY, "%s: another device serves it", path);
	}
	at = mmap(NULL, g->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		int err = annex_fail(-errno, "%s: it cannot be mapped: %m", path);

		close(fd);
		return err;
	}
	g->fd = fd; /* whose lock it is */
	g->base = at;
	g->cached = g->bytes - uncached;
	g->table = (void *)(g->base + g->cached);
	return annex_mapping_watch(path, fd, at, g->bytes, &g->mapping);
}

static void unmap_file(struct ndp_guest *g)
{
	annex_mapping_end(g->mapping);
	if (!g->base)
		return;
	munmap(g->base, g->bytes);
	close(g->fd);
}

int ndp_guest_take(struct annex_ndp *ndp, const char *path, uint64_t uncached,
		   struct ndp_guest **out)
{
	struct ndp_guest *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return annex_fail(-ENOMEM, "%s: out of memory", path);
	g->ndp = ndp;
	err = map_file(g, path, uncached);
	if (err) {
		unmap_file(g);
		free(g);
	} else {
		*out = g;
	}
	return err;
}

int ndp_guest_open(struct annex_ndp *ndp, const char *path, uint64_t uncached,
		   struct ndp_guest **out)
{
	struct ndp_guest *g;
	int err = ndp_guest_take(ndp, path, uncached, &g);

	if (err)
		return err;
	err = -pthread_create(&g->thread, NULL, serve, g);
	g->watched = !err;
	if (err) {
		ndp_guest_close(g);
		return annex_fail(err, "%s: cannot start its thread: %s", path, strerror(-err));
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
	if (g->watched)
		pthread_join(g->thread, NULL);
	drop(g, NULL);
	unmap_file(g);
	free(g);
}
