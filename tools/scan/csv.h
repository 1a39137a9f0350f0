/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CSV files (RFC 4180) into tables of columns. The first line names the columns.
 *
 * Columns of nothing but integers become i64, other numbers f64, empty fields in them NaN; columns
 * with anything else are left out.
 */
#ifndef TOOLS_SCAN_CSV_H
#define TOOLS_SCAN_CSV_H

#include <stdbool.h>
#include <stdint.h>

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
