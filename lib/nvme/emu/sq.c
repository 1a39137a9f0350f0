// SPDX-License-Identifier: MIT
/*
 * Submission queues of the emulated controller: which thread fetches commands, and how many.
 *
 * A queue is served under a lock that is never waited for: a thread that finds it taken increments
 * a count, and the thread inside looks again before it leaves. So no doorbell is missed, and no
 * thread waits for another that is not running. Different queues are served at the same time.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "backend.h"
#include "state.h"

/* A limit, so that a thread does not work for others forever. */
#define SERVE_BATCHES 256

/* Set a queue up; its lock must be held by annex_emu_hold(). */
int annex_emu_sq_init(struct emu_sq *sq, uint64_t addr, uint32_t entries)
{
	if (!sq->segs)
		sq->segs = calloc(EMU_SEGS, sizeof(*sq->segs));
	if (!sq->cmds)
		sq->cmds = calloc(EMU_BATCH, sizeof(*sq->cmds));
	if (!sq->segs || !sq->cmds)
		return annex_fail(-ENOMEM, "emulated controller: no memory for queue %u", sq->qid);
	sq->ring = (const struct annex_sqe *)(uintptr_t)addr;
	sq->entries = entries;
	sq->complained = UINT32_MAX;
	sq->held = NULL;
	annex_atomic_store(&sq->head, 0u, ANNEX_RELAXED);
	annex_atomic_store(sq->doorbell, 0u, ANNEX_RELAXED);
	annex_atomic_store(&sq->state, (uint32_t)EMU_SQ_LIVE, ANNEX_RELEASE);
	return 0;
}

/* Logged once for each value. */
static void bad_tail(struct emu_sq *sq, uint32_t tail)
{
	if (sq->complained != tail)
		annex_log(
			ANNEX_LOG_WARNING,
			"emulated controller: submission queue %u has %u entries: there is no tail "
			"%u",
			sq->qid, sq->entries, tail);
	sq->complained = tail;
}

/* Reserve completions and requests for up to @want commands. Return: the number to fetch now. */
static uint32_t reserve(struct annex_emu *emu, struct emu_sq *sq, uint32_t want)
{
	uint32_t n = annex_emu_cq_reserve(sq->cq, want), got;

	sq->cmds[0].req = NULL;
	if (!n)
		return 0;
	if (emu->backend->run && !emu->far && !annex_atomic_load(&emu->faults.n, ANNEX_RELAXED) &&
	    !annex_atomic_load(&sq->held, ANNEX_RELAXED))
		return n;
	pthread_mutex_lock(&emu->async);
	got = annex_emu_reqs_take(emu, sq, n);
	pthread_mutex_unlock(&emu->async);
	if (got < n)
		annex_emu_cq_give_back(sq->cq, n - got);
	return got;
}

/* Copy entries out of queue memory, which the host can change at any time, exactly once. */
static void fetch(struct emu_sq *sq, uint32_t n)
{
	uint32_t head = sq->head;

	for (uint32_t i = 0; i < n; i++) {
		memcpy(&sq->cmds[i].sqe, &sq->ring[head], sizeof(sq->cmds[i].sqe));
		if (++head == sq->entries)
			head = 0;
	}
	__asm__ volatile("" ::: "memory");
	annex_atomic_store(&sq->head, head, ANNEX_RELAXED);
}

/* Return: whether anything was fetched. */
static bool serve_batch(struct annex_emu *emu, struct emu_sq *sq)
{
	uint32_t tail, n;

	if (!annex_atomic_load(&emu->running, ANNEX_ACQUIRE) || sq->state != EMU_SQ_LIVE)
		return false;
	/* Acquire: the commands that the doorbell announces are in the queue. */
	tail = annex_atomic_load(sq->doorbell, ANNEX_ACQUIRE);
	if (tail == sq->head)
		return false;
	if (tail >= sq->entries) {
		bad_tail(sq, tail);
		return false;
	}
	n = tail > sq->head ? tail - sq->head : tail + sq->entries - sq->head;
	n = reserve(emu, sq, n < EMU_BATCH ? n : EMU_BATCH);
	if (!n)
		return false;
	fetch(sq, n);
	annex_emu_io_batch(emu, sq, n);
	return true;
}

/* Serve all commands, then release the queue. @seen: the count found. */
static void serve_held(struct annex_emu *emu, struct emu_sq *sq, uint32_t seen)
{
	for (unsigned int i = 0; i < SERVE_BATCHES; i++) {
		/* The thread that holds the queue next serves it at its release. */
		if (annex_atomic_load(&sq->hold, ANNEX_RELAXED)) {
			annex_atomic_store(&sq->serving, 0u, ANNEX_RELEASE);
			return;
		}
		if (serve_batch(emu, sq))
			continue;
		if (annex_atomic_cas(&sq->serving, &seen, 0u, ANNEX_RELEASE))
			return;
		/* Acquire: a doorbell rung before the count we see is seen by the next look. */
		seen = annex_atomic_load(&sq->serving, ANNEX_ACQUIRE);
	}
	annex_atomic_store(&sq->serving, 0u, ANNEX_RELEASE);
	/* There may be more commands: threads that wait for them go on serving. */
	annex_emu_event(emu, sq->cq);
}

/* @lent: this thread looks at completion queue @qid afterwards (core/ctrl.h, rung and assist). */
void annex_emu_serve(struct annex_emu *emu, uint16_t qid, bool lent)
{
	struct emu_sq *sq = &emu->sqs[qid];

	/* Acquire: pairs with the last release. Release: the doorbell comes before the count. */
	if (annex_atomic_add(&sq->serving, 1u, ANNEX_ACQ_REL))
		return;
	sq->lent = lent;
	serve_held(emu, sq, 1);
}

/* Keep all threads out of a queue; the holder leaves after its batch. */
void annex_emu_hold(struct emu_sq *sq)
{
	annex_atomic_add(&sq->hold, 1u, ANNEX_ACQ_REL);
	for (;;) {
		uint32_t free = 0;

		if (annex_atomic_cas(&sq->serving, &free, 1u, ANNEX_ACQUIRE))
			return;
		sched_yield();
	}
}

void annex_emu_release(struct annex_emu *emu, struct emu_sq *sq)
{
	annex_atomic_sub(&sq->hold, 1u, ANNEX_ACQ_REL);
	sq->lent = false;
	serve_held(emu, sq, 1);
}

/* Serve the queues that stopped because there was no free request. */
void annex_emu_resume_stalled(struct annex_emu *emu)
{
	uint64_t bits;

	if (!annex_atomic_load(&emu->stalled, ANNEX_RELAXED))
		return;
	bits = annex_atomic_and(&emu->stalled, 0ull, ANNEX_ACQ_REL);
	for (; bits; bits &= bits - 1)
		annex_emu_serve(emu, (uint16_t)(__builtin_ctzll(bits) + 1), false);
}
