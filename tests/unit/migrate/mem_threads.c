// SPDX-License-Identifier: MIT
/*
 * Unified memory under many threads: touched while it moves, and random programs beside a twin in
 * plain memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include "tests/unit/hdm_rig.h"
#include "tests/unit/mem_rig.h"
#include "migrate/space.h"
#include "migrate/store.h"
#include "nvme/dev.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define TOUCHERS 8u
#define ROUNDS 20u

struct touchers {
	const volatile char *p;
	uint64_t bytes;
	pthread_barrier_t round;
	uint32_t wrong;
};

static void *touch_all(void *arg)
{
	struct touchers *t = arg;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&t->round);
		for (uint64_t at = 0; at < t->bytes; at += 4096)
			if (t->p[at] != (char)(at >> 12))
				annex_atomic_add(&t->wrong, 1u, ANNEX_RELAXED);
	}
	return NULL;
}

/* Many threads access pages in flight, or just evicted, also through bounce buffers. */
static void touched_by_many(struct mem_rig *r)
{
	struct touchers t = {.bytes = MIB};
	pthread_t threads[TOUCHERS];
	char *p = mem_alloc(r, "p", MIB);

	for (uint64_t at = 0; at < MIB; at += 4096)
		p[at] = (char)(at >> 12);
	t.p = p;
	pthread_barrier_init(&t.round, NULL, TOUCHERS + 1);
	for (unsigned int i = 0; i < TOUCHERS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, touch_all, &t), 0);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		annex_pre_evict(r->space, p, MIB, ANNEX_TIER_HOST, NULL);
		pthread_barrier_wait(&t.round);
		annex_pre_evict(r->space, p, MIB, ANNEX_TIER_SSD, NULL);
		annex_prefetch(r->space, p, MIB, 0, NULL);
		annex_pre_evict(r->space, p, MIB, ANNEX_TIER_SSD, NULL);
	}
	for (unsigned int i = 0; i < TOUCHERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&t.round);
	CU_ASSERT_EQUAL(t.wrong, 0);
	CU_ASSERT_EQUAL(annex_free(r->space, p), 0);
}

static void many_touch_it(void)
{
	struct mem_rig r;

	for (unsigned int i = 0; i < 8; i++) {
		mem_rig_open(&r, "mem:4M",
			     (struct annex_space_opts){.device = (i % 2 ? 1 : 2) * MIB,
						       .host = MIB / 2,
						       .fault_bytes = i < 4 ? 4096 : 0});
		touched_by_many(&r);
		mem_rig_close(&r);
	}
}

/* As hardware, which works with pinned memory only. */
static void through_buffers(void)
{
	struct annex_store_opts narrow = {.depth = 1};
	struct annex_space_opts opts = {
		.device = MIB, .n_stores = 1, .fault_bytes = 4096, .checksum = true};
	struct annex_ctrl_ops ops;
	struct mem_rig r = {0};

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:4M", &narrow, &r.stores[0]), 0);
	ops = *r.stores[0]->dev->ctrl->ops;
	ops.map_sparse = NULL;
	r.stores[0]->dev->ctrl->ops = &ops;
	opts.stores = r.stores;
	opts.size = 4 * MIB;
	opts.host = 4096;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	touched_by_many(&r);
	mem_evict(&r, mem_filled(&r, "q", MIB / 2, 1), MIB / 2, ANNEX_TIER_SSD);
	CU_ASSERT(mem_stats(&r).bounced > 0);
	mem_rig_close(&r);
}

/* Programs: a thousand, or as many as a sanitizer can bear. */
#define PROGRAMS (UNIT_SANITIZED ? 60u : 1000u)
#define TENSORS 12u
#define STEPS 80u

static void check(struct mem_twin *t, const struct mem_pair *x)
{
	if (memcmp(x->p, x->plain, x->bytes))
		t->wrong++;
}

static void move(struct mem_twin *t, uint64_t *state, const struct mem_pair *x)
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
		/* Small ones share pages with some that another thread holds. */
		t->wrong += err && err != -ENOSPC && err != -EBUSY;
	}
}

static void *live(void *arg)
{
	struct mem_twin *t = arg;
	struct mem_pair pairs[TENSORS] = {0};
	uint64_t state = t->seed;

	for (unsigned int i = 0; i < TENSORS; i++)
		mem_renew(t, &state, &pairs[i]);
	for (unsigned int i = 0; i < STEPS; i++) {
		struct mem_pair *x = &pairs[random_next(&state) % TENSORS];

		switch (random_next(&state) % 9) {
		case 8:
			t->wrong += annex_space_resize(t->r->space,
						       (1 + random_next(&state) % 4) * MIB) != 0;
			break;
		case 0:
			check(t, x);
			mem_renew(t, &state, x);
			break;
		case 1:
		case 2:
			mem_change(&state, x);
			break;
		case 3:
			check(t, x);
			break;
		case 4:
			t->wrong += annex_hold(t->r->space, x->p) != 0;
			mem_change(&state, x);
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

static void beside_a_twin(void)
{
	uint64_t state = random_seed("beside a twin");
	struct hdm_rig range;
	struct mem_rig r;

	hdm_rig_open(&range, 8 * MIB, "");
	for (unsigned int round = 0; round < PROGRAMS / MEM_TWINS; round++) {
		mem_rig_open(&r, "mem:16M",
			     (struct annex_space_opts){
				     .device = MIB + random_next(&state) % (3 * MIB),
				     .host = MIB,
				     .cxl = range.h,
				     .cxl_bytes = MIB,
				     .size = 64 * MIB,
				     .fault_bytes = 4096u << random_next(&state) % 8,
				     .checksum = round % 3 == 0,
			     });
		mem_twins(&r, &state, live);
		mem_wait_empty(&r);
		mem_rig_close(&r);
	}
	hdm_rig_close(&range);
}

static uint32_t unmapping_ends;

static void *unmap(void *arg)
{
	struct mem_rig *r = arg;

	/* Relaxed: only the end is told. */
	while (!annex_atomic_load(&unmapping_ends, ANNEX_RELAXED))
		madvise(r->space->alias, r->space->opts.size,
			r->space->pool ? MADV_PAGEOUT : MADV_DONTNEED);
	return NULL;
}

/* The kernel takes mappings of pages back that a transfer is about to use, as when it swaps. */
static void move_unmapped(struct mem_rig *r)
{
	uint64_t state = random_seed("unmapped meanwhile");
	uint8_t *p = mem_alloc(r, "p", MIB), *plain = malloc(MIB);
	struct annex_space *s = r->space;
	pthread_t thread;

	random_fill(&state, plain, MIB);
	memcpy(p, plain, MIB);
	unmapping_ends = 0;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, unmap, r), 0);
	for (unsigned int i = 0; i < 200; i++) {
		mem_evict(r, p, MIB, ANNEX_TIER_SSD);
		mem_fetch(r, p, MIB);
		p[i * 4096] = plain[i * 4096] = (uint8_t)i;
	}
	annex_atomic_store(&unmapping_ends, 1u, ANNEX_RELAXED);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(memcmp(p, plain, MIB), 0);
	/* Later transfers are prepared as the first one was. */
	if (s->transfers >= 0) {
		struct uffdio_zeropage zero = {
			.range = {.start = (uintptr_t)s->alias + s->opts.size - 4096, .len = 4096}};

		CU_ASSERT_EQUAL(ioctl(s->transfers, UFFDIO_ZEROPAGE, &zero), 0);
	}
	free(plain);
	mem_rig_close(r);
}

/* Of a file it is the kernel that moves them. */
static void unmapped_meanwhile(void)
{
	struct annex_space_opts opts = {.device = 4 * MIB, .n_stores = 1};
	char path[UNIT_PATH], uri[UNIT_PATH + 32];
	struct mem_rig r = {0};

	mem_rig_open(&r, "mem:8M", opts);
	move_unmapped(&r);
	memset(&r, 0, sizeof(r));
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=8M", path);
	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, NULL, &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	move_unmapped(&r);
	unlink(path);
}

UNIT_SUITE(mem_threads, {"many touch it", many_touch_it}, {"through buffers", through_buffers},
	   {"beside a twin", beside_a_twin}, {"unmapped meanwhile", unmapped_meanwhile})
