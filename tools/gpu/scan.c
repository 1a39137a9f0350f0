// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "tools/common/error.h"
#include "add.h"
#include "scan.h"

#define HELD 33u /* lines of the condition's column that a warp has, or has asked for */

int gpu_scan_open(struct runner *r, struct gpu_scan *s)
{
	struct annex_gpu_opts opts = {
		.bytes = s->cache,
		.line = s->line,
		.queues = s->queues,
		.depth = s->depth,
	};
	int err = 0;

	for (unsigned int i = 0; i < s->n && !err; i++) {
		struct gpu_column *c = &s->col[i];

		err = annex_gpu_open(c->uri, &opts, r->memory, &c->ctx);
		if (err)
			err_lib(err, "cannot open %s for a GPU", c->uri);
	}
	return err;
}

/* Compensated, as the sums of annex scan on the host are. */
static void add_float(double *sum, double *lost, double x)
{
	double t = *sum + x;

	if (isfinite(t))
		*lost += fabs(*sum) >= fabs(x) ? (*sum - t) + x : (x - t) + *sum;
	*sum = t;
}

static void combine(struct gpu_scan *s, const struct gpu_sum *sums, uint64_t threads)
{
	for (unsigned int i = 1; i < s->n; i++) {
		struct gpu_column *c = &s->col[i];
		double lost = 0;

		c->sum_i = 0;
		c->sum_f = 0;
		for (uint64_t t = 0; t < threads; t++) {
			const struct gpu_sum *sum = &sums[t * s->n + i];

			c->sum_i += (__int128)sum->high * (1ll << 32) + sum->low;
			add_float(&c->sum_f, &lost, sum->f);
		}
		c->sum_f += lost;
	}
}

static int count_bytes(struct gpu_scan *s)
{
	s->read = 0;
	for (unsigned int i = 0; i < s->n; i++) {
		struct annex_gpu_stats st = {0};
		int err = annex_gpu_get_stats(s->col[i].ctx, &st);

		if (err)
			return err_lib(err, "cannot read the counters");
		s->read += st.bytes_read;
	}
	return 0;
}

/* The kernel, and the errors of all columns. */
static int run(struct runner *r, struct gpu_scan *s, struct gpu_args_scan *args, uint64_t threads)
{
	struct gpu_result result;
	int err = runner_run(r, GPU_KERNEL_scan, threads, args, &s->seconds);

	for (unsigned int i = 0; !err && i < s->n; i++)
		err = runner_failed(s->col[i].ctx);
	if (!err)
		err = runner_get(r, &result, args->r, sizeof(result));
	if (!err)
		s->passed = result.done;
	return err ? err : count_bytes(s);
}

int gpu_scan_run(struct runner *r, struct gpu_scan *s)
{
	uint64_t threads = runner_threads(r, s->cache / s->line, HELD);
	uint64_t whole = (threads + GPU_BLOCK - 1) / GPU_BLOCK * GPU_BLOCK;
	uint64_t bytes = whole * s->n * sizeof(struct gpu_sum);
	struct gpu_args_scan args = {.columns = s->n,
				     .none = s->none,
				     .negate = s->negate,
				     .low = s->low,
				     .high = s->high};
	struct gpu_sum *sums = malloc(bytes);
	int err = sums ? 0 : err_set(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < s->n && !err; i++) {
		struct gpu_column *c = &s->col[i];

		args.type[i] = c->type;
		err = annex_gpu_array_init(&args.column[i], c->ctx, c->first,
					   gpu_type_size(c->type), s->rows);
		if (err)
			err_lib(err, "cannot make an array of %s", c->uri);
	}
	args.sum = runner_alloc(r, bytes, "sums");
	args.r = runner_alloc(r, sizeof(*args.r), "a result");
	if (!err)
		err = args.sum && args.r ? run(r, s, &args, threads) : -ENOMEM;
	if (!err)
		err = runner_get(r, sums, args.sum, bytes);
	if (!err)
		combine(s, sums, whole);
	runner_free(r, args.r, sizeof(*args.r));
	runner_free(r, args.sum, bytes);
	free(sums);
	return err;
}

int gpu_scan_close(struct gpu_scan *s)
{
	int err = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		int closed = annex_gpu_close(s->col[i].ctx);

		s->col[i].ctx = NULL;
		if (closed && !err)
			err = err_lib(closed, "cannot close %s", s->col[i].uri);
	}
	return err;
}
