/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables from CSV files, whose first lines name the columns. A file is read twice: first to check
 * every value that will be kept, then to store it, so a broken file leaves the range as it was.
 */
#ifndef TOOLS_QUERY_IMPORT_H
#define TOOLS_QUERY_IMPORT_H

#include "dates.h"
#include "store.h"

/* import_table() - Which table a file is of, by the names in its first line. */
int import_table(const char *path, const struct tpch_table **t);

/*
 * import_orders() - Read the dates of orders.
 * import_columns() - Import one of the other tables into a range: @out, for store_publish(), with
 * *@rows rows and *@bytes bytes. Some columns are made from the orders @d, or from none: NULL.
 */
int import_orders(const char *path, struct dates *d);
int import_columns(const char *path, const struct tpch_table *t, struct dates *d, struct store *s,
		   bool overwrite, struct store_table *out, uint64_t *rows, uint64_t *bytes);

#endif
