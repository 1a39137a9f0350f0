/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of columns over the rows whose other column passes a filter (the queries of BaM section
 * 5.3). Of the summed columns only the lines that hold such rows are read.
 */
#ifndef TOOLS_SCAN_QUERY_H
#define TOOLS_SCAN_QUERY_H

#include <annex/array.h>
#include <annex/uri.h>
#include "tools/common/device.h"
#include "tools/common/pool.h"
#include "filter.h"

#define QUERY_COLUMNS 16

struct query_column {
	const char *name;
	enum column_type type;
	char *path;
	char uri[ANNEX_URI_MAX]; /* of @path */
	uint64_t first;          /* offset of the first element in the file */
	uint64_t count;          /* of elements */
	struct storage store;
	struct annex_array array;
	__int128 sum_i; /* of integer columns: exact */
	double sum_f;   /* of the others */
};

/*
 * struct query - Column 0 is filtered, the others are summed. @gpu: the name of the GPU, or "".
 * @read, @cache, @depth: bytes read, bytes of all caches, and most commands in flight. @seconds:
 * time taken.
 */
struct query {
	struct filter filter;
	unsigned int n;
	struct query_column col[QUERY_COLUMNS];
	uint64_t rows, passed;
	uint64_t read, cache, depth;
	double seconds;
	char gpu[256];
};

/*
 * query_find() - Find the columns of @dir that @q names. query_open() - Open them. query_run() -
 * Count the selected rows and compute the sums. query_verify() - The same by plain reads: 0,
 * -EBADMSG, or another errno. query_close() - Release everything; @q may be zeroed.
 */
int query_find(struct query *q, const char *dir);
int query_open(struct query *q, const struct storage_opts *so);
int query_run(struct query *q, const struct storage_opts *so, struct pool *pool);
int query_verify(const struct query *q);
void query_close(struct query *q);

/* on_gpu.c: query_run_gpu() - All of that on GPU @gpu, instead of query_open() and query_run(). */
int query_run_gpu(struct query *q, const struct storage_opts *so, uint32_t gpu);

/* query_exact() - Whether the sum of @c is @sum_i, and not @sum_f. */
bool query_exact(const struct query_column *c);

#endif
