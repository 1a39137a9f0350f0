/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels on queue pairs: threads that submit, and a controller that does nothing.
 */
#ifndef TOOLS_GPU_K_QUEUE_H
#define TOOLS_GPU_K_QUEUE_H

#include <annex/detail/clock.h>
#include "args.h"
#include "k_lines.h"

/* One command and its completion: 0, or the error. */
static inline ANNEX_HD int gpu_null_command(struct annex_qp *qp, uint64_t deadline)
{
	/* Moves no data, and mem: has nothing to do for it. */
	struct annex_io io = {ANNEX_NVM_FLUSH, 0, 0, 1, 0, 0, 0, 0, NULL};
	struct annex_result res;
	uint64_t token = 0;
	int err;

	/* Neither call waits by itself: other lanes of the warp may hold what this one needs. */
	while ((err = annex_qp_submit(qp, &io, 1, &token, 0)) == -EAGAIN) {
		if (annex_now() >= deadline)
			return -ETIMEDOUT;
		annex_warp_pause();
	}
	if (err < 0)
		return err;
	while ((err = annex_qp_poll(qp, token, &res)) == -EINPROGRESS) {
		err = annex_qp_down(qp);
		if (!err && annex_now() >= deadline)
			err = -ETIMEDOUT;
		if (err) {
			annex_qp_abandon(qp, token);
			return err;
		}
		annex_warp_pause();
	}
	return err ? err : annex_nvme_errno(res.status);
}

static inline ANNEX_HD void gpu_body_submit(const struct gpu_args_submit *a, struct gpu_thread t)
{
	struct annex_qp *qp = a->qp[t.id / ANNEX_WARP_LANES % a->queues];
	uint64_t deadline = annex_now() + a->timeout_ns, done = 0;
	uint64_t wrong = 0;

	while (!wrong && done < a->each) {
		wrong = gpu_null_command(qp, deadline) != 0;
		done += !wrong;
	}
	gpu_report(a->r, 0, wrong, done);
}

/*
 * Post the completions of @n commands from entry @head on, a lane each; @served commands came
 * before them.
 */
static inline ANNEX_HD void gpu_null_post(const struct gpu_null *q, uint32_t depth, uint32_t head,
					  uint64_t served, uint32_t n)
{
	uint32_t lane = annex_lane(), cid = 0;
	uint64_t turn = (served + lane) / depth;
	struct annex_cqe *cqe = &q->cq[(served + lane) % depth];

	if (lane < n)
		cid = q->sq[(head + lane) % depth].cid;
	/* No entry may be reported as read before all lanes have read theirs. */
	annex_warp_sync(GPU_WARP_ALL);
	if (lane >= n)
		return;
	cqe->dw0 = 0;
	cqe->sq_head = (uint16_t)((head + n) % depth);
	/* Release: the phase tag last; pairs with the acquire of the thread that polls. */
	annex_local_store((uint32_t *)(void *)&cqe->cid, cid | (uint32_t)(~turn & 1) << 16,
			  ANNEX_RELEASE);
}

static inline ANNEX_HD void gpu_body_null(const struct gpu_args_null *a, struct gpu_thread t)
{
	uint64_t deadline = annex_now() + a->timeout_ns, served = 0;
	uint64_t warp = t.id / ANNEX_WARP_LANES;
	const struct gpu_null *q = &a->queue[warp % GPU_QUEUES];
	uint32_t head = 0;

	if (warp >= a->queues)
		return;
	while (served < q->commands) {
		uint64_t bells = 0;
		uint32_t n, room;

		/*
		 * Acquire: the entries before the tail that announces them; and what the head's
		 * writer has read before its entry is written again.
		 */
		if (!annex_lane())
			bells = (uint64_t)annex_local_load(q->cq_bell, ANNEX_ACQUIRE) << 32 |
				annex_local_load(q->sq_bell, ANNEX_ACQUIRE);
		annex_warp_sync(GPU_WARP_ALL);
		bells = annex_warp_shfl(GPU_WARP_ALL, bells, 0);
		n = ((uint32_t)bells + a->depth - head) % a->depth;
		room = (uint32_t)((bells >> 32) + 2 * a->depth - 1 - served % a->depth) % a->depth;
		n = n < room ? n : room;
		n = n < ANNEX_WARP_LANES ? n : ANNEX_WARP_LANES;
		if (!n) {
			uint64_t late = annex_now() >= deadline;

			if (annex_warp_shfl(GPU_WARP_ALL, late, 0))
				break;
			annex_warp_pause();
			continue;
		}
		gpu_null_post(q, a->depth, head, served, n);
		head = (head + n) % a->depth;
		served += n;
	}
	gpu_report(a->r, 0, served < q->commands && !annex_lane(), 0);
}

#endif
