/* SPDX-License-Identifier: MIT */
/*
 * Near-data kernels for databases, graphs and models: work that reads much and computes little,
 * done in the memory device (M2NDP, section IV-B).
 *
 *	annex_kernels_open(m2, hdm, &k);
 *	annex_ndp_filter_i32(k, column, rows, 18, 65, bitmap);
 *	annex_kernels_close(k);
 *
 * Every call waits until its kernel has ended. Unless stated otherwise, arguments point to memory
 * that was mapped for the device by annex_m2_map(), aligned to ANNEX_NDP_ALIGN bytes as pieces of a
 * range are. Lengths may be arbitrary. Results must not overlap inputs, unless stated otherwise.
 *
 * Unless stated otherwise, a call returns 0, -EINVAL (a pointer that is not aligned, an argument
 * out of range), or an error of annex_m2_load() and annex_m2_run(), such as -EFAULT for an array
 * that is not mapped.
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
 * @m2: the device, with all of @hdm mapped for reads and writes.
 * @hdm: range for kernels, which are loaded on first use, and for temporary data of calls.
 * @out: the kernels; release it with annex_kernels_close().
 *
 * Any number of threads may use the handle. @m2 and @hdm must outlive it.
 *
 * Return: 0; -ENOMEM.
 */
int annex_kernels_open(struct annex_m2 *m2, struct annex_hdm *hdm, struct annex_kernels **out);

/**
 * annex_kernels_close() - Unload the kernels.
 * @k: the kernels; may be NULL.
 *
 * No other thread may be using the handle.
 *
 * Return: 0, also if the device is gone; -EBUSY (a kernel is still running, after a call that timed
 * out); as annex_m2_unload(). After an error @k is still open, with the kernels that could not be
 * unloaded.
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
 * @bytes: number of bytes.
 */
int annex_ndp_memset(struct annex_kernels *k, void *to, int value, size_t bytes);

/**
 * annex_ndp_copy() - Copy bytes, as memcpy() does.
 * @k: the kernels.
 * @to: destination.
 * @from: source; need not be aligned.
 * @bytes: number of bytes.
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
 * The order of additions depends on @n and on the device, so a device gives the same sum each time.
 * Sums in another order may differ by 2^-52 of the sum of magnitudes for each power of two in @n.
 */
int annex_ndp_sum_f32(struct annex_kernels *k, const float *data, size_t n, double *sum);

#define ANNEX_NDP_BINS 4096u

/**
 * annex_ndp_histogram_i32() - Count the values in each bin.
 * @k: the kernels.
 * @data: @n integers.
 * @n: number of values, less than 2^32.
 * @low: the smallest value of bin 0.
 * @shift: log2 of the width of a bin.
 * @bins: number of bins, 1 to ANNEX_NDP_BINS, and bins << shift at most 2^32.
 * @counts: one for each bin; anywhere in the process's memory; overwritten.
 *
 * Bin i counts values from @low + (i << @shift) up to, but not including, the first of bin i + 1.
 * Values outside of all bins are not counted.
 */
int annex_ndp_histogram_i32(struct annex_kernels *k, const int32_t *data, size_t n, int32_t low,
			    unsigned int shift, size_t bins, uint64_t *counts);

/* Columns */

/**
 * ANNEX_NDP_BITMAP() - Bytes of a bitmap.
 * @rows: number of rows.
 *
 * Row i is bit i % 8 of byte i / 8, as in Apache Arrow. Bits after the last row are 0.
 */
#define ANNEX_NDP_BITMAP(rows) (((size_t)(rows) + 7) / 8)

/**
 * annex_ndp_filter_i32() - Bitmap of rows whose value is at least @lo and at most @hi.
 * @k: the kernels.
 * @column: @n values.
 * @n: number of rows.
 * @lo: the smallest value.
 * @hi: the largest value.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_i32(struct annex_kernels *k, const int32_t *column, size_t n, int32_t lo,
			 int32_t hi, uint8_t *bitmap);

/**
 * annex_ndp_filter_date() - Bitmap of rows from @from up to, but not including, @to.
 * @k: the kernels.
 * @days: @n days, counted from an arbitrary day.
 * @n: number of rows.
 * @from: the first day.
 * @to: the day after the last one.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_date(struct annex_kernels *k, const int32_t *days, size_t n, int32_t from,
			  int32_t to, uint8_t *bitmap);

/**
 * annex_ndp_filter_decimal() - Bitmap of rows whose decimal is at least @lo and at most @hi.
 * @k: the kernels.
 * @column: @n decimals, as integers of the same scale: with scale 2, 0.05 is 5.
 * @n: number of rows.
 * @lo: the smallest value, in that scale.
 * @hi: the largest value, likewise.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_decimal(struct annex_kernels *k, const int64_t *column, size_t n, int64_t lo,
			     int64_t hi, uint8_t *bitmap);

#define ANNEX_NDP_PREFIX 56u

/**
 * annex_ndp_filter_prefix() - Bitmap of rows whose string begins with a prefix.
 * @k: the kernels.
 * @column: @n strings of @width bytes.
 * @width: bytes of a string.
 * @n: number of rows.
 * @prefix: the prefix; anywhere in the process's memory.
 * @length: bytes of the prefix, up to ANNEX_NDP_PREFIX and @width, otherwise -EINVAL. Every row
 *	begins with a prefix of 0 bytes.
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
 * @name: name by which other handles find the complete table, which outlives this handle; NULL: the
 *	table is freed with the handle.
 * @entries: capacity in keys, up to 2^32.
 * @out: the table; release it with annex_ndp_kv_close().
 *
 * Return: 0; -EINVAL; as annex_hdm_alloc(), annex_ndp_memset() and annex_hdm_publish().
 */
int annex_ndp_kv_create(struct annex_kernels *k, const char *name, uint64_t entries,
			struct annex_ndp_kv **out);

/**
 * annex_ndp_kv_open() - Open a hash table by its name.
 * @k: the kernels of the table's range; they must outlive the handle.
 * @name: the table's name.
 * @out: the table; release it with annex_ndp_kv_close().
 *
 * Return: 0; -ENOENT; -EILSEQ (the piece of that name is no table); -ENOMEM; as annex_hdm_find().
 */
int annex_ndp_kv_open(struct annex_kernels *k, const char *name, struct annex_ndp_kv **out);

/**
 * annex_ndp_kv_close() - Close a hash table, and free it if it has no name.
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
 * @values: ANNEX_NDP_VALUE bytes for each key; unchanged for keys that are not found.
 * @found: set for each key to whether it was found.
 *
 * Keys, values and @found are anywhere in the process's memory. A value that another call sets at
 * the same time may be read as a mixture of the old and the new value.
 */
int annex_ndp_kv_get(struct annex_ndp_kv *kv, const void *keys, size_t n, void *values,
		     bool *found);

/**
 * annex_ndp_kv_set() - Set the values of keys.
 * @kv: the table.
 * @keys: ANNEX_NDP_KEY bytes for each key; anywhere in the process's memory.
 * @values: ANNEX_NDP_VALUE bytes for each key; anywhere in the process's memory. If a key is
 *	repeated, its last value is stored.
 * @n: number of keys.
 *
 * Concurrent calls, by threads or processes, keep the table consistent. If several of them set the
 * same key, its value may be a mixture of theirs.
 *
 * Return: 0; -ENOSPC: there was no room for some of the new keys; the others were set.
 */
int annex_ndp_kv_set(struct annex_ndp_kv *kv, const void *keys, const void *values, size_t n);

/* Graphs and sparse matrices */

/**
 * struct annex_ndp_csr - A sparse matrix, row by row.
 * @rows: number of rows.
 * @first: @rows + 1 indices: row i has the entries first[i] to first[i + 1] - 1.
 * @column: column of each entry; less than 2^30.
 * @value: value of each entry; not used for graphs.
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
 * The device chooses the order in which it adds up the products of a row: the error is at most
 * 2^-24 of the sum of their magnitudes, times their number.
 */
int annex_ndp_spmv(struct annex_kernels *k, const struct annex_ndp_csr *a, const float *x,
		   float *y);

/**
 * annex_ndp_pagerank() - One step: next = (1 - damping) / vertices + damping * incoming rank.
 * @k: the kernels.
 * @in: incoming edges: the columns of row i are the vertices with an edge to i.
 * @out_degree: number of outgoing edges of each vertex. Vertices without any pass on no rank (as in
 *	GAP's benchmark).
 * @damping: share of a vertex's rank that its edges pass on.
 * @rank: rank of each vertex before the step.
 * @next: rank of each vertex after the step.
 */
int annex_ndp_pagerank(struct annex_kernels *k, const struct annex_ndp_csr *in,
		       const uint32_t *out_degree, float damping, const float *rank, float *next);

#define ANNEX_NDP_FAR UINT32_MAX

/**
 * struct annex_ndp_edges - A graph as a list of edges, for speed sorted by @from.
 * @n: number of edges.
 * @from: source of each edge.
 * @to: destination of each edge.
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
 * @distance: distance of each of less than 2^30 vertices: 0 for the source, ANNEX_NDP_FAR if no
 *	path is known yet. Sums of ANNEX_NDP_FAR or more do not count as paths.
 * @changed: set to whether a distance decreased. If none did, all distances are final. The number
 *	of rounds until then depends on the order in which the device takes the edges.
 *
 * Afterwards no distance exceeds that of a neighbour before the call plus the edge from there.
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
 * @first: @batch + 1 indices: sum i adds up the rows indices[first[i]] to indices[first[i + 1] -
 *	1], in that order.
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
 * annex_ndp_softmax() - exp(x) of each element, divided by the sum of its row, without overflow.
 * @k: the kernels.
 * @in: @rows rows of @columns floats.
 * @rows: number of rows.
 * @columns: floats in a row.
 * @out: as many floats; may be @in.
 *
 * The relative error is at most 2^-16 in rows of up to 65536; results below 2^-126 are 0. Results
 * are NaN if the row has a NaN, or only minus infinity.
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
