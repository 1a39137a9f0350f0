// SPDX-License-Identifier: MIT
#include <string.h>
#include "mem_rig.h"
#include "unit.h"

void mem_rig_open(struct mem_rig *r, const char *uri, struct annex_space_opts opts)
{
	memset(r, 0, sizeof(*r));
	for (unsigned int i = 0; uri && i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(annex_store_open(uri, NULL, &r->stores[i]), 0);
	opts.stores = r->stores;
	opts.n_stores = uri ? 2 : 0;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &r->space), 0);
}

void mem_rig_close(struct mem_rig *r)
{
	annex_space_destroy(r->space);
	CU_ASSERT_EQUAL(annex_store_close(r->stores[0]), 0);
	CU_ASSERT_EQUAL(annex_store_close(r->stores[1]), 0);
}

struct annex_space_stats mem_stats(struct mem_rig *r)
{
	struct annex_space_stats st;

	annex_space_get_stats(r->space, &st);
	return st;
}

void *mem_alloc(struct mem_rig *r, const char *name, uint64_t bytes)
{
	void *p = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_alloc(r->space, name, bytes, &p), 0);
	return p;
}

void mem_evict(struct mem_rig *r, void *p, uint64_t bytes, unsigned int tier)
{
	struct annex_move *m;

	CU_ASSERT_EQUAL_FATAL(annex_pre_evict(r->space, p, bytes, tier, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
}

void mem_fetch(struct mem_rig *r, void *p, uint64_t bytes)
{
	struct annex_move *m;

	CU_ASSERT_EQUAL_FATAL(annex_prefetch(r->space, p, bytes, 0, &m), 0);
	CU_ASSERT_EQUAL(annex_move_wait(m, WAIT_MS), 0);
}
