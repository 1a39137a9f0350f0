// SPDX-License-Identifier: MIT
/*
 * Arrays: sum of two, memset, copy, sum, histogram.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "kernels.h"

static int add(struct annex_kernels *k, enum k_kernel kernel, const void *a, const void *b, void *c,
	       size_t n)
{
	const uint64_t args[] = {k_at(a), k_at(b), k_at(c), n, k->piece};
	int err = k_aligned(c, "a sum");

	if (!err)
		err = k_flush(k, a, n * 4);
	if (!err)
		err = k_flush(k, b, n * 4);
	if (!err)
		err = k_flush(k, c, n * 4);
	return err ? err : k_run(k, kernel, c, k_parts(n, k->piece), args, sizeof(args));
}

int annex_ndp_add_i32(struct annex_kernels *k, const int32_t *a, const int32_t *b, int32_t *c,
		      size_t n)
{
	return add(k, K_vadd_i32, a, b, c, n);
}

int annex_ndp_add_f32(struct annex_kernels *k, const float *a, const float *b, float *c, size_t n)
{
	return add(k, K_vadd_f32, a, b, c, n);
}

int annex_ndp_memset(struct annex_kernels *k, void *to, int value, size_t bytes)
{
	const struct {
		struct k_shared shared;
		uint64_t value;
	} args = {k_share(k, to, bytes, 1, bytes), (uint8_t)value};
	int err = k_aligned(to, "the destination");

	if (!err)
		err = k_flush(k, to, bytes);
	return err ? err : k_run(k, K_memset, to, args.shared.threads, &args, sizeof(args));
}

int annex_ndp_copy(struct annex_kernels *k, void *to, const void *from, size_t bytes)
{
	const struct {
		struct k_shared shared;
		uint64_t to;
	} args = {k_share(k, from, bytes, 1, bytes), k_at(to)};
	int err = k_aligned(to, "a copy");

	if (!err)
		err = k_flush(k, from, bytes);
	if (!err)
		err = k_flush(k, to, bytes);
	return err ? err : k_run(k, K_copy, to, args.shared.threads, &args, sizeof(args));
}

/* Allocate @bytes of zeroes for results, in memory of host and device. */
static int place(struct annex_kernels *k, size_t bytes, void **out)
{
	int err = annex_hdm_alloc(k->hdm, bytes, 0, NULL, out);

	if (err)
		return err;
	memset(*out, 0, bytes);
	err = k_flush(k, *out, bytes);
	if (err)
		annex_hdm_free(k->hdm, *out);
	return err;
}

static int sum(struct annex_kernels *k, enum k_kernel kernel, const void *data, size_t n,
	       size_t size, int64_t *out)
{
	struct {
		struct k_shared shared;
		uint64_t result;
	} args = {.shared = k_share(k, data, n, (unsigned int)size, n * size)};
	void *result;
	int err = k_aligned(data, "summands");

	if (!err)
		err = k_flush(k, data, n * size);
	if (!err)
		err = place(k, sizeof(*out), &result);
	if (err)
		return err;
	args.result = k_at(result);
	err = k_run(k, kernel, data, args.shared.threads, &args, sizeof(args));
	if (!err)
		memcpy(out, result, sizeof(*out));
	annex_hdm_free(k->hdm, result);
	return err;
}

int annex_ndp_sum_i32(struct annex_kernels *k, const int32_t *data, size_t n, int64_t *out)
{
	return sum(k, K_sum_i32, data, n, sizeof(*data), out);
}

int annex_ndp_sum_i64(struct annex_kernels *k, const int64_t *data, size_t n, int64_t *out)
{
	return sum(k, K_sum_i64, data, n, sizeof(*data), out);
}

int annex_ndp_sum_f32(struct annex_kernels *k, const float *data, size_t n, double *out)
{
	struct {
		struct k_shared shared;
		uint64_t sums, result;
	} args = {.shared = k_share(k, data, n, sizeof(*data), n * sizeof(*data))};
	void *sums;
	int err = k_aligned(data, "summands");

	if (!err)
		err = k_flush(k, data, n * sizeof(*data));
	if (!err)
		err = place(k, (args.shared.threads + 1) * sizeof(double), &sums);
	if (err)
		return err;
	args.sums = k_at(sums);
	args.result = args.sums + args.shared.threads * sizeof(double);
	err = k_run(k, K_sum_f32, data, args.shared.threads, &args, sizeof(args));
	if (!err)
		memcpy(out, (double *)sums + args.shared.threads, sizeof(*out));
	annex_hdm_free(k->hdm, sums);
	return err;
}

int annex_ndp_histogram_i32(struct annex_kernels *k, const int32_t *data, size_t n, int32_t low,
			    unsigned int shift, size_t bins, uint64_t *counts)
{
	struct {
		struct k_shared shared;
		uint64_t low, shift, bins, counts;
	} args = {.shared = k_share(k, data, n, sizeof(*data), n * sizeof(*data)),
		  .low = (uint64_t)(int64_t)low,
		  .shift = shift,
		  .bins = bins};
	void *found;
	int err = k_aligned(data, "values");

	if (err)
		return err;
	if (n > UINT32_MAX || !bins || bins > ANNEX_NDP_BINS || shift > 31 ||
	    (uint64_t)bins << shift > 1ull << 32)
		return annex_fail(-EINVAL, "histogram: %zu values in %zu bins of 2^%u", n, bins,
				  shift);
	err = k_flush(k, data, n * sizeof(*data));
	if (!err)
		err = place(k, bins * sizeof(*counts), &found);
	if (err)
		return err;
	args.counts = k_at(found);
	err = k_run(k, K_histogram, data, args.shared.threads, &args, sizeof(args));
	if (!err)
		memcpy(counts, found, bins * sizeof(*counts));
	annex_hdm_free(k->hdm, found);
	return err;
}
