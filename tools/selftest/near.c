// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Near-data calls, on a device in this process: each kernel beside a plain loop, and calls on
 * memory that the device was not given.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <annex/kernels.h>
#include <annex/models/ndp.h>
#include "../uri.h"
#include "selftest.h"

#define MOST 20000u /* elements */
#define BINS 64u

struct near {
	struct tally *t;
	struct annex_hdm *h;
	struct annex_ndp *ndp;
	struct annex_m2 *m2;
	struct annex_kernels *k;
	uint64_t seed;
	size_t n;
	int32_t *a, *b;
	void *c;
};

static int called(struct near *w, int err, const char *call)
{
	w->t->operations++;
	return tally_call(w->t, err, call);
}

static int add(struct near *w)
{
	int32_t *c = w->c;
	int err = called(w, annex_ndp_add_i32(w->k, w->a, w->b, c, w->n), "annex_ndp_add_i32()");

	for (size_t i = 0; i < w->n && !err; i++)
		err = tally_value(w->t, "a sum", i, c[i],
				  (int32_t)((uint32_t)w->a[i] + (uint32_t)w->b[i]));
	return err;
}

static int sum(struct near *w)
{
	int64_t got = 0, want = 0;
	int err = called(w, annex_ndp_sum_i32(w->k, w->a, w->n, &got), "annex_ndp_sum_i32()");

	for (size_t i = 0; i < w->n; i++)
		want += w->a[i];
	return err ? err : tally_value(w->t, "annex_ndp_sum_i32()", 0, got, want);
}

static int histogram(struct near *w)
{
	uint64_t got[BINS], want[BINS] = {0};
	int err = called(w, annex_ndp_histogram_i32(w->k, w->a, w->n, INT32_MIN, 26, BINS, got),
			 "annex_ndp_histogram_i32()");

	for (size_t i = 0; i < w->n; i++)
		want[(uint32_t)(w->a[i] - (int64_t)INT32_MIN) >> 26]++;
	for (unsigned int i = 0; i < BINS && !err; i++)
		err = tally_value(w->t, "a bin", i, (int64_t)got[i], (int64_t)want[i]);
	return err;
}

static int filter(struct near *w)
{
	int32_t lo = (int32_t)annex_random(&w->seed), hi = (int32_t)annex_random(&w->seed);
	uint8_t *bits = w->c;
	int err = called(w, annex_ndp_filter_i32(w->k, w->a, w->n, lo, hi, bits),
			 "annex_ndp_filter_i32()");

	for (size_t i = 0; i < w->n && !err; i++)
		err = tally_value(w->t, "a bit", i, bits[i / 8] >> i % 8 & 1,
				  w->a[i] >= lo && w->a[i] <= hi);
	return err;
}

/* The error of each row is bounded by 2^-24 of the sum of magnitudes for each product. */
static int gemv(struct near *w)
{
	size_t columns = pick(&w->seed, 120) + 1, rows = w->n / columns;
	float *m = (float *)w->a, *x = (float *)w->b, *y = w->c;
	int err;

	for (size_t i = 0; i < rows * columns; i++)
		m[i] = (float)annex_random_unit(&w->seed) - 0.5f;
	for (size_t i = 0; i < columns; i++)
		x[i] = (float)annex_random_unit(&w->seed) - 0.5f;
	err = called(w, annex_ndp_gemv_f32(w->k, m, x, rows, columns, y), "annex_ndp_gemv_f32()");
	for (size_t r = 0; r < rows && !err; r++) {
		double want = 0, most = 0;

		for (size_t i = 0; i < columns; i++) {
			double p = (double)m[r * columns + i] * (double)x[i];

			want += p;
			most += fabs(p);
		}
		if (!(fabs((double)y[r] - want) <= most * 0x1p-24 * (double)columns))
			err = tally_wrong(w->t, "a row: number %zu is %.9g, not %.9g", r,
					  (double)y[r], want);
	}
	return err;
}

/* Keys are a number and zeroes; odd ones are never set. */
static int keys(struct near *w, struct annex_ndp_kv *kv, size_t n)
{
	char *key = calloc(n, ANNEX_NDP_KEY), *value = calloc(n, ANNEX_NDP_VALUE);
	char *got = calloc(n, ANNEX_NDP_VALUE);
	bool *found = calloc(n, sizeof(*found));
	int err = key && value && got && found ? 0 : tally_memory(w->t);

	for (uint64_t i = 0; i < n && !err; i++) {
		uint64_t number = i * 2;

		memcpy(key + i * ANNEX_NDP_KEY, &number, 8);
		fill(&w->seed, value + i * ANNEX_NDP_VALUE, ANNEX_NDP_VALUE);
	}
	if (!err)
		err = called(w, annex_ndp_kv_set(kv, key, value, n), "annex_ndp_kv_set()");
	for (uint64_t i = 0; i < n && !err; i++)
		key[i * ANNEX_NDP_KEY] = (char)(key[i * ANNEX_NDP_KEY] + (i % 3 == 0));
	if (!err)
		err = called(w, annex_ndp_kv_get(kv, key, n, got, found), "annex_ndp_kv_get()");
	for (uint64_t i = 0; i < n && !err; i++) {
		size_t at = i * ANNEX_NDP_VALUE;

		err = tally_value(w->t, "a key", i, found[i], i % 3 != 0);
		if (!err && found[i])
			err = tally_same(w->t, "a value", at, got + at, value + at,
					 ANNEX_NDP_VALUE);
	}
	free(key);
	free(value);
	free(got);
	free(found);
	return err;
}

static int table(struct near *w)
{
	size_t n = pick(&w->seed, 2000) + 1;
	struct annex_ndp_kv *kv;
	int err = called(w, annex_ndp_kv_create(w->k, NULL, n, &kv), "annex_ndp_kv_create()");

	if (err)
		return err;
	err = keys(w, kv, n);
	annex_ndp_kv_close(kv);
	return err;
}

/* Memory that is not the device's ends a call, and no other. */
static int refused(struct near *w)
{
	int32_t *mine = aligned_alloc(4096, 4096);
	int64_t got;
	int err;

	if (!mine)
		return tally_memory(w->t);
	memset(mine, 0, 4096);
	err = annex_ndp_sum_i32(w->k, mine, 1024, &got);
	free(mine);
	w->t->faults++;
	return err == -EFAULT ? 0
			      : tally_wrong(w->t, "a call on memory that is not mapped: %s",
					    err ? annex_strerror(err) : "it succeeded");
}

static int arrays(struct near *w)
{
	void *at[3] = {NULL};
	int err = 0;

	for (unsigned int i = 0; i < 3 && !err; i++)
		err = tally_call(w->t, annex_hdm_alloc(w->h, MOST * 4, 0, NULL, &at[i]),
				 "annex_hdm_alloc()");
	w->a = at[0];
	w->b = at[1];
	w->c = at[2];
	return err;
}

static int calls(struct near *w)
{
	static int (*const all[])(struct near * w) = {add,     sum,   histogram, filter,
						      refused, table, gemv};
	int err = 0;

	w->n = pick(&w->seed, MOST) + 1;
	fill(&w->seed, w->a, w->n * 4);
	fill(&w->seed, w->b, w->n * 4);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]) && !err; i++)
		err = all[i](w);
	w->t->bytes += w->n * 4 * 6;
	return err;
}

static int open_device(struct near *w, const char *uri)
{
	const struct annex_ndp_opts opts = {
		.threads = 2, .vlen = 128u << pick(&w->seed, 4), .piece = 32u << pick(&w->seed, 2)};
	int err = tally_call(w->t, annex_hdm_open(uri, NULL, &w->h), uri);

	if (!err)
		err = tally_call(w->t, annex_ndp_create(&opts, &w->ndp), "annex_ndp_create()");
	if (!err)
		err = tally_call(w->t, annex_m2_open_local(w->ndp, NULL, &w->m2),
				 "annex_m2_open_local()");
	if (!err)
		err = tally_call(w->t,
				 annex_m2_map(w->m2, w->h, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE),
				 "annex_m2_map()");
	if (!err)
		err = tally_call(w->t, annex_kernels_open(w->m2, w->h, &w->k),
				 "annex_kernels_open()");
	return err ? err : arrays(w);
}

int selftest_near(const struct selftest *s, struct tally *t, uint64_t seed)
{
	struct near w = {.t = t, .seed = seed};
	char uri[ANNEX_URI_MAX];
	int err, last;

	if (path_uri(uri, "shm", s->hdm, "size=16M"))
		return tally_wrong(t, "%s: the path is too long", s->hdm);
	err = open_device(&w, uri);
	for (unsigned int i = 0; i < 4 && !err; i++)
		err = calls(&w);
	last = annex_kernels_close(w.k);
	annex_m2_close(w.m2);
	annex_ndp_destroy(w.ndp);
	annex_hdm_close(w.h);
	return err ? err : tally_call(t, last, "annex_kernels_close()");
}
