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

#define STALL_MS 10000u

/*
 * struct queues - Pieces of GPU memory of @bytes each: queue pairs all of which lies there, for a
 * controller that is a kernel.
 * @null: arguments of their controller.
 */
struct queues {
	unsigned int n;
	char *mem[GPU_QUEUES];
	uint64_t bytes;
	struct gpu_null null[GPU_QUEUES];
};

/* Where in its piece of memory each part of a queue pair lies. */
struct layout {
	uint64_t sq_seq, cq_seq, reqs, bells, sq, cq, bytes;
};

static struct layout lay_out(uint32_t depth)
{
	struct layout l;

	l.sq_seq = (sizeof(struct annex_qp) + 127) / 128 * 128;
	l.cq_seq = l.sq_seq + depth * sizeof(uint64_t);
	l.reqs = l.cq_seq + depth * sizeof(uint64_t);
	/* Two words, each in a line of its own: different threads write them. */
	l.bells = (l.reqs + depth * sizeof(struct annex_req) + 127) / 128 * 128;
	l.sq = l.bells + 256;
	l.cq = l.sq + depth * sizeof(struct annex_sqe);
	l.bytes = (l.cq + depth * sizeof(struct annex_cqe) + 4095) / 4096 * 4096;
	return l;
}

/* Threads that submit, in whole blocks. */
static uint64_t queues_threads(const struct gpu_bench *b)
{
	return (b->threads + GPU_BLOCK - 1) / GPU_BLOCK * GPU_BLOCK;
}

/* Twice as many entries as there are threads: then identifiers are found at once. */
static uint32_t queues_depth(const struct gpu_bench *b)
{
	uint64_t want = 2 * queues_threads(b) / b->queues, depth = 64;

	while (depth < want && depth < 65536)
		depth *= 2;
	return (uint32_t)depth;
}

/* An empty queue pair (annex/detail/ring.h): an image of the memory at @there. */
static void fresh(char *image, char *there, const struct layout *l, uint32_t depth, uint16_t qid)
{
	struct annex_qp *qp = (struct annex_qp *)(void *)image;
	uint64_t *sq_seq = (uint64_t *)(void *)(image + l->sq_seq);

	memset(image, 0, l->bytes);
	qp->sq = (struct annex_sqe *)(void *)(there + l->sq);
	qp->cq = (struct annex_cqe *)(void *)(there + l->cq);
	qp->sq_doorbell.reg = (uint32_t *)(void *)(there + l->bells);
	qp->cq_doorbell.reg = (uint32_t *)(void *)(there + l->bells + 128);
	qp->sq_seq = (uint64_t *)(void *)(there + l->sq_seq);
	qp->cq_seq = (uint64_t *)(void *)(there + l->cq_seq);
	qp->reqs = (struct annex_req *)(void *)(there + l->reqs);
	qp->lists = there; /* of commands without data: nothing is written there */
	qp->limits.max_transfer = 4096;
	qp->depth = depth;
	qp->qid = qid;
	qp->stall_ns = STALL_MS * ANNEX_NSEC_PER_MSEC;
	qp->state = ANNEX_QP_LIVE;
	sq_seq[depth - 1] = UINT64_MAX; /* freed one entry late: when the head moves */
}

static void queues_free(struct gpu_bench *b, struct queues *q)
{
	for (unsigned int i = 0; i < GPU_QUEUES; i++)
		runner_free(b->r, q->mem[i], q->bytes);
	memset(q, 0, sizeof(*q));
}

static int queues_make(struct gpu_bench *b, struct queues *q)
{
	uint32_t depth = queues_depth(b);
	struct layout l = lay_out(depth);
	char *image = malloc(l.bytes);
	uint64_t warps = queues_threads(b) / ANNEX_WARP_LANES;
	int err = image ? 0 : err_set(-ENOMEM, "out of memory");

	memset(q, 0, sizeof(*q));
	q->bytes = l.bytes;
	for (; !err && q->n < b->queues; q->n += !err) {
		uint64_t mine = (warps - q->n + b->queues - 1) / b->queues;
		char *there = runner_alloc(b->r, l.bytes, "a queue pair");

		if (!there) {
			err = -ENOMEM;
			break;
		}
		q->mem[q->n] = there;
		q->null[q->n] = (struct gpu_null){
			.sq = (struct annex_sqe *)(void *)(there + l.sq),
			.cq = (struct annex_cqe *)(void *)(there + l.cq),
			.sq_bell = (uint32_t *)(void *)(there + l.bells),
			.cq_bell = (uint32_t *)(void *)(there + l.bells + 128),
			.commands = mine * ANNEX_WARP_LANES * b->each,
		};
		fresh(image, there, &l, depth, (uint16_t)(q->n + 1));
		err = runner_put(b->r, there, image, l.bytes);
	}
	free(image);
	if (err)
		queues_free(b, q);
	return err;
}

/* Fill the arguments of the kernels that submit and that play the controller. */
static void queues_args(const struct gpu_bench *b, const struct queues *q,
			struct gpu_args_submit *submit, struct gpu_args_null *null)
{
	submit->queues = null->queues = q->n;
	null->depth = queues_depth(b);
	for (unsigned int i = 0; i < q->n; i++) {
		submit->qp[i] = (struct annex_qp *)(void *)q->mem[i];
		null->queue[i] = q->null[i];
	}
}

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

/* One processor is for the controller; the others run threads that use it. */
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

/* 0 if all commands succeeded, or the errno of the failure. */
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
		return err_lib(err, "cannot examine the context");
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
		err = all_done(b, r, "the controller in a kernel");
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
