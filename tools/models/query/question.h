/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queries: which rows they take, by a few conditions on columns, and what they sum there.
 */
#ifndef TOOLS_QUERY_QUESTION_H
#define TOOLS_QUERY_QUESTION_H

#include "tools/common/cli.h"
#include "tpch.h"

#define QUESTION_CONDS 4u

/*
 * struct cond - Rows whose value is from @lo to @hi, both included; or begins with @prefix.
 * @text: the same for people.
 */
struct cond {
	const struct tpch_table *table;
	unsigned int column;
	int64_t lo, hi;
	const char *prefix;
	char text[64];
};

/* Of the rows that pass: the sum of price * discount; or what promoted parts have of the revenue.
 */
enum question_sum { SUM_DISCOUNTS, SUM_LO_DISCOUNTS, SUM_PROMO };

/* struct question - Conditions on lineitem come first. */
struct question {
	const char *name;
	enum question_sum sum;
	unsigned int n;
	struct cond cond[QUESTION_CONDS];
};

/* Parameters that may differ from the benchmarks'; the index of names and values below. */
enum { ASK_YEAR, ASK_MONTH, ASK_WEEK, ASK_DISCOUNT, ASK_QUANTITY, ASK_OPTIONS };

/*
 * struct ask - The limits given on the command line.
 * @given: this one is given.
 * @below: one number was given for the quantity, which shall be below it.
 * @lo: lower limit; of one number, the number.
 * @hi: upper limit; likewise.
 */
struct ask {
	struct ask_span {
		bool given, below;
		int32_t lo, hi;
	} of[ASK_OPTIONS];
};

/* ask_parse() - Parse the value of option @opt: "7", or for discount and quantity "5..7" too. */
int ask_parse(void *ask, const char *opt, char *text);

/* The queries' names. */
extern const struct cli_list question_list;

/* question_make() - Query @name with what was asked otherwise. -EINVAL: no such query, no such
 * option of it. */
int question_make(const char *name, const struct ask *a, struct question *q);

#endif
