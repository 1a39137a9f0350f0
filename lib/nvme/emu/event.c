// SPDX-License-Identifier: MIT
/*
 * Asynchronous events (Base 5.2). The controller has error events only; one that was reported
 * silences the next until the host reads the error log.
 */
#include "state.h"

/* Result of the request: type in bits 2:0 (0: error), information in 15:8, log page in 23:16. */
static uint32_t describe(unsigned int event)
{
	return event << 8 | ANNEX_LOG_PAGE_ERROR << 16;
}

/* Room for one completion, with the admin lock held. */
static bool reserve_one(struct annex_emu *emu)
{
	struct emu_admin *admin = &emu->admin;
	bool bad_head, got = annex_emu_cq_reserve(&emu->cqs[0], 1, &bad_head);

	if (bad_head)
		annex_atomic_store(&admin->pending, admin->pending | 1u << EMU_EVENT_BAD_TAIL_HEAD,
				   ANNEX_RELAXED);
	return got;
}

/* Report what is pending, if there is a request to report it with and room to post it. */
void annex_emu_aer_flush(struct annex_emu *emu)
{
	struct emu_admin *admin = &emu->admin;
	struct emu_result res = {0};
	bool post = false;

	if (!annex_atomic_load(&admin->pending, ANNEX_RELAXED))
		return;
	annex_emu_lock(&admin->lock);
	if (admin->pending && admin->naer && !admin->masked && reserve_one(emu)) {
		unsigned int event = (unsigned int)__builtin_ctz(admin->pending);

		annex_atomic_store(&admin->pending, admin->pending & (admin->pending - 1),
				   ANNEX_RELAXED);
		admin->masked = true;
		res.cid = admin->aer[--admin->naer];
		res.dw0 = describe(event);
		post = true;
	}
	annex_emu_unlock(&admin->lock);
	if (post)
		annex_emu_post(emu, &emu->sqs[0], &res, 1);
}

void annex_emu_raise(struct annex_emu *emu, enum emu_event event)
{
	struct emu_admin *admin = &emu->admin;

	annex_emu_lock(&admin->lock);
	annex_atomic_store(&admin->pending, admin->pending | 1u << event, ANNEX_RELAXED);
	annex_emu_unlock(&admin->lock);
	annex_emu_aer_flush(emu);
}

/* A request waits for an event; so as not to block the queue meanwhile, it keeps no room in it. */
uint16_t annex_emu_aer(struct annex_emu *emu, uint16_t cid)
{
	struct emu_admin *admin = &emu->admin;
	bool full;

	annex_emu_lock(&admin->lock);
	full = admin->naer == EMU_AERS;
	if (!full)
		admin->aer[admin->naer++] = cid;
	annex_emu_unlock(&admin->lock);
	if (full)
		return ANNEX_SC_ASYNC_LIMIT;
	annex_emu_cq_give_back(&emu->cqs[0], 1);
	return EMU_PENDING;
}

/* Return: whether there was such a request; it ends if its completion can be posted. */
bool annex_emu_aer_abort(struct annex_emu *emu, uint16_t cid)
{
	struct emu_result res = {.cid = cid, .status = ANNEX_SC_ABORT_REQUESTED};
	struct emu_admin *admin = &emu->admin;
	bool found = false;

	annex_emu_lock(&admin->lock);
	for (unsigned int i = 0; i < admin->naer && !found; i++) {
		if (admin->aer[i] != cid || !reserve_one(emu))
			continue;
		admin->aer[i] = admin->aer[--admin->naer];
		found = true;
	}
	annex_emu_unlock(&admin->lock);
	if (found)
		annex_emu_post(emu, &emu->sqs[0], &res, 1);
	return found;
}

/* The host has read the error log. */
void annex_emu_aer_read(struct annex_emu *emu)
{
	annex_emu_lock(&emu->admin.lock);
	emu->admin.masked = false;
	annex_emu_unlock(&emu->admin.lock);
}

void annex_emu_aer_reset(struct annex_emu *emu)
{
	struct emu_admin *admin = &emu->admin;

	annex_emu_lock(&admin->lock);
	admin->naer = 0;
	admin->masked = false;
	annex_atomic_store(&admin->pending, 0u, ANNEX_RELAXED);
	annex_emu_unlock(&admin->lock);
}
