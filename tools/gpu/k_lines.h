/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels on arrays: lines written, read and checked by warps, elements gathered by lanes.
 */
#ifndef TOOLS_GPU_K_LINES_H
#define TOOLS_GPU_K_LINES_H

#include "args.h"

#define GPU_AHEAD 32u /* lines that a warp has read ahead: one a lane */

/* Two doublewords, loaded at once. */
struct gpu_pair {
	uint64_t v[2];
} __attribute__((aligned(16)));

/* Warps take the lines of an array in turns. */
struct gpu_stride {
	uint64_t per_line;
	uint64_t line; /* the first */
	uint64_t step;
	uint64_t end;
};

static inline ANNEX_HD struct gpu_stride
gpu_stride_of(const struct annex_gpu_array *a, struct gpu_thread t, uint64_t first, uint64_t count)
{
	struct gpu_stride s;

	s.per_line = (uint64_t)1 << (a->line_shift - a->elem_shift);
	s.line = first / s.per_line + t.id / ANNEX_WARP_LANES;
	s.step = t.count / ANNEX_WARP_LANES;
	s.end = (first + count + s.per_line - 1) / s.per_line;
	return s;
}

/* The sum of a thread into the result; device scope: the host reads it when the kernel is over. */
static inline ANNEX_HD void gpu_report(struct gpu_result *r, uint64_t sum, uint64_t wrong,
				       uint64_t done)
{
	if (sum)
		annex_local_add(&r->sum, sum, ANNEX_RELAXED);
	if (wrong)
		annex_local_add(&r->wrong, wrong, ANNEX_RELAXED);
	if (done)
		annex_local_add(&r->done, done, ANNEX_RELAXED);
}

/* A span for all lanes of a warp, which ask for the same: all have it, or none. */
static inline ANNEX_HD int gpu_span_all(const struct annex_gpu_array *a, uint64_t i, uint64_t max,
					uint32_t flags, struct annex_gpu_span *span)
{
	return annex_gpu_span(a, GPU_WARP_ALL, i, max, flags, span);
}

static inline ANNEX_HD void gpu_body_fill(const struct gpu_args_lines *a, struct gpu_thread t)
{
	struct gpu_stride s = gpu_stride_of(&a->a, t, 0, a->a.count);

	for (uint64_t line = s.line; line < s.end; line += s.step) {
		uint64_t i = line * s.per_line;
		struct annex_gpu_span span;

		if (gpu_span_all(&a->a, i, 0, ANNEX_PIN_WRITE | ANNEX_PIN_NEW, &span))
			return;
		for (uint64_t k = annex_lane(); k < span.count; k += ANNEX_WARP_LANES)
			((uint64_t *)span.data)[k] = gpu_pattern(a->seed, i + k);
		annex_gpu_span_end(&a->a, &span);
	}
}

/* Words of a line that differ from the written ones. */
static inline ANNEX_HD int gpu_check_line(const struct gpu_args_lines *a, uint64_t i,
					  uint64_t *wrong)
{
	struct annex_gpu_span span;
	int err;

	err = gpu_span_all(&a->a, i, 0, 0, &span);
	if (err)
		return err;
	for (uint64_t k = annex_lane(); k < span.count; k += ANNEX_WARP_LANES)
		*wrong += ((const uint64_t *)span.data)[k] != gpu_pattern(a->seed, i + k);
	annex_gpu_span_end(&a->a, &span);
	return 0;
}

/* Lines that are not there: each lane begins the read of another one, then all look at each. */
static inline ANNEX_HD void gpu_body_check(const struct gpu_args_lines *a, struct gpu_thread t)
{
	struct gpu_stride s = gpu_stride_of(&a->a, t, a->first, a->count);
	uint64_t wrong = 0, done = 0;
	int err = 0;

	while (!err && s.line < s.end) {
		uint64_t mine = s.line + annex_lane() * s.step;

		annex_warp_sync(GPU_WARP_ALL);
		/* A hint: the span brings lines that it does not bring. */
		if (mine < s.end)
			annex_gpu_prefetch(&a->a, mine * s.per_line);
		for (uint32_t k = 0; !err && k < GPU_AHEAD && s.line < s.end; k++) {
			err = gpu_check_line(a, s.line * s.per_line, &wrong);
			s.line += s.step;
			done += !err && !annex_lane();
		}
	}
	gpu_report(a->r, 0, wrong, done);
}

/* Lane L of a line's reader takes pairs L, L + 32 ..., four of them at a time: all coalesced. */
static inline ANNEX_HD uint64_t gpu_sum_pairs(const struct gpu_pair *p, uint64_t pairs)
{
	uint64_t sum = 0, k = annex_lane();

	for (; k + 3 * ANNEX_WARP_LANES < pairs; k += 4 * ANNEX_WARP_LANES) {
		struct gpu_pair w = p[k], x = p[k + ANNEX_WARP_LANES];
		struct gpu_pair y = p[k + 2 * ANNEX_WARP_LANES], z = p[k + 3 * ANNEX_WARP_LANES];

		sum += w.v[0] + w.v[1] + x.v[0] + x.v[1];
		sum += y.v[0] + y.v[1] + z.v[0] + z.v[1];
	}
	for (; k < pairs; k += ANNEX_WARP_LANES)
		sum += p[k].v[0] + p[k].v[1];
	return sum;
}

static inline ANNEX_HD void gpu_body_sum(const struct gpu_args_lines *a, struct gpu_thread t)
{
	struct gpu_stride s = gpu_stride_of(&a->a, t, a->first, a->count);
	uint64_t sum = 0;

	for (; s.line < s.end; s.line += s.step) {
		struct annex_gpu_span span;

		if (gpu_span_all(&a->a, s.line * s.per_line, 0, 0, &span))
			break;
		sum += gpu_sum_pairs((const struct gpu_pair *)span.data, span.count / 2);
		annex_gpu_span_end(&a->a, &span);
	}
	gpu_report(a->r, sum, 0, 0);
}

static inline ANNEX_HD void gpu_body_indices(const struct gpu_args_gather *a, struct gpu_thread t)
{
	for (uint64_t k = t.id; k < a->n; k += t.count)
		a->idx[k] = gpu_pattern(~a->seed, k) % a->span;
}

static inline ANNEX_HD void gpu_body_gather(const struct gpu_args_gather *a, struct gpu_thread t)
{
	for (uint64_t k = t.id; k < a->n; k += t.count)
		if (annex_gpu_get(&a->a, a->idx[k], &a->out[k]))
			return;
}

static inline ANNEX_HD void gpu_body_plain_gather(const struct gpu_args_gather *a,
						  struct gpu_thread t)
{
	for (uint64_t k = t.id; k < a->n; k += t.count)
		a->out[k] = a->mem[a->idx[k]];
}

static inline ANNEX_HD void gpu_body_picked(const struct gpu_args_gather *a, struct gpu_thread t)
{
	uint64_t wrong = 0;

	for (uint64_t k = t.id; k < a->n; k += t.count)
		wrong += a->out[k] != gpu_pattern(a->seed, a->idx[k]);
	gpu_report(a->r, 0, wrong, 0);
}

static inline ANNEX_HD void gpu_body_plain_fill(const struct gpu_args_plain *a, struct gpu_thread t)
{
	for (uint64_t i = t.id; i < a->count; i += t.count)
		a->to[i] = gpu_pattern(a->seed, i);
}

static inline ANNEX_HD void gpu_body_plain_copy(const struct gpu_args_plain *a, struct gpu_thread t)
{
	const struct gpu_pair *from = (const struct gpu_pair *)(const void *)a->from;
	struct gpu_pair *to = (struct gpu_pair *)(void *)a->to;
	uint64_t pairs = a->count / 2, k = t.id;

	for (; k + 3 * t.count < pairs; k += 4 * t.count) {
		struct gpu_pair w = from[k], x = from[k + t.count];
		struct gpu_pair y = from[k + 2 * t.count], z = from[k + 3 * t.count];

		to[k] = w;
		to[k + t.count] = x;
		to[k + 2 * t.count] = y;
		to[k + 3 * t.count] = z;
	}
	for (; k < pairs; k += t.count)
		to[k] = from[k];
}

#define GPU_PLAIN_LINE 512u /* doublewords that a warp reads in one piece, as in sum */

static inline ANNEX_HD void gpu_body_plain_sum(const struct gpu_args_plain *a, struct gpu_thread t)
{
	uint64_t sum = 0, step = t.count / ANNEX_WARP_LANES * GPU_PLAIN_LINE;

	for (uint64_t i = t.id / ANNEX_WARP_LANES * GPU_PLAIN_LINE; i < a->count; i += step) {
		uint64_t n = a->count - i < GPU_PLAIN_LINE ? a->count - i : GPU_PLAIN_LINE;

		sum += gpu_sum_pairs((const struct gpu_pair *)(const void *)&a->from[i], n / 2);
	}
	gpu_report(a->r, sum, 0, 0);
}

static inline ANNEX_HD void gpu_body_upload(const struct gpu_args_upload *a, struct gpu_thread t)
{
	struct gpu_stride s = gpu_stride_of(&a->a, t, a->first, a->count);

	for (; s.line < s.end; s.line += s.step) {
		uint64_t i = s.line * s.per_line;
		struct annex_gpu_span span;

		if (gpu_span_all(&a->a, i, 0, ANNEX_PIN_WRITE | ANNEX_PIN_NEW, &span))
			return;
		for (uint64_t k = annex_lane(); k < span.count; k += ANNEX_WARP_LANES)
			((uint64_t *)span.data)[k] = a->from[i - a->first + k];
		annex_gpu_span_end(&a->a, &span);
	}
}

#endif
