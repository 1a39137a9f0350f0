// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "mem_rig.h"
#include "migrate/request.h"
#include "migrate/space.h"
#include "random.h"
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

/* The space's counters must agree with its pages. */
static void check_counts(struct annex_space *s)
{
	uint32_t with_copy = 0;

	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->n_pages; i++)
		with_copy += (s->pages[i].flags & PAGE_DEVICE) && (s->pages[i].flags & PAGE_BELOW);
	CU_ASSERT_EQUAL(s->with_copy, with_copy);
	pthread_mutex_unlock(&s->lock);
}

void mem_rig_close(struct mem_rig *r)
{
	check_counts(r->space);
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

void mem_wait_empty(struct mem_rig *r)
{
	uint64_t limit = annex_deadline_ms(WAIT_MS);
	struct annex_space_stats st;

	annex_space_trim(r->space);
	st = mem_stats(r);
	while ((st.device || st.host || st.stored) && annex_now() < limit) {
		sched_yield();
		st = mem_stats(r);
	}
	CU_ASSERT_EQUAL(st.device, 0);
	CU_ASSERT_EQUAL(st.host, 0);
	CU_ASSERT_EQUAL(st.stored, 0);
}

void *mem_alloc(struct mem_rig *r, const char *name, uint64_t bytes)
{
	void *p = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_alloc(r->space, name, bytes, &p), 0);
	return p;
}

void *mem_filled(struct mem_rig *r, const char *name, uint64_t bytes, int value)
{
	return memset(mem_alloc(r, name, bytes), value, bytes);
}

int mem_try_evict(struct mem_rig *r, void *p, uint64_t bytes, unsigned int tier)
{
	struct annex_move *m;

	CU_ASSERT_EQUAL_FATAL(annex_pre_evict(r->space, p, bytes, tier, &m), 0);
	return annex_move_wait(m, WAIT_MS);
}

int mem_try_fetch(struct mem_rig *r, void *p, uint64_t bytes)
{
	struct annex_move *m;

	CU_ASSERT_EQUAL_FATAL(annex_prefetch(r->space, p, bytes, 0, &m), 0);
	return annex_move_wait(m, WAIT_MS);
}

void mem_evict(struct mem_rig *r, void *p, uint64_t bytes, unsigned int tier)
{
	CU_ASSERT_EQUAL(mem_try_evict(r, p, bytes, tier), 0);
}

void mem_fetch(struct mem_rig *r, void *p, uint64_t bytes)
{
	CU_ASSERT_EQUAL(mem_try_fetch(r, p, bytes), 0);
}

void mem_change(uint64_t *state, const struct mem_pair *x)
{
	uint64_t at = random_next(state) % x->bytes;
	uint64_t n = random_next(state) % (x->bytes - at) + 1;

	random_fill(state, x->plain + at, n);
	memcpy(x->p + at, x->plain + at, n);
}

/* As programs must do it where accesses do not fault. */
static void fill(struct mem_twin *t, const struct mem_pair *x)
{
	struct annex_move *m;

	t->wrong += annex_hold(t->r->space, x->p) != 0;
	if (annex_prefetch(t->r->space, x->p, x->bytes, 0, &m) || annex_move_wait(m, WAIT_MS))
		t->wrong++;
	else
		memcpy(x->p, x->plain, x->bytes);
	t->wrong += annex_let_go(t->r->space, x->p) != 0;
}

void mem_renew(struct mem_twin *t, uint64_t *state, struct mem_pair *x)
{
	bool any;

	if (x->p) {
		t->wrong += annex_free(t->r->space, x->p) != 0;
		free(x->plain);
		x->p = NULL;
	}
	x->bytes = random_next(state) % 4 ? random_next(state) % 200000 + 1
					  : random_next(state) % 3000 + 1;
	/* Few sizes, so that freed pages are used again. */
	any = random_next(state) % 2;
	x->bytes = any ? (x->bytes / 50000 + 1) * 40000 : x->bytes;
	if (any && random_next(state) % 4 == 0)
		annex_tensor_expect(t->r->space, x->bytes);
	if ((any ? annex_alloc_uninit : annex_alloc)(t->r->space, "random", x->bytes,
						     (void **)&x->p)) {
		t->wrong++;
		x->p = NULL;
		return;
	}
	x->plain = calloc(1, x->bytes);
	if (any) {
		random_fill(state, x->plain, x->bytes);
		fill(t, x);
	}
}

void mem_twins(struct mem_rig *r, uint64_t *state, void *(*live)(void *twin))
{
	struct mem_twin twins[MEM_TWINS] = {0};

	for (unsigned int i = 0; i < MEM_TWINS; i++) {
		twins[i].r = r;
		twins[i].seed = random_next(state);
	}
	unit_threads(MEM_TWINS, live, twins, sizeof(*twins));
	for (unsigned int i = 0; i < MEM_TWINS; i++)
		CU_ASSERT_EQUAL(twins[i].wrong, 0);
}

uint64_t mem_resident(void)
{
	unsigned long long kib = 0;
	char line[200];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib << 10;
}
