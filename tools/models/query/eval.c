// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "eval.h"

/* struct times - Seconds of a run: each condition, combining the bitmaps, everything. */
struct times {
	double s[QUESTION_CONDS + 2];
};
#define TIME_AND QUESTION_CONDS
#define TIME_ALL (QUESTION_CONDS + 1)

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double eval_median(double *value, uint32_t n)
{
	qsort(value, n, sizeof(*value), by_value);
	return (value[(n - 1) / 2] + value[n / 2]) / 2;
}

static unsigned int line_conds(const struct question *q)
{
	unsigned int n = 0;

	while (n < q->n && q->cond[n].table == &tpch_lineitem)
		n++;
	return n;
}

/* The device's bitmaps are in the range. A single condition needs no combined bitmap. */
static int take_bitmaps(struct eval *e, struct store *s)
{
	bool several = line_conds(e->q) > 1;
	int err = 0;

	for (unsigned int i = 0; i <= e->q->n && !err; i++) {
		size_t bytes = ANNEX_NDP_BITMAP(i < e->q->n ? e->rows[i] : e->lines);
		uint8_t **near = i < e->q->n ? &e->near.bits[i] : &e->near.all;
		uint8_t **host = i < e->q->n ? &e->host.bits[i] : &e->host.all;
		void *piece;

		if (i == e->q->n && !several) {
			*near = e->near.bits[0];
			*host = e->host.bits[0];
			break;
		}
		err = annex_hdm_alloc(s->hdm, bytes, 0, NULL, &piece);
		if (err)
			return err_lib(err, "%s: no room for bitmaps", s->uri);
		*near = piece;
		*host = malloc(bytes);
		if (!*host)
			err = err_set(-ENOMEM, "no memory for bitmaps");
	}
	return err;
}

int eval_open(struct eval *e, const struct question *q, struct store *s)
{
	int err = store_find(s, &tpch_lineitem, &e->lines);

	e->q = q;
	for (unsigned int i = 0; i < q->n && !err; i++) {
		const struct cond *c = &q->cond[i];

		err = store_find(s, c->table, &e->rows[i]);
		if (!err)
			err = store_column(s, c->table, c->column, e->rows[i], &e->column[i]);
		e->bytes += e->rows[i] * c->table->column[c->column].width;
	}
	return err ? err : take_bitmaps(e, s);
}

void eval_close(struct eval *e, struct store *s)
{
	bool several = e->q && line_conds(e->q) > 1;

	for (unsigned int i = 0; i < QUESTION_CONDS; i++) {
		annex_hdm_free(s->hdm, e->near.bits[i]);
		free(e->host.bits[i]);
	}
	if (several) {
		annex_hdm_free(s->hdm, e->near.all);
		free(e->host.all);
	}
}

static double since(uint64_t start)
{
	return (double)(annex_now() - start) / 1e9;
}

static int run_near(struct eval *e, struct near *n, struct times *t)
{
	unsigned int lines = line_conds(e->q);
	uint64_t begin = annex_now(), start;
	int err = 0;

	for (unsigned int i = 0; i < e->q->n && !err; i++) {
		start = annex_now();
		err = near_cond(n, &e->q->cond[i], e->column[i], e->rows[i], e->near.bits[i]);
		t->s[i] = since(start);
	}
	start = annex_now();
	for (unsigned int i = 1; i < lines && !err; i++)
		err = near_and(n, i > 1 ? e->near.all : e->near.bits[0], e->near.bits[i],
			       e->near.all, e->lines);
	t->s[TIME_AND] = since(start);
	t->s[TIME_ALL] = since(begin);
	return err;
}

/* struct sweep - Work of the host's threads. @t: times of each thread. */
struct sweep {
	struct eval *e;
	struct times *t;
};

/* Rows of thread @id of @n: whole blocks of 64, except at the end of the column. */
static uint64_t slice(uint64_t rows, unsigned int id, unsigned int n, uint64_t *first)
{
	uint64_t blocks = (rows + 63) / 64, end;

	*first = blocks * id / n * 64;
	end = blocks * (id + 1) / n * 64;
	return (end < rows ? end : rows) - *first;
}

static void sweep_cond(struct eval *e, unsigned int i, unsigned int id, unsigned int n)
{
	const struct cond *c = &e->q->cond[i];
	const struct tpch_column *of = &c->table->column[c->column];
	uint64_t first, rows = slice(e->rows[i], id, n, &first);
	const char *data = (const char *)e->column[i] + first * of->width;
	uint8_t *bits = e->host.bits[i] + first / 8;

	switch (of->type) {
	case VALUE_I32:
	case VALUE_DATE:
		host_i32((const void *)data, rows, (int32_t)c->lo, (int32_t)c->hi, bits);
		break;
	case VALUE_DECIMAL:
		host_i64((const void *)data, rows, c->lo, c->hi, bits);
		break;
	case VALUE_CHARS:
		host_prefix(data, of->width, rows, c->prefix, strlen(c->prefix), bits);
		break;
	}
}

static void sweep_and(struct eval *e, unsigned int id, unsigned int n)
{
	uint64_t first, rows = slice(e->lines, id, n, &first);
	uint8_t *all = e->host.all + first / 8;

	for (unsigned int i = 1; i < line_conds(e->q); i++)
		host_and(i > 1 ? all : e->host.bits[0] + first / 8, e->host.bits[i] + first / 8,
			 all, rows);
}

/* A thread uses only bitmaps of its own, so it waits for no other. */
static int sweep(void *ctx, unsigned int id, unsigned int n)
{
	const struct sweep *s = ctx;
	struct times *t = &s->t[id];
	uint64_t start;

	for (unsigned int i = 0; i < s->e->q->n; i++) {
		start = annex_now();
		sweep_cond(s->e, i, id, n);
		t->s[i] = since(start);
	}
	start = annex_now();
	sweep_and(s->e, id, n);
	t->s[TIME_AND] = since(start);
	return 0;
}

/* Of each phase, count the time of the slowest thread. */
static int run_host(struct eval *e, struct pool *pool, struct times *t)
{
	unsigned int n = pool_threads(pool);
	struct sweep s = {e, calloc(n, sizeof(*s.t))};
	uint64_t begin = annex_now();

	if (!s.t)
		return err_set(-ENOMEM, "out of memory");
	pool_run(pool, sweep, &s);
	t->s[TIME_ALL] = since(begin);
	for (unsigned int i = 0; i < TIME_ALL; i++)
		for (unsigned int k = 0; k < n; k++)
			t->s[i] = s.t[k].s[i] > t->s[i] ? s.t[k].s[i] : t->s[i];
	free(s.t);
	return 0;
}

static int differ(const struct eval *e, const char *name, const uint8_t *near, const uint8_t *host,
		  uint64_t rows)
{
	size_t bytes = ANNEX_NDP_BITMAP(rows), at = 0;

	if (!memcmp(near, host, bytes))
		return 0;
	while (near[at] == host[at])
		at++;
	at = at * 8 + (unsigned int)__builtin_ctz(near[at] ^ host[at]);
	return err_set(-EBADMSG,
		       "%s, bitmap of %s: the device and this processor differ from row %zu on",
		       e->q->name, name, at);
}

static int compare(const struct eval *e)
{
	int err = 0;

	for (unsigned int i = 0; i < e->q->n && !err; i++) {
		const struct cond *c = &e->q->cond[i];

		err = differ(e, c->table->column[c->column].name, e->near.bits[i], e->host.bits[i],
			     e->rows[i]);
	}
	return err ? err : differ(e, "all", e->near.all, e->host.all, e->lines);
}

static double median_of(const struct times *t, uint32_t runs, unsigned int which, double *scratch)
{
	for (uint32_t i = 0; i < runs; i++)
		scratch[i] = t[i].s[which];
	return eval_median(scratch, runs);
}

static void summarize(struct eval_side *side, const struct times *t, uint32_t runs, double *scratch)
{
	for (unsigned int i = 0; i < QUESTION_CONDS; i++)
		side->cond_s[i] = median_of(t, runs, i, scratch);
	side->and_s = median_of(t, runs, TIME_AND, scratch);
	side->total_s = median_of(t, runs, TIME_ALL, scratch);
}

int eval_run(struct eval *e, struct store *s, struct near *n, struct pool *pool, uint32_t runs)
{
	struct times *near = calloc(runs, sizeof(*near)), *host = calloc(runs, sizeof(*host));
	double *scratch = malloc(runs * sizeof(*scratch));
	int err = near && host && scratch ? 0 : err_set(-ENOMEM, "out of memory");

	progress_begin("evaluating");
	/* Warm up: the first use of a kernel loads it. */
	if (!err)
		err = run_near(e, n, &near[0]);
	for (uint32_t i = 0; i < runs && !err; i++) {
		err = run_near(e, n, &near[i]);
		if (!err)
			err = run_host(e, pool, &host[i]);
		if (!err)
			err = store_check(s);
		progress_update(i + 1, runs, "runs");
	}
	if (!err)
		err = compare(e);
	if (!err) {
		e->runs = runs;
		summarize(&e->near, near, runs, scratch);
		summarize(&e->host, host, runs, scratch);
	}
	free(near);
	free(host);
	free(scratch);
	return err;
}
