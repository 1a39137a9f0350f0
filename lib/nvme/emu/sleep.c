// SPDX-License-Identifier: MIT
/*
 * Lending threads to the controller, and sleeping until it has done something.
 *
 * Without a service thread the threads that wait are all there is. Those that sleep wait for
 * events of their completion queue (a futex). While I/O is under way one of them, the leader,
 * waits for the ring instead, and posts what comes for everyone. Nobody may go or sleep while I/O
 * is under way and others sleep without a leader: see annex_emu_hand_over().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "req.h"
#include "ring.h"
#include "state.h"

/* While the controller does not run: who waits on it should find out, without spinning. */
#define STOPPED_NS (10 * ANNEX_NSEC_PER_MSEC)
#define LEADER_AWAKE UINT32_MAX

/* What concerns no particular queue: I/O that has ended, timers, queues that found no request. */
void annex_emu_pass(struct annex_emu *emu)
{
	uint64_t due = annex_atomic_load(&emu->next_due, ANNEX_ACQUIRE);
	bool fire = due != EMU_NEVER && annex_now() >= due;

	if ((fire || annex_atomic_load(&emu->in_flight, ANNEX_ACQUIRE)) &&
	    !pthread_mutex_trylock(&emu->async)) {
		if (fire)
			annex_emu_fire_timers(emu);
		if (emu->ring)
			annex_emu_ring_reap(emu);
		pthread_mutex_unlock(&emu->async);
	}
	annex_emu_resume_stalled(emu);
	annex_emu_aer_flush(emu);
}

void annex_emu_rung(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct annex_emu *emu = annex_emu_of(ctrl);
	uint32_t asleep = 1;

	if (qid >= EMU_QUEUES)
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
	if (emu->threaded || qid >= EMU_QUEUES)
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

	/* Acquire: what the event announced is there when its number is. */
	return qid < EMU_QUEUES ? annex_atomic_load(&emu->cqs[qid].event, ANNEX_ACQUIRE) : 0;
}

void annex_emu_wake(struct annex_ctrl *ctrl, uint16_t qid)
{
	struct annex_emu *emu = annex_emu_of(ctrl);

	if (qid < EMU_QUEUES)
		annex_emu_event(emu, &emu->cqs[qid]);
}

/*
 * Called by who leaves sleep() and by who has started I/O: if there is I/O under way, and there
 * are sleepers, and none of them leads, wake one. Sleepers count themselves before they look at
 * the I/O in flight and at the leader, callers do it the other way round, all sequentially
 * consistent: so either they see the I/O (or the missing leader), or they are seen here.
 */
void annex_emu_hand_over(struct annex_emu *emu)
{
	if (emu->threaded || !emu->ring || !annex_atomic_load(&emu->in_flight, ANNEX_SEQ_CST) ||
	    annex_atomic_load(&emu->leader, ANNEX_SEQ_CST) ||
	    !annex_atomic_load(&emu->sleepers, ANNEX_SEQ_CST))
		return;
	for (unsigned int i = 0; i < EMU_QUEUES; i++) {
		struct emu_cq *cq = &emu->cqs[i];

		if (!annex_atomic_load(&cq->waiters, ANNEX_SEQ_CST))
			continue;
		annex_atomic_add(&cq->event, 1u, ANNEX_SEQ_CST);
		syscall(SYS_futex, &cq->event, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		return;
	}
}

void annex_emu_wake_all(struct annex_emu *emu)
{
	for (unsigned int i = 0; i < EMU_QUEUES; i++)
		annex_emu_event(emu, &emu->cqs[i]);
	annex_emu_kick(emu);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / ANNEX_NSEC_PER_SEC),
				 .tv_nsec = (long)(ns % ANNEX_NSEC_PER_SEC)};
}

static void futex_wait(struct emu_cq *cq, uint32_t seen, uint64_t until)
{
	struct timespec ts = to_timespec(until); /* absolute, of the monotonic clock */

	syscall(SYS_futex, &cq->event, FUTEX_WAIT_BITSET_PRIVATE, seen, &ts, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

/* Whether there is reason to sleep on. */
static bool quiet(const struct emu_cq *cq, uint32_t seen)
{
	return annex_atomic_load(&cq->event, ANNEX_SEQ_CST) == seen;
}

/* When to wake up by oneself. */
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

/* Wait for the ring or a kick. @until: annex_now(). */
void annex_emu_poll(struct annex_emu *emu, uint64_t until)
{
	struct pollfd fds[2] = {{.fd = emu->kick, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	uint64_t now = annex_now();
	struct timespec ts = to_timespec(until > now ? until - now : 0);

	if (emu->ring)
		fds[1].fd = emu->ring->uring.ring_fd;
	if (ppoll(fds, 2, &ts, NULL) > 0 && fds[0].revents)
		annex_emu_drain_kick(emu);
}

/* Wait for the ring on everyone's behalf. Return: false when another thread does. */
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
		 * Who posts to this queue from now on kicks. The read-modify-write, then the look
		 * at the event count, are the mirror image of annex_emu_event().
		 */
		annex_atomic_add(&emu->leader, qid + 1u - LEADER_AWAKE, ANNEX_SEQ_CST);
		if (quiet(cq, seen))
			annex_emu_poll(emu, limit);
		annex_atomic_add(&emu->leader, LEADER_AWAKE - (qid + 1u), ANNEX_SEQ_CST);
		assist(emu, qid, false); /* sleeps on: what is posted must make an event */
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
	assist(emu, qid, false); /* sleeps afterwards: what is posted must make an event */
	annex_atomic_add(&emu->sleepers, 1u, ANNEX_SEQ_CST);
	annex_atomic_add(&cq->waiters, 1u, ANNEX_SEQ_CST);
	if (quiet(cq, seen) && (emu->threaded || !lead(emu, qid, seen, deadline)))
		futex_wait(cq, seen, limit_of(emu, qid, deadline));
	annex_atomic_sub(&cq->waiters, 1u, ANNEX_SEQ_CST);
	annex_atomic_sub(&emu->sleepers, 1u, ANNEX_SEQ_CST);
	annex_emu_assist(ctrl, qid);
	annex_emu_hand_over(emu);
}
