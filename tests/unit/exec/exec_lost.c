// SPDX-License-Identifier: MIT
/*
 * Storage that gives something else back, under a plan that annex has taken over from a policy of
 * page faults: kernels do not begin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/exec.h>
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define TENSORS 3u
#define STORED (64 * MIB)
#define WAIT_NS 20000000000ull

/* As annex does where faults are the best that there is. */
static int take_over(const struct annex_vitality *v, const struct annex_system *sys,
		     struct annex_plan **plan)
{
	int err = annex_policy_find("uvm")->make(v, sys, plan);

	if (!err)
		strcpy((*plan)->policy, "annex+uvm");
	return err;
}

static const struct annex_policy annex_uvm = {"annex-uvm", "annex's, taken over", take_over};

static void touch(const uint8_t *p)
{
	uint32_t sum = 0;

	for (uint64_t i = 0; i < MIB; i += ANNEX_MEM_PAGE)
		sum += annex_atomic_load(&p[i], ANNEX_RELAXED);
	CU_ASSERT_EQUAL(sum, MIB / ANNEX_MEM_PAGE);
}

/* Return: the error of the first kernel that does not begin; 0: all have run. */
static int iterate(struct annex_exec *e, uint8_t *const *p)
{
	int err = 0;

	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	for (unsigned int i = 0; i < TENSORS && !err; i++) {
		const struct annex_exec_use use = {p[i], ANNEX_USE_READ};

		err = annex_exec_before(e, "read", &use, 1);
		if (!err) {
			touch(p[i]);
			CU_ASSERT_EQUAL(annex_exec_after(e), 0);
		}
	}
	CU_ASSERT(!annex_exec_end(e) || err);
	return err;
}

/* Until a plan is followed that would have kernels fault. */
static void become_planned(struct annex_exec *e, uint8_t *const *p)
{
	uint64_t end = annex_now() + WAIT_NS;
	const uint32_t both = ANNEX_PLAN_OVERLAP | ANNEX_PLAN_RECLAIM;
	const struct annex_trace *trace;
	const struct annex_system *sys;
	const struct annex_plan *plan;
	struct annex_exec_stats st = {0};

	while (!st.planned && annex_now() < end) {
		CU_ASSERT_EQUAL(iterate(e, p), 0);
		annex_exec_get_stats(e, &st);
	}
	CU_ASSERT(st.planned);
	plan = annex_exec_plan(e, &trace, &sys);
	CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
	CU_ASSERT_STRING_EQUAL(plan->policy, "annex+uvm");
	CU_ASSERT_EQUAL(plan->flags & both, both);
}

static void overwrite(int fd)
{
	char *other = malloc(STORED);

	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	memset(other, 0x5a, STORED);
	CU_ASSERT_EQUAL(pwrite(fd, other, STORED, 0), (ssize_t)STORED);
	free(other);
}

static void taken_over(void)
{
	struct annex_space_opts opts = {.device = 2 * MIB, .n_stores = 1, .checksum = true};
	struct annex_exec_opts with = {.own = &annex_uvm};
	char path[] = "/tmp/annex-lost-XXXXXX", uri[64];
	struct annex_space_stats before, after;
	struct annex_store *store;
	struct annex_space *space;
	struct annex_exec *e;
	uint8_t *p[TENSORS];
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	snprintf(uri, sizeof(uri), "file:%s?size=64M", path);
	CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, NULL, &store), 0);
	opts.stores = &store;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &space), 0);
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(space, &with, &e), 0);
	for (unsigned int i = 0; i < TENSORS; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_alloc(space, "old", MIB, (void **)&p[i]), 0);
		memset(p[i], 1, MIB);
	}
	become_planned(e, p);
	annex_space_get_stats(space, &before);
	CU_ASSERT_EQUAL(iterate(e, p), 0);
	annex_space_get_stats(space, &after);
	CU_ASSERT(after.in > before.in);
	CU_ASSERT_EQUAL(after.faults, before.faults);
	overwrite(fd);
	CU_ASSERT_EQUAL(iterate(e, p), -EILSEQ);
	annex_exec_destroy(e);
	annex_space_destroy(space);
	CU_ASSERT_EQUAL(annex_store_close(store), 0);
	unlink(path);
	close(fd);
}

UNIT_SUITE(exec_lost, {"plans that were taken over", taken_over})
