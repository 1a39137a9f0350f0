// SPDX-License-Identifier: MIT
/*
 * Queue pairs for GPU threads.
 *
 * What the controller reads and writes (rings, lists, doorbells) stays where it is, in pinned host
 * memory, or for rings where rings.c has put them: plain loads and stores are enough for it on both
 * sides. The words that submitters share are worked on by atomics, which do not reach host memory,
 * so the GPU has a struct annex_qp of its own with these in its memory. The device's own is idle
 * meanwhile; only a reset changes it, after which the GPU gets a fresh copy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "context.h"
#include "core/log.h"

/* The parts of a copy, in this order. */
static size_t turns_bytes(const struct annex_qp *qp)
{
	return qp->depth * sizeof(*qp->sq_seq);
}

static size_t reqs_bytes(const struct annex_qp *qp)
{
	return qp->depth * sizeof(*qp->reqs);
}

static size_t slots_bytes(const struct annex_qp *qp)
{
	return qp->depth * sizeof(uint32_t);
}

static int see_doorbell(struct gpu_dev *d, const struct annex_doorbell *bell,
			struct annex_doorbell *out)
{
	int err = gpu_see(d, bell->reg, &out->reg);

	if (!err)
		err = gpu_see(d, bell->shadow, &out->shadow);
	return err ? err : gpu_see(d, bell->event, &out->event);
}

/* One line for each identifier, so that what a lost command may still move is set aside with it. */
static int open_staging(struct annex_gpu_context *ctx, struct gpu_queue *q)
{
	const struct annex_provider *pinned = ctx->memory->pinned;

	q->staged = gpu_whole_pages((size_t)(q->host->depth - 1) << ctx->view.line_shift);
	q->staging = pinned->alloc(pinned->ctx, q->staged, ANNEX_NVME_PAGE);
	if (!q->staging)
		return annex_fail(-ENOMEM, "%s: no %zu bytes of %s memory for data on its way",
				  ctx->memory->name, q->staged, pinned->name);
	return annex_dev_map(q->dev->dev, q->staging, q->staged, &q->staging_addr);
}

static int open_one(struct annex_gpu_context *ctx, struct gpu_queue *q)
{
	int err;

	q->words = sizeof(*q->host) + 2 * turns_bytes(q->host) + reqs_bytes(q->host);
	q->bytes = q->words + slots_bytes(q->host);
	q->copy = gpu_alloc(ctx, q->bytes, "a queue pair");
	if (!q->copy)
		return -ENOMEM;
	err = see_doorbell(q->dev, &q->host->sq_doorbell, &q->sq);
	if (!err)
		err = see_doorbell(q->dev, &q->host->cq_doorbell, &q->cq);
	return err || ctx->view.direct ? err : open_staging(ctx, q);
}

/* Addresses of the device that GPU threads name end there. */
static uint64_t end_of_memory(const struct gpu_dev *d)
{
	const struct annex_gpu_context *ctx = d->ctx;
	uint64_t end = ctx->view.direct ? d->view.mem_addr + ctx->slot_bytes : 0;

	for (uint32_t i = 0; i < d->view.nqueues; i++) {
		const struct gpu_queue *q = &ctx->queues[d->view.first + i];
		uint64_t lists = (uint64_t)q->host->depth * q->host->limits.list_bytes;

		if (end < q->host->lists_addr + lists)
			end = q->host->lists_addr + lists;
		if (end < q->staging_addr + q->staged)
			end = q->staging_addr + q->staged;
	}
	return end;
}

/*
 * Where controller and library number pages differently, GPU threads look in a table of their own:
 * of all that the library has room for, the part that they need.
 */
static int open_table(struct gpu_dev *d)
{
	if (!d->own->limits.pages)
		return 0;
	d->table_bytes = gpu_whole_pages(end_of_memory(d)) / ANNEX_NVME_PAGE * sizeof(uint64_t);
	d->table = gpu_alloc(d->ctx, d->table_bytes, "device addresses");
	return d->table ? 0 : -ENOMEM;
}

/* The queue pairs of one device, and their rows of the context's @table. */
static int open_dev(struct annex_gpu_context *ctx, uint32_t dev, struct annex_gpu_queue *table)
{
	struct gpu_dev *d = &ctx->devs[dev];

	for (uint32_t i = 0; i < d->view.nqueues; i++) {
		struct gpu_queue *q = &ctx->queues[d->view.first + i];
		int err;

		q->dev = d;
		q->host = annex_dev_qp_at(d->dev, i);
		ctx->view.nqueues++;
		err = open_one(ctx, q);
		if (err)
			return err;
		table[d->view.first + i] = (struct annex_gpu_queue){
			.qp = (struct annex_qp *)(void *)q->copy,
			.slots = (uint32_t *)(void *)(q->copy + q->words),
			.staging = q->staging,
			.staging_addr = q->staging_addr,
			.dev = dev,
		};
	}
	return open_table(d);
}

static int open_all(struct annex_gpu_context *ctx, uint32_t nqueues, struct annex_gpu_queue *table)
{
	int err = 0;

	ctx->view.queues = gpu_alloc(ctx, nqueues * sizeof(*table), "queue pairs");
	if (!ctx->view.queues)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < ctx->view.ndevs; i++)
		err = open_dev(ctx, i, table);
	return err ? err : gpu_put(ctx, ctx->view.queues, table, nqueues * sizeof(*table));
}

int gpu_queues_open(struct annex_gpu_context *ctx)
{
	const struct gpu_dev *last = &ctx->devs[ctx->view.ndevs - 1];
	uint32_t nqueues = last->view.first + last->view.nqueues;
	struct annex_gpu_queue *table = calloc(nqueues, sizeof(*table));
	int err;

	ctx->queues = calloc(nqueues, sizeof(*ctx->queues));
	err = ctx->queues && table ? open_all(ctx, nqueues, table)
				   : annex_fail(-ENOMEM, "%s: out of memory", ctx->memory->name);
	free(table);
	return err ? err : gpu_queues_put(ctx);
}

/* After the devices were closed, which read and write all of this. */
void gpu_queues_close(struct annex_gpu_context *ctx)
{
	const struct annex_provider *pinned = ctx->memory->pinned;

	for (uint32_t i = 0; i < ctx->view.nqueues; i++) {
		struct gpu_queue *q = &ctx->queues[i];

		if (q->staging && gpu_owns(ctx))
			pinned->free(pinned->ctx, q->staging, q->staged);
		gpu_free(ctx, q->copy, q->bytes);
	}
	for (uint32_t i = 0; i < ctx->view.ndevs; i++)
		gpu_free(ctx, ctx->devs[i].table, ctx->devs[i].table_bytes);
	gpu_free(ctx, ctx->view.queues, ctx->view.nqueues * sizeof(*ctx->view.queues));
	free(ctx->queues);
}

static int put_one(struct annex_gpu_context *ctx, const struct gpu_queue *q)
{
	size_t turns = turns_bytes(q->host);
	char *image = malloc(q->words), *words = image + sizeof(struct annex_qp);
	char *there = q->copy + sizeof(struct annex_qp);
	struct annex_qp *qp;
	int err;

	if (!image)
		return annex_fail(-ENOMEM, "%s: out of memory", ctx->memory->name);
	qp = (struct annex_qp *)(void *)image;
	*qp = *q->host;
	qp->sq_doorbell = q->sq;
	qp->cq_doorbell = q->cq;
	qp->sq_seq = (uint64_t *)(void *)there;
	qp->cq_seq = (uint64_t *)(void *)(there + turns);
	qp->reqs = (struct annex_req *)(void *)(there + 2 * turns);
	qp->limits.pages = q->dev->table;
	qp->limits.npages = q->dev->table_bytes / sizeof(uint64_t);
	qp->host = (struct annex_qp_host){0}; /* which a GPU cannot call */
	memcpy(words, q->host->sq_seq, turns);
	memcpy(words + turns, q->host->cq_seq, turns);
	memcpy(words + 2 * turns, q->host->reqs, reqs_bytes(q->host));
	err = gpu_put(ctx, q->copy, image, q->words);
	free(image);
	return err;
}

int gpu_queues_put(struct annex_gpu_context *ctx)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < ctx->view.ndevs; i++) {
		const struct gpu_dev *d = &ctx->devs[i];

		if (d->table)
			err = gpu_put(ctx, d->table, d->own->limits.pages, d->table_bytes);
	}
	for (uint32_t i = 0; !err && i < ctx->view.nqueues; i++)
		err = put_one(ctx, &ctx->queues[i]);
	return err;
}
