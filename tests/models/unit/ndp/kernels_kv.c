// SPDX-License-Identifier: MIT
/*
 * The hash table near data holds all stored pairs.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "kernels_rig.h"
#include "tests/unit/unit.h"

#define KEYS 5000u

static void key(unsigned char *to, uint32_t number)
{
	memset(to, 0, ANNEX_NDP_KEY);
	/* Keys that differ in one word only, whichever it is. */
	memcpy(to + number % 3 * 8, &number, sizeof(number));
}

static void value(unsigned char *to, uint32_t number, uint32_t round)
{
	for (uint32_t i = 0; i < ANNEX_NDP_VALUE; i++)
		to[i] = (unsigned char)((number + round * 7919) >> i % 4 * 8) ^ (unsigned char)i;
}

struct world {
	struct kernels_rig *r;
	struct annex_ndp_kv *kv;
	unsigned char keys[KEYS][ANNEX_NDP_KEY], values[KEYS][ANNEX_NDP_VALUE];
	unsigned char want[ANNEX_NDP_VALUE];
	bool found[KEYS];
	uint32_t round[2 * KEYS]; /* in which each key was set last; 0: never */
};

/* Set @n random keys, all in the same round, so that their order does not matter. */
static void set_some(struct world *w, uint32_t n, uint32_t round)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = (uint32_t)rig_below(w->r, KEYS);

		key(w->keys[i], number);
		value(w->values[i], number, round);
		w->round[number] = round;
	}
	CU_ASSERT_EQUAL(annex_ndp_kv_set(w->kv, w->keys, w->values, n), 0);
}

static void get_all(struct world *w, struct annex_ndp_kv *kv)
{
	uint32_t wrong = 0, there = 0;

	for (uint32_t from = 0; from < 2 * KEYS; from += KEYS) {
		for (uint32_t i = 0; i < KEYS; i++)
			key(w->keys[i], from + i);
		memset(w->values, 0x11, sizeof(w->values));
		CU_ASSERT_EQUAL(annex_ndp_kv_get(kv, w->keys, KEYS, w->values, w->found), 0);
		for (uint32_t i = 0; i < KEYS; i++) {
			uint32_t round = w->round[from + i];

			if (round)
				value(w->want, from + i, round);
			else
				memset(w->want, 0x11, ANNEX_NDP_VALUE);
			wrong += w->found[i] != (round != 0);
			wrong += memcmp(w->values[i], w->want, ANNEX_NDP_VALUE) != 0;
			there += round != 0;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(annex_ndp_kv_count(kv), there);
}

static void on_a_table(struct kernels_rig *r)
{
	struct world *w = calloc(1, sizeof(*w));
	struct annex_ndp_kv *again;

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	w->r = r;
	CU_ASSERT_EQUAL_FATAL(annex_ndp_kv_create(r->k, "table", KEYS, &w->kv), 0);
	get_all(w, w->kv);
	set_some(w, 1, 1);
	set_some(w, 500, 2);
	get_all(w, w->kv);
	set_some(w, KEYS, 1000);
	set_some(w, 3000, 10000);
	get_all(w, w->kv);
	CU_ASSERT_EQUAL(annex_ndp_kv_get(w->kv, NULL, 0, NULL, NULL), 0);
	annex_ndp_kv_close(w->kv);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_kv_open(r->k, "table", &again), 0);
	get_all(w, again);
	annex_ndp_kv_close(again);
	free(w);
}

static void tables(void)
{
	rig_devices("tables", on_a_table);
}

static void a_full_table(void)
{
	struct kernels_rig r;
	struct annex_ndp_kv *kv = NULL;
	unsigned char keys[40][ANNEX_NDP_KEY], values[40][ANNEX_NDP_VALUE];
	bool found[40];
	unsigned int there = 0;
	void *piece;

	kernels_rig_open(&r, NULL, "full");
	CU_ASSERT_EQUAL(annex_ndp_kv_create(r.k, NULL, 0, &kv), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_kv_create(r.k, NULL, 1ull << 40, &kv), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_kv_create(r.k, NULL, 1ull << 30, &kv), -ENOSPC);
	CU_ASSERT_EQUAL(annex_ndp_kv_open(r.k, "missing", &kv), -ENOENT);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r.range.h, 4096, 0, "other", &piece), 0);
	memset(piece, 0, 4096);
	CU_ASSERT_EQUAL(annex_ndp_kv_open(r.k, "other", &kv), -EILSEQ);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_kv_create(r.k, NULL, 33, &kv), 0);
	for (uint32_t i = 0; i < 40; i++) {
		key(keys[i], i);
		value(values[i], i, 1);
	}
	CU_ASSERT_EQUAL(annex_ndp_kv_set(kv, keys, values, 40), -ENOSPC);
	CU_ASSERT_EQUAL(annex_ndp_kv_count(kv), 33);
	CU_ASSERT_EQUAL(annex_ndp_kv_get(kv, keys, 40, values, found), 0);
	for (unsigned int i = 0; i < 40; i++)
		there += found[i];
	CU_ASSERT_EQUAL(there, 33);
	annex_ndp_kv_close(kv);
	kernels_rig_close(&r);
}

struct finder {
	struct annex_kernels *k;
	pthread_barrier_t ready;
	int err;
};

/* Until the table has its name, there is none; what this thread finds is a table. */
static void *find(void *arg)
{
	struct finder *f = arg;
	struct annex_ndp_kv *kv = NULL;

	pthread_barrier_wait(&f->ready);
	do
		f->err = annex_ndp_kv_open(f->k, "late", &kv);
	while (f->err == -ENOENT);
	if (!f->err)
		annex_ndp_kv_close(kv);
	return NULL;
}

static void found_whole(void)
{
	struct kernels_rig r;
	struct annex_ndp_kv *kv = NULL, *second = NULL;
	struct finder f;
	pthread_t thread;

	kernels_rig_open(&r, NULL, "whole");
	f.k = r.k;
	CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&f.ready, NULL, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, find, &f), 0);
	pthread_barrier_wait(&f.ready);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_kv_create(r.k, "late", KEYS, &kv), 0);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&f.ready);
	CU_ASSERT_EQUAL(f.err, 0);
	CU_ASSERT_EQUAL(annex_ndp_kv_create(r.k, "late", 3, &second), -EEXIST);
	CU_ASSERT_EQUAL(annex_ndp_kv_create(r.k, "small", 3, &second), 0);
	annex_ndp_kv_close(second);
	annex_ndp_kv_close(kv);
	kernels_rig_close(&r);
}

UNIT_SUITE(kernels_kv, {"stored pairs are found", tables}, {"full", a_full_table},
	   {"found when it is whole", found_whole})
