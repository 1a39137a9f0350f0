// SPDX-License-Identifier: MIT
/*
 * Near-data kernels on arrays give what the host gives.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels_rig.h"
#include "tests/unit/unit.h"

static void add(struct kernels_rig *r, size_t n)
{
	int32_t *a = rig_array(r, n * 4), *b = rig_array(r, n * 4), *c = rig_array(r, n * 4);
	int32_t *want = malloc(n * 4 + 1);
	float *fa = rig_floats(r, n), *fb = rig_floats(r, n), *fc = rig_array(r, n * 4);

	host_add_i32(a, b, want, n);
	CU_ASSERT_EQUAL(annex_ndp_add_i32(r->k, a, b, c, n), 0);
	CU_ASSERT_EQUAL(memcmp(c, want, n * 4), 0);
	CU_ASSERT_EQUAL(annex_ndp_add_i32(r->k, a, b, a, n), 0);
	CU_ASSERT_EQUAL(memcmp(a, want, n * 4), 0);
	host_add_f32(fa, fb, (float *)want, n);
	CU_ASSERT_EQUAL(annex_ndp_add_f32(r->k, fa, fb, fc, n), 0);
	CU_ASSERT_EQUAL(memcmp(fc, want, n * 4), 0);
	free(want);
}

static void fill_and_copy(struct kernels_rig *r, size_t n)
{
	unsigned char *a = rig_array(r, n), *b = rig_array(r, n + 3);
	size_t wrong = 0;

	CU_ASSERT_EQUAL(annex_ndp_memset(r->k, a, 0x1c3, n), 0);
	for (size_t i = 0; i < n; i++)
		wrong += a[i] != 0xc3;
	CU_ASSERT_EQUAL(wrong, 0);
	/* Copies may have any alignment. */
	CU_ASSERT_EQUAL(annex_ndp_copy(r->k, a, b + 3, n), 0);
	CU_ASSERT_EQUAL(memcmp(a, b + 3, n), 0);
}

static void sum(struct kernels_rig *r, size_t n)
{
	int32_t *a = rig_array(r, n * 4);
	int64_t *b = rig_array(r, n * 8), got = -1;
	float *c = rig_floats(r, n);
	double sum_f = -1, again = -2, bound, want;

	CU_ASSERT_EQUAL(annex_ndp_sum_i32(r->k, a, n, &got), 0);
	CU_ASSERT_EQUAL(got, host_sum_i32(a, n));
	CU_ASSERT_EQUAL(annex_ndp_sum_i64(r->k, b, n, &got), 0);
	CU_ASSERT_EQUAL(got, host_sum_i64(b, n));
	want = host_sum_f32(c, n, &bound);
	CU_ASSERT_EQUAL(annex_ndp_sum_f32(r->k, c, n, &sum_f), 0);
	CU_ASSERT(fabs(sum_f - want) <= bound);
	CU_ASSERT_EQUAL(annex_ndp_sum_f32(r->k, c, n, &again), 0);
	CU_ASSERT_DOUBLE_EQUAL(sum_f, again, 0);
}

static void count(struct kernels_rig *r, size_t n, int32_t low, unsigned int shift, size_t bins)
{
	static uint64_t got[ANNEX_NDP_BINS], want[ANNEX_NDP_BINS];
	int32_t *a = rig_array(r, n * 4);

	/* Half of them near by. */
	for (size_t i = 0; i < n; i += 2)
		a[i] = (int32_t)rig_below(r, 1024) - 100;
	host_histogram(a, n, low, shift, bins, want);
	CU_ASSERT_EQUAL(annex_ndp_histogram_i32(r->k, a, n, low, shift, bins, got), 0);
	CU_ASSERT_EQUAL(memcmp(got, want, bins * sizeof(*got)), 0);
}

static void histogram(struct kernels_rig *r, size_t n)
{
	count(r, n, INT32_MIN, 24, 256);
	count(r, n, -100, 0, ANNEX_NDP_BINS);
	count(r, n, 17, (unsigned int)rig_below(r, 20), rig_below(r, ANNEX_NDP_BINS) + 1);
}

static void on_arrays(struct kernels_rig *r)
{
	rig_sizes(r, 100000, add);
	rig_sizes(r, 500000, fill_and_copy);
	rig_sizes(r, 300000, sum);
	rig_sizes(r, 50000, histogram);
}

static void arrays(void)
{
	rig_devices("arrays", on_arrays);
}

static void what_is_refused(void)
{
	struct kernels_rig r;
	uint64_t counts[1] = {0};
	int32_t *a;

	kernels_rig_open(&r, NULL, "refused");
	a = rig_array(&r, 4096);
	CU_ASSERT_EQUAL(annex_ndp_add_i32(r.k, a, a, a + 1, 8), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_memset(r.k, (char *)a + 32, 0, 8), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_histogram_i32(r.k, a, 8, 0, 0, 0, counts), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_histogram_i32(r.k, a, 8, 0, 0, ANNEX_NDP_BINS + 1, counts),
			-EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_histogram_i32(r.k, a, 8, 0, 31, 3, counts), -EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_histogram_i32(r.k, a, 8, 0, 32, 1, counts), -EINVAL);
	if (r.m2) {
		/* Memory that the device was not given. */
		static int32_t elsewhere[1024] __attribute__((aligned(64)));

		CU_ASSERT_EQUAL(annex_ndp_add_i32(r.k, a, a, elsewhere, 1024), -EFAULT);
		CU_ASSERT_EQUAL(annex_ndp_add_i32(r.k, elsewhere, a, a, 1024), -EFAULT);
		CU_ASSERT(strlen(annex_last_error()) > 0);
		CU_ASSERT_EQUAL(annex_ndp_add_i32(r.k, a, a, a, 1024), 0);
	}
	kernels_rig_close(&r);
}

UNIT_SUITE(kernels_array, {"as on the host", arrays}, {"refusals", what_is_refused})
