// SPDX-License-Identifier: MIT
/*
 * The host's threads that units run on. Unit u is rather taken by thread u modulo their number, and
 * by any other that has nothing to do.
 *
 * Threads without work sleep, after one of them has looked for more for a while.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "state.h"
#include "turn.h"

#define SPIN_NS 20000u
#define SLICE 32768u        /* instructions of a turn */
#define STEP 8192u          /* between looks at the clock */
#define ASSIST_SLICE 16384u /* the same in a thread that has to poll */
#define ASSIST_STEP 2048u

struct worker {
	struct annex_ndp *ndp;
	unsigned int number;
};

/* One turn of a unit; the lock is held before and after, but not meanwhile. */
static bool work(struct annex_ndp *ndp, unsigned int thread, bool brief)
{
	struct ndp_bounds bounds = {.step = brief ? ASSIST_STEP : STEP};
	struct ndp_reply reply = {0};
	struct ndp_turn turn;
	struct ndp_run run;

	if (!ndp_take(ndp, thread, brief ? ASSIST_SLICE : SLICE, brief, &turn, &reply))
		return false;
	if (turn.batch) {
		pthread_mutex_unlock(&ndp->lock);
		bounds.grant = turn.grant;
		bounds.until = turn.since + turn.limit;
		ndp_unit_run(turn.batch, &bounds, &run);
		pthread_mutex_lock(&ndp->lock);
		ndp_settle(ndp, &turn, &run, &reply);
	}
	ndp_reply(ndp, &reply);
	return true;
}

/* Without the lock: relaxed, since a thread that sees work takes the lock before it goes on. */
static bool is_ready(struct annex_ndp *ndp)
{
	return annex_atomic_load(&ndp->nready, ANNEX_RELAXED);
}

static void look_out(struct annex_ndp *ndp)
{
	uint64_t until = annex_now() + SPIN_NS;

	ndp->spinning++;
	pthread_mutex_unlock(&ndp->lock);
	while (!is_ready(ndp) && annex_now() < until)
		annex_pause();
	pthread_mutex_lock(&ndp->lock);
	ndp->spinning--;
}

static void *serve(void *arg)
{
	struct worker me = *(struct worker *)arg;
	struct annex_ndp *ndp = me.ndp;

	free(arg);
	pthread_mutex_lock(&ndp->lock);
	while (!ndp->stop) {
		if (work(ndp, me.number, false))
			continue;
		/* One is enough, and none while a thread that polls anyway does it. */
		if (!ndp->spinning && ndp->lent <= ndp->assisting)
			look_out(ndp);
		if (ndp->stop || ndp->nready)
			continue;
		ndp->sleeping++;
		pthread_cond_wait(&ndp->work, &ndp->lock);
		ndp->sleeping--;
	}
	pthread_mutex_unlock(&ndp->lock);
	return NULL;
}

int ndp_workers_start(struct annex_ndp *ndp)
{
	for (unsigned int i = 0; i < ndp->opts.threads; i++) {
		struct worker *w = malloc(sizeof(*w));
		int err;

		if (!w)
			return annex_fail(-ENOMEM, "NDP: no memory for its threads");
		*w = (struct worker){ndp, i};
		err = -pthread_create(&ndp->thread[i], NULL, serve, w);
		if (err) {
			free(w);
			return annex_fail(err, "NDP: cannot start thread %u of %u: %s", i + 1,
					  ndp->opts.threads, strerror(-err));
		}
		ndp->threads++;
	}
	return 0;
}

void ndp_workers_stop(struct annex_ndp *ndp)
{
	pthread_mutex_lock(&ndp->lock);
	ndp->stop = true;
	pthread_cond_broadcast(&ndp->work);
	pthread_mutex_unlock(&ndp->lock);
	while (ndp->threads)
		pthread_join(ndp->thread[--ndp->threads], NULL);
}

void ndp_lend(struct annex_ndp *ndp)
{
	pthread_mutex_lock(&ndp->lock);
	ndp->lent++;
	pthread_mutex_unlock(&ndp->lock);
}

void ndp_unlend(struct annex_ndp *ndp)
{
	pthread_mutex_lock(&ndp->lock);
	ndp->lent--;
	ndp_wake(ndp);
	pthread_mutex_unlock(&ndp->lock);
}

bool ndp_assist(struct annex_ndp *ndp)
{
	bool worked;

	if (!is_ready(ndp))
		return false;
	pthread_mutex_lock(&ndp->lock);
	ndp->assisting++;
	worked = work(ndp, ndp->opts.threads, true);
	ndp->assisting--;
	/* Of a client that is left to the device's own threads: none may be awake. */
	if (!worked && ndp->nready && ndp->sleeping && !ndp->spinning)
		pthread_cond_signal(&ndp->work);
	pthread_mutex_unlock(&ndp->lock);
	return worked;
}
