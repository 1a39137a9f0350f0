// SPDX-License-Identifier: MIT
/*
 * Admin commands (Base 5): dispatch, queues, abort.
 */
#include <string.h>
#include "req.h"
#include "ring.h"
#include "state.h"

#define QUEUE_ENTRIES_MAX 65536u

/* Send @len bytes of @data where a command's data pointer says, and zeroes after it. */
uint16_t annex_emu_to_dptr(struct annex_emu *emu, const struct annex_sqe *sqe, const void *data,
			   uint32_t len, uint32_t want)
{
	struct iovec *segs = emu->sqs[0].segs;
	uint32_t copied = len < want ? len : want, skip = copied;
	unsigned int n;
	uint16_t sc = annex_emu_dptr(emu, sqe, want, segs, &n, NULL);

	if (sc)
		return sc;
	annex_emu_to_host(segs, n, data, copied);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t part = skip < segs[i].iov_len ? skip : (uint32_t)segs[i].iov_len;

		memset((char *)segs[i].iov_base + part, 0, segs[i].iov_len - part);
		skip -= part;
	}
	return 0;
}

static bool bad_qid(const struct annex_emu *emu, uint16_t qid, bool cq)
{
	uint32_t granted = emu->features[ANNEX_FEAT_QUEUES] >> (cq ? 16 : 0) & 0xffff;

	return !qid || qid > EMU_IO_QUEUES || qid > granted + 1;
}

/* What the two kinds of queue have in common. */
static uint16_t check_queue(const struct annex_emu *emu, const struct annex_sqe *sqe,
			    uint32_t entry_size)
{
	uint32_t entries = (sqe->cdw10 >> 16) + 1;

	if (entries < 2 || entries > QUEUE_ENTRIES_MAX)
		return ANNEX_SC_QUEUE_SIZE;
	if (!(sqe->cdw11 & ANNEX_QUEUE_CONTIGUOUS))
		return ANNEX_SC_INVALID_FIELD; /* CAP.CQR */
	if (sqe->dptr[0] % ANNEX_NVME_PAGE)
		return ANNEX_SC_PRP_OFFSET;
	if (!annex_emu_reach(emu, sqe->dptr[0], (uint64_t)entries * entry_size))
		return ANNEX_SC_DATA_TRANSFER;
	return 0;
}

static uint16_t create_cq(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	uint16_t qid = (uint16_t)sqe->cdw10, sc;

	if (bad_qid(emu, qid, true) || annex_atomic_load(&emu->cqs[qid].live, ANNEX_ACQUIRE))
		return ANNEX_SC_QID_INVALID;
	if (ANNEX_CC_IOCQES(emu->cc) != 4)
		return ANNEX_SC_QUEUE_SIZE;
	sc = check_queue(emu, sqe, sizeof(struct annex_cqe));
	if (sc)
		return sc;
	if (sqe->cdw11 & ANNEX_CQ_INTERRUPTS && sqe->cdw11 >> 16 > EMU_IO_QUEUES)
		return ANNEX_SC_INTERRUPT_VECTOR;
	annex_emu_cq_init(emu, qid, sqe->dptr[0], (sqe->cdw10 >> 16) + 1);
	return 0;
}

static uint16_t create_sq(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	uint16_t qid = (uint16_t)sqe->cdw10, cqid = (uint16_t)(sqe->cdw11 >> 16), sc;
	int err;

	if (bad_qid(emu, qid, false) ||
	    annex_atomic_load(&emu->sqs[qid].state, ANNEX_ACQUIRE) != EMU_SQ_NONE)
		return ANNEX_SC_QID_INVALID;
	if (!cqid || cqid > EMU_IO_QUEUES ||
	    !annex_atomic_load(&emu->cqs[cqid].live, ANNEX_ACQUIRE))
		return ANNEX_SC_CQ_INVALID;
	if (ANNEX_CC_IOSQES(emu->cc) != 6)
		return ANNEX_SC_QUEUE_SIZE;
	sc = check_queue(emu, sqe, sizeof(struct annex_sqe));
	if (sc)
		return sc;
	annex_emu_hold(&emu->sqs[qid]);
	err = annex_emu_sq_init(emu, qid, cqid, sqe->dptr[0], (sqe->cdw10 >> 16) + 1);
	annex_emu_release(emu, &emu->sqs[qid]);
	return err ? ANNEX_SC_INTERNAL : 0;
}

/* Base 5.5: not while submission queues use it. */
static uint16_t delete_cq(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	uint16_t qid = (uint16_t)sqe->cdw10;
	struct emu_cq *cq = &emu->cqs[qid <= EMU_IO_QUEUES ? qid : 0];

	if (!qid || qid > EMU_IO_QUEUES || !annex_atomic_load(&cq->live, ANNEX_ACQUIRE))
		return ANNEX_SC_QID_INVALID;
	if (annex_atomic_load(&cq->users, ANNEX_RELAXED))
		return ANNEX_SC_QUEUE_DELETION;
	annex_emu_cq_stop(cq);
	annex_emu_event(emu, cq);
	return 0;
}

/*
 * Base 5.6. The queue's commands end first, and those that the kernel works on end only when it
 * has let go of their memory: then the last of them completes this command.
 */
static uint16_t delete_sq(struct annex_emu *emu, const struct annex_sqe *sqe)
{
	uint16_t qid = (uint16_t)sqe->cdw10, sc = 0;
	struct emu_sq *sq = &emu->sqs[qid <= EMU_IO_QUEUES ? qid : 0];

	if (!qid || qid > EMU_IO_QUEUES ||
	    annex_atomic_load(&sq->state, ANNEX_ACQUIRE) != EMU_SQ_LIVE)
		return ANNEX_SC_QID_INVALID;
	annex_emu_hold(sq);
	annex_atomic_store(&sq->state, (uint32_t)EMU_SQ_DELETING, ANNEX_RELEASE);
	annex_emu_release(emu, sq);
	pthread_mutex_lock(&emu->async);
	annex_emu_reqs_end(emu, sq);
	if (sq->in_flight) {
		sq->delete_cid = sqe->cid;
		sc = EMU_PENDING;
	} else {
		annex_atomic_sub(&sq->cq->users, 1u, ANNEX_RELAXED);
		annex_atomic_store(&sq->state, (uint32_t)EMU_SQ_NONE, ANNEX_RELEASE);
	}
	pthread_mutex_unlock(&emu->async);
	if (sc)
		annex_emu_hand_over(emu);
	return sc;
}

/* Base 5.1. Bit 0 of the result: the command was not aborted. */
static uint16_t do_abort(struct annex_emu *emu, const struct annex_sqe *sqe, uint32_t *dw0)
{
	uint16_t sqid = (uint16_t)sqe->cdw10, cid = (uint16_t)(sqe->cdw10 >> 16);
	bool ended;

	if (!sqid) {
		ended = annex_emu_aer_abort(emu, cid);
	} else {
		pthread_mutex_lock(&emu->async);
		ended = annex_emu_req_abort(emu, sqid, cid);
		if (emu->ring)
			annex_emu_ring_submit(emu);
		pthread_mutex_unlock(&emu->async);
	}
	*dw0 = !ended;
	return 0;
}

static uint16_t run(struct annex_emu *emu, const struct annex_sqe *sqe, uint32_t *dw0)
{
	if (sqe->flags)
		return ANNEX_SC_INVALID_FIELD; /* fused, or SGLs, which are for I/O commands */
	switch (sqe->opcode) {
	case ANNEX_ADMIN_DELETE_SQ:
		return delete_sq(emu, sqe);
	case ANNEX_ADMIN_CREATE_SQ:
		return create_sq(emu, sqe);
	case ANNEX_ADMIN_GET_LOG_PAGE:
		return annex_emu_get_log_page(emu, sqe);
	case ANNEX_ADMIN_DELETE_CQ:
		return delete_cq(emu, sqe);
	case ANNEX_ADMIN_CREATE_CQ:
		return create_cq(emu, sqe);
	case ANNEX_ADMIN_IDENTIFY:
		return annex_emu_identify(emu, sqe);
	case ANNEX_ADMIN_ABORT:
		return do_abort(emu, sqe, dw0);
	case ANNEX_ADMIN_SET_FEATURES:
		return annex_emu_set_features(emu, sqe, dw0);
	case ANNEX_ADMIN_GET_FEATURES:
		return annex_emu_get_features(emu, sqe, dw0);
	case ANNEX_ADMIN_ASYNC_EVENT:
		return annex_emu_aer(emu, sqe->cid);
	default:
		return ANNEX_SC_INVALID_OPCODE;
	}
}

void annex_emu_admin_batch(struct annex_emu *emu, struct emu_sq *sq, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct annex_sqe *sqe = &sq->cmds[i].sqe;
		struct emu_result res = {.cid = sqe->cid};

		res.status = run(emu, sqe, &res.dw0);
		if (res.status == EMU_PENDING)
			continue;
		if (res.status)
			annex_emu_log_failure(emu, 0, sqe, res.status);
		annex_emu_post(emu, sq, &res, 1);
	}
	annex_emu_aer_flush(emu);
}
