// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include "tools/common/error.h"
#include "queues.h"

#define STALL_MS 10000u

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

uint64_t queues_threads(const struct gpu_bench *b)
{
	return (b->threads + GPU_BLOCK - 1) / GPU_BLOCK * GPU_BLOCK;
}

/* Twice as many entries as there are threads: then identifiers are found at once. */
uint32_t queues_depth(const struct gpu_bench *b)
{
	uint64_t want = 2 * queues_threads(b) / b->queues, depth = 64;

	while (depth < want && depth < 65536)
		depth *= 2;
	return (uint32_t)depth;
}

/* An empty queue pair (annex/detail/ring.h): image of what lies at @there. */
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
	sq_seq[depth - 1] = UINT64_MAX; /* freed one late: not before the head moves */
}

int queues_make(struct gpu_bench *b, struct queues *q)
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

void queues_free(struct gpu_bench *b, struct queues *q)
{
	for (unsigned int i = 0; i < GPU_QUEUES; i++)
		runner_free(b->r, q->mem[i], q->bytes);
	memset(q, 0, sizeof(*q));
}

void queues_args(const struct gpu_bench *b, const struct queues *q, struct gpu_args_submit *submit,
		 struct gpu_args_null *null)
{
	submit->queues = null->queues = q->n;
	null->depth = queues_depth(b);
	for (unsigned int i = 0; i < q->n; i++) {
		submit->qp[i] = (struct annex_qp *)(void *)q->mem[i];
		null->queue[i] = q->null[i];
	}
}
