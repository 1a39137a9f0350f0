/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables in a memory range, so that any process finds them: they are loaded once and queried often.
 * A table is one piece, "query/TABLE": a head, its columns, and a mark at the end. It is built
 * where nobody else sees it, and gets its name when it is whole.
 */
#ifndef TOOLS_QUERY_STORE_H
#define TOOLS_QUERY_STORE_H

#include <annex/hdm.h>
#include "tpch.h"

/* The most rows that a table may have. */
#define STORE_ROWS (1ull << 40)

#define STORE_TABLES 2u /* that are stored: lineitem, part */

/* struct store_held - A table that is read: the one that @id names, which is at @offset. */
struct store_held {
	const struct tpch_table *t;
	uint64_t offset, id;
};

/* struct store - A range, and the URI that errors call it by. */
struct store {
	struct annex_hdm *hdm;
	const char *uri;
	struct store_held held[STORE_TABLES];
	unsigned int nheld;
};

/*
 * struct store_table - A table that is being loaded.
 * @data: its columns by their numbers, or NULL.
 */
struct store_table {
	const struct tpch_table *t;
	void *piece;
	uint64_t bytes;
	void *data[TPCH_COLUMNS];
};

int store_open(struct store *s, const char *uri);
void store_close(struct store *s);

/*
 * store_create() - Make room for the columns of @t that are stored, and with @made for the computed
 * ones too. -EEXIST: there is such a table, and no @overwrite.
 * store_publish() - Make @n created tables visible in one step, with @overwrite in the place of
 * tables of the same names. Tables that are created and not published end with the store.
 */
int store_create(struct store *s, const struct tpch_table *t, uint64_t rows, bool made,
		 bool overwrite, struct store_table *out);
int store_publish(struct store *s, const struct store_table *tables, unsigned int n,
		  bool overwrite);

/*
 * store_find() - Its rows; it is held from then on. -ENOENT, with the line: not loaded.
 * store_column() - Where column @i of a table that is held is; the memory is everybody's, so what
 * is in it may be anything. store_check() - Whether the tables that are held are what they were,
 * and whole: else what was read is void.
 */
int store_find(struct store *s, const struct tpch_table *t, uint64_t *rows);
int store_column(struct store *s, const struct tpch_table *t, unsigned int i, uint64_t rows,
		 const void **data);
int store_check(struct store *s);

#endif
