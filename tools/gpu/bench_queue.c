// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many commands a second go through queue pairs: commands that move nothing, so that the
 * protocol is all there is. Once with the proxy's thread as the controller, beside what that thread
 * does for host threads; once with a controller that is a second kernel.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "bench.h"
#include "queues.h"

#define BATCH 32u
#define LIMIT_MS 60000u
#define HOST_COMMANDS (1u << 16) /* of a host thread */

struct host_thread {
	pthread_t thread;
	struct annex_qp *qp;
	uint32_t commands;
	int err;
};

static int host_batch(struct annex_qp *qp, uint64_t deadline)
{
	struct annex_io ios[BATCH];
	uint64_t tokens[BATCH];
	int err = 0, n;

	for (unsigned int i = 0; i < BATCH; i++)
		ios[i] = (struct annex_io){.opcode = ANNEX_NVM_FLUSH, .nsid = 1};
	n = annex_qp_submit(qp, ios, BATCH, tokens, deadline);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		struct annex_result res = {0};
		int rc = annex_qp_wait(qp, tokens[i], &res, deadline);

		if (rc)
			annex_qp_abandon(qp, tokens[i]);
		else
			rc = annex_nvme_errno(res.status);
		err = err ? err : rc;
	}
	return err ? err : n;
}

static void *host_submit(void *arg)
{
	struct host_thread *t = arg;
	uint64_t deadline = annex_deadline_ms(LIMIT_MS);
	uint32_t done = 0;

	while (done < t->commands && !t->err) {
		int n = host_batch(t->qp, deadline);

		t->err = n < 0 ? n : 0;
		done += n > 0 ? (uint32_t)n : 0;
	}
	return NULL;
}

/* One of the processors is the controller's; the others are threads that use it. */
static unsigned int host_threads(const struct gpu_bench *b)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN) - 1;

	return cpus < 1 ? 1 : cpus < (long)b->queues ? (unsigned int)cpus : b->queues;
}

/* The controller's own rate: the same commands, queues and thread, driven by host threads. */
static int proxy_alone(struct gpu_bench *b, double *rate)
{
	struct annex_dev_opts opts = {.queues = b->queues};
	struct host_thread t[GPU_QUEUES] = {0};
	unsigned int n = host_threads(b), started = 0;
	uint32_t commands = b->r->gpu ? HOST_COMMANDS * 8 : HOST_COMMANDS / 64;
	struct annex_dev *dev;
	uint64_t start;
	int err = annex_dev_open("mem:1M?serve=busy", &opts, &dev);

	if (err)
		return err_lib(err, "cannot open the null controller");
	start = annex_now();
	for (; !err && started < n; started += !err) {
		t[started].qp = annex_dev_qp_at(dev, started);
		t[started].commands = commands;
		err = -pthread_create(&t[started].thread, NULL, host_submit, &t[started]);
	}
	for (unsigned int i = 0; i < started; i++) {
		pthread_join(t[i].thread, NULL);
		err = err ? err : t[i].err;
	}
	*rate = (double)n * commands / ((double)(annex_now() - start) / 1e9);
	annex_dev_close(dev);
	return err ? err_set(err, "host threads cannot use the null controller: %s", strerror(-err))
		   : 0;
}

/* All commands have ended well, or the errno of why not. */
static int all_done(struct gpu_bench *b, struct gpu_result *r, const char *who)
{
	uint64_t want = queues_threads(b) * b->each;
	struct gpu_result found;
	int err = bench_result(b, r, &found, who);

	if (!err && found.done != want)
		err = err_set(-EBADMSG, "%s: %llu commands ended, not %llu", who, (ull)found.done,
			      (ull)want);
	return err;
}

/* The queue pairs of a context, as its kernels see them. */
static int context_queues(struct gpu_bench *b, struct annex_gpu_context *ctx,
			  struct gpu_args_submit *args)
{
	struct annex_gpu_queue q[GPU_QUEUES];
	struct annex_gpu_cache cache;
	struct annex_gpu_array a;
	int err = annex_gpu_array_init(&a, ctx, 0, 8, 1);

	if (err)
		return err_lib(err, "cannot look at the context");
	err = runner_get(b->r, &cache, a.cache, sizeof(cache));
	args->queues = cache.nqueues < b->queues ? cache.nqueues : b->queues;
	if (!err)
		err = runner_get(b->r, q, cache.queues, args->queues * sizeof(q[0]));
	for (uint32_t i = 0; !err && i < args->queues; i++)
		args->qp[i] = q[i].qp;
	return err;
}

static int through_proxy(struct gpu_bench *b, struct gpu_result *r, double *rate)
{
	struct annex_gpu_opts opts = {
		.bytes = 64 * 512,
		.line = 512,
		.queues = b->queues,
		.depth = queues_depth(b),
	};
	struct gpu_args_submit args = {
		.r = r, .timeout_ns = LIMIT_MS * ANNEX_NSEC_PER_MSEC, .each = b->each};
	struct annex_gpu_context *ctx;
	double s = 0;
	int err = annex_gpu_open("mem:1M", &opts, b->r->memory, &ctx), closed;

	if (err)
		return err_lib(err, "cannot open the null controller");
	err = context_queues(b, ctx, &args);
	if (!err)
		err = runner_check(b->r, ctx, GPU_KERNEL_submit, queues_threads(b), &args, &s);
	if (!err)
		err = all_done(b, r, "the null controller of the host");
	closed = annex_gpu_close(ctx);
	if (!err && closed)
		err = err_lib(closed, "cannot close the context");
	*rate = (double)(queues_threads(b) * b->each) / s;
	return err;
}

/* Two kernels side by side: the controller first, so that it has its place. */
static int gpu_alone(struct gpu_bench *b, struct gpu_result *r, double *rate)
{
	struct gpu_args_submit args = {
		.r = r, .timeout_ns = LIMIT_MS * ANNEX_NSEC_PER_MSEC, .each = b->each};
	struct gpu_args_null null = {.r = r, .timeout_ns = args.timeout_ns};
	struct queues q;
	double s = 0, ignored;
	int err = queues_make(b, &q), ended;

	if (err)
		return err;
	queues_args(b, &q, &args, &null);
	err = b->r->start(b->r, 1, GPU_KERNEL_null, b->queues * ANNEX_WARP_LANES, &null);
	if (err) {
		err_lib(err, "the controller's kernel did not start");
	} else {
		err = runner_run(b->r, GPU_KERNEL_submit, queues_threads(b), &args, &s);
		ended = b->r->wait(b->r, 1, &ignored);
		if (!err && ended)
			err = err_lib(ended, "the controller's kernel did not end");
	}
	if (!err)
		err = all_done(b, r, "the controller that is a kernel");
	queues_free(b, &q);
	*rate = (double)(queues_threads(b) * b->each) / s;
	return err;
}

int bench_queues(struct gpu_bench *b)
{
	struct gpu_result *r = runner_alloc(b->r, sizeof(*r), "a result");
	double proxy = 0, host = 0, alone = 0;
	int err = r ? 0 : -ENOMEM;

	progress_begin("queues");
	if (!err)
		err = proxy_alone(b, &host);
	progress_update(1, 3, "controllers");
	if (!err)
		err = through_proxy(b, r, &proxy);
	progress_update(2, 3, "controllers");
	if (!err)
		err = gpu_alone(b, r, &alone);
	progress_end();
	runner_free(b->r, r, sizeof(*r));
	if (err)
		return err;
	bench_add(b, "proxy_commands_per_s", "null controller of the host, by host threads", host,
		  "1/s", 0);
	bench_add(b, "commands_per_s", "null controller of the host, by GPU threads", proxy, "1/s",
		  0);
	bench_add(b, "commands_of_proxy", "by GPU threads / by host threads", proxy / host, "x",
		  0.8);
	bench_add(b, "gpu_commands_per_s", "GPU alone, completions by a kernel", alone, "1/s",
		  50e6);
	return 0;
}
