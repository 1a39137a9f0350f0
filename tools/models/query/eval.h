/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Evaluate phase of a query (M2NDP section IV-B): each condition sweeps its column and makes a
 * bitmap, and those of lineitem become one. Near the data, and once more by the processor.
 */
#ifndef TOOLS_QUERY_EVAL_H
#define TOOLS_QUERY_EVAL_H

#include "tools/common/pool.h"
#include "near.h"
#include "question.h"
#include "store.h"

/*
 * struct eval_side - One maker of the bitmaps: the device or the host.
 * @cond_s: seconds of each condition, a median.
 * @and_s: seconds of combining them, a median.
 * @total_s: seconds of all, a median.
 */
struct eval_side {
	uint8_t *bits[QUESTION_CONDS];
	uint8_t *all; /* of lineitem */
	double cond_s[QUESTION_CONDS];
	double and_s, total_s;
};

/*
 * struct eval - A question that is measured on the device and on the host.
 * @column: the column of each condition.
 * @rows: rows of that column.
 * @lines: rows of lineitem.
 * @bytes: bytes of the columns that are swept, each time.
 * @runs: how often everything is measured.
 */
struct eval {
	const struct question *q;
	const void *column[QUESTION_CONDS];
	uint64_t rows[QUESTION_CONDS];
	uint64_t lines, bytes;
	uint32_t runs;
	struct eval_side near, host;
};

/* eval_open() - Find the columns, and take memory for bitmaps. eval_close() - @e may be zeroed. */
int eval_open(struct eval *e, const struct question *q, struct store *s);
void eval_close(struct eval *e, struct store *s);

/*
 * eval_run() - Both sides, @runs times in turns. -EBADMSG, with the line: their bitmaps are not the
 * same. -ESTALE: others have loaded a table anew.
 */
int eval_run(struct eval *e, struct store *s, struct near *n, struct pool *pool, uint32_t runs);

#endif
