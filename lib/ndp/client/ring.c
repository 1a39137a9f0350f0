// SPDX-License-Identifier: MIT
/*
 * The command ring, for comparison (M2NDP figure 4b).
 *
 * Whoever looks for his completion takes all that have come, and counts whose they are. Of the
 * threads that sleep one waits for the bell, and wakes the others.
 */
#define _GNU_SOURCE
#include <poll.h>
#include "core/thread.h"
#include "m2.h"

static uint32_t number_of(const struct m2_call *call)
{
	return call->slot * ANNEX_M2_FUNCTIONS + call->function;
}

static uint32_t completions(const struct m2_call *call)
{
	/* Acquire: with reap(). */
	return annex_atomic_load(&call->m2->slot[call->slot].completed, ANNEX_ACQUIRE);
}

static void announce(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	struct annex_m2_doors *d = m2->doors;

	call->seen = completions(call);
	pthread_mutex_lock(&m2->ring);
	/* There is room: a slot has one call, and there are no more slots than entries. Relaxed:
	 * the tail orders it. */
	annex_atomic_store(&d->command[m2->announced % ANNEX_M2_RING_DEPTH], number_of(call),
			   ANNEX_RELAXED);
	m2->announced++;
	/* The doorbell: releases cell and command; sequentially consistent as m2_wake_device(). */
	annex_atomic_store(&d->tail, m2->announced, ANNEX_SEQ_CST);
	pthread_mutex_unlock(&m2->ring);
}

/* With the lock. */
static void reap(struct annex_m2 *m2)
{
	bool some = false;

	for (;;) {
		uint64_t *at = &m2->doors->completion[m2->reaped % ANNEX_M2_RING_DEPTH];
		/* Acquires the answer; sequentially consistent as the look before sleeping. */
		uint64_t c = annex_atomic_load(at, ANNEX_SEQ_CST);
		uint32_t slot = (uint32_t)c / ANNEX_M2_FUNCTIONS;

		if ((uint32_t)(c >> 32) != m2->reaped + 1)
			break;
		m2->reaped++;
		some = true;
		if (slot < m2->opts.slots) /* Release: with completions(). */
			annex_atomic_add(&m2->slot[slot].completed, 1u, ANNEX_RELEASE);
	}
	if (some)
		pthread_cond_broadcast(&m2->reaped_some);
}

/* There is one that the call has not seen yet: its own, or one of before that came late. */
static bool marked(const struct m2_call *call)
{
	return completions(call) != call->seen;
}

static bool answered(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	uint32_t now;

	if (!marked(call) && !pthread_mutex_trylock(&m2->ring)) {
		reap(m2);
		pthread_mutex_unlock(&m2->ring);
	}
	now = completions(call);
	if (now == call->seen)
		return false;
	call->seen = now;
	return true;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / ANNEX_NSEC_PER_SEC),
				 .tv_nsec = (long)(ns % ANNEX_NSEC_PER_SEC)};
}

/* Wait for the bell, on everyone's behalf; called and left with the lock. */
static void lead(struct m2_call *call, uint64_t until)
{
	struct annex_m2 *m2 = call->m2;
	struct pollfd fd = {.fd = m2->bell.in, .events = POLLIN};
	uint64_t now = annex_now();
	struct timespec left = to_timespec(until > now ? until - now : 0);

	m2->leader = true;
	/* Counted before the last look; the device posts before it looks at the count. */
	annex_atomic_add(&m2->doors->sleepers, 1u, ANNEX_SEQ_CST);
	reap(m2);
	if (!marked(call)) {
		pthread_mutex_unlock(&m2->ring);
		if (THREAD_KEPT(ppoll(&fd, 1, &left, NULL)) > 0)
			(void)annex_bell_drain(&m2->bell); /* m2_down() sees it too */
		pthread_mutex_lock(&m2->ring);
		reap(m2);
	}
	/* Relaxed: who sees it too late rings in vain. */
	annex_atomic_sub(&m2->doors->sleepers, 1u, ANNEX_RELAXED);
	m2->leader = false;
	/* One of them leads from now on. */
	pthread_cond_broadcast(&m2->reaped_some);
}

static void rest(struct m2_call *call, uint64_t until)
{
	struct annex_m2 *m2 = call->m2;
	struct timespec at = to_timespec(until);

	pthread_mutex_lock(&m2->ring);
	if (!marked(call)) {
		if (m2->leader)
			THREAD_KEPT(pthread_cond_timedwait(&m2->reaped_some, &m2->ring, &at));
		else
			lead(call, until);
	}
	pthread_mutex_unlock(&m2->ring);
}

const struct m2_transport m2_ring_transport = {
	.announce = announce, .answered = answered, .rest = rest};
