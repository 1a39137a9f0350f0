// SPDX-License-Identifier: MIT
/*
 * Near-data filters and bitmaps give what the host gives, bit for bit.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "kernels_rig.h"
#include "tests/unit/unit.h"

static void range_i32(struct kernels_rig *r, const int32_t *column, size_t n, int32_t lo,
		      int32_t hi)
{
	size_t bytes = ANNEX_NDP_BITMAP(n);
	uint8_t *got = rig_array(r, bytes), *want = malloc(bytes + 1);

	host_filter_i32(column, n, lo, hi, want);
	CU_ASSERT_EQUAL(annex_ndp_filter_i32(r->k, column, n, lo, hi, got), 0);
	CU_ASSERT_EQUAL(memcmp(got, want, bytes), 0);
	host_filter_date(column, n, lo, hi, want);
	CU_ASSERT_EQUAL(annex_ndp_filter_date(r->k, column, n, lo, hi, got), 0);
	CU_ASSERT_EQUAL(memcmp(got, want, bytes), 0);
	free(want);
}

static void integers(struct kernels_rig *r, size_t n)
{
	int32_t *column = rig_array(r, n * 4);

	for (size_t i = 0; i < n; i += 2)
		column[i] = (int32_t)rig_below(r, 64) - 32;
	range_i32(r, column, n, -5, 17);
	range_i32(r, column, n, 3, 3);
	range_i32(r, column, n, 4, 3);
	range_i32(r, column, n, INT32_MIN, INT32_MAX);
	range_i32(r, column, n, INT32_MIN, -1);
	range_i32(r, column, n, 0, INT32_MAX);
}

static void range_i64(struct kernels_rig *r, const int64_t *column, size_t n, int64_t lo,
		      int64_t hi)
{
	size_t bytes = ANNEX_NDP_BITMAP(n);
	uint8_t *got = rig_array(r, bytes), *want = malloc(bytes + 1);

	host_filter_decimal(column, n, lo, hi, want);
	CU_ASSERT_EQUAL(annex_ndp_filter_decimal(r->k, column, n, lo, hi, got), 0);
	CU_ASSERT_EQUAL(memcmp(got, want, bytes), 0);
	free(want);
}

static void decimals(struct kernels_rig *r, size_t n)
{
	int64_t *column = rig_array(r, n * 8);

	for (size_t i = 0; i < n; i += 2)
		column[i] = (int64_t)rig_below(r, 64) - 32;
	range_i64(r, column, n, -5, 17);
	range_i64(r, column, n, 5, -17);
	range_i64(r, column, n, INT64_MIN, INT64_MAX);
	range_i64(r, column, n, INT64_MIN, -1000000000000);
}

static void prefixes(struct kernels_rig *r, size_t n)
{
	size_t width = rig_below(r, 70) + 1, bytes = ANNEX_NDP_BITMAP(n);
	size_t most = width < ANNEX_NDP_PREFIX ? width : ANNEX_NDP_PREFIX;
	size_t length = rig_below(r, most + 1);
	char *column = rig_array(r, n * width), prefix[ANNEX_NDP_PREFIX];
	uint8_t *got = rig_array(r, bytes), *want = malloc(bytes + 1);

	memset(prefix, 'p', sizeof(prefix));
	/* They differ late, or not. */
	for (size_t i = 0; i < n; i++) {
		memset(column + i * width, 'p', width);
		column[i * width + rig_below(r, width)] = (char)('p' + rig_below(r, 3));
	}
	host_filter_prefix(column, width, n, prefix, length, want);
	CU_ASSERT_EQUAL(annex_ndp_filter_prefix(r->k, column, width, n, prefix, length, got), 0);
	CU_ASSERT_EQUAL(memcmp(got, want, bytes), 0);
	CU_ASSERT_EQUAL(annex_ndp_filter_prefix(r->k, column, width, n, prefix, width + 1, got),
			-EINVAL);
	CU_ASSERT_EQUAL(annex_ndp_filter_prefix(r->k, column, 100, n, prefix, 57, got), -EINVAL);
	free(want);
}

static void bitmaps(struct kernels_rig *r, size_t n)
{
	size_t bytes = ANNEX_NDP_BITMAP(n), wrong = 0;
	uint8_t *a = rig_array(r, bytes), *b = rig_array(r, bytes), *c = rig_array(r, bytes);

	CU_ASSERT_EQUAL(annex_ndp_bitmap_and(r->k, a, b, c, n), 0);
	for (size_t i = 0; i < bytes; i++)
		wrong += c[i] != (a[i] & b[i]);
	CU_ASSERT_EQUAL(annex_ndp_bitmap_or(r->k, c, b, c, n), 0);
	for (size_t i = 0; i < bytes; i++)
		wrong += c[i] != b[i];
	CU_ASSERT_EQUAL(wrong, 0);
}

static void on_columns(struct kernels_rig *r)
{
	rig_sizes(r, 200000, integers);
	rig_sizes(r, 200000, decimals);
	rig_sizes(r, 30000, prefixes);
	rig_sizes(r, 1000000, bitmaps);
}

static void columns(void)
{
	rig_devices("columns", on_columns);
}

UNIT_SUITE(kernels_column, {"as on the host", columns})
