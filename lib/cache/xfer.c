// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "core/futex.h"
#include "xfer.h"

#define XFERS_MAX 4096u /* as many as four queues of 1024 entries take commands */

int annex_xfers_create(struct annex_cache *c)
{
	uint32_t copies = c->layout == ANNEX_REPLICA ? c->nleaves : 1;
	uint32_t ncmds = copies * c->pieces;
	struct annex_cmd *cmds;

	c->nxfers = c->nslots < XFERS_MAX ? c->nslots : XFERS_MAX;
	c->xfers = calloc(c->nxfers, sizeof(*c->xfers));
	cmds = calloc((size_t)c->nxfers * ncmds, sizeof(*cmds));
	if (!c->xfers || !cmds) {
		free(cmds);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < c->nxfers; i++) {
		c->xfers[i].cmds = cmds + (size_t)i * ncmds;
		c->xfers[i].next = i + 1 < c->nxfers ? i + 1 : XFER_NONE;
	}
	return 0;
}

void annex_xfers_destroy(struct annex_cache *c)
{
	if (c->xfers)
		free(c->xfers[0].cmds);
	free(c->xfers);
}

/* Leave phase @from for @to, keeping the waiters. Return: the word before. */
static uint32_t change(struct annex_xfer *x, enum annex_xfer_phase from, enum annex_xfer_phase to)
{
	/*
	 * Release: what this thread did to the transfer and its lines is visible to the next one
	 * to take it. Acquire: the waiters counted here had joined.
	 */
	return annex_atomic_add(&x->word, (uint32_t)to - (uint32_t)from, ANNEX_ACQ_REL);
}

bool annex_xfer_grab(struct annex_xfer *x)
{
	uint32_t word = annex_atomic_load(&x->word, ANNEX_RELAXED);

	while ((word & XFER_PHASE) == XFER_FLYING)
		/* Acquire: pairs with change(); commands and tokens are all there. */
		if (annex_atomic_cas(&x->word, &word, word - XFER_FLYING + XFER_REAPING,
				     ANNEX_ACQUIRE))
			return true;
	return false;
}

void annex_xfer_release(struct annex_xfer *x)
{
	/* A waiter that came meanwhile sleeps: it becomes the reaper. */
	if (change(x, XFER_REAPING, XFER_FLYING) >= XFER_WAITER)
		futex_rouse(&x->word, 1, false);
}

/*
 * The free transfers are a stack: its head is an index, and above it a count of changes, without
 * which a pop could miss that others had popped and pushed meanwhile.
 */
static struct annex_xfer *pop(struct annex_cache *c)
{
	/* Acquire: pairs with push(); the next index is there. */
	uint64_t head = annex_atomic_load(&c->xfer_free, ANNEX_ACQUIRE), next;

	do {
		if ((uint32_t)head == XFER_NONE)
			return NULL;
		/* It may be popped and changed under us: then the exchange fails. */
		next = (head >> 32) + 1;
		next = next << 32 |
		       annex_atomic_load(&c->xfers[(uint32_t)head].next, ANNEX_RELAXED);
	} while (!annex_atomic_cas(&c->xfer_free, &head, next, ANNEX_ACQUIRE));
	return &c->xfers[(uint32_t)head];
}

static void push(struct annex_cache *c, struct annex_xfer *x)
{
	uint64_t head = annex_atomic_load(&c->xfer_free, ANNEX_RELAXED), next;

	do {
		annex_atomic_store(&x->next, (uint32_t)head, ANNEX_RELAXED);
		next = ((head >> 32) + 1) << 32 | (uint32_t)(x - c->xfers);
		/* Release: the thread that pops it sees it reset. */
	} while (!annex_atomic_cas(&c->xfer_free, &head, next, ANNEX_RELEASE));
}

/* Done without waiters is free. No thread joins any more, so exactly one comes to do this. */
static void recycle(struct annex_cache *c, struct annex_xfer *x)
{
	annex_atomic_store(&x->word, (uint32_t)XFER_FREE, ANNEX_RELAXED);
	push(c, x);
}

struct annex_xfer *annex_xfer_take(struct annex_cache *c)
{
	struct annex_xfer *x = pop(c);

	/* Release: a joiner of the past, which finds it by an old index, sees it unprepared. */
	if (x)
		annex_atomic_store(&x->word, (uint32_t)XFER_HELD, ANNEX_RELEASE);
	return x;
}

void annex_xfer_end(struct annex_cache *c, struct annex_xfer *x, bool joined)
{
	uint32_t waiters = change(x, XFER_REAPING, XFER_DONE) / XFER_WAITER;

	if (!waiters)
		recycle(c, x);
	else if (waiters > joined)
		futex_rouse(&x->word, INT_MAX, false);
}

void annex_xfer_fly(struct annex_xfer *x)
{
	if (change(x, XFER_HELD, XFER_FLYING) >= XFER_WAITER)
		futex_rouse(&x->word, 1, false);
}

bool annex_xfer_join(struct annex_xfer *x)
{
	uint32_t word = annex_atomic_load(&x->word, ANNEX_RELAXED);

	while ((word & XFER_PHASE) != XFER_FREE && (word & XFER_PHASE) != XFER_DONE)
		/* Acquire: pairs with the transfer's preparation; its fields may be read. */
		if (annex_atomic_cas(&x->word, &word, word + XFER_WAITER, ANNEX_ACQUIRE))
			return true;
	return false;
}

void annex_xfer_leave(struct annex_cache *c, struct annex_xfer *x)
{
	/* Release: the outcome has been read before the transfer is used again. */
	if (annex_atomic_sub(&x->word, XFER_WAITER, ANNEX_ACQ_REL) == XFER_WAITER + XFER_DONE)
		recycle(c, x);
}

static void settle(struct annex_cache *c, struct annex_cmd *cmd, int rc,
		   const struct annex_result *res)
{
	annex_atomic_sub(&c->inflight, 1, ANNEX_RELAXED);
	cmd->err = rc ? rc : annex_nvme_errno(res->status);
	cmd->pending = false;
}

bool annex_xfer_poll(struct annex_cache *c, struct annex_xfer *x)
{
	bool all = true;

	for (uint32_t i = 0; i < x->ncmds; i++) {
		struct annex_result res = {0};
		int rc;

		if (!x->cmds[i].pending)
			continue;
		rc = annex_qp_poll(x->cmds[i].qp, x->cmds[i].token, &res);
		if (rc == -EINPROGRESS)
			all = false;
		else
			settle(c, &x->cmds[i], rc, &res);
	}
	return all;
}

/*
 * End a command that is late (@why -ETIMEDOUT) or whose controller has failed (-EIO): abort, then
 * reset, after which its result is there, or the device is dead. A command that a reset swept away
 * may be sent again; one that was late would only be late again.
 */
static void rescue(struct annex_cache *c, struct annex_cmd *cmd, int why)
{
	struct annex_result res = {0};
	int dead = annex_dev_recover(c->leaves[cmd->leaf].dev, cmd->qp, cmd->token);
	int rc = annex_qp_poll(cmd->qp, cmd->token, &res);

	settle(c, cmd, rc ? -ETIMEDOUT : 0, &res);
	if (cmd->err && dead)
		cmd->err = dead;
	else if (cmd->err && why == -ETIMEDOUT)
		cmd->err = why;
}

void annex_cmd_await(struct annex_cache *c, struct annex_cmd *cmd)
{
	struct annex_result res = {0};
	int rc;

	if (!cmd->pending)
		return;
	rc = annex_qp_wait(cmd->qp, cmd->token, &res, annex_deadline_ms(c->timeout_ms));
	if (rc == -ETIMEDOUT || rc == -EIO)
		rescue(c, cmd, rc);
	else
		settle(c, cmd, rc, &res);
}

void annex_xfer_collect(struct annex_cache *c)
{
	for (uint32_t i = 0; i < c->nxfers; i++) {
		if (!annex_xfer_grab(&c->xfers[i]))
			continue;
		annex_xfer_poll(c, &c->xfers[i]);
		annex_xfer_release(&c->xfers[i]);
	}
}
