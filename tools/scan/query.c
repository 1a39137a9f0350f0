// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows are cut into blocks. A thread filters a block, starts reading the lines of the other
 * columns that have its rows, and sums the block before, whose lines have arrived meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/uri.h>
#include "tools/common/pool.h"
#include "tools/common/error.h"
#include "tools/common/held.h"
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "query.h"
#include "table.h"

#define BLOCK 16384u /* rows */
#define RANGES 64u

/* The rows of a block that pass, relative to it. */
struct selection {
	uint64_t block;
	uint32_t n;
	uint32_t rows[BLOCK];
};

struct lane {
	struct selection sel[2];
	int filled; /* the one that has been filtered and not summed, -1: none */
	uint64_t passed;
};

/* A block's part of the sum of a column; parts are added in the order of blocks, not of threads. */
union partial {
	__int128 i;
	double f;
};

struct scan {
	struct query *q;
	struct lane *lanes;
	union partial *partial; /* by block, then by column */
	uint64_t blocks;
	bool sparse; /* there is cache to spare for reading ahead */
};

static bool is_float(enum column_type t)
{
	return t == COLUMN_F64 || t == COLUMN_F32;
}

bool query_exact(const struct query_column *c)
{
	return !is_float(c->type);
}

static void prefetch(void *ctx, uint64_t block)
{
	struct scan *s = ctx;
	uint64_t at = block * BLOCK, left = s->q->rows - at;

	/* A hint: the span brings lines that it does not bring. */
	annex_array_prefetch(&s->q->col[0].array, at, left < BLOCK ? left : BLOCK);
}

static int filter_block(struct scan *s, uint64_t block, struct selection *sel)
{
	struct query_column *c = &s->q->col[0];
	struct held h = {.a = &c->array};
	uint64_t at = block * BLOCK, n = s->q->rows - at < BLOCK ? s->q->rows - at : BLOCK, have;
	int err = 0;

	sel->block = block;
	sel->n = 0;
	for (uint64_t i = 0; i < n && !err; i += have) {
		const void *data;

		err = held_get(&h, at + i, &data, &have);
		if (err)
			return err_lib(err, "cannot read %s", c->path);
		have = have < n - i ? have : n - i;
		sel->n += filter_apply(&s->q->filter, c->type, data, (uint32_t)have, (uint32_t)i,
				       sel->rows + sel->n);
	}
	held_drop(&h);
	return 0;
}

static void prefetch_rows(struct query_column *c, const struct selection *sel)
{
	struct annex_range r[RANGES];
	uint64_t line = annex_cache_line(c->array.cache), elem = c->array.elem;
	unsigned int n = 0;

	for (uint32_t k = 0; k < sel->n; k++) {
		uint64_t row = sel->block * BLOCK + sel->rows[k];
		uint64_t at = (c->first + row * elem) / line * line;

		if (n && at <= r[n - 1].offset + r[n - 1].len) {
			r[n - 1].len = at + line - r[n - 1].offset;
			continue;
		}
		if (n == RANGES) {
			annex_cache_prefetch(c->array.cache, r, n);
			n = 0;
		}
		r[n++] = (struct annex_range){at, line};
	}
	if (n)
		annex_cache_prefetch(c->array.cache, r, n);
}

static void add_element(enum column_type type, const void *p, union partial *sum)
{
	switch (type) {
	case COLUMN_F64:
		sum->f += *(const double *)p;
		break;
	case COLUMN_F32:
		sum->f += *(const float *)p;
		break;
	case COLUMN_I64:
		sum->i += *(const int64_t *)p;
		break;
	case COLUMN_I32:
		sum->i += *(const int32_t *)p;
		break;
	case COLUMN_U64:
		sum->i += *(const uint64_t *)p;
		break;
	case COLUMN_U32:
		sum->i += *(const uint32_t *)p;
		break;
	}
}

static int sum_column(struct query_column *c, const struct selection *sel, union partial *sum)
{
	struct held h = {.a = &c->array};

	memset(sum, 0, sizeof(*sum));
	for (uint32_t k = 0; k < sel->n; k++) {
		const void *p;
		uint64_t have;
		int err = held_get(&h, sel->block * BLOCK + sel->rows[k], &p, &have);

		if (err)
			return err_lib(err, "cannot read %s", c->path);
		add_element(c->type, p, sum);
	}
	held_drop(&h);
	return 0;
}

static int sum_filled(struct scan *s, struct lane *lane)
{
	const struct selection *sel;
	int err = 0;

	if (lane->filled < 0)
		return 0;
	sel = &lane->sel[lane->filled];
	lane->passed += sel->n;
	for (unsigned int i = 1; i < s->q->n && !err; i++)
		err = sum_column(&s->q->col[i], sel, &s->partial[sel->block * s->q->n + i]);
	lane->filled = -1;
	return err;
}

static int work(void *ctx, unsigned int thread, uint64_t block)
{
	struct scan *s = ctx;
	struct lane *lane = &s->lanes[thread];
	int slot = lane->filled == 0 ? 1 : 0;
	int err = filter_block(s, block, &lane->sel[slot]);

	for (unsigned int i = 1; i < s->q->n && !err && s->sparse; i++)
		prefetch_rows(&s->q->col[i], &lane->sel[slot]);
	if (!err)
		err = sum_filled(s, lane);
	lane->filled = slot;
	return err;
}

static int finish(void *ctx, unsigned int thread)
{
	struct scan *s = ctx;

	return sum_filled(s, &s->lanes[thread]);
}

/* Compensated (Neumaier 1974), so that a billion small numbers do not drown in their sum. */
static void add_float(double *sum, double *lost, double x)
{
	double t = *sum + x;

	if (isfinite(t))
		*lost += fabs(*sum) >= fabs(x) ? (*sum - t) + x : (x - t) + *sum;
	*sum = t;
}

static void combine(struct scan *s)
{
	struct query *q = s->q;

	for (unsigned int i = 1; i < q->n; i++) {
		double lost = 0;

		q->col[i].sum_f = 0;
		q->col[i].sum_i = 0;
		for (uint64_t b = 0; b < s->blocks; b++) {
			const union partial *p = &s->partial[b * q->n + i];

			if (is_float(q->col[i].type))
				add_float(&q->col[i].sum_f, &lost, p->f);
			else
				q->col[i].sum_i += p->i;
		}
		q->col[i].sum_f += lost;
	}
}

int query_run(struct query *q, const struct storage_opts *so, struct pool *pool)
{
	struct scan s = {.q = q, .blocks = (q->rows + BLOCK - 1) / BLOCK};
	uint64_t share = so->cache / q->n / so->threads;
	uint64_t block = (uint64_t)BLOCK * 8 > so->line ? (uint64_t)BLOCK * 8 : so->line;
	unsigned int threads = pool_threads(pool);
	struct blocks b = {
		.ctx = &s, .count = s.blocks, .prefetch = prefetch, .work = work, .finish = finish};
	int err = -ENOMEM;

	b.ahead = share / 2 / block > BLOCKS_AHEAD ? BLOCKS_AHEAD
						   : (unsigned int)(share / 2 / block);
	s.sparse = share / 2 / block > 0;
	s.lanes = mem_alloc(threads, sizeof(*s.lanes), "selected rows");
	s.partial = mem_alloc(s.blocks * q->n, sizeof(*s.partial), "sums");
	if (s.lanes && s.partial) {
		for (unsigned int i = 0; i < threads; i++)
			s.lanes[i].filled = -1;
		progress_begin("scanning");
		err = blocks_run(pool, &b);
	}
	q->passed = 0;
	for (unsigned int i = 0; i < threads && !err; i++)
		q->passed += s.lanes[i].passed;
	if (!err)
		combine(&s);
	mem_free(s.lanes, threads, sizeof(*s.lanes));
	mem_free(s.partial, s.blocks * q->n, sizeof(*s.partial));
	return err;
}

/* Find column @i and check its length against the rows known so far. */
static int find_column(struct query *q, unsigned int i, const char *dir)
{
	struct query_column *c = &q->col[i];
	struct table_found found;
	uint64_t count, size;
	int err = table_find(dir, c->name, &found);

	c->path = found.path;
	if (err)
		return err;
	c->type = found.elements.type;
	c->first = found.elements.first;
	count = found.elements.count;
	size = column_size(c->type);
	if (!q->rows && found.rest)
		return err_set(-EINVAL, "%s: %llu bytes are not whole elements of %llu", c->path,
			       (ull)count * size + found.rest, (ull)size);
	if (!q->rows)
		q->rows = count;
	if (!q->rows || count < q->rows)
		return err_set(-EINVAL, "%s has %llu elements, %llu rows are expected", c->path,
			       (ull)count, (ull)q->rows);
	c->count = count;
	return path_uri(c->uri, "file", c->path, "readonly=1");
}

static int open_column(struct query *q, struct query_column *c, const struct storage_opts *so)
{
	uint32_t size = column_size(c->type);
	const char *uri = c->uri;
	int err = storage_open(&c->store, so, &uri, 1, c->first + c->count * size,
			       so->cache / q->n);

	if (err)
		return err;
	err = annex_array_init(&c->array, c->store.cache, c->first, size, q->rows);
	return err ? err_lib(err, "cannot make an array of %s", c->path) : 0;
}

int query_find(struct query *q, const char *dir)
{
	int err = table_rows(dir, &q->rows);

	for (unsigned int i = 0; i < q->n && !err; i++)
		err = find_column(q, i, dir);
	if (!err)
		filter_bind(&q->filter, q->col[0].type);
	return err;
}

int query_open(struct query *q, const struct storage_opts *so)
{
	int err = 0;

	if (so->cache / q->n / so->line < 2ull * so->threads)
		err = err_set(-EINVAL,
			      "--cache is too small: %u columns and %u threads need %llu bytes "
			      "with lines of %u",
			      q->n, so->threads, 2ull * q->n * so->threads * so->line, so->line);
	for (unsigned int i = 0; i < q->n && !err; i++)
		err = open_column(q, &q->col[i], so);
	return err;
}

void query_close(struct query *q)
{
	for (unsigned int i = 0; i < q->n; i++) {
		storage_close(&q->col[i].store);
		free(q->col[i].path);
		q->col[i].path = NULL;
	}
}
