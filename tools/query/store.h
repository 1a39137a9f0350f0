/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables in a memory range, a named piece for each column, so that any process finds them: they are
 * loaded once and queried often. "query/TABLE" is a table's head, "query/TABLE/COLUMN" a column.
 */
#ifndef TOOLS_QUERY_STORE_H
#define TOOLS_QUERY_STORE_H

#include <annex/hdm.h>
#include "tpch.h"

/* The most rows that a table may have. */
#define STORE_ROWS (1ull << 40)

/* struct store - A range, and the URI that errors call it by. */
struct store {
	struct annex_hdm *hdm;
	const char *uri;
};

int store_open(struct store *s, const char *uri);
void store_close(struct store *s);

/*
 * store_create() - Room for the columns of @t that are stored, and with @made those that are made
 * too: @data has them by the numbers of the columns. -EEXIST: there is such a table, or what is
 * left of one; with @overwrite it is dropped. store_commit() - Now it is a table. store_drop() -
 * Forget it.
 */
int store_create(struct store *s, const struct tpch_table *t, uint64_t rows, bool made,
		 bool overwrite, void *data[TPCH_COLUMNS]);
int store_commit(struct store *s, const struct tpch_table *t, uint64_t rows,
		 void *const data[TPCH_COLUMNS]);
int store_drop(struct store *s, const struct tpch_table *t);

/*
 * store_find() - Its rows. -ENOENT, with the line: not loaded. store_column() - Where column @i of
 * it is; the memory is everybody's, so what is in it may be anything.
 */
int store_find(struct store *s, const struct tpch_table *t, uint64_t *rows);
int store_column(struct store *s, const struct tpch_table *t, unsigned int i, uint64_t rows,
		 const void **data);

#endif
