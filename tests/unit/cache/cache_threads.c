// SPDX-License-Identifier: MIT
/*
 * Many threads, one cache.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cache_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define LINES 256
#define THREADS 8

struct race {
	struct rig rig;
	pthread_barrier_t barrier;
	uint64_t seed;
	uint64_t line;
	int errs[64];
	uint64_t words[THREADS][LINES]; /* word t of a line belongs to thread t */
	uint32_t bad;
};

static void wrong(struct race *race)
{
	annex_atomic_add(&race->bad, 1, ANNEX_RELAXED);
}

static void *pin_once(void *arg)
{
	struct rig_thread *t = arg;
	struct race *race = t->arg;
	void *p;

	pthread_barrier_wait(&race->barrier);
	race->errs[t->id] = annex_cache_pin(race->rig.c, race->line, 0, &p);
	if (race->errs[t->id])
		return NULL;
	if (*(uint64_t *)p != rig_word(0, race->line * 4096))
		wrong(race);
	annex_cache_unpin(race->rig.c, race->line, 0);
	return NULL;
}

static void one_read_serves_all_waiters(void)
{
	static struct race race;

	memset(&race, 0, sizeof(race));
	rig_start(&race.rig, "mem:1M", 64, 4096);
	pthread_barrier_init(&race.barrier, NULL, 32);
	for (race.line = 0; race.line < 20; race.line++) {
		rig_threads(32, pin_once, &race);
		for (unsigned int i = 0; i < 32; i++)
			CU_ASSERT_EQUAL(race.errs[i], 0);
		CU_ASSERT_EQUAL(rig_stats(&race.rig).bytes_read, (race.line + 1) * 4096);
	}
	CU_ASSERT_EQUAL(race.bad, 0);
	pthread_barrier_destroy(&race.barrier);
	rig_close(&race.rig);
}

/* The read of line 7 never ends, so that all threads have come before it is given up. */
static void one_error_goes_to_all_waiters(void)
{
	struct annex_dev_opts opts = {.timeout_ms = 500};
	struct annex_fault lose = {.kind = ANNEX_FAULT_LOSE, .opcode = ANNEX_NVM_READ, .count = 1};
	static struct race race;
	void *p;

	memset(&race, 0, sizeof(race));
	race.line = 7;
	rig_open(&race.rig, 1, "mem:1M", &opts);
	rig_cache(&race.rig, 64 * 4096, 4096, ANNEX_STRIPE, 0);
	pthread_barrier_init(&race.barrier, NULL, 16);
	CU_ASSERT_EQUAL_FATAL(annex_dev_inject(race.rig.devs[0], &lose), 0);
	rig_threads(16, pin_once, &race);
	for (unsigned int i = 0; i < 16; i++)
		CU_ASSERT_EQUAL(race.errs[i], -ETIMEDOUT);
	CU_ASSERT_EQUAL(rig_stats(&race.rig).errors, 1);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(race.rig.c, 7, 0, &p), 0);
	CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, 7 * 4096));
	annex_cache_unpin(race.rig.c, 7, 0);
	pthread_barrier_destroy(&race.barrier);
	rig_close(&race.rig);
}

/* Reads everywhere, writes to this thread's own word of a line. */
static void use_line(struct race *race, unsigned int id, uint64_t *seed, uint64_t line)
{
	struct annex_cache *c = race->rig.c;
	unsigned int flags = random_next(seed) & 1 ? ANNEX_PIN_WRITE : 0;
	uint64_t *word;
	void *p;

	if (annex_cache_pin(c, line, flags, &p)) {
		wrong(race);
		return;
	}
	word = (uint64_t *)p + id;
	if (*word != race->words[id][line])
		wrong(race);
	if (((uint64_t *)p)[100] != rig_word(0, line * 4096 + 800))
		wrong(race);
	if (flags)
		*word = race->words[id][line] = random_next(seed);
	annex_cache_unpin(c, line, flags);
}

static void use_group(struct race *race, unsigned int id, uint64_t *seed)
{
	uint64_t lines[4];
	void *data[4];
	int err;

	for (unsigned int i = 0; i < 4; i++)
		lines[i] = random_next(seed) % LINES;
	err = annex_cache_pin_group(race->rig.c, lines, 4, 0, data);
	if (err) {
		if (err != -EBUSY) /* which it may be, among so many for so few slots */
			wrong(race);
		return;
	}
	for (unsigned int i = 0; i < 4; i++)
		if (((uint64_t *)data[i])[id] != race->words[id][lines[i]])
			wrong(race);
	annex_cache_unpin_group(race->rig.c, lines, 4, 0);
}

static void *use(void *arg)
{
	struct rig_thread *t = arg;
	struct race *race = t->arg;
	uint64_t seed = race->seed + t->id;

	for (unsigned int i = 0; i < 3000; i++) {
		struct annex_range r = {random_next(&seed) % (LINES - 8) * 4096, 8 * 4096};

		switch (random_next(&seed) % 16) {
		case 0:
			if (annex_cache_flush(race->rig.c, r.offset, r.len))
				wrong(race);
			break;
		case 1:
			if (annex_cache_prefetch(race->rig.c, &r, 1) < 0)
				wrong(race);
			break;
		case 2:
			use_group(race, t->id, &seed);
			break;
		default:
			use_line(race, t->id, &seed, random_next(&seed) % LINES);
		}
	}
	return NULL;
}

/* Through another cache, so that only what the device holds can be right. */
static void check_device(struct race *race, struct annex_dev *dev)
{
	struct annex_cache_opts opts = {.bytes = 2 * 4096, .devs = &dev, .ndevs = 1};
	struct annex_cache *c;
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_cache_create(&opts, &c), 0);
	for (uint64_t line = 0; line < LINES; line++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(c, line, 0, &p), 0);
		for (unsigned int t = 0; t < THREADS; t++)
			CU_ASSERT_EQUAL_FATAL(((uint64_t *)p)[t], race->words[t][line]);
		annex_cache_unpin(c, line, 0);
	}
	CU_ASSERT_EQUAL(annex_cache_destroy(c), 0);
}

static void everything_at_once(const char *uri, uint64_t slots)
{
	static struct race race;

	memset(&race, 0, sizeof(race));
	race.seed = random_seed("threads");
	rig_start(&race.rig, uri, slots, 4096);
	for (unsigned int t = 0; t < THREADS; t++)
		for (uint64_t line = 0; line < LINES; line++)
			race.words[t][line] = rig_word(0, line * 4096 + 8 * t);
	rig_threads(THREADS, use, &race);
	CU_ASSERT_EQUAL(race.bad, 0);
	CU_ASSERT_EQUAL(annex_cache_flush(race.rig.c, 0, UINT64_MAX), 0);
	check_device(&race, race.rig.devs[0]);
	rig_close(&race.rig);
}

static void nothing_is_lost_under_eviction(void)
{
	everything_at_once(unit_device(), 40);
}

static void nothing_is_lost_in_a_table(void)
{
	everything_at_once("mem:8M", 40);
}

static void nothing_is_lost_with_a_serving_thread(void)
{
	everything_at_once("mem:1M?serve=thread", 64);
}

static void a_file_keeps_what_was_destroyed(void)
{
	char path[UNIT_PATH], uri[UNIT_PATH + 32];
	static struct race race;
	struct annex_dev *dev;

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M", path);
	memset(&race, 0, sizeof(race));
	race.seed = random_seed("file");
	rig_start(&race.rig, uri, 64, 4096);
	for (unsigned int t = 0; t < THREADS; t++)
		for (uint64_t line = 0; line < LINES; line++)
			race.words[t][line] = rig_word(0, line * 4096 + 8 * t);
	rig_threads(THREADS, use, &race);
	CU_ASSERT_EQUAL(race.bad, 0);
	rig_close(&race.rig); /* destroys the cache, which writes dirty lines */
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &dev), 0);
	check_device(&race, dev);
	annex_dev_close(dev);
	unlink(path);
}

static void *wander(void *arg)
{
	struct rig_thread *t = arg;
	struct race *race = t->arg;
	uint64_t seed = race->seed + t->id;

	for (unsigned int i = 0; i < 50; i++) {
		uint64_t line = random_next(&seed) % LINES;
		void *p;

		if (annex_cache_pin(race->rig.c, line, 0, &p)) {
			wrong(race);
			continue;
		}
		if (*(uint64_t *)p != rig_word(0, line * 4096))
			wrong(race);
		sched_yield(); /* while it is pinned */
		annex_cache_unpin(race->rig.c, line, 0);
	}
	return NULL;
}

static void more_threads_than_cores(void)
{
	static struct race race;

	memset(&race, 0, sizeof(race));
	race.seed = random_seed("many");
	rig_start(&race.rig, "mem:1M", 300, 4096);
	rig_threads(256, wander, &race);
	CU_ASSERT_EQUAL(race.bad, 0);
	rig_close(&race.rig);
}

/* Reads lines in no order, until it is cancelled or has read enough. */
struct wanderer {
	struct race *race;
	uint64_t seed;
	unsigned int left;
	uint32_t done; /* lines read */
};

static void *wander_off(void *arg)
{
	struct wanderer *w = arg;

	for (; w->left; w->left--) {
		uint64_t line = random_next(&w->seed) % LINES;
		void *p;

		if (annex_cache_pin(w->race->rig.c, line, 0, &p)) {
			wrong(w->race);
			break;
		}
		annex_cache_unpin(w->race->rig.c, line, 0);
		annex_atomic_add(&w->done, 1u, ANNEX_RELAXED);
		pthread_testcancel();
	}
	return NULL;
}

/* Its waits are for other threads, too: it ends between calls, and they go on. */
static void cancelled(const char *uri)
{
	static struct race race;
	struct wanderer goes = {&race, random_seed("goes"), UINT_MAX, 0};
	struct wanderer stays = {&race, random_seed("stays"), 2000, 0};
	pthread_t a, b;
	void *ended;

	memset(&race, 0, sizeof(race));
	rig_start(&race.rig, uri, 16, 4096);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&a, NULL, wander_off, &goes), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&b, NULL, wander_off, &stays), 0);
	while (annex_atomic_load(&goes.done, ANNEX_RELAXED) < 100)
		sched_yield();
	CU_ASSERT_EQUAL(pthread_cancel(a), 0);
	CU_ASSERT_EQUAL(pthread_join(a, &ended), 0);
	CU_ASSERT_PTR_EQUAL(ended, PTHREAD_CANCELED);
	CU_ASSERT_EQUAL(pthread_join(b, NULL), 0);
	CU_ASSERT_EQUAL(stays.done, 2000);
	CU_ASSERT_EQUAL(race.bad, 0);
	rig_close(&race.rig);
}

static void a_thread_is_cancelled(void)
{
	char path[UNIT_PATH], uri[512];

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M", path);
	for (unsigned int i = 0; i < 8; i++)
		cancelled(uri);
	cancelled("mem:1M?serve=thread");
	unlink(path);
}

UNIT_SUITE(cache_threads, {"one read serves all waiters", one_read_serves_all_waiters},
	   {"one error goes to all waiters", one_error_goes_to_all_waiters},
	   {"nothing is lost under eviction", nothing_is_lost_under_eviction},
	   {"nothing is lost in a table", nothing_is_lost_in_a_table},
	   {"nothing is lost with a serving thread", nothing_is_lost_with_a_serving_thread},
	   {"a file keeps the data of a destroyed cache", a_file_keeps_what_was_destroyed},
	   {"more threads than cores", more_threads_than_cores})

/* Not in guests: to end a thread, glibc loads a library. */
UNIT_SUITE(cache_cancel, {"a thread is cancelled", a_thread_is_cancelled})
