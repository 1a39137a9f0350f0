// SPDX-License-Identifier: MIT
/*
 * Unified memory: a few tensors moved, lost, freed, held.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "tests/unit/mem_rig.h"
#include "migrate/space.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static void all_are(const char *p, uint64_t bytes, char what)
{
	for (uint64_t i = 0; i < bytes; i += 4096)
		CU_ASSERT_EQUAL(p[i], what);
}

static void there_and_back(void)
{
	uint64_t state = random_seed("there and back"), before[512];
	struct annex_mem_page page;
	struct mem_rig r;
	uint64_t *p;

	mem_rig_open(&r, "mem:16M", (struct annex_space_opts){.device = 4 * MIB, .host = 2 * MIB});
	p = mem_alloc(&r, "p", MIB);
	CU_ASSERT_EQUAL(p[1000], 0);
	random_fill(&state, p, MIB);
	memcpy(before, p, sizeof(before));
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p, &page), 0);
	CU_ASSERT(!page.device && page.below && page.tier == ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	mem_fetch(&r, p, MIB);
	CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p, &page), 0);
	CU_ASSERT(page.device);
	CU_ASSERT_EQUAL(memcmp(p, before, sizeof(before)), 0);
	mem_evict(&r, p, MIB, ANNEX_TIER_HOST);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD + 1);
	CU_ASSERT_EQUAL(mem_stats(&r).host, 0);
	CU_ASSERT_EQUAL(memcmp(p, before, sizeof(before)), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).stored, 0);
	mem_rig_close(&r);
}

static void waits_for_nothing(void)
{
	struct annex_move *m;
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:1M", (struct annex_space_opts){.device = 2 * MIB});
	p = mem_alloc(&r, "p", 100);
	mem_fetch(&r, p, 100);
	/* If the kernel's own faults are not handled, a prefetch makes pages. */
	CU_ASSERT(!mem_stats(&r).device || r.space->user_only);
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
	mem_rig_close(&r);
}

static void clean_ones_are_not_written(void)
{
	struct annex_space_stats st;
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = 4 * MIB});
	p = mem_filled(&r, "p", MIB, 1);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	mem_fetch(&r, p, MIB);
	CU_ASSERT_EQUAL(p[5000], 1);
	st = mem_stats(&r);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	/* Before Linux 6.4 reads and writes cannot be distinguished. */
	if (mem_stats(&r).clean) {
		CU_ASSERT_EQUAL(mem_stats(&r).out, st.out);
		CU_ASSERT_EQUAL(mem_stats(&r).clean, MIB);
		mem_fetch(&r, p, MIB);
		p[5000] = 2;
		CU_ASSERT_EQUAL(mem_stats(&r).write_faults, 1);
		mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
		CU_ASSERT(mem_stats(&r).out > st.out);
	}
	CU_ASSERT_EQUAL(p[4999], 1);
	mem_rig_close(&r);
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
	struct mem_rig r;
	volatile char *p;

	mem_rig_open(&r, NULL, (struct annex_space_opts){.device = 2 * MIB});
	p = mem_alloc(&r, "p", MIB);
	p[4096] = 1;
	annex_free(r.space, (void *)p);
	p[4096] = 2;
}

static void touch_lost(void)
{
	struct mem_rig r;
	volatile char *p;

	mem_rig_open(&r, "mem:4M?fault=error,op=read,count=0",
		     (struct annex_space_opts){.device = MIB});
	p = mem_alloc(&r, "p", MIB);
	p[4096] = 1;
	mem_evict(&r, (void *)p, MIB, ANNEX_TIER_SSD);
	p[4096] = 2;
}

static void touch_without_room(void);

static void nothing_hangs(void)
{
	/* Their runtimes make something else of a signal, or of a thread in a forked child. */
	if (UNIT_SANITIZED)
		return;
	CU_ASSERT_EQUAL(dies_of(touch_freed), SIGSEGV);
	CU_ASSERT_EQUAL(dies_of(touch_lost), SIGSEGV);
	CU_ASSERT_EQUAL(dies_of(touch_without_room), SIGSEGV);
}

static void devices_that_fail(void)
{
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:4M?fault=error,op=write,count=2&fault=error,op=read,count=1",
		     (struct annex_space_opts){.device = 2 * MIB});
	p = mem_filled(&r, "victim", MIB, 7);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, MIB, ANNEX_TIER_SSD), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "victim"));
	/* Pages that could not be written are still there. */
	all_are(p, MIB, 7);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	/* One command failed; page by page all can be read. */
	mem_fetch(&r, p, MIB);
	all_are(p, MIB, 7);
	mem_rig_close(&r);
}

static void one_bad_block(void)
{
	unsigned int there = 0;
	struct annex_move *m;
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:4M?fault=error,op=read,lba=80,blocks=1,count=0",
		     (struct annex_space_opts){.device = 2 * MIB});
	p = mem_filled(&r, "scratched", MIB, 5);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(mem_try_fetch(&r, p, MIB), -EIO);
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
	mem_rig_close(&r);
}

static void freed_twice(void)
{
	struct mem_rig r;
	char *p, *q;

	mem_rig_open(&r, NULL, (struct annex_space_opts){.device = MIB});
	p = mem_alloc(&r, NULL, 100);
	q = mem_alloc(&r, NULL, 100);
	*q = 1;
	CU_ASSERT_EQUAL(annex_free(r.space, p + 64), -EINVAL);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), -EINVAL);
	CU_ASSERT_EQUAL(*q, 1);
	p = mem_alloc(&r, NULL, 10000);
	CU_ASSERT_EQUAL(annex_free(r.space, p + 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	mem_rig_close(&r);
}

static void what_is_held_stays(void)
{
	struct mem_rig r;
	char *p, *q;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	p = mem_filled(&r, "held", MIB / 2, 1);
	CU_ASSERT_EQUAL(annex_hold(r.space, p), 0);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, MIB / 2, ANNEX_TIER_SSD), -EBUSY);
	q = mem_filled(&r, "other", 2 * MIB, 2);
	for (unsigned int i = 0; i < MIB / 2; i += 4096) {
		struct annex_mem_page page;

		CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p + i, &page), 0);
		CU_ASSERT(page.device);
	}
	CU_ASSERT_EQUAL(annex_let_go(r.space, p), 0);
	CU_ASSERT_EQUAL(q[MIB], 2);
	mem_rig_close(&r);
}

/* Zeroes take no room before they are touched. Held ones come when they are prefetched. */
static void held_zeroes_come(void)
{
	struct mem_rig r;
	bool held = false;
	char *p;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	p = mem_alloc(&r, "p", MIB / 2);
	do {
		struct annex_space_stats stats;

		mem_fetch(&r, p, MIB / 2);
		annex_space_get_stats(r.space, &stats);
		CU_ASSERT_EQUAL(stats.device, held || r.space->user_only ? MIB / 2 : 0);
		held = !held;
		CU_ASSERT_EQUAL((held ? annex_hold : annex_let_go)(r.space, p), 0);
	} while (held);
	CU_ASSERT_EQUAL(p[0], 0);
	mem_rig_close(&r);
}

/* Nothing can be written any more: what a program wants then is refused, and not waited for. */
static void touch_without_room(void)
{
	struct mem_rig r;
	volatile char *p;

	mem_rig_open(&r, "mem:4M?fault=error,op=write,count=0",
		     (struct annex_space_opts){.device = MIB});
	p = mem_alloc(&r, "p", 4 * MIB);
	for (unsigned int i = 0; i < 4 * MIB; i += 4096)
		p[i] = 1;
}

static void freed_while_it_waits(void)
{
	struct annex_move *m;
	struct mem_rig r;
	char *p, *q;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB});
	p = mem_filled(&r, "p", MIB, 1);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	q = mem_filled(&r, "q", MIB * 3 / 4, 2);
	CU_ASSERT_EQUAL(annex_hold(r.space, q), 0);
	CU_ASSERT_EQUAL(annex_prefetch(r.space, p, MIB, 0, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, 50), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), -ECANCELED);
	mem_rig_close(&r);
}

static void completions_get_lost(void)
{
	struct annex_store_opts few = {.timeout_ms = 200};
	struct annex_space_opts opts = {.device = 2 * MIB, .n_stores = 1};
	struct mem_rig r = {0};
	char *p;

	CU_ASSERT_EQUAL_FATAL(
		annex_store_open("mem:4M?fault=lose,op=write,after=1", &few, &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	p = mem_filled(&r, "p", MIB, 3);
	for (unsigned int i = 0; i < 2; i++) {
		struct annex_move *m;
		int err;

		CU_ASSERT_EQUAL(annex_pre_evict(r.space, p, MIB, ANNEX_TIER_SSD, &m), 0);
		err = annex_move_wait(m, WAIT_MS);
		CU_ASSERT(i ? !err : err == -EIO);
	}
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	all_are(p, MIB, 3);
	mem_rig_close(&r);
}

/* Of a hundred writes that get lost, few are tried: each attempt takes 400 ms. */
static void silent_device(void)
{
	struct annex_store_opts few = {.timeout_ms = 400, .depth = 4};
	struct annex_space_opts opts = {.device = 48 * MIB, .n_stores = 1};
	struct mem_rig r = {0};
	uint64_t until;
	char *p;

	unit_log_begin(UNIT_LOG(WARNING), "commands in a row");
	CU_ASSERT_EQUAL_FATAL(
		annex_store_open("mem:64M?fault=lose,op=write,count=0", &few, &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	p = mem_filled(&r, "p", 48 * MIB, 1);
	until = annex_deadline_ms(3000);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, 48 * MIB, ANNEX_TIER_SSD), -EIO);
	CU_ASSERT(annex_now() < until);
	all_are(p, 48 * MIB, 1);
	mem_rig_close(&r);
	CU_ASSERT_EQUAL(unit_log_end(), 1);
}

static void full_storage(void)
{
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:1M", (struct annex_space_opts){.device = 4 * MIB});
	p = mem_filled(&r, "large", 3 * MIB, 9);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, 3 * MIB, ANNEX_TIER_SSD), -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "large"));
	CU_ASSERT_EQUAL(mem_stats(&r).stored, MIB);
	all_are(p, 3 * MIB, 9);
	mem_rig_close(&r);
}

static void budgets_change(void)
{
	uint64_t state = random_seed("budgets change"), want;
	struct mem_rig r;
	char *p, *plain = malloc(4 * MIB);

	mem_rig_open(&r, "mem:8M", (struct annex_space_opts){.device = 4 * MIB});
	p = mem_alloc(&r, "p", 4 * MIB);
	random_fill(&state, plain, 4 * MIB);
	memcpy(p, plain, 4 * MIB);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, MIB), 0);
	want = annex_deadline_ms(WAIT_MS);
	while (mem_stats(&r).device > MIB && annex_now() < want)
		sched_yield();
	CU_ASSERT(mem_stats(&r).device <= MIB);
	CU_ASSERT_EQUAL(memcmp(p, plain, 4 * MIB), 0);
	CU_ASSERT(mem_stats(&r).device <= MIB);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, 100), -EINVAL);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, 3 * MIB), 0);
	CU_ASSERT_EQUAL(memcmp(p, plain, 4 * MIB), 0);
	CU_ASSERT(mem_stats(&r).device > MIB);
	free(plain);
	mem_rig_close(&r);
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
		{.read_rate = 1}, {.write_rate = -1e9}, {.depth = 100000},  {.first = 100},
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
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = 2 * MIB});
	p = mem_filled(&r, "p", 64 << 10, 1);
	CU_ASSERT_EQUAL(mlock(p, 64 << 10), 0);
	mem_evict(&r, p, 64 << 10, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	CU_ASSERT_EQUAL(p[5000], 1);
	mem_rig_close(&r);
}

/* Small ones of mixed lifetimes: their places are used again, and are zeroes again. */
static void places_are_used_again(void)
{
	enum { N = 2 * MIB / 64 };
	char **p = calloc(N, sizeof(*p));
	struct mem_rig r;
	void *q;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = MIB, .size = 2 * MIB});
	for (unsigned int i = 0; i < N; i++) {
		p[i] = mem_filled(&r, NULL, 64, 1);
	}
	CU_ASSERT_EQUAL(annex_alloc(r.space, NULL, 64, &q), -ENOSPC);
	for (unsigned int i = 0; i < N; i++)
		if (i % 4)
			CU_ASSERT_EQUAL(annex_free(r.space, p[i]), 0);
	for (unsigned int i = 0; i < N; i++) {
		if (i % 4 != 1)
			continue;
		/* In place of three. */
		p[i] = mem_alloc(&r, NULL, 129);
		CU_ASSERT(!p[i][0] && !p[i][63] && !p[i][128]);
		memset(p[i], 2, 129);
	}
	for (unsigned int i = 0; i < N; i += 4)
		CU_ASSERT(p[i][0] == 1 && p[i][63] == 1 && p[i + 1][0] == 2 && p[i + 1][128] == 2);
	for (unsigned int i = 0; i < N; i++)
		if (i % 4 < 2)
			CU_ASSERT_EQUAL(annex_free(r.space, p[i]), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	free(p);
	mem_rig_close(&r);
}

static char *alloc_any(struct mem_rig *r, uint64_t bytes)
{
	void *p = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_alloc_uninit(r->space, "any", bytes, &p), 0);
	return p;
}

/* A tensor whose bytes are anything takes over the pages of one that was freed. */
static void freed_pages_are_used_again(void)
{
	struct annex_space_stats st;
	struct mem_rig r;
	char *p, *q;

	mem_rig_open(&r, "mem:8M", (struct annex_space_opts){.device = 2 * MIB, .size = 3 * MIB});
	p = alloc_any(&r, MIB);
	memset(p, 1, MIB);
	/* Clean pages and absent ones: copies below are of no use then. */
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	mem_fetch(&r, p, MIB / 2);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	st = mem_stats(&r);
	CU_ASSERT_EQUAL(st.kept, MIB / 2);
	CU_ASSERT_EQUAL(st.device, MIB / 2);
	CU_ASSERT_EQUAL(st.stored, 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), -EINVAL);
	q = alloc_any(&r, MIB / 4);
	CU_ASSERT_PTR_NOT_EQUAL(q, p);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	q = mem_alloc(&r, "zeroes", MIB);
	CU_ASSERT_PTR_NOT_EQUAL(q, p);
	all_are(q, MIB, 0);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	q = alloc_any(&r, MIB);
	CU_ASSERT_PTR_EQUAL(q, p);
	CU_ASSERT_EQUAL(mem_stats(&r).kept, 0);
	st = mem_stats(&r);
	memset(q, 2, MIB / 2);
	CU_ASSERT_EQUAL(mem_stats(&r).faults, st.faults);
	CU_ASSERT_EQUAL(mem_stats(&r).write_faults, st.write_faults);
	memset(q, 2, MIB);
	mem_evict(&r, q, MIB, ANNEX_TIER_SSD);
	all_are(q, MIB, 2);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).kept, MIB);
	/* A hold ends with its tensor. */
	q = alloc_any(&r, MIB);
	memset(q, 3, MIB);
	CU_ASSERT_EQUAL(annex_hold(r.space, q), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	CU_ASSERT_PTR_EQUAL(alloc_any(&r, MIB), q);
	CU_ASSERT_EQUAL(annex_let_go(r.space, q), -EINVAL);
	mem_evict(&r, q, MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).kept, 0);
	q = alloc_any(&r, MIB);
	memset(q, 4, MIB);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	annex_space_trim(r.space);
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	mem_rig_close(&r);
}

/* Kept pages leave first, and unwritten; kept addresses are given up. */
static void kept_pages_make_room(void)
{
	uint64_t out;
	struct mem_rig r;
	char *p, *q;

	mem_rig_open(&r, "mem:8M", (struct annex_space_opts){.device = 2 * MIB, .size = 3 * MIB});
	p = alloc_any(&r, 3 * MIB / 2);
	memset(p, 1, 3 * MIB / 2);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	out = mem_stats(&r).out;
	q = mem_filled(&r, "q", 3 * MIB / 2, 2);
	CU_ASSERT_EQUAL(mem_stats(&r).out, out);
	CU_ASSERT(mem_stats(&r).kept <= MIB / 2);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	q = alloc_any(&r, MIB);
	memset(q, 3, MIB);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	q = mem_alloc(&r, "all", 3 * MIB);
	CU_ASSERT_EQUAL(mem_stats(&r).kept, 0);
	all_are(q, 3 * MIB, 0);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	mem_rig_close(&r);
}

UNIT_SUITE(mem, {"there and back", there_and_back}, {"bad calls", waits_for_nothing},
	   {"clean pages are not written", clean_ones_are_not_written},
	   {"accesses to freed tensors", nothing_hangs}, {"devices that fail", devices_that_fail},
	   {"one bad block", one_bad_block}, {"freed twice", freed_twice},
	   {"bad options", bad_options}, {"locked memory", locked_memory},
	   {"held tensors stay", what_is_held_stays}, {"held zeroes come", held_zeroes_come},
	   {"freed while it waits", freed_while_it_waits},
	   {"completions get lost", completions_get_lost}, {"a silent device", silent_device},
	   {"full storage", full_storage}, {"budgets change", budgets_change},
	   {"places are used again", places_are_used_again},
	   {"freed pages are used again", freed_pages_are_used_again},
	   {"kept pages make room", kept_pages_make_room})
