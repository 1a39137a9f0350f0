// SPDX-License-Identifier: MIT
/*
 * Completion queues of the emulated controller: space, posting, events.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
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

void annex_emu_cq_init(struct annex_emu *emu, uint16_t qid, uint64_t addr, uint32_t entries)
{
	struct emu_cq *cq = &emu->cqs[qid];

	annex_emu_lock(&cq->lock);
	cq->ring = (struct annex_cqe *)(uintptr_t)addr;
	cq->entries = entries;
	cq->tail = cq->head = cq->reserved = 0;
	cq->complained = UINT32_MAX;
	cq->phase = 1;
	annex_atomic_store(&cq->users, 0u, ANNEX_RELAXED);
	annex_atomic_store(cq->doorbell, 0u, ANNEX_RELAXED);
	annex_atomic_store(&cq->live, 1u, ANNEX_RELEASE);
	annex_emu_unlock(&cq->lock);
}

void annex_emu_cq_stop(struct emu_cq *cq)
{
	annex_emu_lock(&cq->lock);
	annex_atomic_store(&cq->live, 0u, ANNEX_RELEASE);
	annex_emu_unlock(&cq->lock);
}

/* Take over the head doorbell. Return: false when its value is impossible, once per value. */
static bool read_head(struct emu_cq *cq)
{
	/* Acquire: the host has read the entries that it gives back. */
	uint32_t head = annex_atomic_load(cq->doorbell, ANNEX_ACQUIRE);
	uint32_t used = (cq->tail + cq->entries - cq->head) % cq->entries;

	if (head == cq->head)
		return true;
	if (head < cq->entries && (head + cq->entries - cq->head) % cq->entries <= used) {
		cq->head = head;
		return true;
	}
	if (head == cq->complained)
		return true;
	cq->complained = head;
	return false;
}

/*
 * Make sure of room for the completions of commands about to be fetched: a full queue is never
 * written. Return: for how many of @want there is room.
 */
uint32_t annex_emu_cq_reserve(struct emu_cq *cq, uint32_t want, bool *bad_head)
{
	uint32_t room;

	annex_emu_lock(&cq->lock);
	*bad_head = !read_head(cq);
	room = (cq->head + cq->entries - 1 - cq->tail) % cq->entries;
	room -= room < cq->reserved ? room : cq->reserved;
	if (want > room)
		want = room;
	cq->reserved += want;
	annex_emu_unlock(&cq->lock);
	return want;
}

void annex_emu_cq_give_back(struct emu_cq *cq, uint32_t n)
{
	annex_emu_lock(&cq->lock);
	cq->reserved -= n;
	annex_emu_unlock(&cq->lock);
}

/*
 * Post completions of one submission queue, for which there are reservations. Return: false when
 * nobody is there to see them.
 */
static bool post(struct annex_emu *emu, struct emu_sq *sq, const struct emu_result *res,
		 unsigned int n)
{
	struct emu_cq *cq = sq->cq;
	uint32_t head;

	annex_emu_lock(&cq->lock);
	if (!cq->live || annex_atomic_load(&emu->gone, ANNEX_ACQUIRE)) {
		annex_emu_unlock(&cq->lock);
		return false;
	}
	/* Read under the lock: heads must not go back from one entry to the next. */
	head = annex_atomic_load(&sq->head, ANNEX_RELAXED);
	for (unsigned int i = 0; i < n; i++) {
		struct annex_cqe *cqe = &cq->ring[cq->tail];
		uint32_t status = (uint32_t)res[i].status << 1 | cq->phase;

		cqe->dw0 = res[i].dw0;
		cqe->dw1 = 0;
		cqe->sq_head = (uint16_t)head;
		cqe->sq_id = sq->qid;
		/* Release: who sees the phase tag sees the rest, and the data. */
		annex_atomic_store((uint32_t *)(void *)&cqe->cid, status << 16 | res[i].cid,
				   ANNEX_RELEASE);
		if (++cq->tail == cq->entries) {
			cq->tail = 0;
			cq->phase ^= 1;
		}
	}
	cq->reserved -= n;
	annex_emu_unlock(&cq->lock);
	return true;
}

void annex_emu_post(struct annex_emu *emu, struct emu_sq *sq, const struct emu_result *res,
		    unsigned int n)
{
	if (post(emu, sq, res, n))
		annex_emu_event(emu, sq->cq);
}

/* The same for whoever holds the submission queue, and may look at the completions itself. */
void annex_emu_post_held(struct annex_emu *emu, struct emu_sq *sq, const struct emu_result *res,
			 unsigned int n)
{
	if (post(emu, sq, res, n) && !sq->lent)
		annex_emu_event(emu, sq->cq);
}

/*
 * Tell those who sleep on a queue. They announce themselves (waiters, leader), then compare the
 * event count; here the count is raised, then they are looked for. Both sides use sequentially
 * consistent operations, so that at least one sees the other.
 */
void annex_emu_event(struct annex_emu *emu, struct emu_cq *cq)
{
	annex_atomic_add(&cq->event, 1u, ANNEX_SEQ_CST);
	if (annex_atomic_load(&cq->waiters, ANNEX_SEQ_CST))
		syscall(SYS_futex, &cq->event, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	if (annex_atomic_load(&emu->leader, ANNEX_SEQ_CST) == cq->qid + 1u)
		annex_emu_kick(emu);
}
