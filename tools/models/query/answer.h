/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Filter phase: sums of columns over the rows that passed. By the host, which reads only those.
 */
#ifndef TOOLS_QUERY_ANSWER_H
#define TOOLS_QUERY_ANSWER_H

#include "eval.h"

#define ANSWER_TEXT 48

/*
 * struct answer - The answer of a query.
 * @rows: rows of lineitem that passed; with parts, those that have one.
 * @revenue: revenue in units of 10^-4, exactly.
 * @promo: the part of it from promoted parts; q14 only.
 * @seconds: median of the time taken.
 */
struct answer {
	uint64_t rows;
	__int128 revenue, promo;
	double seconds;
};

/* answer_make() - As often as was evaluated. -EOVERFLOW, with the line: the columns are damaged. */
int answer_make(const struct eval *e, struct store *s, struct answer *a);

/* answer_text() - A sum as a number with four digits behind the point, or as units. */
void answer_text(__int128 sum, bool units, char text[ANSWER_TEXT]);

#endif
