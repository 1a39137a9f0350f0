// SPDX-License-Identifier: MIT
/*
 * Unified memory: a few tensors, and then random programs beside a twin in plain memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/clock.h>
#include <annex/mem.h>
#include "random.h"
#include "unit.h"

#define MIB (1ull << 20)
#define WAIT_MS 20000u

struct rig {
	struct annex_store *stores[2];
	struct annex_space *space;
};

static void rig_open(struct rig *r, const char *uri, struct annex_space_opts opts)
{
	memset(r, 0, sizeof(*r));
	for (unsigned int i = 0; uri && i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, NULL, &r->stores[i]), 0);
	opts.stores = r->stores;
	opts.n_stores = uri ? 2 : 0;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r->space), 0);
}

static void rig_close(struct rig *r)
{
	annex_space_destroy(r->space);
	CU_ASSERT_EQUAL(annex_store_close(r->stores[0]), 0);
	CU_ASSERT_EQUAL(annex_store_close(r->stores[1]), 0);
}

static struct annex_space_stats stats(struct rig *r)
{
	struct annex_space_stats st;

	annex_space_get_stats(r->space, &st);
	return st;
}

static void *alloc(struct rig *r, const char *name, uint64_t bytes)
{
	void *p = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_alloc(r->space, name, bytes, &p), 0);
	return p;
}

static void evict(struct rig *r, void *p, uint64_t bytes, unsigned int tier)
{
	struct annex_move *m;

	CU_ASSERT_EQUAL_FATAL(annex_pre_evict(r->space, p, bytes, tier, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
}

static void fetch(struct rig *r, void *p, uint64_t bytes)
{
	struct annex_move *m;

	CU_ASSERT_EQUAL_FATAL(annex_prefetch(r->space, p, bytes, 0, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
}

static void there_and_back(void)
{
	uint64_t state = random_seed("there and back"), before[512];
	struct annex_mem_page page;
	struct rig r;
	uint64_t *p;

	rig_open(&r, "mem:16M", (struct annex_space_opts){.device = 4 * MIB, .host = 2 * MIB});
	p = alloc(&r, "p", MIB);
	CU_ASSERT_EQUAL(p[1000], 0);
	random_fill(&state, p, MIB);
	memcpy(before, p, sizeof(before));
	evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p, &page), 0);
	CU_ASSERT(!page.device && page.below && page.tier == ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(stats(&r).device, 0);
	fetch(&r, p, MIB);
	CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p, &page), 0);
	CU_ASSERT(page.device);
	CU_ASSERT_EQUAL(memcmp(p, before, sizeof(before)), 0);
	evict(&r, p, MIB, ANNEX_TIER_HOST);
	evict(&r, p, MIB, ANNEX_TIER_SSD + 1);
	CU_ASSERT_EQUAL(stats(&r).host, 0);
	CU_ASSERT_EQUAL(memcmp(p, before, sizeof(before)), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(stats(&r).stored, 0);
	rig_close(&r);
}

#define TENSORS 24u
#define THREADS 3u
#define STEPS 400u

struct twin {
	struct rig *r;
	uint64_t seed;
	unsigned int wrong;
};

struct pair {
	uint8_t *p, *plain;
	uint64_t bytes;
};

static void check(struct twin *t, const struct pair *x)
{
	if (memcmp(x->p, x->plain, x->bytes))
		t->wrong++;
}

static void change(uint64_t *state, const struct pair *x)
{
	uint64_t at = random_next(state) % x->bytes;
	uint64_t n = random_next(state) % (x->bytes - at) + 1;

	random_fill(state, x->plain + at, n);
	memcpy(x->p + at, x->plain + at, n);
}

static void renew(struct twin *t, uint64_t *state, struct pair *x)
{
	if (x->p) {
		check(t, x);
		t->wrong += annex_free(t->r->space, x->p) != 0;
		free(x->plain);
		x->p = NULL;
	}
	x->bytes = random_next(state) % 4 ? random_next(state) % 200000 + 1
					  : random_next(state) % 3000 + 1;
	if (annex_alloc(t->r->space, "random", x->bytes, (void **)&x->p)) {
		t->wrong++;
		x->p = NULL;
		return;
	}
	x->plain = calloc(1, x->bytes);
}

static void move(struct twin *t, uint64_t *state, const struct pair *x)
{
	static const unsigned int tiers[] = {ANNEX_TIER_HOST, ANNEX_TIER_CXL, ANNEX_TIER_SSD,
					     ANNEX_TIER_SSD + 1};
	uint64_t at = random_next(state) % x->bytes;
	uint64_t n = random_next(state) % (x->bytes - at) + 1;
	bool wait = random_next(state) % 4 == 0;
	struct annex_move *m;
	int err;

	if (random_next(state) % 2)
		err = annex_prefetch(t->r->space, x->p + at, n, random_next(state) % 100,
				     wait ? &m : NULL);
	else
		err = annex_pre_evict(t->r->space, x->p + at, n, tiers[random_next(state) % 4],
				      wait ? &m : NULL);
	t->wrong += err != 0;
	if (!err && wait) {
		err = annex_move_wait(m, WAIT_MS);
		t->wrong += err && err != -ENOSPC;
	}
}

static void *live(void *arg)
{
	struct twin *t = arg;
	struct pair pairs[TENSORS] = {0};
	uint64_t state = t->seed;

	for (unsigned int i = 0; i < TENSORS; i++)
		renew(t, &state, &pairs[i]);
	for (unsigned int i = 0; i < STEPS; i++) {
		struct pair *x = &pairs[random_next(&state) % TENSORS];

		switch (random_next(&state) % 8) {
		case 0:
			renew(t, &state, x);
			break;
		case 1:
		case 2:
			change(&state, x);
			break;
		case 3:
			check(t, x);
			break;
		case 4:
			t->wrong += annex_hold(t->r->space, x->p) != 0;
			change(&state, x);
			t->wrong += annex_let_go(t->r->space, x->p) != 0;
			break;
		default:
			move(t, &state, x);
		}
	}
	for (unsigned int i = 0; i < TENSORS; i++) {
		check(t, &pairs[i]);
		t->wrong += annex_free(t->r->space, pairs[i].p) != 0;
		free(pairs[i].plain);
	}
	return NULL;
}

static void live_together(struct rig *r, uint64_t *state)
{
	struct twin twins[THREADS] = {0};
	pthread_t threads[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		twins[i].r = r;
		twins[i].seed = random_next(state);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, live, &twins[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CU_ASSERT_EQUAL(twins[i].wrong, 0);
	}
}

static void beside_a_twin(void)
{
	uint64_t state = random_seed("beside a twin");
	struct annex_hdm *cxl;
	struct rig r;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_open("shm:/dev/shm/annex-mem-test?size=8M", NULL, &cxl), 0);
	for (unsigned int round = 0; round < 10; round++) {
		rig_open(&r, "mem:16M",
			 (struct annex_space_opts){
				 .device = MIB + random_next(&state) % (3 * MIB),
				 .host = MIB,
				 .cxl = cxl,
				 .cxl_bytes = MIB,
				 .size = 64 * MIB,
				 .fault_bytes = 4096u << random_next(&state) % 8,
				 .checksum = round % 2,
			 });
		live_together(&r, &state);
		CU_ASSERT_EQUAL(stats(&r).stored, 0);
		CU_ASSERT_EQUAL(stats(&r).device, 0);
		rig_close(&r);
	}
	annex_hdm_close(cxl);
	unlink("/dev/shm/annex-mem-test");
}

UNIT_SUITE(mem, {"there and back", there_and_back}, {"beside a twin", beside_a_twin})
