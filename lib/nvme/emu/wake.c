// SPDX-License-Identifier: MIT
/*
 * Spinlocks, and waking of threads that sleep.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>
#include "core/futex.h"
#include "core/thread.h"
#include "backend.h"
#include "state.h"

void annex_emu_lock(struct emu_spin *lock)
{
	for (unsigned int i = 0;; i++) {
		uint32_t free = 0;

		if (annex_atomic_cas(&lock->word, &free, 1u, ANNEX_ACQUIRE))
			return;
		/* With more threads than cores the holder may not be running. */
		if (i < 64)
			annex_pause();
		else
			sched_yield();
	}
}

void annex_emu_unlock(struct emu_spin *lock)
{
	annex_atomic_store(&lock->word, 0u, ANNEX_RELEASE);
}

void annex_emu_kick(struct annex_emu *emu)
{
	uint64_t one = 1;

	/* Fails only when the counter is full: then a kick is on its way already. */
	if (THREAD_KEPT(write(emu->kick, &one, sizeof(one))) < 0)
		return;
}

static void drain_kick(const struct annex_emu *emu)
{
	uint64_t kicks;

	/* Fails only when there is nothing to drain. */
	if (THREAD_KEPT(read(emu->kick, &kicks, sizeof(kicks))) < 0)
		return;
}

/*
 * Wake the threads that sleep on a queue. A sleeper announces itself (waiters, leader), then
 * compares the event count; this function raises the count, then looks for sleepers. Both use
 * sequentially consistent operations, so that at least one sees the other.
 */
void annex_emu_event(struct annex_emu *emu, struct emu_cq *cq)
{
	annex_atomic_add(&cq->event, 1u, ANNEX_SEQ_CST);
	if (annex_atomic_load(&cq->waiters, ANNEX_SEQ_CST))
		futex_rouse(&cq->event, INT_MAX, false);
	if (annex_atomic_load(&emu->leader, ANNEX_SEQ_CST) == cq->qid + 1u)
		annex_emu_kick(emu);
}

/*
 * Called by a thread that leaves sleep() or has started I/O: if I/O is in flight, and there are
 * sleepers but no leader, wake one. Sleepers count themselves before they look at the I/O in flight
 * and at the leader, callers look in the other order, all sequentially consistent: so either the
 * sleeper sees the I/O (or the missing leader), or this function sees the sleeper.
 */
void annex_emu_hand_over(struct annex_emu *emu)
{
	if (emu->threaded || emu->fd < 0 || !annex_atomic_load(&emu->in_flight, ANNEX_SEQ_CST) ||
	    annex_atomic_load(&emu->leader, ANNEX_SEQ_CST) ||
	    !annex_atomic_load(&emu->sleepers, ANNEX_SEQ_CST))
		return;
	for (unsigned int i = 1; i < EMU_QUEUES; i++) {
		struct emu_cq *cq = &emu->cqs[i];

		if (!annex_atomic_load(&cq->waiters, ANNEX_SEQ_CST))
			continue;
		annex_atomic_add(&cq->event, 1u, ANNEX_SEQ_CST);
		futex_rouse(&cq->event, 1, false);
		return;
	}
}

void annex_emu_wake_all(struct annex_emu *emu)
{
	for (unsigned int i = 1; i < EMU_QUEUES; i++)
		annex_emu_event(emu, &emu->cqs[i]);
	annex_emu_kick(emu);
}

/* Wait for the backend or a kick. @until: annex_now(). */
void annex_emu_poll(struct annex_emu *emu, uint64_t until)
{
	const struct emu_backend *b = emu->backend;
	struct pollfd fds[2] = {{.fd = emu->kick, .events = POLLIN},
				{.fd = emu->fd, .events = POLLIN}};
	uint64_t now = annex_now();
	uint64_t left = until > now ? until - now : 0;
	struct timespec ts = {.tv_sec = (time_t)(left / ANNEX_NSEC_PER_SEC),
			      .tv_nsec = (long)(left % ANNEX_NSEC_PER_SEC)};

	if (b->doze && !b->doze(emu)) {
		sched_yield();
		return;
	}
	if (THREAD_KEPT(ppoll(fds, 2, &ts, NULL)) > 0 && fds[0].revents)
		drain_kick(emu);
	if (b->rise)
		b->rise(emu);
}
