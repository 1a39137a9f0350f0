/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Filter phase: the host sums columns over the rows that passed, and reads no others.
 */
#ifndef TOOLS_QUERY_ANSWER_H
#define TOOLS_QUERY_ANSWER_H

#include "eval.h"

#define ANSWER_TEXT 48

/*
 * struct answer - The answer of a query.
 * @rows: rows of lineitem that passed; in q14, only rows with a known part.
 * @revenue: exact revenue in units of 10^-4.
 * @promo: revenue of promoted parts; q14 only.
 * @seconds: seconds of the phase, a median.
 */
struct answer {
	uint64_t rows;
	__int128 revenue, promo;
	double seconds;
};

/* answer_make() - Compute it @e->runs times. -EOVERFLOW with the line set: damaged columns. */
int answer_make(const struct eval *e, struct store *s, struct answer *a);

/* answer_text() - Print a sum with four decimal places, or in units of 10^-4. */
void answer_text(__int128 sum, bool units, char text[ANSWER_TEXT]);

#endif
