// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cache and arrays: threads get, set, add to, gather, scatter and span elements, each its own, in a
 * cache that is much smaller than the data; then write-backs and reads that fail.
 */
#include <errno.h>
#include <string.h>
#include <annex/array.h>
#include "../error.h"
#include "../pool.h"
#include "selftest.h"

#define STEPS 1500u /* of a thread in a round */
#define VECTOR 24u

/* Element i is thread i % n's. */
struct elements {
	struct area *a;
	struct annex_array array;
	uint64_t *shadow, seed, count;
	struct tally tally[64];
};

struct worker {
	struct elements *e;
	struct tally *t;
	uint64_t seed;
	unsigned int id, n;
};

static uint64_t own(struct worker *w)
{
	return pick(&w->seed, w->e->count / w->n) * w->n + w->id;
}

static int get(struct worker *w)
{
	uint64_t i = own(w), v;
	int err = tally_call(w->t, annex_array_get(&w->e->array, i, &v), "annex_array_get()");

	return err ? err : tally_same(w->t, "a get", i * 8, &v, &w->e->shadow[i], 8);
}

static int set(struct worker *w)
{
	uint64_t i = own(w), v = annex_random(&w->seed);

	w->e->shadow[i] = v;
	return tally_call(w->t, annex_array_set(&w->e->array, i, &v), "annex_array_set()");
}

static int add(struct worker *w)
{
	uint64_t i = own(w), v = annex_random(&w->seed), old;
	int err = tally_call(w->t, annex_array_add_u64(&w->e->array, i, v, &old),
			     "annex_array_add_u64()");

	if (!err)
		err = tally_same(w->t, "before an add", i * 8, &old, &w->e->shadow[i], 8);
	w->e->shadow[i] += v;
	return err;
}

static int gather(struct worker *w)
{
	uint64_t idx[VECTOR], got[VECTOR];
	int err;

	for (unsigned int k = 0; k < VECTOR; k++)
		idx[k] = own(w);
	err = tally_call(w->t, annex_array_gather(&w->e->array, idx, VECTOR, got),
			 "annex_array_gather()");
	for (unsigned int k = 0; k < VECTOR && !err; k++)
		err = tally_same(w->t, "a gather", idx[k] * 8, &got[k], &w->e->shadow[idx[k]], 8);
	return err;
}

static int scatter(struct worker *w)
{
	uint64_t idx[VECTOR], vals[VECTOR];

	for (unsigned int k = 0; k < VECTOR; k++) {
		idx[k] = own(w);
		vals[k] = annex_random(&w->seed);
		w->e->shadow[idx[k]] = vals[k];
	}
	return tally_call(w->t, annex_array_scatter(&w->e->array, idx, VECTOR, vals),
			  "annex_array_scatter()");
}

/* The neighbours are other threads', which write them; so only what is this one's is looked at. */
static int span(struct worker *w)
{
	uint64_t i = own(w);
	struct annex_span span;
	int err = tally_call(w->t, annex_array_span(&w->e->array, i, 0, 0, &span),
			     "annex_array_span()");

	if (err)
		return err;
	for (uint64_t k = 0; k < span.count && !err; k += w->n)
		err = tally_same(w->t, "a span", (i + k) * 8, (uint64_t *)span.data + k,
				 &w->e->shadow[i + k], 8);
	annex_array_span_end(&w->e->array, &span);
	return err;
}

static int step(struct worker *w)
{
	static int (*const steps[])(struct worker * w) = {get, set, add, gather, scatter, span};

	w->t->operations++;
	return steps[pick(&w->seed, sizeof(steps) / sizeof(steps[0]))](w);
}

static int work(void *ctx, unsigned int id, unsigned int n)
{
	struct elements *e = ctx;
	struct worker w = {.e = e, .t = &e->tally[id], .seed = e->seed + id, .id = id, .n = n};
	int err = 0;

	for (unsigned int i = 0; i < STEPS && !err; i++)
		err = step(&w);
	return err;
}

/* A change that cannot be written stays, and flush says so; the next flush writes it. */
static int failing_flush(struct elements *e, struct annex_cache *cache)
{
	const struct annex_fault f = {
		.kind = ANNEX_FAULT_ERROR, .opcode = ANNEX_NVM_WRITE, .count = 1};
	struct worker w = {.e = e, .t = e->a->t, .seed = e->seed, .n = 1};
	int err = tally_call(w.t, annex_cache_flush(cache, 0, UINT64_MAX), "annex_cache_flush()");

	if (!err)
		err = set(&w);
	if (!err)
		err = area_inject(e->a, &f);
	if (!err && annex_cache_flush(cache, 0, UINT64_MAX) != -EIO)
		err = tally_wrong(w.t, "flush did not report a write that failed");
	return err ? err
		   : tally_call(w.t, annex_cache_flush(cache, 0, UINT64_MAX), "a second flush");
}

/* A read that fails is told, and the next one succeeds. */
static int failing_read(struct elements *e)
{
	const struct annex_fault f = {
		.kind = ANNEX_FAULT_ERROR, .opcode = ANNEX_NVM_READ, .count = 1};
	unsigned int failed = 0;
	uint64_t v;
	int err = area_inject(e->a, &f);

	/* Some of these are not cached, as the cache has room for few. */
	for (uint64_t i = 0; i < e->count && !err; i += 64) {
		err = annex_array_get(&e->array, i, &v);
		failed += err == -EIO;
		if (err == -EIO && failed == 1)
			err = annex_array_get(&e->array, i, &v);
		err = tally_call(e->a->t, err, "annex_array_get()");
		if (!err)
			err = tally_same(e->a->t, "a get", i * 8, &v, &e->shadow[i], 8);
		e->a->t->operations++;
	}
	if (!err && !failed)
		err = tally_wrong(e->a->t, "a read that failed was not told of");
	return err;
}

static int with_cache(const struct selftest *s, struct elements *e, struct annex_cache *cache)
{
	struct pool *pool;
	int err = tally_call(e->a->t, annex_array_init(&e->array, cache, e->a->first, 8, e->count),
			     "annex_array_init()");

	if (err)
		return err;
	err = pool_create(s->threads, &pool);
	if (err)
		return tally_scarce(e->a->t, err, err_text());
	err = pool_run(pool, work, e);
	pool_destroy(pool);
	for (unsigned int i = 0; i < s->threads; i++)
		tally_add(e->a->t, &e->tally[i]);
	if (!err)
		err = failing_flush(e, cache);
	if (!err)
		err = failing_read(e);
	return err == AREA_NO_FAULTS ? 0 : err;
}

static int cached(const struct selftest *s, struct area *a, uint64_t *seed)
{
	struct elements e = {.a = a, .shadow = (uint64_t *)a->shadow, .count = a->bytes / 8};
	struct annex_cache_opts opts = {
		.line = 4096u << pick(seed, 3), .devs = &a->dev, .ndevs = 1};
	struct annex_cache *cache;
	int err, last;

	e.seed = annex_random(seed);
	/* Each thread holds the lines of a vector at a time. */
	opts.bytes = opts.line * (s->threads * VECTOR + 16 + pick(seed, 32));
	opts.size = a->first + a->bytes;
	err = tally_call(a->t, annex_cache_create(&opts, &cache), "annex_cache_create()");
	if (err)
		return err;
	err = with_cache(s, &e, cache);
	last = annex_cache_destroy(cache);
	return err ? err : tally_call(a->t, last, "annex_cache_destroy()");
}

int selftest_cache(const struct selftest *s, struct tally *t, uint64_t seed)
{
	char uri[ANNEX_URI_MAX];
	struct area a = {.t = t};
	int err = storage_uri(s, t, &seed, "", uri);

	if (!err)
		err = area_open(&a, uri, &seed, false);
	if (!err)
		err = cached(s, &a, &seed);
	if (!err)
		err = area_reopen(&a);
	if (!err)
		err = area_check(&a);
	area_close(&a);
	return err;
}
