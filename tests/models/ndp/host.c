// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>
#include "host.h"

/* A sum of @terms floats whose magnitudes are @magnitude together, rounded each time. */
static double rounding(double magnitude, double terms)
{
	return magnitude * (terms + 2) * 0x1p-24;
}

void host_add_i32(const int32_t *a, const int32_t *b, int32_t *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c[i] = (int32_t)((uint32_t)a[i] + (uint32_t)b[i]);
}

void host_add_f32(const float *a, const float *b, float *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

int64_t host_sum_i32(const int32_t *data, size_t n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += data[i];
	return sum;
}

int64_t host_sum_i64(const int64_t *data, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (uint64_t)data[i];
	return (int64_t)sum;
}

double host_sum_f32(const float *data, size_t n, double *bound)
{
	double sum = 0, magnitude = 0;

	for (size_t i = 0; i < n; i++) {
		sum += (double)data[i];
		magnitude += fabs((double)data[i]);
	}
	*bound = magnitude * (double)n * 0x1p-52;
	return sum;
}

void host_histogram(const int32_t *data, size_t n, int32_t low, unsigned int shift, size_t bins,
		    uint64_t *counts)
{
	memset(counts, 0, bins * sizeof(*counts));
	for (size_t i = 0; i < n; i++) {
		int64_t bin = ((int64_t)data[i] - low) >> shift;

		if (bin >= 0 && bin < (int64_t)bins)
			counts[bin]++;
	}
}

static void set(uint8_t *bitmap, size_t i, bool is)
{
	if (i % 8 == 0)
		bitmap[i / 8] = 0;
	bitmap[i / 8] |= (uint8_t)(is << i % 8);
}

void host_filter_i32(const int32_t *column, size_t n, int32_t lo, int32_t hi, uint8_t *bitmap)
{
	for (size_t i = 0; i < n; i++)
		set(bitmap, i, column[i] >= lo && column[i] <= hi);
}

void host_filter_date(const int32_t *days, size_t n, int32_t from, int32_t to, uint8_t *bitmap)
{
	for (size_t i = 0; i < n; i++)
		set(bitmap, i, days[i] >= from && days[i] < to);
}

void host_filter_decimal(const int64_t *column, size_t n, int64_t lo, int64_t hi, uint8_t *bitmap)
{
	for (size_t i = 0; i < n; i++)
		set(bitmap, i, column[i] >= lo && column[i] <= hi);
}

void host_filter_prefix(const char *column, size_t width, size_t n, const char *prefix,
			size_t length, uint8_t *bitmap)
{
	for (size_t i = 0; i < n; i++)
		set(bitmap, i, !memcmp(column + i * width, prefix, length));
}

void host_spmv(const struct annex_ndp_csr *a, const float *x, double *y, double *bound)
{
	for (size_t i = 0; i < a->rows; i++) {
		double magnitude = 0;

		y[i] = 0;
		for (uint32_t e = a->first[i]; e < a->first[i + 1]; e++) {
			double product = (double)a->value[e] * (double)x[a->column[e]];

			y[i] += product;
			magnitude += fabs(product);
		}
		bound[i] = rounding(magnitude, a->first[i + 1] - a->first[i]);
	}
}

void host_pagerank(const struct annex_ndp_csr *in, const uint32_t *out_degree, float damping,
		   const float *rank, double *next, double *bound)
{
	for (size_t i = 0; i < in->rows; i++) {
		double sum = 0;

		for (uint32_t e = in->first[i]; e < in->first[i + 1]; e++) {
			uint32_t from = in->column[e];

			if (out_degree[from])
				sum += (double)rank[from] / out_degree[from];
		}
		next[i] = (1 - (double)damping) / (double)in->rows + (double)damping * sum;
		bound[i] = rounding(next[i], in->first[i + 1] - in->first[i] + 4.0);
	}
}

void host_sssp(const struct annex_ndp_edges *edges, uint32_t *distance)
{
	bool changed;

	do {
		changed = false;
		for (size_t i = 0; i < edges->n; i++) {
			uint64_t d = (uint64_t)distance[edges->from[i]] + edges->weight[i];

			if (d < distance[edges->to[i]]) {
				distance[edges->to[i]] = (uint32_t)d;
				changed = true;
			}
		}
	} while (changed);
}

void host_sls(const float *table, size_t dim, const uint32_t *indices, const uint32_t *first,
	      size_t batch, float *out)
{
	memset(out, 0, batch * dim * sizeof(*out));
	for (size_t b = 0; b < batch; b++)
		for (uint32_t i = first[b]; i < first[b + 1]; i++)
			for (size_t d = 0; d < dim; d++)
				out[b * dim + d] += table[indices[i] * dim + d];
}

void host_gemv_f32(const float *w, const float *x, size_t rows, size_t columns, double *y,
		   double *bound)
{
	for (size_t r = 0; r < rows; r++) {
		double magnitude = 0;

		y[r] = 0;
		for (size_t c = 0; c < columns; c++) {
			double product = (double)w[r * columns + c] * (double)x[c];

			y[r] += product;
			magnitude += fabs(product);
		}
		bound[r] = rounding(magnitude, (double)columns);
	}
}

double host_of_half(uint16_t half)
{
	int exponent = half >> 10 & 31;
	double fraction = half & 1023, value;

	if (exponent == 31)
		value = half & 1023 ? NAN : INFINITY;
	else if (exponent)
		value = ldexp(1024 + fraction, exponent - 25);
	else
		value = ldexp(fraction, -24);
	return half >> 15 ? -value : value;
}

void host_gemv_f16(const uint16_t *w, const uint16_t *x, size_t rows, size_t columns, double *y,
		   double *bound)
{
	for (size_t r = 0; r < rows; r++) {
		double magnitude = 0;

		y[r] = 0;
		for (size_t c = 0; c < columns; c++) {
			double product = host_of_half(w[r * columns + c]) * host_of_half(x[c]);

			y[r] += product;
			magnitude += fabs(product);
		}
		bound[r] = rounding(magnitude, (double)columns);
	}
}

void host_softmax(const float *in, size_t rows, size_t columns, double *out)
{
	for (size_t r = 0; r < rows; r++, in += columns, out += columns) {
		double max = (double)in[0], sum = 0;

		for (size_t c = 1; c < columns; c++)
			max = fmax(max, (double)in[c]);
		for (size_t c = 0; c < columns; c++)
			sum += out[c] = exp((double)in[c] - max);
		for (size_t c = 0; c < columns; c++)
			out[c] /= sum;
	}
}

void host_layer_norm(const float *in, size_t rows, size_t columns, const float *gamma,
		     const float *beta, float epsilon, double *out)
{
	for (size_t r = 0; r < rows; r++, in += columns, out += columns) {
		double mean = 0, variance = 0;

		for (size_t c = 0; c < columns; c++)
			mean += (double)in[c] / (double)columns;
		for (size_t c = 0; c < columns; c++)
			variance += ((double)in[c] - mean) * ((double)in[c] - mean) /
				    (double)columns;
		for (size_t c = 0; c < columns; c++)
			out[c] = ((double)in[c] - mean) / sqrt(variance + (double)epsilon) *
					 (double)gamma[c] +
				 (double)beta[c];
	}
}
