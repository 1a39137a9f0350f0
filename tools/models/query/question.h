/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queries: conditions on columns that select rows, and the sum over these rows.
 */
#ifndef TOOLS_QUERY_QUESTION_H
#define TOOLS_QUERY_QUESTION_H

#include "tools/common/cli.h"
#include "tpch.h"

#define QUESTION_CONDS 4u

/*
 * struct cond - A condition on a column.
 * @table: the column's table.
 * @column: the column's index.
 * @lo: lowest value that passes.
 * @hi: highest value that passes.
 * @prefix: for VALUE_CHARS: beginning of texts that pass.
 * @text: the condition as text.
 */
struct cond {
	const struct tpch_table *table;
	unsigned int column;
	int64_t lo, hi;
	const char *prefix;
	char text[64];
};

/* The sum over rows that pass: price * discount of TPC-H or SSB, or revenue of promoted parts. */
enum question_sum { SUM_DISCOUNTS, SUM_LO_DISCOUNTS, SUM_PROMO };

/* struct question - Conditions on lineitem come first. */
struct question {
	const char *name;
	enum question_sum sum;
	unsigned int n;
	struct cond cond[QUESTION_CONDS];
};

/* Parameters that the user can change: indexes of options and values. */
enum { ASK_YEAR, ASK_MONTH, ASK_WEEK, ASK_DISCOUNT, ASK_QUANTITY, ASK_OPTIONS };

/*
 * struct ask - The limits given on the command line.
 * @given: the option is given.
 * @below: the quantity has one number, an exclusive upper limit.
 * @lo: lower limit, or the only number.
 * @hi: upper limit, or the only number.
 */
struct ask {
	struct ask_span {
		bool given, below;
		int32_t lo, hi;
	} of[ASK_OPTIONS];
};

/* ask_parse() - Parse the value of option @opt: "7"; "5..7" for discount and quantity. */
int ask_parse(void *ask, const char *opt, char *text);

/* The queries' names. */
extern const struct cli_list question_list;

/* question_make() - Query @name with the changes @a. -EINVAL: no such query, or no such option. */
int question_make(const char *name, const struct ask *a, struct question *q);

#endif
