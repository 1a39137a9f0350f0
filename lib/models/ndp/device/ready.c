// SPDX-License-Identifier: MIT
/*
 * Clients and instances with units that are ready to run.
 */
#include "instance.h"
#include "state.h"

static void activate(struct ndp_client *c)
{
	struct annex_ndp *ndp = c->ndp;

	/* A client that was idle has no credit from that time. */
	if (c->used < ndp->floor)
		c->used = ndp->floor;
	TAILQ_INSERT_TAIL(&ndp->active, c, turn);
}

void ndp_schedule(struct ndp_instance *in)
{
	struct ndp_client *c = in->client;
	struct annex_ndp *ndp = c->ndp;
	unsigned int count = in->left ? in->nready : 0;

	if (count && !in->counted) {
		if (TAILQ_EMPTY(&c->active))
			activate(c);
		TAILQ_INSERT_TAIL(&c->active, in, turn);
	} else if (!count && in->counted) {
		TAILQ_REMOVE(&c->active, in, turn);
		if (TAILQ_EMPTY(&c->active))
			TAILQ_REMOVE(&ndp->active, c, turn);
	}
	/* Relaxed: a thread that sees it takes the lock and looks again. */
	annex_atomic_store(&ndp->nready, ndp->nready + count - in->counted, ANNEX_RELAXED);
	in->counted = count;
	ndp_wake(ndp);
}

void ndp_wake(struct annex_ndp *ndp)
{
	if (ndp->nready && ndp->sleeping && !ndp->spinning && ndp->lent <= ndp->assisting)
		pthread_cond_signal(&ndp->work);
}
