// SPDX-License-Identifier: MIT
/*
 * A unit whose turn ends amid its micro-threads keeps them, and is the first of its instance to be
 * taken up again; so an instance never has more batches than there are threads.
 */
#include <errno.h>
#include <string.h>
#include "turn.h"

/* The usual most that a turn takes. Only a longer turn is examined. */
#define NS_A_TURN 1000u
#define NS_AN_INSTRUCTION 8u

/* Maximum time of a turn, and of a turn on a polling thread, for which a caller waits. */
#define TURN_NS 500000u
#define BRIEF_NS 50000u
#define OVERLONG 4u         /* times that: polling threads skip the client for a while */
#define APART 64u           /* times the turn: bounds polling time that a client can waste */
#define MEASURED_NS 200000u /* maximum age of a reading of the processor's time */

/* The client whose units have been busy least; with @brief only clients that a polling thread may
 * serve. */
static struct ndp_client *least_served(struct annex_ndp *ndp, bool brief, uint64_t now)
{
	struct ndp_client *c, *least = NULL, *fit = NULL;

	TAILQ_FOREACH(c, &ndp->active, turn)
	{
		if (!least || c->used < least->used)
			least = c;
		if (now >= c->apart && (!fit || c->used < fit->used))
			fit = c;
	}
	if (least)
		ndp->floor = least->used;
	return brief ? fit : least;
}

/* A ready unit: begun ones first, and of each kind preferably one that the thread had before. */
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

/*
 * The processor's time that the calling thread has had, and when it was looked at. A system call,
 * unlike annex_now(), so not before each turn.
 */
static _Thread_local struct {
	uint64_t had, at;
} measured;

static void measure(uint64_t now)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	measured.had = (uint64_t)ts.tv_sec * ANNEX_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
	measured.at = now;
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
	turn->grant = slice < in->left ? slice : in->left;
	in->left -= turn->grant;
	ndp_schedule(in);
	return true;
}

bool ndp_take(struct annex_ndp *ndp, unsigned int thread, uint64_t slice, bool brief,
	      struct ndp_turn *turn, struct ndp_reply *reply)
{
	struct ndp_instance *in;
	struct ndp_client *c;

	*turn = (struct ndp_turn){.since = annex_now(), .limit = brief ? BRIEF_NS : TURN_NS};
	c = least_served(ndp, brief, turn->since);
	if (!c)
		return false;
	if (turn->since - measured.at > MEASURED_NS)
		measure(turn->since);
	in = TAILQ_FIRST(&c->active);
	TAILQ_REMOVE(&c->active, in, turn);
	TAILQ_INSERT_TAIL(&c->active, in, turn);
	if (!take(in, thread, slice, turn) && !in->held)
		ndp_instance_end(in, reply);
	return true;
}

/*
 * The cost of a turn to the client: all of the time it took, or kernels with long instructions
 * would have more than their share (M2NDP section III-J). Time in which the thread was preempted
 * does not count, and may be far longer: the cost is never more than the thread's processor time
 * since it was last measured, MEASURED_NS before the turn at the earliest.
 */
static uint64_t charge(struct ndp_client *c, const struct ndp_turn *turn, uint64_t done)
{
	uint64_t now = annex_now(), took = now - turn->since, before = measured.had;

	if (took > NS_A_TURN + done * NS_AN_INSTRUCTION) {
		measure(now);
		took = took < measured.had - before ? took : measured.had - before;
	}
	if (took > OVERLONG * (uint64_t)turn->limit)
		c->apart = now + APART * took;
	return took;
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
	in->client->used += charge(in->client, turn, run->done);
	in->held--;
	/* Give back the rest of the grant, less the excess of an instruction of several lanes. */
	in->left += turn->grant;
	in->left -= run->done < in->left ? run->done : in->left;
	if (in->failed || run->end == NDP_FAILED)
		ndp_batch_put(ndp, b);
	else
		ended = put_back(in, b, run->end == NDP_FINISHED);
	/* It may have read zeroes in the place of its data. */
	if (ended && ndp_space_lost(&in->client->space))
		ndp_instance_fail(in, -EIO, 0, 0);
	if (run->end == NDP_FAILED)
		ndp_instance_fail(in, run->err, run->pc, run->addr);
	if (!in->failed && !ended && !in->left && !in->held)
		ndp_instance_fail(in, -ETIME, 0, 0);
	if (ended || (in->failed && !in->held))
		ndp_instance_end(in, reply);
	else
		ndp_schedule(in);
}
