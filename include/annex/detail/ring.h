/* SPDX-License-Identifier: MIT */
/*
 * The rings of a queue pair: how many threads share them (BaM section 3.3). Programs include
 * annex/queue.h.
 *
 * Enqueue. A submitter reserves command identifiers (each names a struct annex_req), takes as
 * many consecutive tickets from one atomic counter, and copies its commands into the entries that
 * the tickets name: ticket mod depth is the entry, ticket / depth the turn. One word per entry
 * carries turn and mark: 2 * turn says "free for this turn", 2 * turn + 1 "written in this turn".
 * Then one of the submitters moves the tail over the run of marked entries and rings the doorbell
 * once for all of them.
 *
 * Dequeue. Any thread that polls the completion queue claims new entries one by one (again one word
 * per entry: 2 * turn unclaimed, + 1 claimed, + 2 delivered), also of other threads' commands,
 * writes the result into the request and marks the entry. One thread moves the head over the run
 * of delivered entries, rings the doorbell once, reads the controller's SQ head from the last of
 * them, and frees the submission entries up to it for their next turn.
 *
 * Moving is a critical section without waiting: a thread that finds it taken increments a count,
 * and the thread inside repeats its work before it leaves. So a mark is never left behind, and a
 * submitter never depends on another one being scheduled to leave the queue.
 *
 * At most depth - 1 commands are outstanding, because there are depth - 1 identifiers; entries are
 * freed one late (entry e of the next turn is freed when the head is past e + 1), so that tail and
 * head never meet on a full queue, with any depth from 2. As an identifier is held before a ticket
 * is taken, at least one of the depth - 1 tickets before it has completed. So a wait for the turn
 * only waits for a head movement in progress, never for the medium.
 *
 * Giving up. A thread that stops waiting abandons its token: identifier, list memory and buffer
 * stay reserved until the completion arrives or the queue is reset. A thread never gives up while
 * it holds a ticket: it writes its entry first.
 *
 * A queue pair is for host threads or for GPU threads, not for both: a GPU cannot wake a host
 * thread whose completion it delivers. So only doorbells, entries and lists are shared with the
 * controller; all other words are accessed by threads of one kind (annex_local_*()). Entries of a
 * GPU's queue pairs may be in its own memory (lib/gpu/rings.c): accesses with system scope below
 * are ordered for a device on the bus, also when it accesses GPU memory.
 *
 * The model of this protocol is tests/promela/queue.pml. This header compiles as C11 and as CUDA
 * device code; functions for hosts only are behind struct annex_qp_host.
 */
#ifndef ANNEX_RING_H
#define ANNEX_RING_H

#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/detail/qp.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_QP_BATCH 32u    /* most commands of one pass of a submitter */
#define ANNEX_QP_PATIENCE 48u /* rounds without an identifier before a thread gets priority */

/*
 * Store a new value to a shadow doorbell, whose only writer is the caller. Full order: entries
 * before the shadow, and the shadow before the load of the event index, since the controller stores
 * the event index and then loads the shadow.
 */
static inline ANNEX_HD void annex_shadow(uint32_t *shadow, uint32_t old, uint32_t value)
{
#if ANNEX_ON_GPU
	/* Atomics of a GPU do not work on host memory. */
	(void)old;
	annex_atomic_store(shadow, value, ANNEX_RELEASE);
	annex_atomic_fence(ANNEX_SEQ_CST);
#else
	annex_dma_wmb();
	annex_atomic_add(shadow, value - old, ANNEX_SEQ_CST);
	annex_dma_mb();
#endif
}

/*
 * Announce a new value to the controller. With a shadow doorbell the register is written only if
 * the value passes the controller's event index; as in virtio, differences are modulo 2^16.
 */
static inline ANNEX_HD void annex_ring(const struct annex_doorbell *bell, uint32_t value)
{
	uint32_t old, event;

	if (!bell->shadow) {
		annex_mmio_write32(bell->reg, value);
		return;
	}
	old = annex_atomic_load(bell->shadow, ANNEX_RELAXED); /* the caller is its only writer */
	annex_shadow(bell->shadow, old, value);
	event = annex_atomic_load(bell->event, ANNEX_SEQ_CST);
	if ((uint16_t)(value - event - 1) < (uint16_t)(value - old))
		annex_mmio_write32(bell->reg, value);
}

/* Functions of the library that the inline code below calls on a host. */
void annex_host_backoff(unsigned int round);
void annex_host_wake(struct annex_qp *qp, uint64_t *state);
int annex_host_wait(struct annex_qp *qp, uint64_t token, struct annex_result *res,
		    uint64_t deadline);

/* A free-running position in a ring, and its entry and turn. */
struct annex_pos {
	uint64_t n;
	uint64_t turn;
	uint32_t entry;
};

static inline ANNEX_HD struct annex_pos annex_pos_at(const struct annex_qp *qp, uint64_t n)
{
	struct annex_pos p;

	p.n = n;
	p.turn = n / qp->depth;
	p.entry = (uint32_t)(n - p.turn * qp->depth);
	return p;
}

static inline ANNEX_HD void annex_pos_next(const struct annex_qp *qp, struct annex_pos *p)
{
	p->n++;
	if (++p->entry == qp->depth) {
		p->entry = 0;
		p->turn++;
	}
}

/*
 * The gate. Resetting a queue rewrites its rings; it closes the gate (state), then waits until no
 * thread is inside (active). Both sides store, then load the other's word: sequentially consistent,
 * so that either the thread sees the gate closed or the reset sees the thread.
 */
static inline ANNEX_HD bool annex_qp_enter(struct annex_qp *qp)
{
	annex_local_add(&qp->active, 1, ANNEX_SEQ_CST);
	if (annex_local_load(&qp->state, ANNEX_SEQ_CST) == ANNEX_QP_LIVE)
		return true;
	annex_local_sub(&qp->active, 1, ANNEX_RELEASE);
	return false;
}

static inline ANNEX_HD void annex_qp_leave(struct annex_qp *qp)
{
	/* Release: this thread's accesses to the rings come before a reset that sees 0. */
	annex_local_sub(&qp->active, 1, ANNEX_RELEASE);
}

/* Mark the queue as in need of a reset, unless a reset or removal is already in progress. */
static inline ANNEX_HD void annex_qp_break(struct annex_qp *qp)
{
	uint32_t live = ANNEX_QP_LIVE;

	if (!annex_local_cas(&qp->state, &live, (uint32_t)ANNEX_QP_BROKEN, ANNEX_SEQ_CST))
		return;
#if !ANNEX_ON_GPU
	/* Wake the watcher; each sleeper that leaves wakes the next (lib/nvme/wait.c). */
	if (qp->host.wake)
		qp->host.wake(qp->host.ctrl, qp->qid);
#endif
}

/*
 * Write a completion into its request. The claim on the CQ entry makes this thread the only one
 * to deliver it; the CAS detects an owner that abandons the token, and a controller that completes
 * an identifier twice. Return: the state word on which the owner sleeps, for annex_qp_wake(), or
 * NULL.
 */
static inline ANNEX_HD uint64_t *annex_qp_deliver(struct annex_qp *qp, uint16_t cid,
						  uint16_t status, uint32_t dw0)
{
	struct annex_req *r;
	uint64_t s, next;

	if (cid >= qp->depth - 1) {
		annex_local_add(&qp->spurious, 1, ANNEX_RELAXED);
		return NULL;
	}
	r = &qp->reqs[cid];
	s = annex_local_load(&r->state, ANNEX_ACQUIRE);
	do {
		if (ANNEX_REQ_STATE(s) == ANNEX_REQ_TAKEN) {
			r->dw0 = dw0;
			r->status = status;
			next = (s & ANNEX_REQ_KEEP) | ANNEX_REQ_DONE;
		} else if (ANNEX_REQ_STATE(s) == ANNEX_REQ_ORPHAN) {
			next = (s & ANNEX_REQ_KEEP) + ANNEX_REQ_NEXT;
		} else {
			annex_local_add(&qp->spurious, 1, ANNEX_RELAXED);
			return NULL;
		}
		/* Release: the result before DONE; pairs with the acquire in annex_qp_peek(). */
	} while (!annex_local_cas(&r->state, &s, next, ANNEX_RELEASE));
	return s & ANNEX_REQ_ASLEEP ? &r->state : NULL;
}

/* Wake the host threads that sleep on these state words. GPU threads never sleep. */
static inline ANNEX_HD void annex_qp_wake(struct annex_qp *qp, uint64_t *const *asleep, uint32_t n)
{
#if !ANNEX_ON_GPU
	for (uint32_t i = 0; i < n; i++)
		annex_host_wake(qp, asleep[i]);
#else
	(void)qp;
	(void)asleep;
	(void)n;
#endif
}

/*
 * Free submission entries up to the head that the controller reported. Called only by the thread
 * that moves the head. Return: false if the reported head is not among the submitted entries.
 */
static inline ANNEX_HD bool annex_qp_free_entries(struct annex_qp *qp, uint32_t reported)
{
	uint64_t head = qp->sq_head, moved;
	uint32_t entry = (uint32_t)(head % qp->depth);
	struct annex_pos p;

	if (reported >= qp->depth)
		return false;
	moved = (reported + qp->depth - entry) % qp->depth;
	/* Acquire: pairs with the tail's release: a head beyond the tail is an error. */
	if (head + moved > annex_local_load(&qp->sq_tail, ANNEX_ACQUIRE))
		return false;
	/* Entries are freed one late: see the top of this file. */
	p = annex_pos_at(qp, head + qp->depth - 1);
	for (uint64_t i = 0; i < moved; i++) {
		/* Release: the controller has read the entry; pairs with the turn's acquire. */
		annex_local_store(&qp->sq_seq[p.entry], 2 * p.turn, ANNEX_RELEASE);
		annex_pos_next(qp, &p);
	}
	qp->sq_head = head + moved;
	return true;
}

static inline ANNEX_HD void annex_qp_move_head(struct annex_qp *qp)
{
	/* Acquire on entry, release on exit: for the members that only movers access. */
	uint32_t seen = annex_local_add(&qp->cq_moving, 1, ANNEX_ACQ_REL);

	if (seen)
		return; /* the thread inside repeats its work */
	seen = 1;
	do {
		uint64_t head = annex_local_load(&qp->cq_head, ANNEX_RELAXED);
		struct annex_pos p = annex_pos_at(qp, head);
		uint32_t sq_head = 0;

		/* Acquire: pairs with the deliverer's mark; the entry has been read. */
		while (annex_local_load(&qp->cq_seq[p.entry], ANNEX_ACQUIRE) == 2 * p.turn + 2) {
			sq_head = qp->cq[p.entry].sq_head;
			annex_pos_next(qp, &p);
		}
		if (p.n == head)
			continue;
		if (!annex_qp_free_entries(qp, sq_head))
			annex_qp_break(qp);
		/* Release: a thread that starts at the new head sees the marks before it. */
		annex_local_store(&qp->cq_head, p.n, ANNEX_RELEASE);
		annex_ring(&qp->cq_doorbell, p.entry);
		/* A waiter that misses this movement must see the count: full order. */
	} while (!annex_local_cas(&qp->cq_moving, &seen, 0u, ANNEX_ACQ_REL));
}

/**
 * annex_qp_process() - Deliver the completions that have arrived, of all threads' commands.
 * @qp: the queue pair.
 *
 * Return: number of completions that this call delivered; -EBUSY if it delivered none while another
 * thread is delivering one.
 */
static inline ANNEX_HD int annex_qp_process(struct annex_qp *qp)
{
	uint64_t *asleep[ANNEX_QP_BATCH];
	uint64_t from, claimed;
	struct annex_pos p;
	uint32_t sleepers = 0;
	int delivered = 0;
	bool others = false;

	if (!annex_qp_enter(qp))
		return 0;
	from = annex_local_load(&qp->cq_head, ANNEX_ACQUIRE);
	/* Relaxed: all entries before any value of it were claimed when it was written. */
	claimed = annex_local_load(&qp->cq_claimed, ANNEX_RELAXED);
	p = annex_pos_at(qp, claimed > from ? claimed : from);
	for (uint32_t i = 0; i < qp->depth; i++, annex_pos_next(qp, &p)) {
		uint64_t *seq = &qp->cq_seq[p.entry], s;
		uint32_t word;

		s = annex_local_load(seq, ANNEX_ACQUIRE);
		if (s == 2 * p.turn) {
			/* Acquire: the phase tag is written last, after the rest of the entry. */
			word = annex_atomic_load((uint32_t *)(void *)&qp->cq[p.entry].cid,
						 ANNEX_ACQUIRE);
			annex_dma_rmb();
			if ((word >> 16 & 1) == (p.turn & 1))
				break; /* phase of the previous turn: nothing new */
			/* Acquire and release: one thread claims, after earlier claims. */
			if (annex_local_cas(seq, &s, s + 1, ANNEX_ACQ_REL)) {
				uint64_t *owner = annex_qp_deliver(qp, (uint16_t)word,
								   (uint16_t)(word >> 17),
								   qp->cq[p.entry].dw0);
				/* Release: delivered before marked. */
				annex_local_store(seq, 2 * p.turn + 2, ANNEX_RELEASE);
				delivered++;
				if (owner)
					asleep[sleepers++] = owner;
				if (sleepers == ANNEX_QP_BATCH) {
					annex_qp_wake(qp, asleep, sleepers);
					sleepers = 0;
				}
				continue;
			}
		}
		if (s == 2 * p.turn + 1)
			others = true;
		else if (s != 2 * p.turn + 2)
			break; /* the head has moved a whole turn past us */
	}
	if (delivered) {
		/* Relaxed: only a hint where to begin. */
		if (p.n > annex_local_load(&qp->cq_claimed, ANNEX_RELAXED))
			annex_local_store(&qp->cq_claimed, p.n, ANNEX_RELAXED);
		annex_qp_move_head(qp);
	}
	annex_qp_leave(qp);
	/* Last: a woken thread may preempt this one, for which no thread waits from here on. */
	annex_qp_wake(qp, asleep, sleepers);
	return delivered ? delivered : others ? -EBUSY : 0;
}

static inline ANNEX_HD void annex_qp_move_tail(struct annex_qp *qp)
{
	/* As in annex_qp_move_head(). */
	uint32_t seen = annex_local_add(&qp->sq_moving, 1, ANNEX_ACQ_REL);

	if (seen)
		return;
	seen = 1;
	do {
		uint64_t tail = annex_local_load(&qp->sq_tail, ANNEX_RELAXED);
		struct annex_pos p = annex_pos_at(qp, tail);

		/* Acquire: pairs with the mark; the command is in the entry. */
		while (annex_local_load(&qp->sq_seq[p.entry], ANNEX_ACQUIRE) == 2 * p.turn + 1)
			annex_pos_next(qp, &p);
		if (p.n == tail)
			continue;
		/* Release: before the doorbell, so that no valid reported head is beyond it. */
		annex_local_store(&qp->sq_tail, p.n, ANNEX_RELEASE);
		annex_ring(&qp->sq_doorbell, p.entry);
	} while (!annex_local_cas(&qp->sq_moving, &seen, 0u, ANNEX_ACQ_REL));
}

/* Back off after @round rounds of waiting: spin, yield, nap. */
static inline ANNEX_HD void annex_qp_backoff(unsigned int round)
{
#if ANNEX_ON_GPU
	for (unsigned int i = 0; i <= (round < 64 ? round : 64); i++)
		annex_pause();
#else
	annex_host_backoff(round);
#endif
}

/* Let an emulated controller make progress, and deliver. Return: as annex_qp_process(). */
static inline ANNEX_HD int annex_qp_help(struct annex_qp *qp)
{
#if !ANNEX_ON_GPU
	if (qp->host.assist)
		qp->host.assist(qp->host.ctrl, qp->qid);
#endif
	return annex_qp_process(qp);
}

/* Reason that a queue cannot be entered: 0 while it is being reset (wait), otherwise an errno. */
static inline ANNEX_HD int annex_qp_down(struct annex_qp *qp)
{
	uint32_t state = annex_local_load(&qp->state, ANNEX_ACQUIRE);

	return state == ANNEX_QP_DEAD     ? -ENODEV
	       : state == ANNEX_QP_BROKEN ? -EIO
	       : state == ANNEX_QP_FORKED ? -ECHILD
					  : 0;
}

/* Try to take up to @want command identifiers among @most of them. Return: number of them. */
static inline ANNEX_HD uint32_t annex_qp_take(struct annex_qp *qp, uint32_t want, uint16_t *cids,
					      uint32_t most)
{
	uint32_t ids = qp->depth - 1, got = 0;
	/* A hint only: spreads threads over the identifiers, so relaxed. */
	uint32_t i = annex_local_add(&qp->cid_hint, want, ANNEX_RELAXED) % ids;

	if (most > ids)
		most = ids;
	for (uint32_t tries = 0; tries < most && got < want; tries++) {
		uint64_t s = annex_local_load(&qp->reqs[i].state, ANNEX_RELAXED);

		/* Acquire: pairs with the release that freed it, and its list memory. */
		if (ANNEX_REQ_STATE(s) == ANNEX_REQ_FREE &&
		    annex_local_cas(&qp->reqs[i].state, &s, s | ANNEX_REQ_TAKEN, ANNEX_ACQUIRE))
			cids[got++] = (uint16_t)i;
		if (++i == ids)
			i = 0;
	}
	return got;
}

static inline ANNEX_HD void annex_qp_untake(struct annex_qp *qp, const uint16_t *cids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *s = &qp->reqs[cids[i]].state, now = annex_local_load(s, ANNEX_RELAXED);

		annex_local_store(s, (now & ANNEX_REQ_KEEP) + ANNEX_REQ_NEXT, ANNEX_RELEASE);
	}
}

/*
 * Enter the queue and take 1 to @want command identifiers. On success the caller is inside the
 * gate and goes on with annex_qp_enqueue(). Free identifiers go to any thread that asks, without a
 * queue, until a thread has waited for ANNEX_QP_PATIENCE rounds and gets priority. Return: number
 * of identifiers, or an error of annex_qp_submit().
 */
static inline ANNEX_HD int annex_qp_reserve(struct annex_qp *qp, uint32_t want, uint16_t *cids,
					    uint64_t deadline)
{
	/* A caller that can wait scans a few identifiers only. */
	uint32_t look = deadline ? 4 * ANNEX_QP_BATCH : qp->depth;
	struct annex_patience patience = {deadline, 0};
	bool first = false;
	int rc = 0;

	for (unsigned int round = 0; !rc; round++) {
		uint32_t nobody = 0;

		if (annex_qp_enter(qp)) {
			/* Relaxed, here and below: priority orders no other memory. */
			if (first || !annex_local_load(&qp->starving, ANNEX_RELAXED))
				rc = (int)annex_qp_take(qp, want, cids, look);
			if (rc)
				break;
			annex_qp_leave(qp);
		} else {
			rc = annex_qp_down(qp);
			if (rc)
				break;
		}
		annex_qp_help(qp);
		if (!deadline && round)
			rc = -EAGAIN;
		else if (deadline && annex_patience_ends(&patience))
			rc = -ETIMEDOUT;
		else if (!first && round >= ANNEX_QP_PATIENCE)
			first = annex_local_cas(&qp->starving, &nobody, 1u, ANNEX_RELAXED);
		if (!rc)
			annex_qp_backoff(first ? ANNEX_QP_PATIENCE / 2 : round);
	}
	if (first)
		annex_local_store(&qp->starving, 0u, ANNEX_RELAXED);
	return rc;
}

/*
 * Wait until the entry at @p is free for its turn. A head movement in progress frees it, so help
 * with completions meanwhile. Return: false if the queue left the live state, which it also does if
 * the turn does not come within the stall limit.
 */
static inline ANNEX_HD bool annex_qp_wait_turn(struct annex_qp *qp, const struct annex_pos *p)
{
	uint64_t limit = 0;

	for (unsigned int round = 0;; round++) {
		/* Acquire: pairs with annex_qp_free_entries(). */
		if (annex_local_load(&qp->sq_seq[p->entry], ANNEX_ACQUIRE) == 2 * p->turn)
			return true;
		if (annex_local_load(&qp->state, ANNEX_RELAXED) != ANNEX_QP_LIVE)
			return false;
		if (!limit)
			limit = annex_now() + qp->stall_ns;
		else if (annex_now() >= limit)
			annex_qp_break(qp);
		annex_qp_process(qp);
		annex_qp_backoff(round);
	}
}

/*
 * Put commands with reserved identifiers into the queue, and leave it. Return: 0; -EAGAIN if the
 * queue went down meanwhile: nothing was submitted, and the identifiers are free again.
 */
static inline ANNEX_HD int annex_qp_enqueue(struct annex_qp *qp, const struct annex_sqe *sqes,
					    const uint16_t *cids, uint32_t n)
{
	/* Relaxed: tickets need no order with other memory; the entries' words have it. */
	struct annex_pos p = annex_pos_at(qp, annex_local_add(&qp->sq_ticket, n, ANNEX_RELAXED));
	int err = 0;

	for (uint32_t i = 0; i < n; i++, annex_pos_next(qp, &p)) {
		if (!annex_qp_wait_turn(qp, &p)) {
			/* The rings will be rebuilt, so holes do not matter. */
			if (!i)
				annex_qp_untake(qp, cids, n);
			err = i ? 0 : -EAGAIN;
			break;
		}
		qp->sq[p.entry] = sqes[i];
		/* Release: the command before its mark. */
		annex_local_store(&qp->sq_seq[p.entry], 2 * p.turn + 1, ANNEX_RELEASE);
	}
	annex_qp_move_tail(qp);
	annex_qp_leave(qp);
#if !ANNEX_ON_GPU
	if (qp->host.rung) {
		qp->host.rung(qp->host.ctrl, qp->qid);
		/* The controller may have completed commands at once: deliver these. */
		annex_qp_process(qp);
	}
#endif
	return err;
}

static inline ANNEX_HD uint64_t annex_qp_token(const struct annex_qp *qp, uint16_t cid)
{
	return annex_local_load(&qp->reqs[cid].state, ANNEX_RELAXED) >> 3 << 16 | cid;
}

#ifdef __cplusplus
}
#endif
#endif
