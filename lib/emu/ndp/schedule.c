// SPDX-License-Identifier: MIT
/*
 * A unit whose turn ends amid its micro-threads keeps them, and is the first of its instance to be
 * taken up again; so an instance never has more batches than there are threads.
 */
#include <errno.h>
#include <string.h>
#include "schedule.h"

/* What a turn takes at most, as a rule. Who takes longer gets shorter ones, and is measured. */
#define NS_A_TURN 1000u
#define NS_AN_INSTRUCTION 8u
#define SLOW 16u /* times fewer instructions */

static void activate(struct ndp_client *c)
{
	struct annex_ndp *ndp = c->ndp;

	/* Who was idle has not saved up for now. */
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
	/* Relaxed: who sees it takes the lock, and looks again. */
	annex_atomic_store(&ndp->nready, ndp->nready + count - in->counted, ANNEX_RELAXED);
	in->counted = count;
	ndp_wake(ndp);
}

void ndp_wake(struct annex_ndp *ndp)
{
	if (ndp->nready && ndp->sleeping && !ndp->spinning && ndp->lent <= ndp->assisting)
		pthread_cond_signal(&ndp->work);
}

/* Whose units have been busy least. */
static struct ndp_client *poorest(struct annex_ndp *ndp)
{
	struct ndp_client *c, *least = TAILQ_FIRST(&ndp->active);

	TAILQ_FOREACH(c, &ndp->active, turn)
	if (c->used < least->used)
		least = c;
	return least;
}

/* A ready unit: those begun before the others, and of each kind rather one the thread had before.
 */
static unsigned int take_unit(struct ndp_instance *in, unsigned int thread)
{
	const struct ndp_unit *unit = in->place->unit;
	uint16_t *ready = in->place->ready;
	unsigned int at = in->nready - 1, taken;
	bool begun = unit[ready[at]].batch;

	for (unsigned int i = in->nready; i--;) {
		const struct ndp_batch *b = unit[ready[i]].batch;

		if (begun && !b)
			break;
		if (b ? b->thread == thread : ready[i] % in->client->ndp->threads == thread) {
			at = i;
			break;
		}
	}
	taken = ready[at];
	in->nready--;
	memmove(&ready[at], &ready[at + 1], (in->nready - at) * sizeof(*ready));
	return taken;
}

/* The processor's time that the calling thread has had. A system call, unlike annex_now(). */
static uint64_t thread_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* It is the instance's turn. Return: whether it can go on. */
static bool take(struct ndp_instance *in, unsigned int thread, uint64_t slice,
		 struct ndp_turn *turn)
{
	unsigned int unit;
	struct ndp_batch *b;

	if (turn->since >= in->deadline) {
		ndp_instance_fail(in, -ETIMEDOUT, 0, 0);
		return false;
	}
	unit = take_unit(in, thread);
	b = in->place->unit[unit].batch;
	if (!b)
		b = ndp_batch_get(in, unit);
	if (!b) {
		ndp_instance_fail(in, -ENOMEM, 0, 0);
		return false;
	}
	b->thread = thread;
	b->running = true;
	in->held++;
	turn->batch = b;
	turn->cpu = in->slow ? thread_now() : 0;
	turn->grant = in->slow ? slice / SLOW : slice;
	turn->grant = turn->grant < in->left ? turn->grant : in->left;
	in->left -= turn->grant;
	ndp_schedule(in);
	return true;
}

bool ndp_take(struct annex_ndp *ndp, unsigned int thread, uint64_t slice, struct ndp_turn *turn,
	      struct ndp_reply *reply)
{
	struct ndp_client *c = poorest(ndp);
	struct ndp_instance *in;

	*turn = (struct ndp_turn){0};
	if (!c)
		return false;
	turn->since = annex_now();
	ndp->floor = c->used;
	in = TAILQ_FIRST(&c->active);
	TAILQ_REMOVE(&c->active, in, turn);
	TAILQ_INSERT_TAIL(&c->active, in, turn);
	if (!take(in, thread, slice, turn) && !in->held)
		ndp_instance_end(in, reply);
	return true;
}

/*
 * What a turn costs the client: the time it took, but not that in which the thread was kept from
 * running, which may be far longer.
 */
static uint64_t charge(struct ndp_instance *in, const struct ndp_turn *turn,
		       const struct ndp_run *run)
{
	uint64_t most = NS_A_TURN + run->done * NS_AN_INSTRUCTION;
	uint64_t took = turn->cpu ? thread_now() - turn->cpu : annex_now() - turn->since;

	in->slow = took > most;
	return took < most || turn->cpu ? took : most;
}

/* The unit's turn went well. Return: whether the instance has ended by it. */
static bool put_back(struct ndp_instance *in, struct ndp_batch *b, bool finished)
{
	if (!finished) {
		in->place->ready[in->nready++] = (uint16_t)b->unit;
		return false;
	}
	ndp_batch_put(in->client->ndp, b);
	return !--in->todo && !ndp_phase_next(in);
}

void ndp_settle(struct annex_ndp *ndp, const struct ndp_turn *turn, const struct ndp_run *run,
		struct ndp_reply *reply)
{
	struct ndp_batch *b = turn->batch;
	struct ndp_instance *in = b->instance;
	bool ended = false;

	b->running = false;
	annex_atomic_store(&b->stop, 0u, ANNEX_RELAXED); /* only set and read under this lock */
	if (b->stale) {
		ndp_batch_forget(b);
		pthread_cond_broadcast(&ndp->settled);
	}
	ndp->instructions += run->done;
	in->client->used += charge(in, turn, run);
	in->held--;
	/* What it did not need, less what an instruction of several lanes went beyond. */
	in->left += turn->grant;
	in->left -= run->done < in->left ? run->done : in->left;
	if (in->failed || run->end == NDP_FAILED)
		ndp_batch_put(ndp, b);
	else
		ended = put_back(in, b, run->end == NDP_FINISHED);
	if (run->end == NDP_FAILED)
		ndp_instance_fail(in, run->err, run->pc, run->addr);
	if (!in->failed && !ended && !in->left && !in->held)
		ndp_instance_fail(in, -ETIME, 0, 0);
	if (ended || (in->failed && !in->held))
		ndp_instance_end(in, reply);
	else
		ndp_schedule(in);
}
