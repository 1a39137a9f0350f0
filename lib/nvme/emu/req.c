// SPDX-License-Identifier: MIT
/*
 * The table of requests, and their completions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "backend.h"
#include "req.h"
#include "state.h"

int annex_emu_reqs_open(struct annex_emu *emu, uint32_t n)
{
	emu->reqs = calloc(n + 1, sizeof(*emu->reqs)); /* the last is for shutting down */
	if (!emu->reqs)
		return annex_fail(-ENOMEM, "emulated controller: no memory for %u requests", n);
	emu->nreqs = n;
	return 0;
}

void annex_emu_reqs_close(struct annex_emu *emu)
{
	for (uint32_t i = 0; i < emu->fresh; i++) {
		free(emu->reqs[i].big);
		if (!emu->reqs[i].far) /* else it is room of far.c */
			free(emu->reqs[i].bounce);
		free(emu->reqs[i].ranges);
	}
	free(emu->reqs);
}

uint64_t annex_emu_reqs_bytes(const struct annex_emu *emu)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < emu->fresh; i++)
		for (unsigned int k = 0;
		     emu->reqs[i].state == EMU_REQ_ISSUED && k < emu->reqs[i].nsegs; k++)
			bytes += emu->reqs[i].segs[k].iov_len;
	return bytes;
}

static void init(struct emu_req *req, struct emu_sq *sq)
{
	req->state = EMU_REQ_FETCHED;
	req->sq = sq;
	req->missing = req->done = req->tries = req->step = 0;
	req->status = req->torn = 0;
	req->fault = 0;
	req->due = 0;
	req->far = req->dropped = req->cancelled = req->zeroing = req->again = false;
	req->nsegs = req->seg = 0;
	req->steps = 1;
	req->buf = -1;
}

/* The request of the controller's own flush; one is reserved for it. */
struct emu_req *annex_emu_req_own(struct annex_emu *emu)
{
	struct emu_req *req = &emu->reqs[emu->nreqs];

	init(req, NULL);
	req->sqe = (struct annex_sqe){.opcode = ANNEX_NVM_FLUSH, .nsid = ANNEX_NSID_ALL};
	req->steps = emu->nns;
	annex_atomic_store(&emu->flushing, 1u, ANNEX_RELEASE);
	return req;
}

static struct emu_req *take(struct annex_emu *emu, struct emu_sq *sq)
{
	struct emu_req *req = emu->free;

	if (req)
		emu->free = req->next;
	else if (emu->fresh < emu->nreqs)
		req = &emu->reqs[emu->fresh++];
	else
		return NULL;
	init(req, sq);
	return req;
}

/*
 * Take requests for commands about to be fetched, into sq->cmds. If there is none, mark the queue,
 * so that the thread that frees one, under the same mutex, resumes it.
 */
uint32_t annex_emu_reqs_take(struct annex_emu *emu, struct emu_sq *sq, uint32_t want)
{
	uint32_t n;

	for (n = 0; n < want; n++) {
		sq->cmds[n].req = take(emu, sq);
		if (!sq->cmds[n].req)
			break;
	}
	sq->in_flight += n;
	if (!n)
		annex_atomic_or(&emu->stalled, 1ull << (sq->qid - 1), ANNEX_ACQ_REL);
	return n;
}

void annex_emu_req_free(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_sq *sq = req->sq;

	free(req->bounce);
	free(req->ranges);
	req->bounce = NULL;
	req->ranges = NULL;
	req->state = EMU_REQ_FREE;
	req->sq = NULL;
	if (!sq)
		return;
	req->next = emu->free;
	emu->free = req;
	sq->in_flight--;
}

/* Keep the pieces of the first @len bytes of data. */
int annex_emu_req_set_segs(struct emu_req *req, const struct iovec *segs, unsigned int n,
			   uint32_t len)
{
	unsigned int used = 0;

	req->segs = req->iov;
	if (n > EMU_IOVS) {
		if (!req->big)
			req->big = calloc(EMU_SEGS, sizeof(*req->big));
		if (!req->big)
			return -ENOMEM;
		req->segs = req->big;
	}
	for (; used < n && len; used++) {
		req->segs[used] = segs[used];
		if (req->segs[used].iov_len > len)
			req->segs[used].iov_len = len;
		len -= (uint32_t)req->segs[used].iov_len;
	}
	req->nsegs = used;
	return 0;
}

static void set_next_due(struct annex_emu *emu)
{
	annex_atomic_store(&emu->next_due, emu->timers ? emu->timers->due : EMU_NEVER,
			   ANNEX_RELEASE);
}

static void timer_remove(struct annex_emu *emu, struct emu_req *req)
{
	*(req->prev ? &req->prev->next : &emu->timers) = req->next;
	*(req->next ? &req->next->prev : &emu->timers_last) = req->prev;
	set_next_due(emu);
}

/* Sorted by due time; delays are mostly equal, so the place is near the end. */
static void timer_add(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_req *prev = emu->timers_last;
	const uint64_t now = annex_now();

	req->state = EMU_REQ_TIMED;
	req->due = req->due > now ? req->due : now;
	if (req->fault == ANNEX_FAULT_DELAY + 1 && !req->again)
		req->due += req->delay_us * 1000ull;
	while (prev && prev->due > req->due)
		prev = prev->prev;
	req->prev = prev;
	req->next = prev ? prev->next : emu->timers;
	*(prev ? &prev->next : &emu->timers) = req;
	*(req->next ? &req->next->prev : &emu->timers_last) = req;
	set_next_due(emu);
	/* Sleepers on this queue and the service thread computed timeouts without this one. */
	annex_emu_event(emu, req->sq->cq);
	if (emu->threaded)
		annex_emu_kick(emu);
}

/* End a request with a completion. */
static void req_post(struct annex_emu *emu, struct emu_req *req, uint16_t status)
{
	struct emu_result res = {.cid = req->sqe.cid, .status = status};
	struct emu_sq *sq = req->sq;

	annex_emu_post(emu, sq, &res, 1);
	annex_emu_req_free(emu, req);
}

static void post_held(struct annex_emu *emu, struct emu_sq *sq)
{
	struct emu_req *held = sq->held;

	if (!held)
		return;
	annex_atomic_store(&sq->held, (struct emu_req *)NULL, ANNEX_RELAXED);
	req_post(emu, held, held->status);
}

/* The last segment ends at the end of the data, even if the segments were advanced. */
static void flip(struct emu_req *req)
{
	const struct iovec *last = &req->segs[req->nsegs - 1];

	((uint8_t *)last->iov_base + last->iov_len)[-1] ^= EMU_FLIP;
}

/* A command has been carried out or has failed: complete it, or apply its injected fault. */
void annex_emu_req_done(struct annex_emu *emu, struct emu_req *req, uint16_t status)
{
	struct emu_sq *sq = req->sq;

	annex_emu_far_release(emu, req);
	if (!sq && status)
		annex_log(ANNEX_LOG_WARNING,
			  "%s: the flush at its close failed: writes may be lost", emu->scheme);
	if (!sq)
		annex_atomic_store(&emu->flushing, 0u, ANNEX_RELEASE);
	if (!sq || req->dropped) {
		annex_emu_req_free(emu, req);
		return;
	}
	if (!status && req->torn)
		status = req->torn;
	if (!status && req->fault == ANNEX_FAULT_FLIP + 1 && !req->far)
		flip(req);
	req->status = status;
	if (req->fault == ANNEX_FAULT_LOSE + 1) {
		annex_emu_cq_give_back(sq->cq, 1);
		annex_emu_req_free(emu, req);
	} else if (req->fault == ANNEX_FAULT_REORDER + 1 && !sq->held) {
		/* One at a time: the next command completes before this one. */
		req->state = EMU_REQ_HELD;
		annex_atomic_store(&sq->held, req, ANNEX_RELAXED);
	} else if (req->fault == ANNEX_FAULT_DELAY + 1 || (req->due && req->due > annex_now())) {
		timer_add(emu, req);
	} else {
		req_post(emu, req, status);
		post_held(emu, sq);
	}
}

/* Start the request again after @ns nanoseconds. */
void annex_emu_req_again(struct annex_emu *emu, struct emu_req *req, uint64_t ns)
{
	/* Sequentially consistent: see annex_emu_hand_over(). */
	annex_atomic_sub(&emu->in_flight, 1u, ANNEX_SEQ_CST);
	req->again = true;
	req->due = annex_now() + ns;
	timer_add(emu, req);
}

static void fire(struct annex_emu *emu, struct emu_req *req)
{
	struct emu_sq *sq = req->sq;

	if (req->again) {
		req->again = false;
		req->due = 0;
		annex_emu_start(emu, req);
		return;
	}
	req_post(emu, req, req->status);
	post_held(emu, sq);
}

void annex_emu_fire_timers(struct annex_emu *emu)
{
	uint64_t now = annex_now();

	while (emu->timers && emu->timers->due <= now) {
		struct emu_req *req = emu->timers;

		timer_remove(emu, req);
		fire(emu, req);
	}
}

/* Remove a request from its list of waiting ones. Return: false: it is in none. */
static bool unwait(struct annex_emu *emu, struct emu_req *req)
{
	if (req->state == EMU_REQ_TIMED)
		timer_remove(emu, req);
	else if (req->state == EMU_REQ_HELD)
		annex_atomic_store(&req->sq->held, (struct emu_req *)NULL, ANNEX_RELAXED);
	else if (req->state == EMU_REQ_WAITING)
		annex_emu_far_forget(emu, req);
	else
		return false;
	return true;
}

static void cancel(struct annex_emu *emu, struct emu_req *req)
{
	if (req->state == EMU_REQ_ISSUED && emu->backend->cancel)
		emu->backend->cancel(emu, req);
}

/* Abort (Base 5.1). Return: whether the command has been ended. */
bool annex_emu_req_abort(struct annex_emu *emu, uint16_t sqid, uint16_t cid)
{
	for (uint32_t i = 0; i < emu->fresh; i++) {
		struct emu_req *req = &emu->reqs[i];

		/* The holder of its queue still writes a fetched request, and soon ends it. */
		if (req->state == EMU_REQ_FREE || req->state == EMU_REQ_FETCHED ||
		    req->sq->qid != sqid || req->sqe.cid != cid)
			continue;
		if (unwait(emu, req)) {
			req_post(emu, req, ANNEX_SC_ABORT_REQUESTED);
			return true;
		}
		cancel(emu, req);
		return false;
	}
	return false;
}

/*
 * End the requests of a queue, or of all (@sq NULL). In the first case they complete, as the
 * queue is being deleted; in the second they vanish, as in a reset. Issued requests follow
 * when the backend has let go of their memory.
 */
void annex_emu_reqs_end(struct annex_emu *emu, struct emu_sq *sq)
{
	for (uint32_t i = 0; i < emu->fresh; i++) {
		struct emu_req *req = &emu->reqs[i];

		if (req->state == EMU_REQ_FREE || (sq && req->sq != sq))
			continue;
		if (unwait(emu, req)) {
			if (sq)
				req_post(emu, req, ANNEX_SC_ABORT_SQ_DELETED);
			else
				annex_emu_req_free(emu, req);
			continue;
		}
		req->dropped |= !sq;
		cancel(emu, req);
	}
	annex_emu_submit(emu);
}

/* Whether a request may still touch part of a range of host memory. */
bool annex_emu_reqs_use(const struct annex_emu *emu, uint64_t addr, uint64_t len)
{
	for (uint32_t i = 0; i < emu->fresh; i++) {
		const struct emu_req *req = &emu->reqs[i];

		for (unsigned int k = 0; req->state != EMU_REQ_FREE && k < req->nsegs; k++) {
			uint64_t start = (uintptr_t)req->segs[k].iov_base;

			if (start < addr + len && addr < start + req->segs[k].iov_len)
				return true;
		}
	}
	return false;
}
