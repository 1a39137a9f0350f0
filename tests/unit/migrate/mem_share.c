// SPDX-License-Identifier: MIT
/*
 * Unified memory beside others: shares of a link, deadlines, what a process has resident, and the
 * page table.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/log.h>
#include "tests/unit/mem_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define SPACES 2u
#define RATE 50e6 /* bytes a second: slow enough that two programs keep it busy */

struct rival {
	struct annex_space *space;
	char *p;
	struct annex_move *out;
};

/* Its work while the other one is idle. */
static void work_alone(struct rival *r, uint64_t bytes)
{
	struct annex_move *m;

	CU_ASSERT_EQUAL_FATAL(annex_pre_evict(r->space, r->p, bytes, ANNEX_TIER_SSD, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
	memset(r->p, 9, bytes);
}

/*
 * When @first has all of its work done, the other one has had nearly as much; also if it worked
 * @before.
 */
static void share(struct annex_store *store, unsigned int first, bool before)
{
	struct annex_space_opts opts = {.device = 32 * MIB, .stores = &store, .n_stores = 1};
	struct rival rivals[SPACES];
	struct annex_space_stats st;
	uint64_t bytes = 24 * MIB, had;

	for (unsigned int i = 0; i < SPACES; i++) {
		struct rival *r = &rivals[i];

		CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r->space), 0);
		CU_ASSERT_EQUAL_FATAL(annex_alloc(r->space, "work", bytes, (void **)&r->p), 0);
		memset(r->p, (int)i + 1, bytes);
	}
	if (before)
		work_alone(&rivals[!first], bytes);
	annex_space_get_stats(rivals[!first].space, &st);
	had = st.out;
	for (unsigned int i = 0; i < SPACES; i++)
		CU_ASSERT_EQUAL_FATAL(annex_pre_evict(rivals[i].space, rivals[i].p, bytes,
						      ANNEX_TIER_SSD, &rivals[i].out),
				      0);
	CU_ASSERT_EQUAL(annex_move_wait(rivals[first].out, WAIT_MS), 0);
	annex_space_get_stats(rivals[!first].space, &st);
	CU_ASSERT(st.out - had >= bytes * 7 / 10);
	CU_ASSERT_EQUAL(annex_move_wait(rivals[!first].out, WAIT_MS), 0);
	for (unsigned int i = 0; i < SPACES; i++) {
		CU_ASSERT_EQUAL(rivals[i].p[bytes - 1], before && i != first ? 9 : (char)i + 1);
		annex_space_destroy(rivals[i].space);
	}
}

/* Two spaces with equal work on one storage, whichever came first, or was idle until now. */
static void fair_shares(void)
{
	struct annex_store_opts slow = {.write_rate = RATE, .depth = 4};
	struct annex_store *store;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:64M", &slow, &store), 0);
	share(store, 0, false);
	share(store, 1, false);
	share(store, 0, true);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
}

/* Of prefetches that wait for a slow link, the one that is wanted earliest comes first. */
static void earlier_ones_first(void)
{
	struct annex_store_opts slow = {.read_rate = 20e6, .depth = 1};
	struct annex_space_opts opts = {.device = 16 * MIB, .n_stores = 1};
	struct annex_move *late, *soon;
	struct annex_mem_tensor t;
	const void *cursor = NULL;
	struct mem_rig r = {0};
	char *a, *b;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:16M", &slow, &r.stores[0]), 0);
	opts.stores = r.stores;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
	a = mem_alloc(&r, "late", 4 * MIB);
	b = mem_alloc(&r, "soon", 4 * MIB);
	memset(a, 1, 4 * MIB);
	memset(b, 2, 4 * MIB);
	mem_evict(&r, a, 4 * MIB, ANNEX_TIER_SSD);
	mem_evict(&r, b, 4 * MIB, ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL_FATAL(annex_prefetch(r.space, a, 4 * MIB, 2000, &late), 0);
	CU_ASSERT_EQUAL_FATAL(annex_prefetch(r.space, b, 4 * MIB, 1000, &soon), 0);
	CU_ASSERT_EQUAL(annex_move_wait(soon, WAIT_MS), 0);
	CU_ASSERT_EQUAL(annex_mem_next(r.space, &cursor, &t), 1);
	CU_ASSERT_STRING_EQUAL(t.name, "late");
	/* It had begun before the other one was asked for; half of it takes a tenth of a second. */
	CU_ASSERT(t.device <= 2 * MIB);
	CU_ASSERT_EQUAL(annex_move_wait(late, WAIT_MS), 0);
	CU_ASSERT(a[0] == 1 && b[4 * MIB - 1] == 2);
	mem_rig_close(&r);
}

/* Shadow memory and quarantine of sanitizers are resident, too. */
static const bool shadowed = UNIT_SANITIZED;

#define TIER (32 * MIB)
#define ALL (96 * MIB)
#define LITTLE (8 * MIB) /* of tables, buffers, and what the libraries do besides */

/* Written and read in pieces of @step, in any order; the most that was resident above @before. */
static uint64_t most_resident(struct mem_rig *r, uint64_t *state, uint64_t step, uint64_t before)
{
	uint8_t *p = mem_alloc(r, "large", ALL);
	uint64_t most = 0;

	for (unsigned int i = 0; i < 2 * ALL / step; i++) {
		uint64_t at = i < ALL / step ? i * step : random_next(state) % (ALL / step) * step;

		if (i >= ALL / step)
			CU_ASSERT(!memcmp(p + at, &at, sizeof(at)));
		if (i % 4 == 3 && i >= ALL / step)
			annex_prefetch(r->space, p + random_next(state) % (ALL / step) * step, step,
				       0, NULL);
		memcpy(p + at, &at, sizeof(at));
		if (i % (MIB / step + 1) == 0 && mem_resident() - before > most)
			most = mem_resident() - before;
	}
	CU_ASSERT_EQUAL(annex_free(r->space, p), 0);
	return most;
}

/* Only pages of the device tier are resident, each of them once. */
static void resident_memory(void)
{
	uint64_t state = random_seed("resident memory"), before;
	char path[UNIT_PATH], uri[400];
	struct mem_rig r = {0};

	if (shadowed)
		return;
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=%llu", path, ALL + TIER);
	for (unsigned int i = 0; i < 2; i++) {
		struct annex_space_opts opts = {
			.device = TIER, .n_stores = 1, .size = ALL, .fault_bytes = i ? 4096 : 0};

		CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, NULL, &r.stores[0]), 0);
		opts.stores = r.stores;
		CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r.space), 0);
		before = mem_resident();
		CU_ASSERT(most_resident(&r, &state, i ? 16384 : 65536, before) <= TIER + LITTLE);
		annex_space_trim(r.space);
		CU_ASSERT(mem_resident() <= before + LITTLE);
		mem_rig_close(&r);
	}
	unlink(path);
}

static void the_page_table(void)
{
	struct annex_mem_tensor t;
	const void *cursor = NULL;
	struct mem_rig r;
	char *a, *b, *c;

	mem_rig_open(&r, "mem:4M", (struct annex_space_opts){.device = 4 * MIB, .host = MIB});
	CU_ASSERT_EQUAL(annex_mem_next(r.space, &cursor, &t), 0);
	a = mem_alloc(&r, "a tensor with a name that is longer than what the table has room for",
		      MIB);
	b = mem_alloc(&r, "b", MIB / 2 + 1);
	c = mem_alloc(&r, "small", 100);
	memset(a, 1, MIB);
	memset(b, 1, 4096);
	c[0] = 1;
	mem_evict(&r, a, MIB / 4, ANNEX_TIER_HOST);
	mem_evict(&r, a + MIB / 4, MIB / 4, ANNEX_TIER_SSD + 1);
	CU_ASSERT_EQUAL(annex_hold(r.space, b), 0);
	CU_ASSERT_EQUAL(annex_mem_next(r.space, &cursor, &t), 1);
	CU_ASSERT_PTR_EQUAL(t.ptr, a);
	CU_ASSERT_EQUAL(strncmp(t.name, "a tensor with a name", 20), 0);
	CU_ASSERT_EQUAL(strlen(t.name), ANNEX_MEM_NAME - 1);
	CU_ASSERT_EQUAL(t.device, MIB / 2);
	CU_ASSERT_EQUAL(t.below[ANNEX_TIER_HOST], MIB / 4);
	CU_ASSERT_EQUAL(t.below[ANNEX_TIER_SSD + 1], MIB / 4);
	CU_ASSERT_EQUAL(t.below[ANNEX_TIER_SSD] + t.zero + t.moving + t.held, 0);
	CU_ASSERT_EQUAL(annex_mem_next(r.space, &cursor, &t), 1);
	CU_ASSERT_STRING_EQUAL(t.name, "b");
	CU_ASSERT_EQUAL(t.bytes, MIB / 2 + 4096);
	CU_ASSERT_EQUAL(t.held, 1);
	CU_ASSERT_EQUAL(t.device + t.zero, t.bytes);
	CU_ASSERT(t.device >= 4096 && t.zero > 0);
	CU_ASSERT_EQUAL(annex_mem_next(r.space, &cursor, &t), 1);
	CU_ASSERT(c >= (char *)t.ptr && c < (char *)t.ptr + t.bytes);
	CU_ASSERT_EQUAL(annex_mem_next(r.space, &cursor, &t), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, a), 0);
	cursor = NULL;
	CU_ASSERT_EQUAL(annex_mem_next(r.space, &cursor, &t), 1);
	CU_ASSERT_PTR_EQUAL(t.ptr, b);
	mem_rig_close(&r);
}

/* A part of storage belongs to the first store on it, also if a child has the file open. */
static void storage_is_ones_own(void)
{
	struct annex_store_opts half = {.bytes = MIB}, other = {.first = MIB};
	struct annex_store *a, *b, *c;
	int fds[2], status;
	char path[64], uri[128], go;
	pid_t child;

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=2M", path);
	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, &half, &a), 0);
	CU_ASSERT_EQUAL(annex_store_open(uri, NULL, &c), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), path));
	CU_ASSERT_EQUAL(annex_store_open("mem:1M?block=8192", NULL, &c), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "larger than a page") != NULL);
	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, &other, &b), 0);
	CU_ASSERT_EQUAL(annex_store_open(uri, &other, &c), -EBUSY);
	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	child = fork();
	if (!child) {
		close(fds[1]);
		_exit((int)read(fds[0], &go, 1));
	}
	CU_ASSERT_FATAL(child > 0);
	CU_ASSERT_EQUAL(annex_store_close(a), 0);
	CU_ASSERT_EQUAL(annex_store_close(b), 0);
	CU_ASSERT_EQUAL(annex_store_open(uri, NULL, &c), 0);
	CU_ASSERT_EQUAL(annex_store_close(c), 0);
	close(fds[0]);
	close(fds[1]);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
	unlink(path);
}

/* A file that ends inside a page keeps its size: the store has the pages before. */
static void whole_pages(void)
{
	struct annex_store_opts all = {.bytes = 3 * ANNEX_MEM_PAGE};
	struct annex_store *store;
	char path[64], uri[128];

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=%u", path, 3 * ANNEX_MEM_PAGE - 1);
	CU_ASSERT_EQUAL(annex_store_open(uri, &all, &store), -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "it ends at 12287 bytes"));
	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, NULL, &store), 0);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
	unlink(path);
}

UNIT_SUITE(mem_share, {"storage is one's own", storage_is_ones_own}, {"whole pages", whole_pages},
	   {"fair shares", fair_shares}, {"earlier ones first", earlier_ones_first},
	   {"resident memory", resident_memory}, {"the page table", the_page_table})
