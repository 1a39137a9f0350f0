/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A condition on one column: COLUMN OP VALUE, kept as the range of values that pass.
 */
#ifndef TOOLS_SCAN_FILTER_H
#define TOOLS_SCAN_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/common/column.h"

#define FILTER_NAME 128

struct filter {
	char column[FILTER_NAME];
	char op[3];
	long double value;
	/* For the type that filter_bind() was given; exact for 64-bit integers too. */
	double low_f, high_f;
	int64_t low_i, high_i;
	uint64_t low_u, high_u;
	bool none;   /* nothing passes (before the negation) */
	bool negate; /* != */
};

/* filter_parse() - Read "COLUMN OP VALUE"; OP is one of >= <= > < == !=; COLUMN may have blanks
 * inside. */
int filter_parse(const char *text, struct filter *f);

/* filter_bind() - Fix the type of the column. */
void filter_bind(struct filter *f, enum column_type type);

/*
 * filter_apply() - Which of @n elements pass: @first plus their index goes to @rows. Returns how
 * many.
 */
uint32_t filter_apply(const struct filter *f, enum column_type type, const void *data, uint32_t n,
		      uint32_t first, uint32_t *rows);

#endif
