// SPDX-License-Identifier: MIT
/*
 * Kernels of models: products, normalisations, embeddings.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "kernels.h"

int annex_ndp_sls(struct annex_kernels *k, const float *table, size_t dim, const uint32_t *indices,
		  const uint32_t *first, size_t batch, float *out)
{
	uint64_t row = (uint64_t)dim * sizeof(*table);
	const uint64_t args[] = {k_at(table), row, k_at(indices), k_at(first), k->piece / 4};
	int err = k_aligned(out, "sums");

	if (err)
		return err;
	if (!dim || dim % 16)
		return annex_fail(-EINVAL, "sls: rows of %zu floats: not a multiple of 16", dim);
	if (!k->coherent && batch)
		err = k_flush(k, indices + first[0], (first[batch] - first[0]) * sizeof(*indices));
	if (!err)
		err = k_flush(k, first, (batch + 1) * sizeof(*first));
	if (!err)
		err = k_flush(k, out, batch * row);
	return err ? err : k_run(k, K_sls, out, batch * row / k->piece, args, sizeof(args));
}

static int gemv(struct annex_kernels *k, enum k_kernel kernel, const void *w, const void *x,
		size_t size, size_t rows, size_t columns, float *y)
{
	const uint64_t args[] = {k_at(w), columns * size, k_at(x), rows, k->piece / 4, columns};
	int err = k_aligned(y, "a product");

	if (err)
		return err;
	if (!columns)
		return annex_ndp_memset(k, y, 0, rows * sizeof(*y));
	err = k_flush(k, w, rows * columns * size);
	if (!err)
		err = k_flush(k, x, columns * size);
	if (!err)
		err = k_flush(k, y, rows * sizeof(*y));
	return err ? err : k_run(k, kernel, y, k_parts(rows, k->piece / 4), args, sizeof(args));
}

int annex_ndp_gemv_f32(struct annex_kernels *k, const float *w, const float *x, size_t rows,
		       size_t columns, float *y)
{
	return gemv(k, K_gemv_f32, w, x, sizeof(*w), rows, columns, y);
}

int annex_ndp_gemv_f16(struct annex_kernels *k, const uint16_t *w, const uint16_t *x, size_t rows,
		       size_t columns, float *y)
{
	return gemv(k, K_gemv_f16, w, x, sizeof(*w), rows, columns, y);
}

/*
 * Run a kernel in which a thread has as many rows as fill a piece of the result, so that there is
 * one thread per piece.
 */
static int run_matrix(struct annex_kernels *k, enum k_kernel kernel, size_t rows, size_t columns,
		      float *out, uint64_t *args, size_t nargs)
{
	uint64_t each = columns ? k_parts(k->piece / 4, columns) : 1;
	int err = k_aligned(out, "a matrix");

	args[2] = rows;
	args[3] = columns;
	args[4] = each;
	args[5] = (uint64_t)__builtin_ctz(k->piece);
	if (!err)
		err = k_flush(k, (const void *)(uintptr_t)args[0], rows * columns * sizeof(*out));
	if (!err)
		err = k_flush(k, out, rows * columns * sizeof(*out));
	if (err || !columns)
		return err;
	return k_run(k, kernel, out, k_parts(rows, each), args, nargs);
}

int annex_ndp_softmax(struct annex_kernels *k, const float *in, size_t rows, size_t columns,
		      float *out)
{
	uint64_t args[6] = {k_at(in), k_at(out)};

	return run_matrix(k, K_softmax, rows, columns, out, args, sizeof(args));
}

int annex_ndp_layer_norm(struct annex_kernels *k, const float *in, size_t rows, size_t columns,
			 const float *gamma, const float *beta, float epsilon, float *out)
{
	uint64_t args[9] = {k_at(in), k_at(out), 0, 0, 0, 0, k_at(gamma), k_at(beta)};
	int err = k_flush(k, gamma, columns * sizeof(*gamma));

	if (!err)
		err = k_flush(k, beta, columns * sizeof(*beta));
	memcpy(&args[8], &epsilon, sizeof(epsilon));
	return err ? err : run_matrix(k, K_layernorm, rows, columns, out, args, sizeof(args));
}
