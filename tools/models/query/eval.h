/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Evaluate phase of a query (M2NDP section IV-B): each condition sweeps its column and writes a
 * bitmap, and the bitmaps of lineitem are combined. Near the data, and again on the host.
 */
#ifndef TOOLS_QUERY_EVAL_H
#define TOOLS_QUERY_EVAL_H

#include "tools/common/pool.h"
#include "near.h"
#include "question.h"
#include "store.h"

/*
 * struct eval_side - Bitmaps and times of the device or the host.
 * @bits: bitmap of each condition.
 * @all: combined bitmap of the conditions on lineitem.
 * @cond_s: seconds of each condition, a median.
 * @and_s: seconds of combining the bitmaps, a median.
 * @total_s: seconds of the whole phase, a median.
 */
struct eval_side {
	uint8_t *bits[QUESTION_CONDS];
	uint8_t *all;
	double cond_s[QUESTION_CONDS];
	double and_s, total_s;
};

/*
 * struct eval - A query measured on the device and on the host.
 * @q: the query.
 * @column: the column of each condition.
 * @rows: rows of that column.
 * @lines: rows of lineitem.
 * @bytes: bytes of the columns that each run sweeps.
 * @runs: number of measured runs.
 * @near: figures of the device.
 * @host: figures of the host.
 */
struct eval {
	const struct question *q;
	const void *column[QUESTION_CONDS];
	uint64_t rows[QUESTION_CONDS];
	uint64_t lines, bytes;
	uint32_t runs;
	struct eval_side near, host;
};

/* eval_open() - Find columns, allocate bitmaps. eval_close() - Free them; @e may be zeroed. */
int eval_open(struct eval *e, const struct question *q, struct store *s);
void eval_close(struct eval *e, struct store *s);

/*
 * eval_run() - Measure both sides alternately, @runs times. -EBADMSG: their bitmaps differ.
 * -ESTALE: another process has replaced a table. Both with the line set.
 */
int eval_run(struct eval *e, struct store *s, struct near *n, struct pool *pool, uint32_t runs);

/* eval_median() - The median of @n values, at least one; sorts them. */
double eval_median(double *value, uint32_t n);

/*
 * The host's version of the device's kernels. Bits are as in ANNEX_NDP_BITMAP(). Rows begin at a
 * multiple of 64, and end at one except at the end of a column.
 */
void host_i32(const int32_t *column, size_t n, int32_t lo, int32_t hi, uint8_t *bits);
void host_i64(const int64_t *column, size_t n, int64_t lo, int64_t hi, uint8_t *bits);
void host_prefix(const char *column, size_t width, size_t n, const char *prefix, size_t length,
		 uint8_t *bits);
void host_and(const uint8_t *a, const uint8_t *b, uint8_t *c, size_t n);

/* host_count() - The number of set bits among @n rows. */
uint64_t host_count(const uint8_t *bits, size_t n);

#endif
