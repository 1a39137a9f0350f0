// SPDX-License-Identifier: MIT
/*
 * Completion queues of the emulated controller: space and posting.
 */
#include "state.h"

void annex_emu_cq_init(struct emu_cq *cq, uint64_t addr, uint32_t entries)
{
	annex_emu_lock(&cq->lock);
	cq->ring = (struct annex_cqe *)(uintptr_t)addr;
	cq->entries = entries;
	cq->tail = cq->head = cq->reserved = 0;
	cq->complained = UINT32_MAX;
	cq->phase = 1;
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

/* Take over the head doorbell; an impossible value is logged once. */
static void read_head(struct emu_cq *cq)
{
	/* Acquire: the host has read the entries before this head. */
	uint32_t head = annex_atomic_load(cq->doorbell, ANNEX_ACQUIRE);
	uint32_t used = (cq->tail + cq->entries - cq->head) % cq->entries;

	if (head == cq->head)
		return;
	if (head < cq->entries && (head + cq->entries - cq->head) % cq->entries <= used) {
		cq->head = head;
		return;
	}
	if (head != cq->complained)
		annex_log(ANNEX_LOG_WARNING,
			  "emulated controller: completion queue %u of %u entries: head %u is none "
			  "of those posted",
			  cq->qid, cq->entries, head);
	cq->complained = head;
}

/*
 * Reserve room for the completions of commands about to be fetched: a full queue is never written.
 * Return: the room reserved, up to @want.
 */
uint32_t annex_emu_cq_reserve(struct emu_cq *cq, uint32_t want)
{
	uint32_t room;

	annex_emu_lock(&cq->lock);
	read_head(cq);
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
 * Post completions of one submission queue, for which room is reserved. Return: false if the queue
 * or the controller is gone.
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
		/* Release: the host that sees the phase tag sees the rest, and the data. */
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

/* The same by the holder of the submission queue, which may collect completions itself. */
void annex_emu_post_held(struct annex_emu *emu, struct emu_sq *sq, const struct emu_result *res,
			 unsigned int n)
{
	if (post(emu, sq, res, n) && !sq->lent)
		annex_emu_event(emu, sq->cq);
}
