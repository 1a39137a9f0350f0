// SPDX-License-Identifier: MIT
/*
 * Operations of the controller as a whole (core/ctrl.h): Identify, creating and deleting queue
 * pairs, aborting commands, resets.
 */
#include <errno.h>
#include "backend.h"
#include "state.h"

static_assert(sizeof(struct annex_id_ctrl) == ANNEX_NVME_PAGE, "Identify Controller");
static_assert(sizeof(struct annex_id_ns) == ANNEX_NVME_PAGE, "Identify Namespace");

/* Base 5.17. */
static void identify_ctrl(const struct annex_emu *emu, struct annex_id_ctrl *id)
{
	*id = (struct annex_id_ctrl){
		.mdts = emu->mdts,
		.ver = EMU_VERSION,
		.sqes = 6u << 4 | 6,
		.cqes = 4u << 4 | 4,
		.nn = emu->nns,
		.oncs = ANNEX_ONCS_COMPARE | ANNEX_ONCS_DSM | ANNEX_ONCS_WRITE_ZEROES,
		/* A flush takes all namespaces at once. */
		.vwc = emu->backend->cached ? 1u | 3u << 1 : 0,
		.sgls = 1,
	};
}

static void identify_ns(const struct emu_ns *ns, struct annex_id_ns *id)
{
	*id = (struct annex_id_ns){.nsze = ns->blocks, .ncap = ns->blocks, .nuse = ns->blocks};
	id->lbaf[0].lbads = (uint8_t)ns->shift;
}

int annex_emu_identify(struct annex_ctrl *ctrl, uint32_t cns, uint32_t nsid, void *data)
{
	const struct annex_emu *emu = annex_emu_of(ctrl);

	if (cns == ANNEX_CNS_CTRL)
		identify_ctrl(emu, data);
	else if (cns != ANNEX_CNS_NS)
		return annex_fail(-EINVAL, "identify: no structure 0x%02x", cns);
	else if (nsid - 1 >= emu->nns)
		return annex_fail(-ENXIO, "identify: no namespace %u", nsid);
	else
		identify_ns(&emu->ns[nsid - 1], data);
	return 0;
}

uint32_t annex_emu_missing(struct annex_ctrl *ctrl, uint32_t nsid)
{
	return annex_emu_of(ctrl)->ns[nsid - 1].missing;
}

uint32_t *annex_emu_doorbell(struct annex_ctrl *ctrl, uint16_t qid, int cq)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	return qid && qid < EMU_QUEUES ? emu->doorbells + (2 * qid + !!cq) * EMU_STRIDE / 4 : NULL;
}

uint32_t annex_emu_status(struct annex_ctrl *ctrl)
{
	const struct annex_emu *emu = annex_emu_of(ctrl);

	/* Acquire: pairs with fail() in io.c and annex_emu_vanish(). */
	if (annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		return UINT32_MAX;
	return ANNEX_CSTS_RDY |
	       (annex_atomic_load(&emu->fatal, ANNEX_ACQUIRE) ? ANNEX_CSTS_CFS : 0);
}

static int gone(void)
{
	return annex_fail(-ENODEV, "emulated controller: it is gone");
}

/* A ring must be in whole pages that are mapped. */
static int check_ring(const struct annex_emu *emu, uint64_t addr, uint64_t bytes)
{
	if (addr % ANNEX_NVME_PAGE)
		return annex_fail(-EINVAL, "emulated controller: a queue is not in whole pages");
	if (!annex_emu_reach(emu, addr, bytes))
		return annex_fail(-EFAULT,
				  "emulated controller: a queue in memory that is not mapped");
	return 0;
}

static int create(struct annex_emu *emu, uint16_t qid, uint32_t depth, uint64_t sq, uint64_t cq)
{
	int err;

	if (!qid || qid >= EMU_QUEUES)
		return annex_fail(-EINVAL, "emulated controller: no queue pair %u", qid);
	if (depth < 2 || depth > EMU_DEPTH)
		return annex_fail(-EINVAL, "emulated controller: a queue has 2 to %u entries",
				  EMU_DEPTH);
	if (annex_atomic_load(&emu->sqs[qid].state, ANNEX_ACQUIRE) != EMU_SQ_NONE)
		return annex_fail(-EEXIST, "emulated controller: queue pair %u is there", qid);
	err = check_ring(emu, sq, depth * sizeof(struct annex_sqe));
	if (!err)
		err = check_ring(emu, cq, depth * sizeof(struct annex_cqe));
	if (err)
		return err;
	annex_emu_cq_init(&emu->cqs[qid], cq, depth);
	annex_emu_hold(&emu->sqs[qid]);
	err = annex_emu_sq_init(&emu->sqs[qid], sq, depth);
	if (err)
		annex_emu_cq_stop(&emu->cqs[qid]);
	annex_emu_release(emu, &emu->sqs[qid]);
	return err;
}

int annex_emu_create(struct annex_ctrl *ctrl, uint16_t qid, uint32_t depth, uint64_t sq,
		     uint64_t cq)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	int err;

	if (annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		return gone();
	pthread_mutex_lock(&emu->ctl);
	err = create(emu, qid, depth, sq, cq);
	pthread_mutex_unlock(&emu->ctl);
	return err;
}

static void set_state(struct emu_sq *sq, enum emu_sq_state state)
{
	annex_atomic_store(&sq->state, (uint32_t)state, ANNEX_RELEASE);
}

/*
 * The commands of a queue end first (Base 5.6). A command in the backend ends only when its memory
 * is not used any more.
 */
static int destroy(struct annex_emu *emu, struct emu_sq *sq)
{
	int err;

	if (annex_atomic_load(&sq->state, ANNEX_ACQUIRE) == EMU_SQ_NONE)
		return annex_fail(-ENOENT, "emulated controller: no queue pair %u", sq->qid);
	annex_emu_hold(sq);
	set_state(sq, EMU_SQ_DELETING);
	annex_emu_release(emu, sq);
	pthread_mutex_lock(&emu->async);
	annex_emu_reqs_end(emu, sq);
	pthread_mutex_unlock(&emu->async);
	err = annex_emu_drain(emu, sq);
	if (err)
		return err;
	set_state(sq, EMU_SQ_NONE);
	annex_emu_cq_stop(sq->cq);
	annex_emu_event(emu, sq->cq);
	return 0;
}

int annex_emu_destroy(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	int err;

	if (annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		return gone();
	if (!qid || qid >= EMU_QUEUES)
		return annex_fail(-EINVAL, "emulated controller: no queue pair %u", qid);
	pthread_mutex_lock(&emu->ctl);
	err = destroy(emu, &emu->sqs[qid]);
	pthread_mutex_unlock(&emu->ctl);
	return err;
}

int annex_emu_abort(struct annex_ctrl *ctrl, uint16_t qid, uint16_t cid, bool *aborted)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	*aborted = false;
	if (annex_atomic_load(&emu->gone, ANNEX_ACQUIRE))
		return gone();
	pthread_mutex_lock(&emu->async);
	*aborted = annex_emu_req_abort(emu, qid, cid);
	annex_emu_submit(emu);
	pthread_mutex_unlock(&emu->async);
	return 0;
}

uint32_t annex_emu_beat(struct annex_ctrl *ctrl)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	return emu->backend->beat ? emu->backend->beat(emu) : 0;
}

int annex_emu_claim(struct annex_ctrl *ctrl, uint32_t nsid, uint64_t first, uint64_t blocks,
		    bool shared)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	struct emu_ns *ns = &emu->ns[nsid - 1];

	if (ns->readonly && !shared)
		return -EROFS;
	return emu->backend->claim ? emu->backend->claim(emu, ns, first << ns->shift,
							 blocks << ns->shift, shared)
				   : 0;
}

/* Queues and commands end at once; the reset ends when the I/O of the backend has ended. */
static int reset(struct annex_emu *emu)
{
	int err;

	annex_atomic_store(&emu->running, 0u, ANNEX_RELEASE);
	for (unsigned int i = 1; i < EMU_QUEUES; i++) {
		struct emu_sq *sq = &emu->sqs[i];

		annex_emu_hold(sq);
		set_state(sq, EMU_SQ_NONE);
		annex_emu_cq_stop(sq->cq);
		annex_emu_release(emu, sq);
	}
	pthread_mutex_lock(&emu->async);
	annex_emu_reqs_end(emu, NULL);
	pthread_mutex_unlock(&emu->async);
	annex_emu_wake_all(emu);
	err = annex_emu_drain(emu, NULL);
	if (err)
		return err;
	annex_atomic_store(&emu->fatal, 0u, ANNEX_RELEASE);
	annex_atomic_store(&emu->running, 1u, ANNEX_RELEASE);
	return 0;
}

int annex_emu_reset(struct annex_ctrl *ctrl)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	int err;

	pthread_mutex_lock(&emu->ctl);
	err = annex_atomic_load(&emu->gone, ANNEX_ACQUIRE) ? gone() : reset(emu);
	pthread_mutex_unlock(&emu->ctl);
	return err;
}
