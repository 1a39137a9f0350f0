/* SPDX-License-Identifier: MIT */
/*
 * The functions of the near-data kernels, written once more for the host, as plainly as can be.
 */
#ifndef ANNEX_TESTS_NDP_HOST_H
#define ANNEX_TESTS_NDP_HOST_H

#include <annex/kernels.h>

void host_add_i32(const int32_t *a, const int32_t *b, int32_t *c, size_t n);
void host_add_f32(const float *a, const float *b, float *c, size_t n);
int64_t host_sum_i32(const int32_t *data, size_t n);
int64_t host_sum_i64(const int64_t *data, size_t n);

/* *@bound: how far another order of the same sum may be away. */
double host_sum_f32(const float *data, size_t n, double *bound);

void host_histogram(const int32_t *data, size_t n, int32_t low, unsigned int shift, size_t bins,
		    uint64_t *counts);

void host_filter_i32(const int32_t *column, size_t n, int32_t lo, int32_t hi, uint8_t *bitmap);
void host_filter_date(const int32_t *days, size_t n, int32_t from, int32_t to, uint8_t *bitmap);
void host_filter_decimal(const int64_t *column, size_t n, int64_t lo, int64_t hi, uint8_t *bitmap);
void host_filter_prefix(const char *column, size_t width, size_t n, const char *prefix,
			size_t length, uint8_t *bitmap);

/* @bound: for each result, how far another order of its sums may be away. */
void host_spmv(const struct annex_ndp_csr *a, const float *x, double *y, double *bound);
void host_pagerank(const struct annex_ndp_csr *in, const uint32_t *out_degree, float damping,
		   const float *rank, double *next, double *bound);

/* All shortest paths from where @distance is 0: rounds until there is nothing new. */
void host_sssp(const struct annex_ndp_edges *edges, uint32_t *distance);

/* Bit for bit: one order only. */
void host_sls(const float *table, size_t dim, const uint32_t *indices, const uint32_t *first,
	      size_t batch, float *out);

void host_gemv_f32(const float *w, const float *x, size_t rows, size_t columns, double *y,
		   double *bound);
void host_gemv_f16(const uint16_t *w, const uint16_t *x, size_t rows, size_t columns, double *y,
		   double *bound);
void host_softmax(const float *in, size_t rows, size_t columns, double *out);
void host_layer_norm(const float *in, size_t rows, size_t columns, const float *gamma,
		     const float *beta, float epsilon, double *out);

double host_of_half(uint16_t half);

#endif
