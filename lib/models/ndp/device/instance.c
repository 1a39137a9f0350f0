// SPDX-License-Identifier: MIT
/*
 * Instances of kernels: which run, which wait, and how they ended.
 *
 * A client alone may take all places but one. Each client that has nothing running finds one
 * kept for it, and so does one that is yet to come, up to half of them all; so a process with
 * endless kernels does not keep the others out (M2NDP section III-J). Places to wait in are kept
 * likewise, and beside them each client has its own, for when it has nothing else under way. So
 * such a launch is never refused, however many clients there are, and is overtaken by no other
 * client more than once: clients that wait are admitted in turn, a launch each.
 */
#include <errno.h>
#include <string.h>
#include "core/log.h"
#include "instance.h"
#include "state.h"
#include "unit.h"

#define ID_BITS 20u /* of an instance's number: where its answer is kept */
#define RUNNING 1   /* Table II */

static unsigned int kept(unsigned int clients, unsigned int places)
{
	return clients < places / 2 ? clients : places / 2;
}

static bool may_run(const struct ndp_client *c)
{
	const struct annex_ndp *ndp = c->ndp;
	unsigned int idle = ndp->clients - ndp->busy;
	unsigned int keep = c->nrunning ? kept(idle + 1, ndp->opts.running) : 0;

	return ndp->nrunning + keep < ndp->opts.running;
}

/* Where others wait too. */
static bool may_wait(const struct ndp_client *c)
{
	const struct annex_ndp *ndp = c->ndp;
	unsigned int idle = ndp->clients - ndp->nqueueing;
	unsigned int keep = c->nwaiting ? kept(idle, ndp->opts.waiting) : 0;

	return ndp->nwaiting + keep < ndp->opts.waiting;
}

static void start(struct ndp_instance *in)
{
	struct annex_ndp *ndp = in->client->ndp;

	in->place = SLIST_FIRST(&ndp->places);
	SLIST_REMOVE_HEAD(&ndp->places, link);
	memset(in->place->unit, 0, ndp->opts.units * sizeof(in->place->unit[0]));
	in->left = ndp->opts.budget;
	in->deadline = annex_deadline_ms(ndp->opts.deadline_ms);
	TAILQ_INSERT_TAIL(&in->client->running, in, link);
	ndp->nrunning++;
	ndp->busy += !in->client->nrunning++;
	ndp_phase_next(in); /* a kernel has one at least */
	ndp_schedule(in);
}

static void enqueue(struct ndp_instance *in)
{
	struct ndp_client *c = in->client;
	struct annex_ndp *ndp = c->ndp;

	TAILQ_INSERT_TAIL(&c->waiting, in, link);
	ndp->nwaiting += in != &c->own;
	if (!c->nwaiting++) {
		TAILQ_INSERT_TAIL(&ndp->queueing, c, queue);
		ndp->nqueueing++;
	}
}

static void dequeue(struct ndp_instance *in)
{
	struct ndp_client *c = in->client;
	struct annex_ndp *ndp = c->ndp;

	TAILQ_REMOVE(&c->waiting, in, link);
	ndp->nwaiting -= in != &c->own;
	TAILQ_REMOVE(&ndp->queueing, c, queue);
	if (--c->nwaiting)
		TAILQ_INSERT_TAIL(&ndp->queueing, c, queue);
	else
		ndp->nqueueing--;
}

void ndp_instance_admit(struct annex_ndp *ndp)
{
	struct ndp_client *c;

	do {
		TAILQ_FOREACH(c, &ndp->queueing, queue)
		if (may_run(c))
			break;
		if (c) {
			struct ndp_instance *in = TAILQ_FIRST(&c->waiting);

			dequeue(in);
			start(in);
		}
	} while (c);
}

/* Assign a unique number, and a place for the answer. */
static void remember(struct ndp_client *c, struct ndp_instance *in)
{
	struct annex_ndp *ndp = c->ndp;
	struct ndp_past *past;
	uint32_t at;

	/* Twice as many as can be under way, so one is free. */
	do {
		at = c->launches++ % ndp->past;
		past = &c->past[at];
	} while (past->answer.value == RUNNING);
	in->id = ++ndp->launches << ID_BITS | at;
	*past = (struct ndp_past){in->id, {.value = RUNNING}};
}

static struct ndp_past *recall(struct ndp_client *c, uint64_t id)
{
	uint64_t at = id % (1u << ID_BITS);

	return id && at < c->ndp->past && c->past[at].id == id ? &c->past[at] : NULL;
}

/* NULL: there is no place, neither to run nor to wait. */
static struct ndp_instance *take_free(struct ndp_client *c, bool now)
{
	struct ndp_instance *in = NULL;

	if (now || may_wait(c)) {
		in = TAILQ_FIRST(&c->ndp->free);
		TAILQ_REMOVE(&c->ndp->free, in, link);
	} else if (!c->nrunning && !c->nwaiting) {
		in = &c->own;
	}
	return in;
}

static int launch(struct ndp_client *c, const struct annex_m2_launch *asked,
		  struct ndp_instance **out)
{
	struct ndp_kernel *k = ndp_kernel_find(c, asked->id);
	struct annex_ndp *ndp = c->ndp;
	bool now = TAILQ_EMPTY(&c->waiting) && may_run(c);
	struct ndp_instance *in;

	if (c->closing)
		return -ENODEV;
	if (!k)
		return -ENOENT;
	if (asked->args != k->asked.args)
		return -EINVAL;
	if (!ndp_space_covers(&c->space, asked->base, asked->bound - asked->base))
		return -EFAULT;
	in = take_free(c, now);
	if (!in)
		return -EBUSY;
	*in = (struct ndp_instance){.client = c, .kernel = k, .base = asked->base};
	in->pieces = (asked->bound - asked->base) / ndp->opts.piece;
	k->instances++;
	k->launches++;
	remember(c, in);
	*out = in;
	return now;
}

int64_t ndp_launch(struct ndp_client *c, const struct annex_m2_launch *asked, const void *args,
		   ndp_done *done, void *ctx)
{
	uint32_t piece = c->ndp->opts.piece;
	struct ndp_instance *in;
	int64_t id;
	int now;

	if (asked->sync > 1 || asked->zero || asked->base >= asked->bound || asked->base % piece ||
	    asked->bound % piece)
		return annex_fail(-EINVAL, "NDP: launch on [%#llx, %#llx): not whole pieces",
				  (ull)asked->base, (ull)asked->bound);
	pthread_mutex_lock(&c->ndp->lock);
	now = launch(c, asked, &in);
	id = now;
	if (now >= 0) {
		id = (int64_t)in->id;
		memcpy(in->args, args, asked->args);
		in->done = asked->sync ? done : NULL;
		in->ctx = ctx;
		if (now)
			start(in);
		else
			enqueue(in);
	}
	pthread_mutex_unlock(&c->ndp->lock);
	if (now >= 0 || now == -EBUSY) /* a full device is no error: log nothing */
		return id;
	return annex_fail(
		now, "NDP: launch of kernel %u on [%#llx, %#llx), %u bytes of arguments: %s",
		asked->id, (ull)asked->base, (ull)asked->bound, asked->args, strerror(-now));
}

void ndp_instance_fail(struct ndp_instance *in, int err, uint64_t pc, uint64_t addr)
{
	struct annex_ndp *ndp = in->client->ndp;

	if (in->failed)
		return;
	in->failed = true;
	in->answer = (struct annex_m2_answer){err, pc, addr};
	in->nready = 0;
	for (unsigned int i = 0; in->place && i < ndp->opts.units; i++) {
		struct ndp_batch *b = in->place->unit[i].batch;

		if (!b)
			continue;
		/* Relaxed: it is only a hint; the thread takes the lock before it looks further. */
		if (b->running)
			annex_atomic_store(&b->stop, 1u, ANNEX_RELAXED);
		else
			ndp_batch_put(ndp, b);
	}
	ndp_schedule(in);
}

static void leave(struct ndp_instance *in)
{
	struct ndp_client *c = in->client;
	struct annex_ndp *ndp = c->ndp;

	if (!in->place) {
		dequeue(in);
		return;
	}
	TAILQ_REMOVE(&c->running, in, link);
	SLIST_INSERT_HEAD(&ndp->places, in->place, link);
	ndp->nrunning--;
	ndp->busy -= !--c->nrunning;
}

void ndp_instance_end(struct ndp_instance *in, struct ndp_reply *reply)
{
	struct ndp_client *c = in->client;

	leave(in);
	in->kernel->instances--;
	recall(c, in->id)->answer = in->answer;
	if (in->done) {
		*reply = (struct ndp_reply){c, in->done, in->ctx, in->answer};
		if (!in->failed)
			reply->answer.value = (int64_t)in->id;
		c->answering++;
	}
	if (in != &c->own)
		TAILQ_INSERT_HEAD(&c->ndp->free, in, link);
	ndp_instance_admit(c->ndp);
	if (c->closing)
		pthread_cond_broadcast(&c->ndp->settled);
}

void ndp_reply(struct annex_ndp *ndp, const struct ndp_reply *reply)
{
	if (!reply->client)
		return;
	pthread_mutex_unlock(&ndp->lock);
	reply->done(reply->ctx, &reply->answer);
	pthread_mutex_lock(&ndp->lock);
	reply->client->answering--;
	if (reply->client->closing)
		pthread_cond_broadcast(&ndp->settled);
}

struct annex_m2_answer ndp_poll(struct ndp_client *c, const struct annex_m2_poll *asked)
{
	struct annex_m2_answer answer = {.value = -ENOENT};
	const struct ndp_past *past;

	pthread_mutex_lock(&c->ndp->lock);
	past = recall(c, asked->instance);
	if (past)
		answer = past->answer;
	pthread_mutex_unlock(&c->ndp->lock);
	return answer;
}
