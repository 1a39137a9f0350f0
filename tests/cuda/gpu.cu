// SPDX-License-Identifier: MIT
/*
 * All that device code can call of annex/gpu.h, as kernels: each thread has its own element.
 */
#include <annex/gpu.hpp>
#include "dialect.h"

__global__ void double_all(struct annex_gpu_array a, int *errs)
{
	unsigned int i = thread_index();
	uint64_t value = 0;

	errs[i] = annex_gpu_get(&a, i, &value);
	value *= 2;
	if (!errs[i])
		errs[i] = annex_gpu_set(&a, i, &value);
}

__global__ void count_all(struct annex_gpu_array counts32, struct annex_gpu_array counts64,
			  int *errs)
{
	unsigned int i = thread_index();
	uint32_t old32;

	errs[i] = annex_gpu_add32(&counts32, i % counts32.count, 1, &old32);
	if (!errs[i])
		errs[i] = annex_gpu_add64(&counts64, old32 % counts64.count, 1, nullptr);
}

__global__ void add_all(annex::gpu_array<float> a, annex::gpu_array<float> b,
			annex::gpu_array<uint32_t> done)
{
	unsigned int i = thread_index();

	b[i] = a[i] + b[i];
	a[i] = b[i];
	done[0] += 1u;
}

/* A warp takes a line at a time. */
__global__ void add_spans(struct annex_gpu_array a, struct annex_gpu_array b, uint64_t per_line,
			  int *errs)
{
	unsigned int t = thread_index();
	uint64_t first = t / ANNEX_WARP_LANES * per_line;
	struct annex_gpu_span from, to;
	int err;

	err = annex_gpu_prefetch(&a, first + per_line);
	if (!err)
		err = annex_gpu_span(&a, UINT32_MAX, first, 0, 0, &from);
	if (!err) {
		err = annex_gpu_span(&b, UINT32_MAX, first, 0, ANNEX_PIN_NEW, &to);
		for (uint64_t i = annex_lane(); !err && i < to.count; i += ANNEX_WARP_LANES)
			((float *)to.data)[i] = ((float *)from.data)[i] + 1;
		annex_gpu_span_end(&b, &to);
		annex_gpu_span_end(&a, &from);
	}
	if (err == -ERANGE)
		annex_gpu_fail(a.cache, err, UINT64_MAX);
	errs[t] = annex_gpu_failed(a.cache);
}

__global__ void read_early(struct annex_gpu_array a, uint64_t *out, int *errs)
{
	unsigned int i = thread_index();
	struct annex_gpu_ticket one, two;

	errs[i] = annex_gpu_start(&a, 2 * i, &one);
	if (!errs[i])
		errs[i] = annex_gpu_start(&a, 2 * i + 1, &two);
	if (!errs[i])
		errs[i] = annex_gpu_finish(&a, &one, &out[2 * i]);
	if (!errs[i])
		errs[i] = annex_gpu_finish(&a, &two, &out[2 * i + 1]);
}

__global__ void flush_all(struct annex_gpu_cache *c, unsigned int threads, int *errs)
{
	unsigned int t = thread_index();

	errs[t] = 0;
	for (uint32_t slot = t; slot < c->nslots && !errs[t]; slot += threads)
		errs[t] = annex_gpu_flush_slot(c, slot, 0, c->nlines);
}
