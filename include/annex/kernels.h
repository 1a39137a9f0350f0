/* SPDX-License-Identifier: MIT */
/*
 * Near-data kernels for databases, graphs and models: work that reads much and computes little,
 * done where the data lies (M2NDP, section IV-B).
 *
 *	annex_kernels_open(m2, hdm, &k);
 *	annex_ndp_filter_i32(k, column, rows, 18, 65, bitmap);
 *	annex_kernels_close(k);
 *
 * Every call waits until its kernel has ended. Unless it says otherwise, what pointers lead to lies
 * in memory that the device was given with annex_m2_map(), and begins on a multiple of
 * ANNEX_NDP_ALIGN bytes, as pieces of a range do. Lengths may be anything: whole pieces are the
 * device's business. Results must not overlap what is read, unless it says so.
 *
 * Unless it says more, a call returns 0, -EINVAL (a pointer that is not aligned, an argument out of
 * range), or what annex_m2_load() and annex_m2_run() return, -EFAULT above all: an array that the
 * device was not given.
 */
#ifndef ANNEX_KERNELS_H
#define ANNEX_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/hdm.h>
#include <annex/m2func.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_kernels;

#define ANNEX_NDP_ALIGN 64u

/**
 * annex_kernels_open() - The kernels that come with the library, for one device.
 * @m2: the device, which has all of @hdm mapped to read and to write.
 * @hdm: where kernels are put when they are first needed, and what calls need for themselves.
 * @out: the kernels, to be given back with annex_kernels_close().
 *
 * The handle may be used by any number of threads. @m2 and @hdm must outlive it.
 *
 * Return: 0; -ENOMEM.
 */
int annex_kernels_open(struct annex_m2 *m2, struct annex_hdm *hdm, struct annex_kernels **out);

/**
 * annex_kernels_close() - Unload the kernels.
 * @k: the kernels; may be NULL.
 *
 * No other thread may be using it.
 *
 * Return: 0, also when the device is gone; else @k is still open, with the kernels that could not
 * be unloaded: -EBUSY (one runs still, after a call that was not answered in time), as
 * annex_m2_unload().
 */
int annex_kernels_close(struct annex_kernels *k);

/* Arrays */

/**
 * annex_ndp_add_i32() - c = a + b, element by element; integers wrap.
 * @k: the kernels.
 * @a: @n integers.
 * @b: @n integers.
 * @c: the sums; may be @a or @b.
 * @n: number of elements.
 */
int annex_ndp_add_i32(struct annex_kernels *k, const int32_t *a, const int32_t *b, int32_t *c,
		      size_t n);

/**
 * annex_ndp_add_f32() - c = a + b, element by element, of floats.
 * @k: the kernels.
 * @a: @n floats.
 * @b: @n floats.
 * @c: the sums; may be @a or @b.
 * @n: number of elements.
 */
int annex_ndp_add_f32(struct annex_kernels *k, const float *a, const float *b, float *c, size_t n);

/**
 * annex_ndp_memset() - Set bytes, as memset() does.
 * @k: the kernels.
 * @to: first byte.
 * @value: the value of each byte.
 * @bytes: how many bytes.
 */
int annex_ndp_memset(struct annex_kernels *k, void *to, int value, size_t bytes);

/**
 * annex_ndp_copy() - Copy bytes, as memcpy() does.
 * @k: the kernels.
 * @to: where they go.
 * @from: where they are; need not be aligned.
 * @bytes: how many bytes.
 */
int annex_ndp_copy(struct annex_kernels *k, void *to, const void *from, size_t bytes);

/**
 * annex_ndp_sum_i32() - The sum of integers of 32 bits, which does not overflow.
 * @k: the kernels.
 * @data: @n integers.
 * @n: number of elements.
 * @sum: anywhere in the process's memory.
 */
int annex_ndp_sum_i32(struct annex_kernels *k, const int32_t *data, size_t n, int64_t *sum);

/**
 * annex_ndp_sum_i64() - The sum of integers of 64 bits, which wraps.
 * @k: the kernels.
 * @data: @n integers.
 * @n: number of elements.
 * @sum: anywhere in the process's memory.
 */
int annex_ndp_sum_i64(struct annex_kernels *k, const int64_t *data, size_t n, int64_t *sum);

/**
 * annex_ndp_sum_f32() - The sum of floats, added up as doubles.
 * @k: the kernels.
 * @data: @n floats.
 * @n: number of elements.
 * @sum: anywhere in the process's memory.
 *
 * The order depends on @n and on the device, so one and the same device gives the same sum each
 * time; another order may differ by 2^-52 of the sum of magnitudes for each power of two in @n.
 */
int annex_ndp_sum_f32(struct annex_kernels *k, const float *data, size_t n, double *sum);

#define ANNEX_NDP_BINS 4096u

/**
 * annex_ndp_histogram_i32() - Count the values in each bin.
 * @k: the kernels.
 * @data: @n integers.
 * @n: number of values, less than 2^32.
 * @low: the least value of bin 0.
 * @shift: log2 of the width of a bin.
 * @bins: number of bins, 1 to ANNEX_NDP_BINS, and bins << shift at most 2^32.
 * @counts: one for each bin; anywhere in the process's memory; overwritten.
 *
 * Bin i has the values from @low + (i << @shift) up to, not including, those of the next one.
 * Values in no bin are not counted.
 */
int annex_ndp_histogram_i32(struct annex_kernels *k, const int32_t *data, size_t n, int32_t low,
			    unsigned int shift, size_t bins, uint64_t *counts);

/* Columns */

/**
 * ANNEX_NDP_BITMAP() - Bytes of a bitmap.
 * @rows: number of rows.
 *
 * Bit i % 8 of byte i / 8 is row i's, as in Apache Arrow. Bits behind the last row are 0.
 */
#define ANNEX_NDP_BITMAP(rows) (((size_t)(rows) + 7) / 8)

/**
 * annex_ndp_filter_i32() - Rows whose value is at least @lo and at most @hi: a bit each.
 * @k: the kernels.
 * @column: @n values.
 * @n: number of rows.
 * @lo: the least value.
 * @hi: the largest value.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_i32(struct annex_kernels *k, const int32_t *column, size_t n, int32_t lo,
			 int32_t hi, uint8_t *bitmap);

/**
 * annex_ndp_filter_date() - Rows from one day up to, not including, another: a bit each.
 * @k: the kernels.
 * @days: @n days, counted from any day on.
 * @n: number of rows.
 * @from: the first day.
 * @to: the day after the last one.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_date(struct annex_kernels *k, const int32_t *days, size_t n, int32_t from,
			  int32_t to, uint8_t *bitmap);

/**
 * annex_ndp_filter_decimal() - Rows whose decimal is at least @lo and at most @hi: a bit each.
 * @k: the kernels.
 * @column: @n decimals, as integers of one scale: 0.05 is 5, if it is 2.
 * @n: number of rows.
 * @lo: the least value, of that scale.
 * @hi: the largest value, likewise.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_decimal(struct annex_kernels *k, const int64_t *column, size_t n, int64_t lo,
			     int64_t hi, uint8_t *bitmap);

#define ANNEX_NDP_PREFIX 56u

/**
 * annex_ndp_filter_prefix() - Rows of a column of strings that begin with a prefix: a bit each.
 * @k: the kernels.
 * @column: @n strings of @width bytes.
 * @width: bytes of a string.
 * @n: number of rows.
 * @prefix: the prefix; anywhere in the process's memory.
 * @length: its bytes, up to ANNEX_NDP_PREFIX; more than @width is -EINVAL. With 0 bytes every row
 *	begins with it.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_prefix(struct annex_kernels *k, const char *column, size_t width, size_t n,
			    const char *prefix, size_t length, uint8_t *bitmap);

/**
 * annex_ndp_bitmap_and() - c = a AND b.
 * @k: the kernels.
 * @a: bitmap of @n rows.
 * @b: bitmap of @n rows.
 * @c: bitmap of @n rows; may be @a or @b.
 * @n: number of rows.
 */
int annex_ndp_bitmap_and(struct annex_kernels *k, const uint8_t *a, const uint8_t *b, uint8_t *c,
			 size_t n);

/**
 * annex_ndp_bitmap_or() - c = a OR b.
 * @k: the kernels.
 * @a: bitmap of @n rows.
 * @b: bitmap of @n rows.
 * @c: bitmap of @n rows; may be @a or @b.
 * @n: number of rows.
 */
int annex_ndp_bitmap_or(struct annex_kernels *k, const uint8_t *a, const uint8_t *b, uint8_t *c,
			size_t n);

/* Keys and values */

#define ANNEX_NDP_KEY 24u
#define ANNEX_NDP_VALUE 64u

struct annex_ndp_kv;

/**
 * annex_ndp_kv_create() - Make a hash table in the range of the kernels.
 * @k: the kernels; they must outlive the handle.
 * @name: it stays, and others find it by this name, as a whole table; NULL: it ends with the
 *	handle.
 * @entries: keys that it has room for, up to 2^32.
 * @out: the table, to be given back with annex_ndp_kv_close().
 *
 * Return: 0; -EINVAL; as annex_hdm_alloc(), annex_ndp_memset() and annex_hdm_publish().
 */
int annex_ndp_kv_create(struct annex_kernels *k, const char *name, uint64_t entries,
			struct annex_ndp_kv **out);

/**
 * annex_ndp_kv_open() - Open a hash table by its name.
 * @k: the kernels, with the range that it is in; they must outlive the handle.
 * @name: its name.
 * @out: the table, to be given back with annex_ndp_kv_close().
 *
 * Return: 0; -ENOENT; -EILSEQ (the piece of that name is no table); -ENOMEM; as annex_hdm_find().
 */
int annex_ndp_kv_open(struct annex_kernels *k, const char *name, struct annex_ndp_kv **out);

/**
 * annex_ndp_kv_close() - Close a hash table; without a name, it ends.
 * @kv: the table; may be NULL.
 */
void annex_ndp_kv_close(struct annex_ndp_kv *kv);

/**
 * annex_ndp_kv_count() - Number of keys in a table.
 * @kv: the table.
 *
 * Return: the number.
 */
uint64_t annex_ndp_kv_count(const struct annex_ndp_kv *kv);

/**
 * annex_ndp_kv_get() - Look up the values of keys.
 * @kv: the table.
 * @keys: ANNEX_NDP_KEY bytes for each key.
 * @n: number of keys.
 * @values: ANNEX_NDP_VALUE bytes for each key; values of keys that are not there are left alone.
 * @found: for each key: whether it is there.
 *
 * Keys, values and @found are anywhere in the process's memory. A value that another call writes at
 * the same time may be read half old, half new.
 */
int annex_ndp_kv_get(struct annex_ndp_kv *kv, const void *keys, size_t n, void *values,
		     bool *found);

/**
 * annex_ndp_kv_set() - Set the values of keys.
 * @kv: the table.
 * @keys: ANNEX_NDP_KEY bytes for each key; anywhere in the process's memory.
 * @values: ANNEX_NDP_VALUE bytes for each key; anywhere in the process's memory. Of a key that is
 *	there several times, the last value stays.
 * @n: number of keys.
 *
 * Calls at the same time, by threads or processes, leave the table whole; a key that several of
 * them set has a mixture of their values at worst.
 *
 * Return: 0; -ENOSPC: there was no room for some of the new keys; the others were set.
 */
int annex_ndp_kv_set(struct annex_ndp_kv *kv, const void *keys, const void *values, size_t n);

/* Graphs and sparse matrices */

/**
 * struct annex_ndp_csr - A sparse matrix, row by row.
 * @rows: number of rows.
 * @first: @rows + 1 indices: entries of row i are those from first[i] to first[i + 1] - 1.
 * @column: of each entry; less than 2^30.
 * @value: of each entry; a graph needs none.
 *
 * Only @first must be aligned.
 */
struct annex_ndp_csr {
	size_t rows;
	const uint32_t *first;
	const uint32_t *column;
	const float *value;
};

/**
 * annex_ndp_spmv() - y = A x.
 * @k: the kernels.
 * @a: the matrix.
 * @x: a float for each column.
 * @y: a float for each row.
 *
 * Products of a row are added up in an order of the device's own: the error is at most 2^-24 of the
 * sum of their magnitudes for each of them.
 */
int annex_ndp_spmv(struct annex_kernels *k, const struct annex_ndp_csr *a, const float *x,
		   float *y);

/**
 * annex_ndp_pagerank() - One step: next = (1 - damping) / vertices + damping * incoming rank.
 * @k: the kernels.
 * @in: edges by their ends: columns of row i are the vertices that lead to i.
 * @out_degree: edges out of each vertex. Vertices without any give nothing away (as in GAP's
 *	benchmark).
 * @damping: share of a vertex's rank that its edges carry.
 * @rank: rank of each vertex now.
 * @next: rank of each vertex afterwards.
 */
int annex_ndp_pagerank(struct annex_kernels *k, const struct annex_ndp_csr *in,
		       const uint32_t *out_degree, float damping, const float *rank, float *next);

#define ANNEX_NDP_FAR UINT32_MAX

/**
 * struct annex_ndp_edges - A graph as a list of edges; best in order of @from.
 * @n: number of edges.
 * @from: vertex that each edge begins at.
 * @to: vertex that each edge leads to.
 * @weight: length of each edge.
 *
 * Only @to must be aligned.
 */
struct annex_ndp_edges {
	size_t n;
	const uint32_t *from;
	const uint32_t *to;
	const uint32_t *weight;
};

/**
 * annex_ndp_sssp_relax() - One round of shortest paths.
 * @k: the kernels.
 * @edges: the graph.
 * @distance: of each vertex, less than 2^30 of them: 0 of the source, ANNEX_NDP_FAR where no path
 *	is known yet. Sums that large are no path.
 * @changed: whether some distance has become less. When none has, they are the shortest ones; the
 *	number of rounds to there depends on the order in which edges are done.
 *
 * Afterwards no distance is more than that of a neighbour plus the edge from there.
 */
int annex_ndp_sssp_relax(struct annex_kernels *k, const struct annex_ndp_edges *edges,
			 uint32_t *distance, bool *changed);

/* Models */

/**
 * annex_ndp_sls() - Sums of rows of an embedding table (SparseLengthsSum of DLRM).
 * @k: the kernels.
 * @table: rows of @dim floats.
 * @dim: floats in a row, a multiple of 16.
 * @indices: rows to add up.
 * @first: @batch + 1 indices: sum i is of those from first[i] to first[i + 1] - 1, added up in that
 *	order.
 * @batch: number of sums.
 * @out: @batch rows of @dim floats.
 *
 * @table, @indices and @first need not be aligned.
 */
int annex_ndp_sls(struct annex_kernels *k, const float *table, size_t dim, const uint32_t *indices,
		  const uint32_t *first, size_t batch, float *out);

/**
 * annex_ndp_gemv_f32() - y = W x.
 * @k: the kernels.
 * @w: the matrix, row by row.
 * @x: a value for each column.
 * @rows: number of rows.
 * @columns: number of columns.
 * @y: a value for each row.
 *
 * Order and error as with annex_ndp_spmv(). Only @y must be aligned.
 */
int annex_ndp_gemv_f32(struct annex_kernels *k, const float *w, const float *x, size_t rows,
		       size_t columns, float *y);

/**
 * annex_ndp_gemv_f16() - y = W x, with W and x of half precision (IEEE 754 binary16).
 * @k: the kernels.
 * @w: the matrix, row by row.
 * @x: a value for each column.
 * @rows: number of rows.
 * @columns: number of columns.
 * @y: a value for each row.
 *
 * As annex_ndp_gemv_f32(); products and sums are floats.
 */
int annex_ndp_gemv_f16(struct annex_kernels *k, const uint16_t *w, const uint16_t *x, size_t rows,
		       size_t columns, float *y);

/**
 * annex_ndp_softmax() - exp(x) of each row, divided by their sum, which does not overflow.
 * @k: the kernels.
 * @in: @rows rows of @columns floats.
 * @rows: number of rows.
 * @columns: floats in a row.
 * @out: as many floats; may be @in.
 *
 * The relative error is 2^-16 at most in rows of up to 65536; results below 2^-126 are 0. NaN where
 * a row has one, or nothing but minus infinity.
 */
int annex_ndp_softmax(struct annex_kernels *k, const float *in, size_t rows, size_t columns,
		      float *out);

/**
 * annex_ndp_layer_norm() - (x - mean) / sqrt(variance + @epsilon) * gamma + beta, of each row.
 * @k: the kernels.
 * @in: @rows rows of @columns floats.
 * @rows: number of rows.
 * @columns: floats in a row.
 * @gamma: factor of each column; need not be aligned.
 * @beta: summand of each column; need not be aligned.
 * @epsilon: added to the variance.
 * @out: as many floats as @in; may be @in.
 */
int annex_ndp_layer_norm(struct annex_kernels *k, const float *in, size_t rows, size_t columns,
			 const float *gamma, const float *beta, float epsilon, float *out);

#ifdef __cplusplus
}
#endif
#endif
