/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables in a memory range, loaded once and queried by any process. A table is one piece,
 * "query/TABLE": a head, its columns, and a mark at the end. It is built without a name, invisible
 * to others, and published when it is complete.
 */
#ifndef TOOLS_QUERY_STORE_H
#define TOOLS_QUERY_STORE_H

#include <annex/hdm.h>
#include "tpch.h"

#define STORE_ROWS (1ull << 40) /* rows of a table at most */

#define STORE_TABLES 2u /* stored tables: lineitem, part */

/*
 * struct store_held - A table that a query reads.
 * @t: its description.
 * @offset: offset of its piece.
 * @id: number of this version of the table.
 */
struct store_held {
	const struct tpch_table *t;
	uint64_t offset, id;
};

/*
 * struct store - A range.
 * @hdm: the open range.
 * @uri: its URI, for messages.
 * @held: tables in use.
 * @nheld: number of tables in use.
 */
struct store {
	struct annex_hdm *hdm;
	const char *uri;
	struct store_held held[STORE_TABLES];
	unsigned int nheld;
};

/*
 * struct store_table - A table during loading.
 * @t: its description.
 * @piece: its memory.
 * @bytes: bytes of @piece.
 * @data: memory of each column, or NULL.
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
 * store_create() - Allocate the stored columns of @t; with @made the computed ones too. -EEXIST:
 * the table exists and @overwrite is false.
 * store_publish() - Make @n created tables visible atomically; with @overwrite they replace tables
 * of the same names. Closing the store frees tables that are not published.
 */
int store_create(struct store *s, const struct tpch_table *t, uint64_t rows, bool made,
		 bool overwrite, struct store_table *out);
int store_publish(struct store *s, const struct store_table *tables, unsigned int n,
		  bool overwrite);

/*
 * store_find() - Hold a table and return its number of rows. -ENOENT with the line set: not loaded.
 * store_column() - Find column @i of a held table. Other processes can write to this memory: trust
 * no value.
 * store_check() - Check that held tables are unchanged and complete. On an error, discard results.
 */
int store_find(struct store *s, const struct tpch_table *t, uint64_t *rows);
int store_column(struct store *s, const struct tpch_table *t, unsigned int i, uint64_t rows,
		 const void **data);
int store_check(struct store *s);

#endif
