/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of columns over the rows whose other column passes a filter (the queries of BaM section
 * 5.3). Of the summed columns only the lines that hold such rows are read.
 */
#ifndef TOOLS_SCAN_QUERY_H
#define TOOLS_SCAN_QUERY_H

#include <annex/array.h>
#include "tools/common/device.h"
#include "tools/common/pool.h"
#include "filter.h"

#define QUERY_COLUMNS 16

struct query_column {
	const char *name;
	enum column_type type;
	char *path;
	uint64_t first; /* offset of the first element in the file */
	struct storage store;
	struct annex_array array;
	__int128 sum_i; /* of integer columns: exact */
	double sum_f;   /* of the others */
};

/*
 * struct query - Column 0 is filtered, the others are summed.
 */
struct query {
	struct filter filter;
	unsigned int n;
	struct query_column col[QUERY_COLUMNS];
	uint64_t rows, passed;
};

/*
 * query_open() - Open the columns of @dir that @q names. query_run() - Count the selected rows and
 * compute the sums. query_verify() - The same by plain reads: 0, -EBADMSG, or another errno.
 * query_close() - Release everything; @q may be zeroed.
 */
int query_open(struct query *q, const char *dir, const struct storage_opts *so);
int query_run(struct query *q, const struct storage_opts *so, struct pool *pool);
int query_verify(const struct query *q);
void query_close(struct query *q);

/* query_exact() - Whether the sum of @c is @sum_i, and not @sum_f. */
bool query_exact(const struct query_column *c);

#endif
