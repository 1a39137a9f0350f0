// SPDX-License-Identifier: MIT
#include <errno.h>
#include <annex/detail/clock.h>
#include "core/futex.h"
#include "xfer.h"
#include "reap.h"

#define POLLS 8u                           /* transfers looked at when none is free */
#define NAP_NS (100 * ANNEX_NSEC_PER_MSEC) /* a sleeper looks again, whatever happens */

static void nap(uint32_t *word, uint32_t seen)
{
	futex_sleep(word, seen, annex_now() + NAP_NS, false);
}

int annex_xfer_wait(struct annex_cache *c, struct annex_xfer *x)
{
	struct annex_patience patience = {0, 0};

	for (;;) {
		/* Acquire: pairs with annex_xfer_end(); the outcome is there. */
		uint32_t word = annex_atomic_load(&x->word, ANNEX_ACQUIRE);

		if ((word & XFER_PHASE) == XFER_DONE)
			return x->err;
		if (annex_xfer_grab(x)) {
			for (uint32_t i = 0; i < x->ncmds; i++)
				annex_cmd_await(c, &x->cmds[i]);
			annex_xfer_outcome(c, x);
			annex_xfer_end(c, x, true);
			continue;
		}
		if (!patience.end)
			patience.end = annex_deadline_ms(XFER_PATIENCE_MS(c));
		else if (annex_patience_ends(&patience))
			return -ETIMEDOUT;
		if ((word & XFER_PHASE) != XFER_FLYING)
			nap(&x->word, word);
	}
}

static bool reap(struct annex_cache *c, struct annex_xfer *x)
{
	if (!annex_xfer_grab(x))
		return false;
	if (!annex_xfer_poll(c, x)) {
		annex_xfer_release(x);
		return false;
	}
	annex_xfer_outcome(c, x);
	annex_xfer_end(c, x, false);
	return true;
}

/*
 * Look at the next @n transfers in turn and end completed ones, so that none is forgotten
 * while others are used.
 */
static void sweep(struct annex_cache *c, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		/* Relaxed: it only shares the looks out. */
		uint32_t at = annex_atomic_add(&c->xfer_hand, 1, ANNEX_RELAXED);

		reap(c, &c->xfers[at % c->nxfers]);
	}
}

struct annex_xfer *annex_xfer_get(struct annex_cache *c)
{
	struct annex_xfer *x;

	sweep(c, 1);
	x = annex_xfer_take(c);
	if (!x) {
		sweep(c, POLLS);
		x = annex_xfer_take(c);
	}
	return x;
}

unsigned int annex_xfer_reap(struct annex_cache *c, unsigned int polls)
{
	uint32_t at = annex_atomic_load(&c->xfer_hand, ANNEX_RELAXED);
	unsigned int n = 0;

	for (uint32_t i = 0; i < c->nxfers && polls; i++) {
		struct annex_xfer *x = &c->xfers[(at + i) % c->nxfers];

		if ((annex_atomic_load(&x->word, ANNEX_RELAXED) & XFER_PHASE) != XFER_FLYING)
			continue;
		if (reap(c, x))
			n++;
		else
			polls--;
	}
	return n;
}

bool annex_xfer_wait_any(struct annex_cache *c)
{
	/* Relaxed: it spreads the threads that wait. */
	uint32_t at = annex_atomic_add(&c->xfer_hand, 1, ANNEX_RELAXED);

	for (uint32_t i = 0; i < c->nxfers; i++) {
		struct annex_xfer *x = &c->xfers[(at + i) % c->nxfers];

		if (!annex_xfer_join(x))
			continue;
		annex_xfer_wait(c, x);
		annex_xfer_leave(c, x);
		return true;
	}
	return false;
}
