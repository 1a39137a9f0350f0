/* SPDX-License-Identifier: MIT */
/*
 * annex/gpu.h for kernels whose data is all in GPU memory: the same kernels compile without the
 * library, and the difference is the library's cost (figure 13 of BaM).
 */
#ifndef ANNEX_GPU_H
#define ANNEX_GPU_H

#include <annex/detail/clock.h>
#include <annex/detail/line.h>
#include <annex/queue.h>
#include <annex/warp.h>

struct annex_gpu_cache {
	int error;
};

struct annex_gpu_array {
	struct annex_gpu_cache *cache;
	char *mem;
	uint64_t base;
	uint64_t count;
	uint32_t elem_shift;
	uint32_t line_shift;
};

struct annex_gpu_span {
	void *data;
	uint64_t count;
};

static inline ANNEX_HD int annex_gpu_fail(struct annex_gpu_cache *c, int err, uint64_t line)
{
	(void)line;
	return c->error = err;
}

static inline ANNEX_HD char *annex_gpu_at(const struct annex_gpu_array *a, uint64_t i)
{
	return a->mem + a->base + (i << a->elem_shift);
}

static inline ANNEX_HD int annex_gpu_get(const struct annex_gpu_array *a, uint64_t i, void *out)
{
	if (i >= a->count)
		return -ERANGE;
	*(uint64_t *)out = *(const uint64_t *)(const void *)annex_gpu_at(a, i);
	return 0;
}

static inline ANNEX_HD int annex_gpu_span(const struct annex_gpu_array *a, uint32_t lanes,
					  uint64_t i, uint64_t max, uint32_t flags,
					  struct annex_gpu_span *span)
{
	uint64_t per_line = (uint64_t)1 << (a->line_shift - a->elem_shift);
	uint64_t left = per_line - i % per_line;

	(void)lanes;
	(void)flags;
	if (i >= a->count)
		return -ERANGE;
	left = left < a->count - i ? left : a->count - i;
	span->data = annex_gpu_at(a, i);
	span->count = max && max < left ? max : left;
	return 0;
}

static inline ANNEX_HD void annex_gpu_span_end(const struct annex_gpu_array *a,
					       struct annex_gpu_span *span)
{
	(void)a;
	(void)span;
}

static inline ANNEX_HD int annex_gpu_prefetch(const struct annex_gpu_array *a, uint64_t i)
{
	(void)a;
	(void)i;
	return 0;
}

#endif
