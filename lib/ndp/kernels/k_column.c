// SPDX-License-Identifier: MIT
/*
 * Columns of a table: filters, and operations on bitmaps of rows.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "kernels.h"

/* Clear the bits after the last row, which the device does not. */
static void trim(uint8_t *bitmap, size_t n)
{
	if (n % 8)
		bitmap[n / 8] &= (uint8_t)((1u << n % 8) - 1);
}

/* Run a filter. @bytes: bytes of the column. */
static int filter(struct annex_kernels *k, enum k_kernel kernel, const void *column, size_t bytes,
		  size_t n, uint8_t *bitmap, uint64_t pieces, const void *args, size_t nargs)
{
	int err = k_aligned(bitmap, "a bitmap");

	if (!err)
		err = k_flush(k, column, bytes);
	if (!err)
		err = k_flush(k, bitmap, ANNEX_NDP_BITMAP(n));
	if (!err)
		err = k_run(k, kernel, bitmap, pieces, args, nargs);
	if (!err)
		trim(bitmap, n);
	return err;
}

/* Run a filter whose pool is the bitmap, or its beginning. */
static int filter_range(struct annex_kernels *k, enum k_kernel kernel, const void *column,
			unsigned int size, size_t n, uint64_t lo, uint64_t width, uint8_t *bitmap)
{
	const struct {
		struct k_shared shared;
		uint64_t bitmap, lo, width;
	} args = {k_share(k, column, n, size, ANNEX_NDP_BITMAP(n)), k_at(bitmap), lo, width};

	return filter(k, kernel, column, n * size, n, bitmap, args.shared.threads, &args,
		      sizeof(args));
}

int annex_ndp_filter_i32(struct annex_kernels *k, const int32_t *column, size_t n, int32_t lo,
			 int32_t hi, uint8_t *bitmap)
{
	if (lo > hi)
		return annex_ndp_memset(k, bitmap, 0, ANNEX_NDP_BITMAP(n));
	return filter_range(k, K_filter_i32, column, sizeof(*column), n, (uint64_t)(int64_t)lo,
			    (uint32_t)hi - (uint32_t)lo, bitmap);
}

int annex_ndp_filter_date(struct annex_kernels *k, const int32_t *days, size_t n, int32_t from,
			  int32_t to, uint8_t *bitmap)
{
	if (from >= to)
		return annex_ndp_memset(k, bitmap, 0, ANNEX_NDP_BITMAP(n));
	return annex_ndp_filter_i32(k, days, n, from, to - 1, bitmap);
}

int annex_ndp_filter_decimal(struct annex_kernels *k, const int64_t *column, size_t n, int64_t lo,
			     int64_t hi, uint8_t *bitmap)
{
	if (lo > hi)
		return annex_ndp_memset(k, bitmap, 0, ANNEX_NDP_BITMAP(n));
	return filter_range(k, K_filter_i64, column, sizeof(*column), n, (uint64_t)lo,
			    (uint64_t)hi - (uint64_t)lo, bitmap);
}

int annex_ndp_filter_prefix(struct annex_kernels *k, const char *column, size_t width, size_t n,
			    const char *prefix, size_t length, uint8_t *bitmap)
{
	uint64_t each = 8ull * k->piece; /* rows of a piece: one per bit */
	uint64_t args[5 + ANNEX_NDP_PREFIX / 8] = {k_at(column), n, each, width, length};

	if (!width || length > width || length > ANNEX_NDP_PREFIX)
		return annex_fail(-EINVAL, "filter: a prefix of %zu in strings of %zu bytes",
				  length, width);
	memcpy(&args[5], prefix, length);
	return filter(k, K_filter_prefix, column, n * width, n, bitmap, k_parts(n, each), args,
		      sizeof(args));
}

static int combine(struct annex_kernels *k, enum k_kernel kernel, const uint8_t *a,
		   const uint8_t *b, uint8_t *c, size_t n)
{
	size_t bytes = ANNEX_NDP_BITMAP(n);
	const struct {
		struct k_shared shared;
		uint64_t b, c;
	} args = {k_share(k, a, bytes, 1, bytes), k_at(b), k_at(c)};
	int err = k_aligned(c, "a bitmap");

	if (!err)
		err = k_flush(k, a, bytes);
	if (!err)
		err = k_flush(k, b, bytes);
	if (!err)
		err = k_flush(k, c, bytes);
	return err ? err : k_run(k, kernel, c, args.shared.threads, &args, sizeof(args));
}

int annex_ndp_bitmap_and(struct annex_kernels *k, const uint8_t *a, const uint8_t *b, uint8_t *c,
			 size_t n)
{
	return combine(k, K_bitmap_and, a, b, c, n);
}

int annex_ndp_bitmap_or(struct annex_kernels *k, const uint8_t *a, const uint8_t *b, uint8_t *c,
			size_t n)
{
	return combine(k, K_bitmap_or, a, b, c, n);
}
