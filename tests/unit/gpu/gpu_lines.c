// SPDX-License-Identifier: MIT
/*
 * Lines held, read ahead, read early and collected later, written back and flushed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gpu_rig.h"
#include "tests/unit/unit.h"

#define WARPS 10u
#define LINE 4096u

struct work {
	struct gpu_rig rig;
	struct annex_gpu_array a;
	uint64_t seed;
	uint32_t flags;
	unsigned int rounds;
};

static void setup(struct work *w, const struct gpu_shape *shape, const char *test)
{
	memset(w, 0, sizeof(*w));
	gpu_rig_open(&w->rig, shape, test);
	w->a = gpu_rig_array(&w->rig, 8);
	w->seed = random_next(&w->rig.random);
	w->rounds = 12;
}

static void finish(struct work *w)
{
	gpu_rig_check(&w->rig);
	gpu_rig_close(&w->rig, 0);
}

/* A warp reads lines, all lanes together, each its share. */
static void read_spans(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t random = w->seed + thread / ANNEX_WARP_LANES;

	for (unsigned int r = 0; r < w->rounds; r++) {
		uint64_t i = random_next(&random) % w->a.count, max = random_next(&random) % 300;
		const uint64_t *expect = (const uint64_t *)(const void *)w->rig.expect + i;
		struct annex_gpu_span span;
		int err = annex_gpu_span(&w->a, UINT32_MAX, i, max, 0, &span);
		bool right = true;

		if (!err) {
			uint64_t left = LINE / 8 - i % (LINE / 8);

			left = left < w->a.count - i ? left : w->a.count - i;
			right = span.count == (max && max < left ? max : left);
			for (uint64_t k = annex_lane(); k < span.count; k += ANNEX_WARP_LANES)
				right = right && ((uint64_t *)span.data)[k] == expect[k];
			annex_gpu_span_end(&w->a, &span);
			annex_gpu_span_end(&w->a, &span); /* does nothing */
		}
		gpu_rig_note(&w->rig, err, right);
	}
}

/* Lanes hold lines each for themselves, some of which are the same. */
static void read_many_spans(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t random = w->seed + thread / 3;

	for (unsigned int r = 0; r < 4; r++) {
		uint64_t i = random_next(&random) % w->a.count;
		struct annex_gpu_span span;
		int err = annex_gpu_span(&w->a, annex_warp_active(), i, 1, 0, &span);
		bool right = err || !memcmp(span.data, w->rig.expect + i * 8, 8);

		annex_gpu_span_end(&w->a, &span);
		gpu_rig_note(&w->rig, err, right);
	}
}

static void span_test(void)
{
	static const struct gpu_shape few = {.bytes = (512 << 10) + 512, .slots = 12};
	static const struct gpu_shape direct = {.bytes = 512 << 10, .slots = 12, .direct = true};
	struct work w;

	setup(&w, &few, "spans");
	gpu_rig_run(&w.rig, WARPS, read_spans, &w);
	gpu_rig_run(&w.rig, WARPS, read_many_spans, &w);
	finish(&w);
	setup(&w, &direct, "spans");
	gpu_rig_run(&w.rig, WARPS, read_spans, &w);
	finish(&w);
}

/* Each warp changes lines of its own: all of them, or some elements. */
static void write_spans(void *arg, unsigned int thread)
{
	unsigned int warp = thread / ANNEX_WARP_LANES;
	struct work *w = arg;
	uint64_t lines = w->a.count * 8 / LINE / WARPS, random = w->seed + warp;

	for (unsigned int r = 0; r < w->rounds; r++) {
		uint64_t i = (random_next(&random) % lines * WARPS + warp) * (LINE / 8);
		uint64_t *expect = (uint64_t *)(void *)w->rig.expect + i;
		uint64_t n = w->flags & ANNEX_PIN_NEW ? LINE / 8
						      : random_next(&random) % (LINE / 8);
		uint64_t add = random_next(&random);
		struct annex_gpu_span span;
		int err = annex_gpu_span(&w->a, UINT32_MAX, i, w->flags & ANNEX_PIN_NEW ? 0 : n + 1,
					 w->flags, &span);

		if (!err) {
			for (uint64_t k = annex_lane(); k < n; k += ANNEX_WARP_LANES) {
				((uint64_t *)span.data)[k] = add + k;
				expect[k] = add + k;
			}
			annex_gpu_span_end(&w->a, &span);
		}
		gpu_rig_note(&w->rig, err, true);
	}
}

static void write_span_test(void)
{
	static const struct gpu_shape few = {.bytes = 1 << 20, .slots = 12};
	struct annex_gpu_span span;
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, &few, "write spans");
	w.flags = ANNEX_PIN_WRITE;
	gpu_rig_run(&w.rig, WARPS, write_spans, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT(s.reads > 0 && s.writes > 0 && s.evictions > 0);
	finish(&w);

	/* Lines that are overwritten are not read. */
	setup(&w, &few, "new spans");
	w.flags = ANNEX_PIN_NEW;
	gpu_rig_run(&w.rig, WARPS, write_spans, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT(s.reads == 0 && s.bytes_read == 0 && s.writes > 0);
	finish(&w);

	/* ANNEX_PIN_NEW for a part of a line leaves the rest unchanged. */
	setup(&w, &few, "part of a line");
	w.flags = ANNEX_PIN_WRITE | ANNEX_PIN_NEW;
	CU_ASSERT_EQUAL(annex_gpu_set(&w.a, 0, w.rig.expect), 0);
	CU_ASSERT_EQUAL_FATAL(annex_gpu_span(&w.a, 1, LINE / 8, 3, ANNEX_PIN_NEW, &span), 0);
	CU_ASSERT_EQUAL(memcmp(span.data, w.rig.expect + LINE, LINE), 0);
	annex_gpu_span_end(&w.a, &span);
	finish(&w);
}

/* Prefetched lines are cached, and were read once. */
static void prefetch_lines(void *arg, unsigned int thread)
{
	struct work *w = arg;

	gpu_rig_note(&w->rig, annex_gpu_prefetch(&w->a, thread % 16 * (LINE / 8) + thread), true);
}

static void read_prefetched(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t i = thread % 16 * (LINE / 8) + thread, found = 0;
	int err = annex_gpu_get(&w->a, i, &found);

	gpu_rig_note(&w->rig, err, !memcmp(&found, w->rig.expect + i * 8, 8));
}

static void prefetch_test(void)
{
	static const struct gpu_shape shape = {.bytes = 256 << 10, .slots = 32};
	static const struct gpu_shape full = {.bytes = 256 << 10, .slots = 4, .depth = 4};
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, &shape, "prefetch");
	gpu_rig_run(&w.rig, 4, prefetch_lines, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.prefetches, 16);
	CU_ASSERT_EQUAL(s.misses, 0);
	gpu_rig_run(&w.rig, 4, read_prefetched, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.reads, 16);
	finish(&w);

	/* More than there is room for: a hint does not wait, and nothing of it stays behind. */
	setup(&w, &full, "prefetch too much");
	for (unsigned int i = 0; i < 20; i++)
		gpu_rig_run(&w.rig, 2, prefetch_lines, &w);
	gpu_rig_run(&w.rig, 2, read_prefetched, &w);
	CU_ASSERT(gpu_rig_stats(&w.rig).prefetches > 0);
	finish(&w);
}

/* Reads that many threads begin early, and collect later, or never. */
#define EARLY 5u

static void read_early(void *arg, unsigned int thread)
{
	struct work *w = arg;
	struct annex_gpu_ticket t[EARLY];
	uint64_t random = w->seed + thread;

	for (unsigned int r = 0; r < 3; r++) {
		for (unsigned int k = 0; k < EARLY; k++) {
			uint64_t i = random_next(&random) % w->a.count;

			gpu_rig_note(&w->rig, annex_gpu_start(&w->a, i, &t[k]), true);
		}
		for (unsigned int k = 0; k < EARLY; k++) {
			uint64_t found = 0;
			int err = 0;

			if ((thread + k) % 7 == 0)
				continue; /* forgotten */
			err = annex_gpu_finish(&w->a, &t[k], &found);
			gpu_rig_note(&w->rig, err, !memcmp(&found, w->rig.expect + t[k].i * 8, 8));
		}
	}
}

static void ticket_test(void)
{
	static const struct gpu_shape few = {.bytes = 512 << 10, .slots = 8, .depth = 8};
	static const struct gpu_shape roomy = {.bytes = 512 << 10, .slots = 128, .depth = 256};
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, &few, "tickets");
	gpu_rig_run(&w.rig, WARPS, read_early, &w);
	finish(&w);
	/* With room for all, none is read twice, and hardly any was waited for from its
	 * beginning. */
	setup(&w, &roomy, "tickets");
	gpu_rig_run(&w.rig, WARPS, read_early, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.reads, 128);
	CU_ASSERT(s.prefetches > 64);
	finish(&w);
}

/* A flush of some lines writes these and no others, and each once. */
static void dirty_all(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t i = thread / 4 * (LINE / 8) + thread % 4 * 31, val = w->seed + thread;
	int err = annex_gpu_set(&w->a, i, &val);

	gpu_rig_note(&w->rig, err, true);
	memcpy(w->rig.expect + i * 8, &val, 8);
}

static void flush_slots(void *arg, unsigned int thread)
{
	struct work *w = arg;

	if (thread < w->rig.cache->nslots)
		gpu_rig_note(&w->rig, annex_gpu_flush_slot(w->rig.cache, thread, 3, 10), true);
}

static void flush_test(void)
{
	static const struct gpu_shape shape = {.bytes = 256 << 10, .slots = 40};
	struct annex_gpu_stats s;
	struct work w;

	setup(&w, &shape, "flush");
	gpu_rig_run(&w.rig, 4, dirty_all, &w); /* 32 lines */
	gpu_rig_run(&w.rig, 2, flush_slots, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.writes, 10);
	CU_ASSERT_EQUAL(s.bytes_written, 10 * LINE);
	gpu_rig_run(&w.rig, 2, flush_slots, &w);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.writes, 10);
	gpu_rig_check(&w.rig);
	s = gpu_rig_stats(&w.rig);
	CU_ASSERT_EQUAL(s.writes, 32);
	gpu_rig_close(&w.rig, 0);
}

/* Some warps write, while others flush all the time. */
static void write_and_flush(void *arg, unsigned int thread)
{
	struct work *w = arg;

	if (thread < 2 * ANNEX_WARP_LANES) {
		for (unsigned int r = 0; r < w->rounds; r++)
			gpu_rig_note(&w->rig,
				     annex_gpu_flush_slot(w->rig.cache,
							  thread % w->rig.cache->nslots, 0,
							  w->rig.cache->nlines),
				     true);
		return;
	}
	for (unsigned int r = 0; r < w->rounds; r++) {
		uint64_t i = (r * 97ull % (w->a.count / 1024)) * 1024 + thread, old = 0;

		gpu_rig_note(&w->rig, annex_gpu_add64(&w->a, i, r + 1, &old), true);
		*(uint64_t *)(void *)(w->rig.expect + i * 8) += r + 1;
	}
}

static void flush_live_test(void)
{
	static const struct gpu_shape shape = {.bytes = 256 << 10, .slots = 24};
	struct work w;

	setup(&w, &shape, "flush while others write");
	gpu_rig_run(&w.rig, 8, write_and_flush, &w);
	finish(&w);
}

UNIT_SUITE(gpu_lines, {"spans that read", span_test}, {"spans that write", write_span_test},
	   {"prefetch", prefetch_test}, {"reads begun early", ticket_test},
	   {"flush writes dirty lines once", flush_test},
	   {"flush while others write", flush_live_test})
