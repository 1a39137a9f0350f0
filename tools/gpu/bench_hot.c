// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data that is in the cache: whole lines by warps, against a plain copy in GPU memory; elements at
 * random by lanes, against the same elements of plain memory. Each measurement alternates
 * with its yardstick, three times; the medians count.
 */
#include <errno.h>
#include <stdio.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "bench.h"

#define LINE 4096u
#define ROUNDS 3u

struct hot {
	struct gpu_bench *b;
	struct annex_gpu_context *ctx;
	struct gpu_args_lines lines;
	struct gpu_args_plain plain;
	struct gpu_args_gather pick;
	struct gpu_result *r;
	double copy[ROUNDS], read[ROUNDS], hot[ROUNDS], gather[ROUNDS], plain_gather[ROUNDS];
};

static int open_context(struct hot *h)
{
	struct gpu_bench *b = h->b;
	struct annex_gpu_opts opts = {
		/* Lines to spare, so that none of the data has to go. */
		.bytes = b->bytes + 64 * LINE,
		.line = LINE,
		.queues = b->queues,
	};
	char uri[64];
	int err;

	snprintf(uri, sizeof(uri), "mem:%llu", (ull)b->bytes);
	err = annex_gpu_open(uri, &opts, b->r->memory, &h->ctx);
	if (!err)
		err = annex_gpu_array_init(&h->lines.a, h->ctx, 0, 8, b->bytes / 8);
	if (err)
		return err_lib(err, "cannot open %s", uri);
	h->lines.count = b->bytes / 8;
	h->lines.seed = h->plain.seed = h->pick.seed = b->seed;
	return 0;
}

static int alloc_plain(struct hot *h)
{
	struct gpu_bench *b = h->b;

	h->r = runner_alloc(b->r, sizeof(*h->r), "a result");
	h->plain.from = runner_alloc(b->r, b->bytes, "plain data");
	h->plain.to = runner_alloc(b->r, b->bytes, "a plain copy");
	h->pick.idx = runner_alloc(b->r, b->gathers * 8, "indices");
	h->pick.out = runner_alloc(b->r, b->gathers * 8, "gathered elements");
	if (!h->r || !h->plain.from || !h->plain.to || !h->pick.idx || !h->pick.out)
		return -ENOMEM;
	h->lines.r = h->plain.r = h->pick.r = h->r;
	h->plain.count = h->pick.span = b->bytes / 8;
	h->pick.a = h->lines.a;
	h->pick.mem = h->plain.from;
	h->pick.n = b->gathers;
	return 0;
}

static int fill(struct hot *h)
{
	struct runner *r = h->b->r;
	struct gpu_args_plain to = h->plain;
	uint64_t threads = runner_threads(r, h->b->bytes / LINE, 2);
	struct gpu_result found;
	int err = runner_check(r, h->ctx, GPU_KERNEL_fill, threads, &h->lines, NULL);

	if (!err) {
		err = annex_gpu_flush(h->ctx, 0, UINT64_MAX);
		if (err)
			return err_lib(err, "cannot write the data");
	}
	to.to = h->plain.from;
	if (!err)
		err = runner_run(r, GPU_KERNEL_plain_fill, r->threads, &to, NULL);
	if (!err)
		err = runner_run(r, GPU_KERNEL_indices, r->threads, &h->pick, NULL);
	if (!err)
		err = runner_check(r, h->ctx, GPU_KERNEL_check, threads, &h->lines, NULL);
	return err ? err : bench_result(h->b, h->r, &found, "doublewords of the cached lines");
}

static int read_lines(struct hot *h, unsigned int i)
{
	struct runner *r = h->b->r;
	struct gpu_result plain, cached;
	int err = runner_run(r, GPU_KERNEL_plain_copy, r->threads, &h->plain, &h->copy[i]);

	if (!err)
		err = runner_run(r, GPU_KERNEL_plain_sum, r->threads, &h->plain, &h->read[i]);
	if (!err)
		err = bench_result(h->b, h->r, &plain, "plain data");
	if (!err)
		err = runner_check(r, h->ctx, GPU_KERNEL_sum,
				   runner_threads(r, h->b->bytes / LINE, 2), &h->lines, &h->hot[i]);
	if (!err)
		err = bench_result(h->b, h->r, &cached, "cached data");
	if (!err && cached.sum != plain.sum)
		err = err_set(-EBADMSG, "the sum of the cached lines differs from that of plain "
					"data");
	return err;
}

static int gather(struct hot *h, enum gpu_kernel kernel, double *seconds)
{
	struct runner *r = h->b->r;
	struct gpu_result found;
	int err = runner_zero(r, h->pick.out, h->b->gathers * 8);

	if (!err)
		err = runner_check(r, h->ctx, kernel, r->threads, &h->pick, seconds);
	if (!err)
		err = runner_run(r, GPU_KERNEL_picked, r->threads, &h->pick, NULL);
	return err ? err : bench_result(h->b, h->r, &found, "gathered elements");
}

static void report(struct hot *h)
{
	struct gpu_bench *b = h->b;
	double bytes = (double)b->bytes, n = (double)b->gathers;
	double copy = bytes / bench_median(h->copy), hot = bytes / bench_median(h->hot);
	double plain = n / bench_median(h->plain_gather), gathers = n / bench_median(h->gather);

	bench_add(b, "copy_read_bytes_per_s", "plain copy, bytes read", copy, "B/s", 0);
	bench_add(b, "plain_read_bytes_per_s", "plain read by warps", bytes / bench_median(h->read),
		  "B/s", 0);
	bench_add(b, "hot_bytes_per_s", "hot lines of 4 KiB by warps", hot, "B/s", 0);
	bench_add(b, "hot_of_copy", "hot lines / plain copy", hot / copy, "x", 0.5);
	bench_add(b, "plain_gathers_per_s", "plain gathers of 8 bytes", plain, "1/s", 0);
	bench_add(b, "gathers_per_s", "hot gathers of the same", gathers, "1/s", 0);
	bench_add(b, "gathers_of_plain", "hot gathers / plain gathers", gathers / plain, "x", 0.4);
}

static int measure(struct hot *h)
{
	int err = open_context(h);

	if (!err)
		err = alloc_plain(h);
	if (!err)
		err = fill(h);
	for (unsigned int i = 0; !err && i < ROUNDS; i++) {
		progress_update(i, ROUNDS, "rounds");
		err = read_lines(h, i);
		if (!err)
			err = gather(h, GPU_KERNEL_plain_gather, &h->plain_gather[i]);
		if (!err)
			err = gather(h, GPU_KERNEL_gather, &h->gather[i]);
	}
	return err;
}

int bench_hot(struct gpu_bench *b)
{
	struct hot h = {.b = b};
	int err, closed;

	progress_begin("hot lines and gathers");
	err = measure(&h);
	progress_end();
	closed = annex_gpu_close(h.ctx);
	if (!err && closed)
		err = err_lib(closed, "cannot close the context");
	runner_free(b->r, h.pick.out, b->gathers * 8);
	runner_free(b->r, h.pick.idx, b->gathers * 8);
	runner_free(b->r, h.plain.to, b->bytes);
	runner_free(b->r, h.plain.from, b->bytes);
	runner_free(b->r, h.r, sizeof(*h.r));
	if (!err)
		report(&h);
	return err;
}
