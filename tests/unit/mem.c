// SPDX-License-Identifier: MIT
/*
 * Unified memory: a few tensors, and then random programs beside a twin in plain memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/atomic.h>
#include <annex/clock.h>
#include <annex/mem.h>
#include "migrate/store.h"
#include "nvme/dev.h"
#include "random.h"
#include "unit.h"

/* Their runtimes make something else of a signal, or of a thread in a forked child. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

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

static void waits_for_nothing(void)
{
	struct annex_move *m;
	struct rig r;
	char *p;

	rig_open(&r, "mem:1M", (struct annex_space_opts){.device = 2 * MIB});
	p = alloc(&r, "p", 100);
	fetch(&r, p, 100);
	CU_ASSERT_EQUAL(stats(&r).device, 0);
	p[99] = 1;
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, 101, ANNEX_TIER_SSD, NULL), 0);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, 1 << 20, ANNEX_TIER_SSD, NULL), -EINVAL);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, 100, ANNEX_TIER_HOST, NULL), -ENXIO);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, 100, ANNEX_TIER_GPU, NULL), -ENXIO);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, &r, 1, 0, &m), -EINVAL);
	CU_ASSERT_EQUAL(annex_alloc(r.space, "none", 0, (void **)&p), -EINVAL);
	CU_ASSERT_EQUAL(annex_alloc(r.space, "huge", 5 * MIB, (void **)&p), -ENOSPC);
	CU_ASSERT_EQUAL(annex_free(r.space, &r), -EINVAL);
	CU_ASSERT_EQUAL(annex_free(r.space, NULL), 0);
	CU_ASSERT_EQUAL(annex_hold(r.space, &r), -EINVAL);
	CU_ASSERT_EQUAL(annex_let_go(r.space, p), -EINVAL);
	CU_ASSERT_EQUAL(annex_store_close(r.stores[0]), -EBUSY);
	rig_close(&r);
}

static void clean_ones_are_not_written(void)
{
	struct annex_space_stats st;
	struct rig r;
	char *p;

	rig_open(&r, "mem:4M", (struct annex_space_opts){.device = 4 * MIB});
	p = alloc(&r, "p", MIB);
	memset(p, 1, MIB);
	evict(&r, p, MIB, ANNEX_TIER_SSD);
	fetch(&r, p, MIB);
	CU_ASSERT_EQUAL(p[5000], 1);
	st = stats(&r);
	evict(&r, p, MIB, ANNEX_TIER_SSD);
	/* Before Linux 6.4 nobody can tell that it was only read. */
	if (stats(&r).clean) {
		CU_ASSERT_EQUAL(stats(&r).out, st.out);
		CU_ASSERT_EQUAL(stats(&r).clean, MIB);
		fetch(&r, p, MIB);
		p[5000] = 2;
		CU_ASSERT_EQUAL(stats(&r).write_faults, 1);
		evict(&r, p, MIB, ANNEX_TIER_SSD);
		CU_ASSERT(stats(&r).out > st.out);
	}
	CU_ASSERT_EQUAL(p[4999], 1);
	rig_close(&r);
}

/* In a child, which dies of it: its signal. */
static int dies_of(void (*touch)(void))
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		struct rlimit none = {0};

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSEGV, SIG_DFL);
		alarm(20);
		touch();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_freed(void)
{
	struct rig r;
	volatile char *p;

	rig_open(&r, NULL, (struct annex_space_opts){.device = 2 * MIB});
	p = alloc(&r, "p", MIB);
	p[4096] = 1;
	annex_free(r.space, (void *)p);
	p[4096] = 2;
}

static void touch_lost(void)
{
	struct rig r;
	volatile char *p;

	rig_open(&r, "mem:4M?fault=error,op=read,count=0", (struct annex_space_opts){.device = MIB});
	p = alloc(&r, "p", MIB);
	p[4096] = 1;
	evict(&r, (void *)p, MIB, ANNEX_TIER_SSD);
	p[4096] = 2;
}

static void touch_without_room(void);

static void nothing_hangs(void)
{
	if (SANITIZED)
		return;
	CU_ASSERT_EQUAL(dies_of(touch_freed), SIGSEGV);
	CU_ASSERT_EQUAL(dies_of(touch_lost), SIGSEGV);
	CU_ASSERT_EQUAL(dies_of(touch_without_room), SIGSEGV);
}

static void devices_that_fail(void)
{
	struct annex_move *m;
	struct rig r;
	char *p;

	rig_open(&r, "mem:4M?fault=error,op=write,count=2&fault=error,op=read,count=1",
		 (struct annex_space_opts){.device = 2 * MIB});
	p = alloc(&r, "victim", MIB);
	memset(p, 7, MIB);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, MIB, ANNEX_TIER_SSD, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "victim"));
	/* What could not be written is still there. */
	for (unsigned int i = 0; i < MIB; i += 4096)
		CU_ASSERT_EQUAL(p[i], 7);
	evict(&r, p, MIB, ANNEX_TIER_SSD);
	/* One command failed; page by page all can be read. */
	fetch(&r, p, MIB);
	for (unsigned int i = 0; i < MIB; i += 4096)
		CU_ASSERT_EQUAL(p[i], 7);
	rig_close(&r);
}

static void one_bad_block(void)
{
	unsigned int there = 0;
	struct annex_move *m;
	struct rig r;
	char *p;

	rig_open(&r, "mem:4M?fault=error,op=read,lba=80,blocks=1,count=0",
		 (struct annex_space_opts){.device = 2 * MIB});
	p = alloc(&r, "scratched", MIB);
	memset(p, 5, MIB);
	evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, p, MIB, 0, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "scratched"));
	/* The rest comes; a move that has failed does not go on, so it is asked for again. */
	for (unsigned int i = 0; i < MIB; i += 4096) {
		struct annex_mem_page page;

		annex_prefetch(r.space, p + i, 1, 0, &m);
		if (annex_move_wait(m, WAIT_MS))
			continue;
		CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p + i, &page), 0);
		CU_ASSERT(page.device);
		CU_ASSERT_EQUAL(p[i], 5);
		there++;
	}
	CU_ASSERT_EQUAL(there, MIB / 4096 - 1);
	rig_close(&r);
}

static void freed_twice(void)
{
	struct rig r;
	char *p, *q;

	rig_open(&r, NULL, (struct annex_space_opts){.device = MIB});
	p = alloc(&r, NULL, 100);
	q = alloc(&r, NULL, 100);
	*q = 1;
	CU_ASSERT_EQUAL(annex_free(r.space, p + 64), -EINVAL);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), -EINVAL);
	CU_ASSERT_EQUAL(*q, 1);
	p = alloc(&r, NULL, 10000);
	CU_ASSERT_EQUAL(annex_free(r.space, p + 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	rig_close(&r);
}

static void what_is_held_stays(void)
{
	struct annex_move *m;
	struct rig r;
	char *p, *q;

	rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	p = alloc(&r, "held", MIB / 2);
	memset(p, 1, MIB / 2);
	CU_ASSERT_EQUAL(annex_hold(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, MIB / 2, ANNEX_TIER_SSD, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), -EBUSY);
	q = alloc(&r, "other", 2 * MIB);
	memset(q, 2, 2 * MIB);
	for (unsigned int i = 0; i < MIB / 2; i += 4096) {
		struct annex_mem_page page;

		CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p + i, &page), 0);
		CU_ASSERT(page.device);
	}
	CU_ASSERT_EQUAL(annex_let_go(r.space, p), 0);
	CU_ASSERT_EQUAL(q[MIB], 2);
	rig_close(&r);
}

/* Nothing can be written any more: what a program wants then is refused, and not waited for. */
static void touch_without_room(void)
{
	struct rig r;
	volatile char *p;

	rig_open(&r, "mem:4M?fault=error,op=write,count=0", (struct annex_space_opts){.device = MIB});
	p = alloc(&r, "p", 4 * MIB);
	for (unsigned int i = 0; i < 4 * MIB; i += 4096)
		p[i] = 1;
}

static void freed_while_it_waits(void)
{
	struct annex_move *m;
	struct rig r;
	char *p, *q;

	rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	p = alloc(&r, "p", MIB);
	memset(p, 1, MIB);
	evict(&r, p, MIB, ANNEX_TIER_SSD);
	q = alloc(&r, "q", MIB * 3 / 4);
	memset(q, 2, MIB * 3 / 4);
	CU_ASSERT_EQUAL(annex_hold(r.space, q), 0);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, p, MIB, 0, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, 50), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), -ECANCELED);
	rig_close(&r);
}

static void completions_get_lost(void)
{
	struct annex_store_opts few = {.timeout_ms = 200};
	struct annex_space_opts opts = {.device = 2 * MIB, .n_stores = 1};
	struct rig r = {0};
	char *p;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:4M?fault=lose,op=write,after=1", &few,
					       &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	p = alloc(&r, "p", MIB);
	memset(p, 3, MIB);
	for (unsigned int i = 0; i < 2; i++) {
		struct annex_move *m;
		int err;

		CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, MIB, ANNEX_TIER_SSD, &m), 0);
		err = annex_move_wait(m, WAIT_MS);
		CU_ASSERT(i ? !err : err == -ETIMEDOUT);
	}
	CU_ASSERT_EQUAL(stats(&r).device, 0);
	for (unsigned int i = 0; i < MIB; i += 4096)
		CU_ASSERT_EQUAL(p[i], 3);
	rig_close(&r);
}

static void full_storage(void)
{
	struct annex_move *m;
	struct rig r;
	char *p;

	rig_open(&r, "mem:1M", (struct annex_space_opts){.device = 4 * MIB});
	p = alloc(&r, "large", 3 * MIB);
	memset(p, 9, 3 * MIB);
	CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, 3 * MIB, ANNEX_TIER_SSD, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "large"));
	CU_ASSERT_EQUAL(stats(&r).stored, MIB);
	for (unsigned int i = 0; i < 3 * MIB; i += 4096)
		CU_ASSERT_EQUAL(p[i], 9);
	rig_close(&r);
}

static void budgets_change(void)
{
	uint64_t state = random_seed("budgets change"), want;
	struct rig r;
	char *p, *plain = malloc(4 * MIB);

	rig_open(&r, "mem:8M", (struct annex_space_opts){.device = 4 * MIB});
	p = alloc(&r, "p", 4 * MIB);
	random_fill(&state, plain, 4 * MIB);
	memcpy(p, plain, 4 * MIB);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, MIB), 0);
	want = annex_deadline_ms(WAIT_MS);
	while (stats(&r).device > MIB && annex_now() < want)
		sched_yield();
	CU_ASSERT(stats(&r).device <= MIB);
	CU_ASSERT_EQUAL(memcmp(p, plain, 4 * MIB), 0);
	CU_ASSERT(stats(&r).device <= MIB);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, 100), -EINVAL);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, 3 * MIB), 0);
	CU_ASSERT_EQUAL(memcmp(p, plain, 4 * MIB), 0);
	CU_ASSERT(stats(&r).device > MIB);
	free(plain);
	rig_close(&r);
}

static void bad_options(void)
{
	static const struct annex_space_opts bad[] = {
		{.device = 0},
		{.device = MIB - 1},
		{.device = UINT64_MAX},
		{.device = MIB, .host = UINT64_MAX},
		{.device = MIB, .cxl_bytes = MIB},
		{.device = MIB, .size = UINT64_MAX},
		{.device = MIB, .host_rate = 1e-9},
		{.device = MIB, .cxl_rate = -1},
		{.device = MIB, .host_rate = 0.0 / 0.0},
		{.device = MIB, .fault_bytes = 12288},
		{.device = MIB, .fault_bytes = 1 << 20},
		{.device = MIB, .n_stores = 1},
		{.device = MIB, .n_stores = 17},
		{.device = MIB, .host = MIB, .bind = true, .node = -1},
	};
	static const struct annex_store_opts bad_stores[] = {
		{.read_rate = 1}, {.write_rate = -1e9}, {.depth = 100000}, {.first = 100},
		{.bytes = 100},   {.first = 2 * MIB},   {.bytes = 2 * MIB}, {.nsid = 7},
	};
	struct annex_space *s = NULL;
	struct annex_store *store = NULL;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CU_ASSERT(annex_space_create(&bad[i], &s) < 0 && !s);
	for (unsigned int i = 0; i < sizeof(bad_stores) / sizeof(*bad_stores); i++)
		CU_ASSERT(annex_store_open("mem:1M", &bad_stores[i], &store) < 0 && !store);
}

/* What a program has locked in memory leaves like the rest. */
static void locked_memory(void)
{
	struct rig r;
	char *p;

	rig_open(&r, "mem:4M", (struct annex_space_opts){.device = 2 * MIB});
	p = alloc(&r, "p", 64 << 10);
	memset(p, 1, 64 << 10);
	CU_ASSERT_EQUAL(mlock(p, 64 << 10), 0);
	evict(&r, p, 64 << 10, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(stats(&r).device, 0);
	CU_ASSERT_EQUAL(p[5000], 1);
	rig_close(&r);
}

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

/* Many programs touch what is on its way, or has just gone; a device may need buffers for it. */
static void touched_by_many(struct rig *r)
{
	struct touchers t = {.bytes = MIB};
	pthread_t threads[TOUCHERS];
	char *p = alloc(r, "p", MIB);

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
	struct rig r;

	for (unsigned int i = 0; i < 8; i++) {
		rig_open(&r, "mem:4M",
			 (struct annex_space_opts){.device = (i % 2 ? 1 : 2) * MIB,
						   .host = MIB / 2,
						   .fault_bytes = i < 4 ? 4096 : 0});
		touched_by_many(&r);
		rig_close(&r);
	}
}

/* As hardware, which works with pinned memory only. */
static void through_buffers(void)
{
	struct annex_store_opts narrow = {.depth = 1};
	struct annex_space_opts opts = {
		.device = MIB, .n_stores = 1, .fault_bytes = 4096, .checksum = true};
	struct annex_ctrl_ops ops;
	struct rig r = {0};

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:4M", &narrow, &r.stores[0]), 0);
	ops = *r.stores[0]->dev->ctrl->ops;
	ops.map_sparse = NULL;
	r.stores[0]->dev->ctrl->ops = &ops;
	opts.stores = r.stores;
	opts.size = 4 * MIB;
	opts.host = 4096;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	touched_by_many(&r);
	CU_ASSERT(stats(&r).bounced > 0);
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
		/* Small ones share pages with some that another thread holds. */
		t->wrong += err && err != -ENOSPC && err != -EBUSY;
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

UNIT_SUITE(mem, {"there and back", there_and_back}, {"bad calls", waits_for_nothing},
	   {"what was only read is not written", clean_ones_are_not_written},
	   {"touches of what is no more", nothing_hangs}, {"devices that fail", devices_that_fail},
	   {"one bad block", one_bad_block}, {"freed twice", freed_twice},
	   {"bad options", bad_options}, {"locked memory", locked_memory},
	   {"many touch it", many_touch_it}, {"through buffers", through_buffers},
	   {"what is held stays", what_is_held_stays},
	   {"freed while it waits", freed_while_it_waits},
	   {"completions get lost", completions_get_lost}, {"full storage", full_storage},
	   {"budgets change", budgets_change}, {"beside a twin", beside_a_twin})
