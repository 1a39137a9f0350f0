// SPDX-License-Identifier: MIT
/*
 * Arrays that several threads change and read at once, in caches far too small for them.
 */
#include <string.h>
#include "cache_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define THREADS 8
#define COUNT (1u << 15)

struct shared {
	struct rig r;
	struct annex_array a;
	uint64_t seed;
	uint32_t bad;
};

static void fail(struct shared *s)
{
	annex_atomic_add(&s->bad, 1, ANNEX_RELAXED);
}

static void start(struct shared *s, const char *uri, uint64_t slots, uint32_t elem)
{
	memset(s, 0, sizeof(*s));
	s->seed = random_seed("array threads");
	rig_start(&s->r, uri, slots, 512);
	CU_ASSERT_EQUAL_FATAL(annex_array_init(&s->a, s->r.c, 0, elem, (1 << 18) / elem), 0);
}

/* Each thread adds 1 to elements all over; afterwards the sum has grown by all of it. */
static void *add(void *arg)
{
	struct rig_thread *t = arg;
	struct shared *s = t->arg;
	uint64_t seed = s->seed + t->id;

	for (unsigned int i = 0; i < 3000; i++) {
		int err = s->a.elem == 8
				  ? annex_array_add_u64(&s->a, random_next(&seed) % 1000, 1, NULL)
				  : annex_array_add_u32(&s->a, random_next(&seed) % 1000, 1, NULL);

		if (err)
			fail(s);
	}
	return NULL;
}

static uint64_t sum(struct shared *s)
{
	uint64_t total = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t v = 0;

		CU_ASSERT_EQUAL_FATAL(annex_array_get(&s->a, i, &v), 0);
		total += v;
	}
	return total;
}

static void no_addition_is_lost(void)
{
	static struct shared s;

	for (uint32_t elem = 4; elem <= 8; elem += 4) {
		uint64_t before, mask = elem == 8 ? UINT64_MAX : UINT32_MAX;

		start(&s, "mem:256K", 24, elem);
		before = sum(&s);
		rig_threads(THREADS, add, &s);
		CU_ASSERT_EQUAL(s.bad, 0);
		/* Each element wraps for itself. */
		CU_ASSERT_EQUAL(sum(&s) & mask, (before + THREADS * 3000) & mask);
		rig_close(&s.r);
	}
}

/*
 * Every writer stores i in the low half of element i, and repeats it in the high half: a reader
 * that finds another value saw a torn element, one of another line, or one in flight.
 */
static uint64_t stamp(uint64_t i)
{
	return i << 32 | i;
}

static void *scramble(void *arg)
{
	struct rig_thread *t = arg;
	struct shared *s = t->arg;
	uint64_t seed = s->seed + t->id, idx[100], val[100];

	for (unsigned int round = 0; round < 400; round++) {
		unsigned int n = 1 + (unsigned int)(random_next(&seed) % 100);

		for (unsigned int k = 0; k < n; k++) {
			idx[k] = random_next(&seed) % COUNT;
			val[k] = stamp(idx[k]);
		}
		switch (random_next(&seed) % 4) {
		case 0:
			if (annex_array_scatter(&s->a, idx, n, val))
				fail(s);
			break;
		case 1:
			if (annex_array_set(&s->a, idx[0], &val[0]) ||
			    annex_array_get(&s->a, idx[n - 1], &val[0]) ||
			    val[0] != stamp(idx[n - 1]))
				fail(s);
			break;
		default:
			if (annex_array_gather(&s->a, idx, n, val))
				fail(s);
			for (unsigned int k = 0; k < n; k++)
				if (val[k] != stamp(idx[k]))
					fail(s);
		}
	}
	return NULL;
}

static void readers_see_whole_elements_of_their_line(const char *uri, uint64_t slots)
{
	static struct shared s;

	start(&s, uri, slots, 8);
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t v = stamp(i);

		CU_ASSERT_EQUAL_FATAL(annex_array_set(&s.a, i, &v), 0);
	}
	rig_threads(THREADS, scramble, &s);
	CU_ASSERT_EQUAL(s.bad, 0);
	rig_close(&s.r);
}

static void under_eviction(void)
{
	readers_see_whole_elements_of_their_line("mem:256K", 40);
}

static void mostly_cached(void)
{
	readers_see_whole_elements_of_their_line("mem:256K", 480);
}

/* The device is so large that the directory is a table. */
static void mostly_cached_of_much(void)
{
	readers_see_whole_elements_of_their_line("mem:1M", 480);
}

/* 64 threads want 64 lines each of a cache of 64: they share it, and none fails. */
static void *squeeze(void *arg)
{
	struct rig_thread *t = arg;
	struct shared *s = t->arg;
	uint64_t seed = s->seed + t->id, idx[64], val[64];

	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int k = 0; k < 64; k++)
			idx[k] = random_next(&seed) % COUNT;
		if (annex_array_gather(&s->a, idx, 64, val))
			fail(s);
		for (unsigned int k = 0; k < 64; k++)
			if (val[k] != rig_word(0, 8 * idx[k]))
				fail(s);
		if (annex_array_scatter(&s->a, idx, 64, val))
			fail(s);
	}
	return NULL;
}

static void groups_larger_than_the_cache_together(void)
{
	static struct shared s;

	start(&s, "mem:256K", 64, 8);
	rig_threads(64, squeeze, &s);
	CU_ASSERT_EQUAL(s.bad, 0);
	rig_close(&s.r);
}

UNIT_SUITE(array_threads, {"no addition is lost", no_addition_is_lost},
	   {"readers see whole elements, under eviction", under_eviction},
	   {"readers see whole elements, mostly cached", mostly_cached},
	   {"readers see whole elements, mostly cached, of much", mostly_cached_of_much},
	   {"groups larger than the cache together", groups_larger_than_the_cache_together})
