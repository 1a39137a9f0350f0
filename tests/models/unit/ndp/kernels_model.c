// SPDX-License-Identifier: MIT
/*
 * Near-data kernels for models give what the host gives, within their bounds.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels_rig.h"
#include "tests/unit/unit.h"

static void sls(struct kernels_rig *r, size_t batch)
{
	size_t dim = (rig_below(r, 8) + 1) * 16, rows = 1000;
	uint32_t *first = rig_array(r, (batch + 1) * 4), *indices;
	float *table = rig_floats(r, rows * dim), *out = rig_floats(r, batch * dim);
	float *want = malloc(batch * dim * 4 + 1);

	first[0] = 0;
	for (size_t i = 0; i < batch; i++)
		first[i + 1] = first[i] + (uint32_t)rig_below(r, i % 4 ? 80 : 2);
	indices = rig_array(r, first[batch] * 4ul);
	for (uint32_t i = 0; i < first[batch]; i++)
		indices[i] = (uint32_t)rig_below(r, rows);
	host_sls(table, dim, indices, first, batch, want);
	CU_ASSERT_EQUAL(annex_ndp_sls(r->k, table, dim, indices, first, batch, out), 0);
	CU_ASSERT_EQUAL(memcmp(out, want, batch * dim * 4), 0);
	CU_ASSERT_EQUAL(annex_ndp_sls(r->k, table, 24, indices, first, batch, out), -EINVAL);
	free(want);
}

static void gemv(struct kernels_rig *r, size_t rows)
{
	size_t columns = rig_below(r, 400);
	float *w = rig_floats(r, rows * columns), *x = rig_floats(r, columns);
	float *y = rig_floats(r, rows);
	uint16_t *w16 = rig_array(r, rows * columns * 2), *x16 = rig_array(r, columns * 2);
	double *want = malloc(rows * 8 + 1), *bound = malloc(rows * 8 + 1);

	host_gemv_f32(w, x, rows, columns, want, bound);
	CU_ASSERT_EQUAL(annex_ndp_gemv_f32(r->k, w, x, rows, columns, y), 0);
	CU_ASSERT(rig_close_to(y, want, bound, rows));
	/* Neither infinite nor NaN; subnormal numbers too. */
	for (size_t i = 0; i < rows * columns; i++)
		w16[i] &= 0xbfff;
	for (size_t i = 0; i < columns; i++)
		x16[i] &= 0xbfff;
	host_gemv_f16(w16, x16, rows, columns, want, bound);
	CU_ASSERT_EQUAL(annex_ndp_gemv_f16(r->k, w16, x16, rows, columns, y), 0);
	CU_ASSERT(rig_close_to(y, want, bound, rows));
	free(want);
	free(bound);
}

static void softmax(struct kernels_rig *r, size_t columns)
{
	size_t rows = rig_below(r, 100), n = rows * columns;
	float *in = rig_floats(r, n), *out = rig_floats(r, n);
	double *want = malloc(n * 8 + 1), *bound = malloc(n * 8 + 1);

	for (size_t i = 0; i < n; i++)
		in[i] *= i % 3 ? 10 : 200;
	for (size_t i = 0; n && i < n / 50 * 50; i += 50)
		in[i] = -INFINITY;
	if (columns <= 1)
		memset(in, 0, n * 4);
	host_softmax(in, columns ? rows : 0, columns, want);
	for (size_t i = 0; i < n; i++)
		bound[i] = want[i] * 0x1p-16 + 0x1p-126;
	CU_ASSERT_EQUAL(annex_ndp_softmax(r->k, in, rows, columns, out), 0);
	CU_ASSERT(rig_close_to(out, want, bound, n));
	CU_ASSERT_EQUAL(annex_ndp_softmax(r->k, in, rows, columns, in), 0);
	CU_ASSERT_EQUAL(memcmp(in, out, n * 4), 0);
	free(want);
	free(bound);
}

static void layer_norm(struct kernels_rig *r, size_t columns)
{
	size_t rows = rig_below(r, 100), n = rows * columns;
	float *in = rig_floats(r, n), *out = rig_floats(r, n);
	float *gamma = rig_floats(r, columns), *beta = rig_floats(r, columns);
	double *want = malloc(n * 8 + 1), *bound = malloc(n * 8 + 1);

	for (size_t i = 0; i < n; i++) {
		in[i] = in[i] * 3 + 1;
		bound[i] = 1e-4;
	}
	host_layer_norm(in, rows, columns, gamma, beta, 1e-2f, want);
	CU_ASSERT_EQUAL(annex_ndp_layer_norm(r->k, in, rows, columns, gamma, beta, 1e-2f, out), 0);
	CU_ASSERT(rig_close_to(out, want, bound, n));
	free(want);
	free(bound);
}

static void what_is_no_number(struct kernels_rig *r)
{
	float *in = rig_floats(r, 300), *out = rig_floats(r, 300);

	for (unsigned int i = 0; i < 100; i++)
		in[100 + i] = -INFINITY;
	in[250] = NAN;
	CU_ASSERT_EQUAL(annex_ndp_softmax(r->k, in, 3, 100, out), 0);
	for (unsigned int i = 0; i < 300; i++)
		CU_ASSERT_EQUAL(isnan(out[i]) != 0, i >= 100);
}

static void on_models(struct kernels_rig *r)
{
	rig_sizes(r, 300, sls);
	rig_sizes(r, 1000, gemv);
	rig_sizes(r, 3000, softmax);
	rig_sizes(r, 3000, layer_norm);
	what_is_no_number(r);
}

static void models(void)
{
	rig_devices("models", on_models);
}

UNIT_SUITE(kernels_model, {"as on the host", models})
