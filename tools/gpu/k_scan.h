/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of columns over the rows whose other column passes a condition (BaM section 5.3). Warps read
 * the lines of the condition's column; a lane whose row passes reads its elements of the others.
 */
#ifndef TOOLS_GPU_K_SCAN_H
#define TOOLS_GPU_K_SCAN_H

#include "args.h"
#include "k_lines.h"

/* Whether element @e of the condition's column is in the range. NaN is in none. */
static inline ANNEX_HD bool gpu_scan_in(const struct gpu_args_scan *a, const void *data, uint64_t e)
{
	double f;
	int64_t i;
	uint64_t u;

	switch (a->type[0]) {
	case GPU_F64:
	case GPU_F32:
		f = a->type[0] == GPU_F64 ? ((const double *)data)[e] : ((const float *)data)[e];
		return f >= a->low.f && f <= a->high.f;
	case GPU_I64:
	case GPU_I32:
		i = a->type[0] == GPU_I64 ? ((const int64_t *)data)[e] : ((const int32_t *)data)[e];
		return i >= a->low.i && i <= a->high.i;
	default:
		u = a->type[0] == GPU_U64 ? ((const uint64_t *)data)[e]
					  : ((const uint32_t *)data)[e];
		return u >= a->low.u && u <= a->high.u;
	}
}

/* Add an element. An integer is high * 2^32 + low, so no sum of 2^31 elements overflows. */
static inline ANNEX_HD void gpu_scan_add(uint32_t type, const void *element, struct gpu_sum *sum)
{
	int64_t i = 0;

	if (type == GPU_F64) {
		sum->f += *(const double *)element;
	} else if (type == GPU_F32) {
		sum->f += *(const float *)element;
	} else if (type == GPU_U64) {
		sum->low += *(const uint64_t *)element & 0xffffffff;
		sum->high += (int64_t)(*(const uint64_t *)element >> 32);
	} else {
		if (type == GPU_I64)
			i = *(const int64_t *)element;
		else if (type == GPU_I32)
			i = *(const int32_t *)element;
		else
			i = *(const uint32_t *)element;
		sum->low += (uint64_t)i & 0xffffffff;
		sum->high += i >> 32;
	}
}

static inline ANNEX_HD int gpu_scan_row(const struct gpu_args_scan *a, uint64_t row,
					struct gpu_sum *sum)
{
	for (uint32_t c = 1; c < a->columns; c++) {
		uint64_t element = 0;
		int err = annex_gpu_get(&a->column[c], row, &element);

		if (err)
			return err;
		gpu_scan_add(a->type[c], &element, &sum[c]);
	}
	return 0;
}

/* Rows from @i on in one line, at most @left, *@n of them. */
static inline ANNEX_HD int gpu_scan_line(const struct gpu_args_scan *a, uint64_t i, uint64_t left,
					 struct gpu_sum *sum, uint64_t *n, uint64_t *passed)
{
	struct annex_gpu_span span;
	int err = gpu_span_all(&a->column[0], i, left, 0, &span);

	if (err)
		return err;
	for (uint64_t e = annex_lane(); e < span.count; e += ANNEX_WARP_LANES) {
		if ((!a->none && gpu_scan_in(a, span.data, e)) == a->negate)
			continue;
		++*passed;
		if (!err)
			err = gpu_scan_row(a, i + e, sum);
	}
	*n = span.count;
	annex_gpu_span_end(&a->column[0], &span);
	/* The context of the column has the error. */
	return annex_warp_ballot(GPU_WARP_ALL, err != 0) ? -EIO : 0;
}

static inline ANNEX_HD void gpu_body_scan(const struct gpu_args_scan *a, struct gpu_thread t)
{
	struct gpu_stride s = gpu_stride_of(&a->column[0], t, 0, a->column[0].count);
	struct gpu_sum *sum = &a->sum[t.id * a->columns];
	uint64_t passed = 0, n = 0;
	int err = 0;

	while (!err && s.line < s.end) {
		uint64_t mine = s.line + annex_lane() * s.step;

		annex_warp_sync(GPU_WARP_ALL);
		/* A hint: the span brings lines that it does not bring. */
		if (mine < s.end)
			annex_gpu_prefetch(&a->column[0], mine * s.per_line);
		for (uint32_t k = 0; !err && k < GPU_AHEAD && s.line < s.end; k++) {
			uint64_t i = s.line * s.per_line, end = i + s.per_line;

			/* Two lines of the data, if the first element is not at a line's start. */
			end = end < a->column[0].count ? end : a->column[0].count;
			for (; !err && i < end; i += n)
				err = gpu_scan_line(a, i, end - i, sum, &n, &passed);
			s.line += s.step;
		}
	}
	gpu_report(a->r, 0, 0, passed);
}

#endif
