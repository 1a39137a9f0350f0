// SPDX-License-Identifier: MIT
/*
 * Lending threads to the controller, and sleeping until it has posted a completion.
 *
 * Without a service thread only the threads that wait run the controller. Sleepers wait for
 * events of their completion queue (a futex). While I/O is in flight one of them, the leader, waits
 * for the backend instead, and posts all completions. No thread may leave or sleep while I/O is in
 * flight and others sleep without a leader: see annex_emu_hand_over().
 */
#include <errno.h>
#include "core/futex.h"
#include "backend.h"
#include "state.h"

/* While the controller does not run, waiting threads look at it this often. */
#define STOPPED_NS (10 * ANNEX_NSEC_PER_MSEC)
#define LEADER_AWAKE UINT32_MAX

uint32_t annex_emu_drain_ms = 30000;

/* Work of all queues: ended I/O, timers, queues that found no request. */
void annex_emu_pass(struct annex_emu *emu)
{
	uint64_t due = annex_atomic_load(&emu->next_due, ANNEX_ACQUIRE);
	bool fire = due != EMU_NEVER && annex_now() >= due;

	if ((fire || annex_atomic_load(&emu->in_flight, ANNEX_ACQUIRE)) &&
	    !pthread_mutex_trylock(&emu->async)) {
		if (fire)
			annex_emu_fire_timers(emu);
		annex_emu_reap(emu);
		pthread_mutex_unlock(&emu->async);
	}
	annex_emu_resume_stalled(emu);
}

/* Whether the backend has no commands, or none of one queue. */
static bool drained(struct annex_emu *emu, const struct emu_sq *sq)
{
	bool none;

	if (!sq)
		return !annex_atomic_load(&emu->in_flight, ANNEX_ACQUIRE);
	pthread_mutex_lock(&emu->async);
	none = !sq->in_flight;
	pthread_mutex_unlock(&emu->async);
	return none;
}

/* Another process ends commands within their timeout, or never. */
static uint32_t drain_ms(const struct annex_emu *emu)
{
	/* Relaxed: a second wait would not help, so none is made. */
	if (annex_atomic_load(&emu->stuck, ANNEX_RELAXED))
		return 0;
	return emu->backend->bounded ? emu->ctrl.timeout_ms : annex_emu_drain_ms;
}

/* Wait, for a limited time, until cancelled commands have ended. -ETIMEDOUT. */
int annex_emu_drain(struct annex_emu *emu, const struct emu_sq *sq)
{
	const uint32_t ms = drain_ms(emu);
	const uint64_t deadline = annex_deadline_ms(ms);

	for (unsigned int round = 0;; round++) {
		annex_emu_pass(emu);
		if (drained(emu, sq)) {
			annex_atomic_store(&emu->stuck, 0u, ANNEX_RELAXED);
			return 0;
		}
		if (annex_now() >= deadline) {
			annex_atomic_store(&emu->stuck, 1u, ANNEX_RELAXED);
			return annex_fail(-ETIMEDOUT, "%s: I/O has not ended after %u ms",
					  emu->scheme, ms);
		}
		annex_qp_backoff(round);
	}
}

void annex_emu_rung(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	uint32_t asleep = 1;

	if (emu->forked || qid >= EMU_QUEUES)
		return;
	if (!emu->threaded) {
		annex_emu_serve(emu, qid, true);
		return;
	}
	/*
	 * The doorbell was stored before; the service thread marks itself asleep and then reads
	 * doorbells. Both sides do a read-modify-write on the same word, so one comes first: either
	 * this one finds the mark, or the thread's acquires this one, and with it the doorbell.
	 */
	if (annex_atomic_add(&emu->asleep, 0u, ANNEX_SEQ_CST) &&
	    annex_atomic_cas(&emu->asleep, &asleep, 0u, ANNEX_SEQ_CST))
		annex_emu_kick(emu);
}

static void assist(struct annex_emu *emu, uint16_t qid, bool lent)
{
	if (emu->threaded || emu->forked || qid >= EMU_QUEUES)
		return;
	if (annex_emu_ahead(&emu->sqs[qid]))
		annex_emu_serve(emu, qid, lent);
	annex_emu_pass(emu);
}

void annex_emu_assist(struct annex_ctrl *ctrl, uint16_t qid)
{
	assist(annex_emu_of(ctrl), qid, true);
}

uint32_t annex_emu_event_count(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	/* Acquire: completions before the event are visible. */
	return qid < EMU_QUEUES ? annex_atomic_load(&emu->cqs[qid].event, ANNEX_ACQUIRE) : 0;
}

void annex_emu_wake(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	if (qid < EMU_QUEUES)
		annex_emu_event(emu, &emu->cqs[qid]);
}

/* Whether there was no event. */
static bool quiet(const struct emu_cq *cq, uint32_t seen)
{
	return annex_atomic_load(&cq->event, ANNEX_SEQ_CST) == seen;
}

/* When to wake up without an event. */
static uint64_t limit_of(struct annex_emu *emu, uint16_t qid, uint64_t deadline)
{
	uint64_t due = annex_atomic_load(&emu->next_due, ANNEX_ACQUIRE);
	uint64_t limit = due < deadline ? due : deadline, soon = EMU_NEVER;

	if (!annex_atomic_load(&emu->running, ANNEX_ACQUIRE))
		soon = annex_now() + STOPPED_NS;
	else if (annex_emu_ahead(&emu->sqs[qid]) || annex_emu_blocked(emu))
		soon = annex_now() + EMU_RETRY_NS;
	return soon < limit ? soon : limit;
}

/* Wait for the backend on everyone's behalf. Return: false when another thread does. */
static bool lead(struct annex_emu *emu, uint16_t qid, uint32_t seen, uint64_t deadline)
{
	struct emu_cq *cq = &emu->cqs[qid];
	uint32_t nobody = 0;

	if (!annex_atomic_load(&emu->in_flight, ANNEX_SEQ_CST) ||
	    !annex_atomic_cas(&emu->leader, &nobody, LEADER_AWAKE, ANNEX_SEQ_CST))
		return false;
	while (quiet(cq, seen) && annex_atomic_load(&emu->in_flight, ANNEX_SEQ_CST)) {
		uint64_t limit = limit_of(emu, qid, deadline);

		/*
		 * A thread that posts to this queue kicks from now on. The read-modify-write and
		 * the load of the event count are the mirror image of annex_emu_event().
		 */
		annex_atomic_add(&emu->leader, qid + 1u - LEADER_AWAKE, ANNEX_SEQ_CST);
		if (quiet(cq, seen))
			annex_emu_poll(emu, limit);
		annex_atomic_add(&emu->leader, LEADER_AWAKE - (qid + 1u), ANNEX_SEQ_CST);
		assist(emu, qid, false); /* sleeps on: completions must make an event */
		if (annex_now() >= deadline)
			break;
	}
	annex_atomic_and(&emu->leader, 0u, ANNEX_SEQ_CST);
	return true;
}

void annex_emu_sleep(struct annex_ctrl *ctrl, uint16_t qid, uint32_t seen, uint64_t deadline)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	struct emu_cq *cq;

	if (qid >= EMU_QUEUES)
		return;
	cq = &emu->cqs[qid];
	assist(emu, qid, false); /* sleeps afterwards: completions must make an event */
	annex_atomic_add(&emu->sleepers, 1u, ANNEX_SEQ_CST);
	annex_atomic_add(&cq->waiters, 1u, ANNEX_SEQ_CST);
	if (quiet(cq, seen) && (emu->threaded || !lead(emu, qid, seen, deadline)))
		futex_sleep(&cq->event, seen, limit_of(emu, qid, deadline), false);
	annex_atomic_sub(&cq->waiters, 1u, ANNEX_SEQ_CST);
	annex_atomic_sub(&emu->sleepers, 1u, ANNEX_SEQ_CST);
	annex_emu_assist(ctrl, qid);
	annex_emu_hand_over(emu);
}
