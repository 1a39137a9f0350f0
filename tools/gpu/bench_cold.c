// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data that is not in the cache: lines come from a mem: proxy by way of pinned memory. The data is
 * twice the cache. All of it is written, which leaves the second half in the cache, then the first
 * half is read: each line is a miss, and takes the slot of a line that is clean.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "bench.h"

/* struct cold_case - A line size, the names of its figures, and its goal. */
struct cold_case {
	uint32_t line;
	const char *keys[3], *labels[3];
	double target;
};

static const struct cold_case cases[] = {
	{512,
	 {"cold_512_bytes_per_s", "copy_path_512_bytes_per_s", "cold_512_of_copy_path"},
	 {"cold misses of 512 B", "the proxy's copy path, 512 B", "cold 512 B / copy path"},
	 0},
	{4096,
	 {"cold_4k_bytes_per_s", "copy_path_4k_bytes_per_s", "cold_4k_of_copy_path"},
	 {"cold misses of 4 KiB", "the proxy's copy path, 4 KiB", "cold 4 KiB / copy path"},
	 0.8},
	{8192,
	 {"cold_8k_bytes_per_s", "copy_path_8k_bytes_per_s", "cold_8k_of_copy_path"},
	 {"cold misses of 8 KiB", "the proxy's copy path, 8 KiB", "cold 8 KiB / copy path"},
	 0},
};

struct cold {
	struct gpu_bench *b;
	uint32_t line;
	struct annex_gpu_context *ctx;
	struct gpu_args_lines args;
	double read_s, copy_s;
	uint64_t bytes_read;
};

/* How the cold lines are asked for: enough at once to keep all queues full. */
static uint64_t cold_threads(const struct cold *c)
{
	uint64_t threads = runner_threads(c->b->r, c->b->cold / c->line, ANNEX_WARP_LANES);
	uint64_t full = 2ull * c->b->queues * c->b->depth;

	return threads < full || full < ANNEX_WARP_LANES ? threads : full;
}

static int write_all(struct cold *c)
{
	char uri[64];
	struct annex_gpu_opts opts = {
		.bytes = c->b->cold,
		.line = c->line,
		.queues = c->b->queues,
		.depth = c->b->depth,
	};
	int err;

	snprintf(uri, sizeof(uri), "mem:%" PRIu64, 2 * c->b->cold);
	err = annex_gpu_open(uri, &opts, c->b->r->memory, &c->ctx);
	if (!err)
		err = annex_gpu_array_init(&c->args.a, c->ctx, 0, 8, 2 * c->b->cold / 8);
	if (err)
		return err_lib(err, "cannot open %s", uri);
	c->args.seed = c->b->seed;
	err = runner_check(c->b->r, c->ctx, GPU_KERNEL_fill, cold_threads(c), &c->args, NULL);
	if (err)
		return err;
	err = annex_gpu_flush(c->ctx, 0, UINT64_MAX);
	return err ? err_lib(err, "cannot write the data") : 0;
}

static int read_cold(struct cold *c)
{
	struct annex_gpu_stats before = {0}, after = {0};
	struct gpu_result found;
	int err = annex_gpu_get_stats(c->ctx, &before);

	c->args.first = 0;
	c->args.count = c->b->cold / 8;
	if (!err)
		err = runner_check(c->b->r, c->ctx, GPU_KERNEL_check, cold_threads(c), &c->args,
				   &c->read_s);
	if (!err)
		err = annex_gpu_get_stats(c->ctx, &after);
	if (!err)
		err = bench_result(c->b, c->args.r, &found, "doublewords of the lines read");
	if (!err && found.done != c->b->cold / c->line)
		err = err_set(-EBADMSG, "%llu lines were read, not %llu", (ull)found.done,
			      (ull)(c->b->cold / c->line));
	c->bytes_read = after.bytes_read - before.bytes_read;
	return err;
}

/* The work of the proxy's one thread for a read, alone: a copy from its RAM to pinned memory. */
static int copy_path(struct cold *c)
{
	const struct annex_provider *p = c->b->r->memory->pinned;
	uint64_t room = (uint64_t)c->b->queues * (c->b->depth - 1) * c->line, start;
	char *from = malloc(c->b->cold), *to;

	room = (room + 4095) / 4096 * 4096;
	to = p->alloc(p->ctx, room, 4096);
	if (from && to) {
		memset(from, 1, c->b->cold);
		start = annex_now();
		for (uint64_t at = 0, k = 0; at + c->line <= c->b->cold; at += c->line) {
			memcpy(to + k, from + at, c->line);
			/* The copies are not read: the compiler could leave them out. */
			__asm__ volatile("" : : "r"(to) : "memory");
			k = k + 2 * c->line <= room ? k + c->line : 0;
		}
		c->copy_s = (double)(annex_now() - start) / 1e9;
	}
	if (to)
		p->free(p->ctx, to, room);
	free(from);
	return from && to ? 0 : err_set(-ENOMEM, "no memory to measure the copy path");
}

static int run_case(struct gpu_bench *b, const struct cold_case *k, struct gpu_result *r)
{
	struct cold c = {.b = b, .line = k->line, .args.r = r};
	double rate, path;
	int err = write_all(&c), closed;

	if (!err)
		err = read_cold(&c);
	closed = annex_gpu_close(c.ctx);
	if (!err && closed)
		err = err_lib(closed, "cannot close the context");
	if (!err)
		err = copy_path(&c);
	if (err)
		return err;
	/* Bytes from the device: a line that was still cached does not count. */
	rate = (double)c.bytes_read / c.read_s;
	path = (double)b->cold / c.copy_s;
	bench_add(b, k->keys[0], k->labels[0], rate, "B/s", 0);
	bench_add(b, k->keys[1], k->labels[1], path, "B/s", 0);
	bench_add(b, k->keys[2], k->labels[2], rate / path, "x", k->target);
	return 0;
}

int bench_cold(struct gpu_bench *b)
{
	const unsigned int n = sizeof(cases) / sizeof(cases[0]);
	struct gpu_result *r = runner_alloc(b->r, sizeof(*r), "a result");
	int err = r ? 0 : -ENOMEM;

	progress_begin("cold misses");
	for (unsigned int i = 0; !err && i < n; i++) {
		progress_update(i, n, "line sizes");
		err = run_case(b, &cases[i], r);
	}
	progress_end();
	runner_free(b->r, r, sizeof(*r));
	return err;
}
