/* SPDX-License-Identifier: MIT */
/*
 * Commands that move lines between a device and a GPU's slots. Programs include annex/gpu.h.
 *
 * One lane sends a command or finds it complete. If data must then be copied or zeroed, that is a
 * job, which all lanes of its warp carry out together. No function here waits for the device.
 */
#ifndef ANNEX_GPU_MOVE_H
#define ANNEX_GPU_MOVE_H

#include <annex/detail/gpu_cache.h>

#ifdef __cplusplus
extern "C" {
#endif

enum annex_gpu_job_kind {
	ANNEX_JOB_NONE,
	ANNEX_JOB_IN,   /* a read has ended: copy staging to slot, then the line is valid */
	ANNEX_JOB_OUT,  /* a write-back begins: copy slot to staging, then send it */
	ANNEX_JOB_NEXT, /* a read failed on one replica: send it to the next */
	ANNEX_JOB_ZERO, /* a line that will be overwritten: zero it, then it is valid */
};

/*
 * struct annex_gpu_job - Work that a lane has begun, for annex_gpu_run_jobs().
 * @line: the line.
 * @slot: its slot.
 * @queue: the queue pair whose staging memory it uses; for ANNEX_JOB_OUT and ANNEX_JOB_NEXT the
 *	caller is inside the queue's gate.
 * @cid: the command identifier; for ANNEX_JOB_OUT and ANNEX_JOB_NEXT reserved.
 * @kind: enum annex_gpu_job_kind.
 */
struct annex_gpu_job {
	uint64_t line;
	uint32_t slot;
	uint16_t queue;
	uint16_t cid;
	uint32_t kind;
};

static inline ANNEX_HD struct annex_gpu_job annex_gpu_no_job(void)
{
	struct annex_gpu_job job;

	job.line = 0;
	job.slot = 0;
	job.queue = job.cid = 0;
	job.kind = ANNEX_JOB_NONE;
	return job;
}

static inline ANNEX_HD void annex_gpu_count(uint64_t *counter, uint64_t n)
{
	annex_local_add(counter, n, ANNEX_RELAXED);
}

/* Bytes of a line that exist on the device: the last line may be partial. */
static inline ANNEX_HD uint32_t annex_gpu_line_bytes(const struct annex_gpu_cache *c, uint64_t line)
{
	uint64_t left = c->size - (line << c->line_shift);

	return left >> c->line_shift ? 1u << c->line_shift : (uint32_t)left;
}

/*
 * Take a command identifier of any queue of a device, without waiting. The caller is inside that
 * queue's gate until it sends the command or calls annex_gpu_unreserve(). Return: 0; -EAGAIN; -EIO,
 * -ENODEV.
 */
static inline ANNEX_HD int annex_gpu_reserve(struct annex_gpu_cache *c, uint32_t dev,
					     struct annex_gpu_job *job)
{
	const struct annex_gpu_dev *d = &c->devs[dev];
	/* A thread block prefers one queue, so that its commands share doorbells. */
	uint32_t q = annex_warp_block() % d->nqueues;
	int rc = -EAGAIN;

	for (uint32_t i = 0; i < d->nqueues && rc == -EAGAIN; i++) {
		job->queue = (uint16_t)(d->first + q);
		rc = annex_qp_reserve(c->queues[job->queue].qp, 1, &job->cid, 0);
		if (++q == d->nqueues)
			q = 0;
	}
	return rc < 0 ? rc : 0;
}

/*
 * The same for a read of a line; of replicas, from the next one with a free identifier. An error
 * only if the queues of all replicas are down. With -EAGAIN, @job has a full queue.
 */
static inline ANNEX_HD int annex_gpu_reserve_read(struct annex_gpu_cache *c, uint64_t line,
						  struct annex_gpu_job *job)
{
	uint32_t dev = annex_stripe_dev(c->stripes, line), copies = c->ndevs / c->stripes;
	uint16_t queue = 0;
	int rc = 0;

	if (copies > 1) /* Relaxed: only spreads reads. */
		dev = annex_local_add(&c->rotor, 1, ANNEX_RELAXED) % copies;
	for (uint32_t i = 0; i < copies; i++) {
		int err = annex_gpu_reserve(c, dev, job);

		if (!err)
			return 0;
		if (rc != -EAGAIN) {
			rc = err;
			queue = job->queue;
		}
		if (copies > 1 && ++dev == copies)
			dev = 0;
	}
	job->queue = queue;
	return rc;
}

static inline ANNEX_HD void annex_gpu_unreserve(struct annex_gpu_cache *c,
						const struct annex_gpu_job *job)
{
	struct annex_qp *qp = c->queues[job->queue].qp;

	annex_qp_untake(qp, &job->cid, 1);
	annex_qp_leave(qp);
}

/* The same for a caller that may have a reservation @held, which it is if that is of the device. */
static inline ANNEX_HD int annex_gpu_reserve_or(struct annex_gpu_cache *c, uint32_t dev,
						const struct annex_gpu_job *held,
						struct annex_gpu_job *job)
{
	if (!held || c->queues[held->queue].dev != dev)
		return annex_gpu_reserve(c, dev, job);
	job->queue = held->queue;
	job->cid = held->cid;
	return 0;
}

/* Have @other in the place of a reservation @job, if there is one. Return: whether there is. */
static inline ANNEX_HD bool annex_gpu_adopt(struct annex_gpu_cache *c, struct annex_gpu_job *job,
					    const struct annex_gpu_job *other)
{
	if (!other->kind)
		return false;
	if (job->queue != other->queue || job->cid != other->cid)
		annex_gpu_unreserve(c, job);
	*job = *other;
	return true;
}

/* A command of device @dev for a line, with its data at @addr. */
static inline ANNEX_HD struct annex_io annex_gpu_io(const struct annex_gpu_cache *c, uint32_t dev,
						    uint64_t line, uint8_t opcode, uint64_t addr)
{
	uint32_t bytes = annex_gpu_line_bytes(c, line);
	uint32_t block_shift = c->devs[dev].block_shift;
	struct annex_io io;

	io.opcode = opcode;
	io.flags = 0;
	io.nsegs = 0;
	io.nsid = c->nsid;
	io.slba = annex_stripe_line(c->stripes, line) << (c->line_shift - block_shift);
	io.nlb = bytes >> block_shift;
	io.bytes = bytes;
	io.addr = addr;
	io.segs = NULL;
	return io;
}

/*
 * Send the command of a job that has a reservation, and record it in the slot's move. The line is
 * busy, or in write-back, so no other thread accesses that record. Return: 0, or -EAGAIN: the queue
 * went down, nothing was sent.
 */
static inline ANNEX_HD int annex_gpu_send(struct annex_gpu_cache *c,
					  const struct annex_gpu_job *job, uint8_t opcode)
{
	struct annex_gpu_queue *q = &c->queues[job->queue];
	struct annex_gpu_move *m = &c->moves[job->slot];
	uint32_t state = ANNEX_MOVE_SENT | (uint32_t)job->queue << ANNEX_MOVE_QUEUE_SHIFT;
	uint64_t addr = q->staging_addr + ((uint64_t)job->cid << c->line_shift);
	uint64_t list = (uint64_t)job->cid * q->qp->limits.list_bytes;
	struct annex_sqe sqe;
	struct annex_io io;
	int err;

	if (c->direct)
		addr = c->devs[q->dev].mem_addr + ((uint64_t)job->slot << c->line_shift);
	if (opcode == ANNEX_NVM_WRITE)
		state |= ANNEX_MOVE_WRITE;
	io = annex_gpu_io(c, q->dev, job->line, opcode, addr);
	annex_io_build(&sqe, &io, &q->qp->limits, job->cid, q->qp->lists + list,
		       q->qp->lists_addr + list);
	m->token = annex_qp_token(q->qp, job->cid);
	m->line = job->line;
	m->deadline = annex_now() + c->timeout_ns;
	/* Relaxed: a hint, which its reader verifies by the slot's record. */
	annex_local_store(&q->slots[job->cid], job->slot, ANNEX_RELAXED);
	err = annex_qp_enqueue(q->qp, &sqe, &job->cid, 1);
	/* Release: the record before its state; pairs with annex_gpu_advance(). */
	if (!err)
		annex_local_store(&m->state, state, ANNEX_RELEASE);
	return err;
}

/* A read has ended without data: its line is absent, and its slot is free. */
static inline ANNEX_HD void annex_gpu_drop_read(struct annex_gpu_cache *c, uint32_t slot)
{
	uint64_t line = c->moves[slot].line;

	/* Relaxed: the transition of the line, and then of the slot, publishes it. */
	annex_local_store(&c->moves[slot].state, (uint32_t)ANNEX_MOVE_NONE, ANNEX_RELAXED);
	annex_line_absent(c->dir, line);
	annex_slot_free(c->owner, slot);
}

/*
 * The read of a slot's line has failed on the device of a queue. The caller has taken the move,
 * which goes on to the next replica. The error is recorded if all of them have been tried.
 */
ANNEX_GPU_COLD static ANNEX_HD void annex_gpu_read_failed(struct annex_gpu_cache *c, uint32_t slot,
							  uint32_t queue, int err)
{
	struct annex_gpu_move *m = &c->moves[slot];
	uint64_t line = m->line;

	if (m->left) {
		m->left--;
		/* Release: passes the record on; pairs with annex_gpu_next_copy(). */
		annex_local_store(&m->state, ANNEX_MOVE_NEXT | queue << ANNEX_MOVE_QUEUE_SHIFT,
				  ANNEX_RELEASE);
		return;
	}
	annex_gpu_drop_read(c, slot);
	annex_gpu_fail_on(c, err, line, c->queues[queue].dev);
}

/* Whether a line has replicas behind the one that this queue's device holds. */
static inline ANNEX_HD bool annex_gpu_more_copies(const struct annex_gpu_cache *c, uint32_t queue)
{
	return c->stripes < c->ndevs && c->queues[queue].dev + 1 < c->ndevs;
}

/*
 * The command of a slot has ended with @err, and data of a read is in the slot. The caller has
 * taken the move; @state is its previous state.
 */
static inline ANNEX_HD void annex_gpu_finish_move(struct annex_gpu_cache *c, uint32_t slot,
						  uint32_t state, int err)
{
	struct annex_gpu_move *m = &c->moves[slot];
	uint32_t queue = state >> ANNEX_MOVE_QUEUE_SHIFT;
	uint64_t line = m->line, bytes = annex_gpu_line_bytes(c, line);

	/* The data was copied from its staging memory: another command may use that. */
	annex_qp_collect(c->queues[queue].qp, m->token, NULL);
	if (err)
		annex_gpu_count(&c->stats.errors, 1);
	if (err && !(state & ANNEX_MOVE_WRITE)) {
		annex_gpu_read_failed(c, slot, queue, err);
		return;
	}
	if (state & ANNEX_MOVE_WRITE && !err) {
		annex_gpu_count(&c->stats.bytes_written, bytes);
		if (annex_gpu_more_copies(c, queue)) {
			/* Release: passes the record on. */
			annex_local_store(&m->state,
					  ANNEX_MOVE_NEXT | ANNEX_MOVE_WRITE |
						  queue << ANNEX_MOVE_QUEUE_SHIFT,
					  ANNEX_RELEASE);
			return;
		}
		annex_gpu_count(&c->stats.writes, 1);
	}
	/* Relaxed: the line's transition below publishes it. */
	annex_local_store(&m->state, (uint32_t)ANNEX_MOVE_NONE, ANNEX_RELAXED);
	if (state & ANNEX_MOVE_WRITE) {
		annex_line_written(c->dir, line, !err);
	} else {
		annex_gpu_count(&c->stats.reads, 1);
		annex_gpu_count(&c->stats.bytes_read, bytes);
		annex_line_filled(c->dir, line);
	}
	if (err)
		annex_gpu_fail_on(c, err, line, c->queues[queue].dev);
}

/*
 * A read of one of several replicas was lost. Mark the device's queues as down, so that until the
 * host's recovery its other reads end too, and new reads go to other replicas. Return: whether
 * another replica is up.
 */
static inline ANNEX_HD bool annex_gpu_mark_down(struct annex_gpu_cache *c, uint32_t dev)
{
	const struct annex_gpu_dev *d = &c->devs[dev];

	if (c->stripes == c->ndevs)
		return false;
	for (uint32_t q = 0; q < d->nqueues; q++)
		annex_qp_break(c->queues[d->first + q].qp);
	/* If the last two replicas go down at once, the next claim records the error. */
	for (uint32_t i = 0; i < c->ndevs; i++)
		if (!annex_qp_down(c->queues[c->devs[i].first].qp))
			return true;
	return false;
}

/*
 * Give up the command of a slot. The device may still carry it out, so memory that it accesses is
 * not reused until the host has reset the device: staging memory is reserved with the identifier,
 * and a slot that a direct read fills has no owner. The line of a read is absent then, and its next
 * read goes to another replica. A line that was being written stays there and cannot be written
 * again: of two writes of a line the older one might take effect last.
 */
ANNEX_GPU_COLD static ANNEX_HD void annex_gpu_lose_move(struct annex_gpu_cache *c, uint32_t slot,
							uint32_t state, int why)
{
	struct annex_gpu_queue *q = &c->queues[state >> ANNEX_MOVE_QUEUE_SHIFT];
	struct annex_gpu_move *m = &c->moves[slot];

	annex_gpu_count(&c->stats.errors, 1);
	/* First: from here on the line is not claimed again, or not for this device. */
	if (state & ANNEX_MOVE_WRITE || !annex_gpu_mark_down(c, q->dev))
		annex_gpu_fail_on(c, why, m->line, q->dev);
	annex_qp_abandon(q->qp, m->token);
	if (!(state & ANNEX_MOVE_WRITE)) {
		if (!c->direct) {
			annex_gpu_drop_read(c, slot);
			return;
		}
		annex_local_store(&c->owner[slot], ANNEX_SLOT_TAKEN, ANNEX_RELAXED);
		annex_line_absent(c->dir, m->line);
	}
	/* Release: the slot's owner before; pairs with annex_gpu_flush_step(). */
	annex_local_store(&m->state, state - ANNEX_MOVE_SENT + ANNEX_MOVE_LOST, ANNEX_RELEASE);
}

/*
 * annex_gpu_poll() - Check whether the command of a slot has ended, and handle its end.
 * @job: set to ANNEX_JOB_IN if a line has arrived and must be copied.
 */
static inline ANNEX_HD void annex_gpu_poll(struct annex_gpu_cache *c, uint32_t slot,
					   struct annex_gpu_job *job)
{
	struct annex_gpu_move *m = &c->moves[slot];
	uint32_t state = annex_local_load(&m->state, ANNEX_RELAXED), taken;
	struct annex_result res;
	struct annex_qp *qp;
	int rc, why;

	if (ANNEX_MOVE_PHASE(state) != ANNEX_MOVE_SENT)
		return;
	taken = state - ANNEX_MOVE_SENT + ANNEX_MOVE_TAKEN;
	/* Acquire: pairs with the release in annex_gpu_send(). One thread takes the record. */
	if (!annex_local_cas(&m->state, &state, taken, ANNEX_ACQUIRE))
		return;
	qp = c->queues[state >> ANNEX_MOVE_QUEUE_SHIFT].qp;
	rc = annex_qp_peek(qp, m->token, &res);
	if (rc == -EINPROGRESS) {
		annex_qp_help(qp);
		rc = annex_qp_peek(qp, m->token, &res);
	}
	if (rc) {
		why = rc != -EINPROGRESS ? -EIO : annex_qp_down(qp);
		if (!why && annex_now() >= m->deadline)
			why = -ETIMEDOUT;
		if (why)
			annex_gpu_lose_move(c, slot, state, why);
		else /* Release: passes the record on. */
			annex_local_store(&m->state, state, ANNEX_RELEASE);
		return;
	}
	rc = annex_nvme_errno(res.status);
	if (rc || state & ANNEX_MOVE_WRITE) {
		annex_gpu_finish_move(c, slot, state, rc);
		return;
	}
	job->kind = ANNEX_JOB_IN;
	job->line = m->line;
	job->slot = slot;
	job->queue = (uint16_t)(state >> ANNEX_MOVE_QUEUE_SHIFT);
	job->cid = (uint16_t)m->token;
}

#define ANNEX_GPU_REAP 32u /* identifiers that one call checks */

/*
 * All identifiers are in use, some perhaps by reads that have ended and were not requested since:
 * look for one of them. annex_gpu_poll() sends nothing, so it needs no identifier itself.
 */
static inline ANNEX_HD void annex_gpu_reap(struct annex_gpu_cache *c, struct annex_gpu_job *job)
{
	struct annex_gpu_queue *q = &c->queues[job->queue];
	uint32_t ids = q->qp->depth - 1;
	/* Relaxed, as all loads here: only hints, which annex_gpu_poll() verifies. */
	uint32_t at = annex_local_add(&q->qp->cid_hint, ANNEX_GPU_REAP, ANNEX_RELAXED);

	for (uint32_t i = 0; i < ANNEX_GPU_REAP && i < ids && !job->kind; i++) {
		uint32_t cid = (at + i) % ids;
		uint64_t s = annex_local_load(&q->qp->reqs[cid].state, ANNEX_RELAXED);

		if (ANNEX_REQ_STATE(s) == ANNEX_REQ_DONE)
			annex_gpu_poll(c, annex_local_load(&q->slots[cid], ANNEX_RELAXED), job);
	}
}

/*
 * A replica of the slot's line has been written, or could not be read: begin the command of the
 * next one, without waiting. Until then the line stays in write-back, or busy, and the slot holds
 * no identifier.
 */
static inline ANNEX_HD void annex_gpu_next_copy(struct annex_gpu_cache *c, uint32_t slot,
						const struct annex_gpu_job *held,
						struct annex_gpu_job *job)
{
	struct annex_gpu_move *m = &c->moves[slot];
	uint32_t state = annex_local_load(&m->state, ANNEX_RELAXED), dev;
	int err;

	if (ANNEX_MOVE_PHASE(state) != ANNEX_MOVE_NEXT)
		return;
	/* Acquire: pairs with the release of the thread that set NEXT. One thread takes it. */
	if (!annex_local_cas(&m->state, &state, state - ANNEX_MOVE_NEXT + ANNEX_MOVE_TAKEN,
			     ANNEX_ACQUIRE))
		return;
	/* The write of the last device is not followed by another one. */
	dev = (c->queues[state >> ANNEX_MOVE_QUEUE_SHIFT].dev + 1) % c->ndevs;
	err = annex_gpu_reserve_or(c, dev, held, job);
	if (!err) {
		job->kind = state & ANNEX_MOVE_WRITE ? ANNEX_JOB_OUT : ANNEX_JOB_NEXT;
		job->line = m->line;
		job->slot = slot;
		return;
	}
	if (err == -EAGAIN) {
		/* Release: passes the record on. */
		annex_local_store(&m->state, state, ANNEX_RELEASE);
		annex_gpu_reap(c, job);
		return;
	}
	if (!(state & ANNEX_MOVE_WRITE)) {
		annex_gpu_read_failed(c, slot, c->devs[dev].first, err);
		return;
	}
	annex_gpu_fail_on(c, err, m->line, dev);
	/* Relaxed: the line's transition publishes it. */
	annex_local_store(&m->state, (uint32_t)ANNEX_MOVE_NONE, ANNEX_RELAXED);
	annex_line_written(c->dir, m->line, false);
}

/*
 * annex_gpu_advance() - Take the step of a slot's command that needs no waiting.
 * @held: NULL, or a reservation of the caller that this step may use.
 * @job: set to the resulting job, if any.
 */
static inline ANNEX_HD void annex_gpu_advance(struct annex_gpu_cache *c, uint32_t slot,
					      const struct annex_gpu_job *held,
					      struct annex_gpu_job *job)
{
	annex_gpu_poll(c, slot, job);
	if (!job->kind)
		annex_gpu_next_copy(c, slot, held, job);
}

/* 16 bytes, which a lane moves in one access. */
struct annex_gpu_piece {
	uint64_t word[2];
} __attribute__((aligned(16)));

/* Copy @n pieces with @lanes lanes, of which the caller is number @rank; four loads at a time. */
static inline ANNEX_HD void annex_gpu_copy(struct annex_gpu_piece *__restrict__ to,
					   const struct annex_gpu_piece *__restrict__ from,
					   uint32_t n, uint32_t rank, uint32_t lanes)
{
	uint32_t i = rank;

	for (; i + 3 * lanes < n; i += 4 * lanes) {
		struct annex_gpu_piece p0 = from[i], p1 = from[i + lanes];
		struct annex_gpu_piece p2 = from[i + 2 * lanes], p3 = from[i + 3 * lanes];

		to[i] = p0;
		to[i + lanes] = p1;
		to[i + 2 * lanes] = p2;
		to[i + 3 * lanes] = p3;
	}
	for (; i < n; i += lanes)
		to[i] = from[i];
}

/*
 * The same from a slot, where other warps may change elements meanwhile. The line is then dirty
 * again afterwards, and each element in the copy has its old or its new value.
 */
ANNEX_RACY static inline ANNEX_HD void annex_gpu_copy_out(struct annex_gpu_piece *to,
							  const struct annex_gpu_piece *from,
							  uint32_t n, uint32_t rank, uint32_t lanes)
{
	for (uint32_t i = rank; i < n; i += lanes)
		to[i] = from[i];
}

/* One lane's part in a job. */
static inline ANNEX_HD void annex_gpu_copy_job(const struct annex_gpu_cache *c, uint32_t kind,
					       uint32_t slot, uint32_t queue, uint32_t cid,
					       uint32_t rank, uint32_t lanes)
{
	char *mem = c->mem + ((uint64_t)slot << c->line_shift), *staging;
	struct annex_gpu_piece *pieces = (struct annex_gpu_piece *)(void *)mem, *staged;
	uint32_t n = (1u << c->line_shift) / (uint32_t)sizeof(*pieces);

	if (kind == ANNEX_JOB_ZERO) {
		for (uint32_t i = rank; i < n; i += lanes)
			pieces[i].word[0] = pieces[i].word[1] = 0;
		return;
	}
	if (c->direct || kind == ANNEX_JOB_NEXT)
		return;
	staging = c->queues[queue].staging + ((uint64_t)cid << c->line_shift);
	staged = (struct annex_gpu_piece *)(void *)staging;
	if (kind == ANNEX_JOB_IN)
		annex_gpu_copy(pieces, staged, n, rank, lanes);
	else
		annex_gpu_copy_out(staged, pieces, n, rank, lanes);
}

static inline ANNEX_HD void annex_gpu_end_job(struct annex_gpu_cache *c,
					      const struct annex_gpu_job *job)
{
	uint32_t state = (uint32_t)job->queue << ANNEX_MOVE_QUEUE_SHIFT | ANNEX_MOVE_SENT;
	bool write = job->kind == ANNEX_JOB_OUT;
	struct annex_qp *qp;
	int err;

	if (job->kind == ANNEX_JOB_ZERO) {
		annex_line_filled(c->dir, job->line);
		return;
	}
	qp = c->queues[job->queue].qp;
	if (job->kind == ANNEX_JOB_IN) {
		/*
		 * The device writes data to the GPU and the completion to host memory: the
		 * completion may arrive first. A read of a register flushes the device's writes.
		 */
		if (c->direct)
			annex_mmio_read32(qp->sq_doorbell.reg);
		annex_gpu_finish_move(c, job->slot, state, 0);
	} else if (annex_gpu_send(c, job, write ? ANNEX_NVM_WRITE : ANNEX_NVM_READ)) {
		annex_gpu_count(&c->stats.errors, 1);
		err = annex_qp_down(qp) ? annex_qp_down(qp) : -EIO;
		if (!write) {
			annex_gpu_read_failed(c, job->slot, job->queue, err);
			return;
		}
		/* Of a second replica's write it is not. Relaxed: the line's transition publishes
		 * it. */
		annex_local_store(&c->moves[job->slot].state, (uint32_t)ANNEX_MOVE_NONE,
				  ANNEX_RELAXED);
		annex_line_written(c->dir, job->line, false);
		annex_gpu_fail_on(c, err, job->line, c->queues[job->queue].dev);
	}
}

/*
 * annex_gpu_run_jobs() - Carry out the jobs of all lanes of @mask, each with a job or none.
 */
static inline ANNEX_HD void annex_gpu_run_jobs(struct annex_gpu_cache *c, uint32_t mask,
					       struct annex_gpu_job *job)
{
	uint32_t todo = annex_warp_ballot(mask, job->kind != ANNEX_JOB_NONE);
	uint32_t rank = annex_warp_count(mask & ((1u << annex_lane()) - 1));
	uint32_t lanes = annex_warp_count(mask);
	uint64_t pack = (uint64_t)job->slot << 32 | (uint64_t)job->kind << 28;
	uint64_t staging = (uint64_t)job->queue << 16 | job->cid;

	if (!todo)
		return;
	/* All lanes may then read the memory that the job's lane has acquired. */
	annex_warp_sync(mask);
	for (uint32_t left = todo; left; left &= left - 1) {
		uint32_t from = annex_warp_first(left);
		uint64_t p = annex_warp_shfl(mask, pack, from);
		uint64_t s = annex_warp_shfl(mask, staging, from);

		annex_gpu_copy_job(c, (uint32_t)p >> 28, (uint32_t)(p >> 32), (uint32_t)s >> 16,
				   (uint32_t)s & 0xffff, rank, lanes);
	}
	/* The job's lane publishes the copies of all lanes. */
	annex_warp_sync(mask);
	if (job->kind)
		annex_gpu_end_job(c, job);
	job->kind = ANNEX_JOB_NONE;
}

#ifdef __cplusplus
}
#endif
#endif
