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
 *
 * The handle may be used by any number of threads. @m2 and @hdm must outlive it.
 *
 * Return: 0; -ENOMEM.
 */
int annex_kernels_open(struct annex_m2 *m2, struct annex_hdm *hdm, struct annex_kernels **out);

/**
 * annex_kernels_close() - Unload them. No other thread may be using it. @k may be NULL.
 *
 * Return: 0, also when the device is gone; else @k is still open, with the kernels that could not
 * be unloaded: -EBUSY (one runs still, after a call that was not answered in time), as
 * annex_m2_unload().
 */
int annex_kernels_close(struct annex_kernels *k);

/* Arrays */

/**
 * annex_ndp_add_i32() - c = a + b, element by element; integers wrap.
 * annex_ndp_add_f32() - The same for floats.
 * @c: may be @a or @b.
 */
int annex_ndp_add_i32(struct annex_kernels *k, const int32_t *a, const int32_t *b, int32_t *c,
		      size_t n);
int annex_ndp_add_f32(struct annex_kernels *k, const float *a, const float *b, float *c, size_t n);

/**
 * annex_ndp_memset() - What memset() does.
 * annex_ndp_copy() - What memcpy() does; @from need not be aligned.
 */
int annex_ndp_memset(struct annex_kernels *k, void *to, int value, size_t bytes);
int annex_ndp_copy(struct annex_kernels *k, void *to, const void *from, size_t bytes);

/**
 * annex_ndp_sum_i32() - The sum of integers, which does not overflow.
 * annex_ndp_sum_i64() - Likewise, but it wraps.
 * annex_ndp_sum_f32() - The sum of floats, added up as doubles. The order depends on @n and on the
 * device, so one and the same device gives the same sum each time; another order may differ by
 * 2^-52 of the sum of magnitudes for each power of two in @n.
 * @sum: anywhere in the process's memory.
 */
int annex_ndp_sum_i32(struct annex_kernels *k, const int32_t *data, size_t n, int64_t *sum);
int annex_ndp_sum_i64(struct annex_kernels *k, const int64_t *data, size_t n, int64_t *sum);
int annex_ndp_sum_f32(struct annex_kernels *k, const float *data, size_t n, double *sum);

#define ANNEX_NDP_BINS 4096u

/**
 * annex_ndp_histogram_i32() - How many values there are in each bin: bin i has those from
 * @low + (i << @shift) up to, not including, those of the next one. Values in none are not counted.
 * @n: less than 2^32. @bins: 1 to ANNEX_NDP_BINS, and bins << shift at most 2^32.
 * @counts: anywhere in the process's memory; overwritten.
 */
int annex_ndp_histogram_i32(struct annex_kernels *k, const int32_t *data, size_t n, int32_t low,
			    unsigned int shift, size_t bins, uint64_t *counts);

/* Columns */

/**
 * ANNEX_NDP_BITMAP() - Bytes of a bitmap for that many rows: bit i % 8 of byte i / 8 is row i's, as
 * in Apache Arrow. Bits behind the last row are 0.
 */
#define ANNEX_NDP_BITMAP(rows) (((size_t)(rows) + 7) / 8)

/**
 * annex_ndp_filter_i32() - Rows whose value is at least @lo and at most @hi: a bit each.
 * annex_ndp_filter_date() - Rows from the day @from up to, not including, the day @to; days are
 * counted from any day on. annex_ndp_filter_decimal() - Rows whose value is at least @lo and at
 * most @hi, decimals as integers of one scale: 0.05 is 5, if it is 2.
 * @bitmap: ANNEX_NDP_BITMAP(n) bytes.
 */
int annex_ndp_filter_i32(struct annex_kernels *k, const int32_t *column, size_t n, int32_t lo,
			 int32_t hi, uint8_t *bitmap);
int annex_ndp_filter_date(struct annex_kernels *k, const int32_t *days, size_t n, int32_t from,
			  int32_t to, uint8_t *bitmap);
int annex_ndp_filter_decimal(struct annex_kernels *k, const int64_t *column, size_t n, int64_t lo,
			     int64_t hi, uint8_t *bitmap);

#define ANNEX_NDP_PREFIX 56u

/**
 * annex_ndp_filter_prefix() - Rows of a column of strings, @width bytes each, that begin with
 *@prefix.
 * @prefix: anywhere in the process's memory; @length bytes, up to ANNEX_NDP_PREFIX. One that is
 * longer than @width is -EINVAL. With 0 bytes every row does.
 */
int annex_ndp_filter_prefix(struct annex_kernels *k, const char *column, size_t width, size_t n,
			    const char *prefix, size_t length, uint8_t *bitmap);

/**
 * annex_ndp_bitmap_and() - c = a AND b, of @n rows.
 * annex_ndp_bitmap_or() - c = a OR b.
 * @c: may be @a or @b.
 */
int annex_ndp_bitmap_and(struct annex_kernels *k, const uint8_t *a, const uint8_t *b, uint8_t *c,
			 size_t n);
int annex_ndp_bitmap_or(struct annex_kernels *k, const uint8_t *a, const uint8_t *b, uint8_t *c,
			size_t n);

/* Keys and values */

#define ANNEX_NDP_KEY 24u
#define ANNEX_NDP_VALUE 64u

struct annex_ndp_kv;

/**
 * annex_ndp_kv_create() - Make a hash table in the range of @k.
 * @name: it stays, and others find it by this name, as a whole table; NULL: it ends with the
 *	handle.
 * @entries: keys that it has room for, up to 2^32.
 *
 * Return: 0; -EINVAL; as annex_hdm_alloc(), annex_ndp_memset() and annex_hdm_publish().
 */
int annex_ndp_kv_create(struct annex_kernels *k, const char *name, uint64_t entries,
			struct annex_ndp_kv **out);

/**
 * annex_ndp_kv_open() - The table of that name.
 *
 * Return: 0; -ENOENT; -EILSEQ (that is no table); -ENOMEM; as annex_hdm_find().
 */
int annex_ndp_kv_open(struct annex_kernels *k, const char *name, struct annex_ndp_kv **out);
void annex_ndp_kv_close(struct annex_ndp_kv *kv);

/**
 * annex_ndp_kv_count() - How many keys it has.
 */
uint64_t annex_ndp_kv_count(const struct annex_ndp_kv *kv);

/**
 * annex_ndp_kv_get() - Values of @n keys, ANNEX_NDP_KEY bytes each.
 * @values: ANNEX_NDP_VALUE bytes for each key; those of keys that are not there are left alone.
 * @found: for each key.
 *
 * All three are anywhere in the process's memory. A value that another call writes at the same time
 * may be read half old, half new.
 */
int annex_ndp_kv_get(struct annex_ndp_kv *kv, const void *keys, size_t n, void *values,
		     bool *found);

/**
 * annex_ndp_kv_set() - Give @n keys their values.
 * @keys, @values: anywhere in the process's memory. Of a key that is there several times, the last
 *	value stays.
 *
 * Calls at the same time, by threads or processes, leave the table whole; what they leave of a key
 * that several of them set is a mixture of values at worst.
 *
 * Return: 0; -ENOSPC: there was no room for some of those that are new; the others were set.
 */
int annex_ndp_kv_set(struct annex_ndp_kv *kv, const void *keys, const void *values, size_t n);

/* Graphs and sparse matrices */

/**
 * struct annex_ndp_csr - A sparse matrix, row by row.
 * @first: rows + 1 of them: entries of row i are those from first[i] to first[i + 1] - 1.
 * @column: of each entry; less than 2^30. @value: of each entry; a graph needs none.
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
 * annex_ndp_spmv() - y = A x. Products of a row are added up in an order of the device's own: the
 * error is at most 2^-24 of the sum of their magnitudes for each of them.
 */
int annex_ndp_spmv(struct annex_kernels *k, const struct annex_ndp_csr *a, const float *x,
		   float *y);

/**
 * annex_ndp_pagerank() - One step: next = (1 - damping) / vertices + damping * what comes in.
 * @in: edges by where they lead: columns of row i are the vertices that lead to i.
 * @out_degree: edges out of each vertex. Vertices without any give nothing away (as in GAP's
 * benchmark).
 * @rank: now; @next: afterwards.
 */
int annex_ndp_pagerank(struct annex_kernels *k, const struct annex_ndp_csr *in,
		       const uint32_t *out_degree, float damping, const float *rank, float *next);

#define ANNEX_NDP_FAR UINT32_MAX

/**
 * struct annex_ndp_edges - A graph as a list of edges; best in order of @from.
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
 * annex_ndp_sssp_relax() - One round of shortest paths: no distance is more than that of a
 * neighbour plus the edge from there.
 * @distance: of each vertex, less than 2^30 of them: 0 of the source, ANNEX_NDP_FAR where no path
 * is known yet. Sums that large are no path.
 * @changed: whether some distance has become less. When none has, they are the shortest ones; how
 *	many rounds that takes depends on the order in which edges are done.
 */
int annex_ndp_sssp_relax(struct annex_kernels *k, const struct annex_ndp_edges *edges,
			 uint32_t *distance, bool *changed);

/* Models */

/**
 * annex_ndp_sls() - Sums of rows of an embedding table (SparseLengthsSum of DLRM).
 * @table: rows of @dim floats, a multiple of 16.
 * @indices: rows to add up; @first: @batch + 1 of them: sum i is of those from first[i] to
 *	first[i + 1] - 1, added up in that order.
 * @out: @batch rows of @dim floats.
 *
 * @table, @indices and @first need not be aligned.
 */
int annex_ndp_sls(struct annex_kernels *k, const float *table, size_t dim, const uint32_t *indices,
		  const uint32_t *first, size_t batch, float *out);

/**
 * annex_ndp_gemv_f32() - y = W x, W row by row.
 * annex_ndp_gemv_f16() - The same with W and x of half precision (IEEE 754 binary16); products and
 * sums are floats.
 *
 * Order and error as with annex_ndp_spmv(). Only @y must be aligned.
 */
int annex_ndp_gemv_f32(struct annex_kernels *k, const float *w, const float *x, size_t rows,
		       size_t columns, float *y);
int annex_ndp_gemv_f16(struct annex_kernels *k, const uint16_t *w, const uint16_t *x, size_t rows,
		       size_t columns, float *y);

/**
 * annex_ndp_softmax() - exp(x) of each row, divided by their sum, which does not overflow: a
 * relative error of 2^-16 at most in rows of up to 65536, and 0 below 2^-126. NaN where a row has
 * one, or nothing but minus infinity.
 * @out: may be @in.
 */
int annex_ndp_softmax(struct annex_kernels *k, const float *in, size_t rows, size_t columns,
		      float *out);

/**
 * annex_ndp_layer_norm() - (x - mean) / sqrt(variance + @epsilon) * gamma + beta, of each row.
 * @gamma, @beta: of each column; they need not be aligned.
 * @out: may be @in.
 */
int annex_ndp_layer_norm(struct annex_kernels *k, const float *in, size_t rows, size_t columns,
			 const float *gamma, const float *beta, float epsilon, float *out);

#ifdef __cplusplus
}
#endif
#endif
