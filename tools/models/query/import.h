/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Import of tables from CSV files, whose first lines name the columns. A file is read twice, to
 * check every value and then to store it, so that a bad file leaves the range unchanged.
 */
#ifndef TOOLS_QUERY_IMPORT_H
#define TOOLS_QUERY_IMPORT_H

#include "store.h"

/*
 * struct dates - The date of each order, which SSB's lineorder repeats in each line. Zeroed: empty.
 * @one: pairs of an order's key and date.
 * @n: number of pairs.
 * @room: pairs that @one has memory for.
 * @at: index of the last match of a lookup.
 */
struct dates {
	struct dates_one {
		int32_t key, date;
	} * one;
	uint64_t n, room, at;
};

void dates_free(struct dates *d);

/* import_table() - Find the table of a file by the names in its first line. */
int import_table(const char *path, const struct tpch_table **t);

/* import_orders() - Read the dates of orders. */
int import_orders(const char *path, struct dates *d);

/*
 * import_columns() - Import lineitem or part into a range.
 * @d: orders for the columns of SSB; NULL: without these columns.
 * @out: for store_publish().
 * @rows: number of rows.
 * @bytes: bytes of the stored columns.
 */
int import_columns(const char *path, const struct tpch_table *t, struct dates *d, struct store *s,
		   bool overwrite, struct store_table *out, uint64_t *rows, uint64_t *bytes);

#endif
