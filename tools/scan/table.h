/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table as a directory: one file a column, NAME.TYPE (fare.f64, id.i32), nothing but elements, or
 * NAME.npy.
 *
 * A file called "rows" holds the number of rows, in decimal; the columns may be longer than that,
 * since their size is a multiple of a device's block. Without it all columns are as long as they
 * are.
 */
#ifndef TOOLS_SCAN_TABLE_H
#define TOOLS_SCAN_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/common/npy.h"

#define TABLE_COLUMNS 64

struct table_column {
	char name[128];
	enum column_type type;
};

/*
 * struct table_found - The file of a column.
 * @path: its name, to be freed, also after an error; may be NULL.
 * @rest: bytes behind its last whole element.
 */
struct table_found {
	char *path;
	struct npy elements;
	uint64_t rest;
};

/* table_find() - Find the file of column @name in @dir. */
int table_find(const char *dir, const char *name, struct table_found *out);

/* table_rows() - The number of rows by the file "rows"; 0: there is none. */
int table_rows(const char *dir, uint64_t *rows);

/*
 * struct table_writer - A table being written. @dir is made, or is an empty directory.
 */
struct table_writer {
	char *dir;
	bool made;      /* the directory was not there before */
	bool temporary; /* the files stay listed for removal: cleanup_remove() is the caller's */
	uint64_t rows;
	unsigned int n;
	struct table_column col[TABLE_COLUMNS];
	struct column_file file[TABLE_COLUMNS];
};

/*
 * table_create() - Begin; table_add() - One more column. table_close() - Finish it if @err is 0,
 * else remove everything; returns @err or the errno of a failure.
 */
int table_create(struct table_writer *t, const char *dir, bool temporary);
int table_add(struct table_writer *t, const char *name, enum column_type type);
int table_close(struct table_writer *t, int err);

struct csv_summary {
	uint64_t rows;
	unsigned int columns; /* written */
	unsigned int texts;   /* left out */
	char names[512];      /* of those written, or as many as fit */
};

/*
 * csv_import() - Read @path, twice, into the new table @dir. Of a @temporary table, the removal of
 * files and directory is left to the caller.
 */
int csv_import(const char *path, const char *dir, bool temporary, struct csv_summary *sum);

#endif
