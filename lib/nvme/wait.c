// SPDX-License-Identifier: MIT
/*
 * How host threads wait for completions.
 *
 * A thread spins a little, then sleeps. Of the threads that sleep on one queue pair, one is the
 * watcher: it sleeps on the controller's events, and delivers all completions that have arrived.
 * The others doze, each on the state word of its own request (a futex), which the thread that
 * delivers the completion wakes. So a completion wakes only its own thread.
 *
 * A watcher that leaves wakes one dozer to take its place. A dozer marks its request before it
 * looks for a watcher, and a watcher leaves its place before it looks for marks, both sequentially
 * consistent: one of them sees the other.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <annex/warp.h>
#include "core/futex.h"
#include "dev.h"

#define SPIN_ROUNDS 16u
#define GONE_CHECK 256u /* rounds between looks at CSTS where the controller cannot wake us */

/* The half of the state word that changes with its state. */
static uint32_t *futex_word(uint64_t *state)
{
	return (uint32_t *)state;
}

static long wake_dozer(uint64_t *state)
{
	return futex_rouse(futex_word(state), 1, false);
}

void annex_host_wake(struct annex_qp *qp, uint64_t *state)
{
	if (wake_dozer(state) < 1) /* the thread is the watcher, or not asleep yet */
		qp->host.wake(qp->host.ctrl, qp->qid);
}

/* Wake one dozer, if there is one, so that it becomes the watcher. */
static void hand_over(struct annex_qp *qp)
{
	if (!annex_atomic_load(&qp->dozing, ANNEX_SEQ_CST))
		return;
	for (uint32_t i = 0; i < qp->depth - 1; i++) {
		uint64_t *state = &qp->reqs[i].state;
		uint64_t s = annex_atomic_load(state, ANNEX_SEQ_CST);

		/* A dozer cannot fall asleep after this: the word has changed. */
		if (ANNEX_REQ_STATE(s) == ANNEX_REQ_TAKEN && s & ANNEX_REQ_ASLEEP &&
		    annex_atomic_cas(state, &s, s & ~(uint64_t)ANNEX_REQ_ASLEEP, ANNEX_SEQ_CST)) {
			if (wake_dozer(state) > 0)
				return;
			/*
			 * No thread slept: the one with this mark has given up, is not asleep yet,
			 * or has become the watcher. The watcher sleeps on events, and the thread
			 * that delivers its command will not find the mark.
			 */
			qp->host.wake(qp->host.ctrl, qp->qid);
		}
	}
}

/*
 * Mark the request, so that the thread that delivers @token wakes this one. Return: whether the
 * request is pending; *@marked is then the state word with the mark.
 */
static bool mark(struct annex_qp *qp, uint64_t token, uint64_t *marked)
{
	uint64_t *state = &qp->reqs[token & 0xffff].state;
	uint64_t s = annex_atomic_load(state, ANNEX_ACQUIRE);

	if (!ANNEX_REQ_MATCHES(s, token) || ANNEX_REQ_STATE(s) != ANNEX_REQ_TAKEN)
		return false;
	*marked = s | ANNEX_REQ_ASLEEP;
	return annex_atomic_cas(state, &s, *marked, ANNEX_SEQ_CST);
}

static void watch(struct annex_qp *qp, uint64_t token, uint64_t until)
{
	/* Before looking: an event after this number ends the sleep at once. */
	uint32_t seen = qp->host.event(qp->host.ctrl, qp->qid);
	uint64_t marked;

	annex_qp_help(qp);
	if (mark(qp, token, &marked) &&
	    annex_atomic_load(&qp->state, ANNEX_ACQUIRE) == ANNEX_QP_LIVE)
		qp->host.sleep(qp->host.ctrl, qp->qid, seen, until);
	annex_atomic_store(&qp->watched, 0u, ANNEX_SEQ_CST);
}

static void doze(struct annex_qp *qp, uint64_t token, uint64_t until)
{
	uint64_t marked;

	annex_atomic_add(&qp->dozing, 1u, ANNEX_SEQ_CST);
	if (mark(qp, token, &marked) && annex_atomic_load(&qp->watched, ANNEX_SEQ_CST) &&
	    annex_atomic_load(&qp->state, ANNEX_SEQ_CST) == ANNEX_QP_LIVE)
		futex_sleep(futex_word(&qp->reqs[token & 0xffff].state), (uint32_t)marked, until,
			    false);
	annex_atomic_sub(&qp->dozing, 1u, ANNEX_SEQ_CST);
}

/* A controller that has failed or vanished will complete nothing: do not wait for the deadline. */
static bool controller_failed(const struct annex_qp *qp)
{
	uint32_t csts;

	if (!qp->host.status)
		return false;
	csts = qp->host.status(qp->host.ctrl);
	return csts & ANNEX_CSTS_CFS; /* set in all ones too */
}

static int wait_awake(struct annex_qp *qp, uint64_t token, struct annex_result *res,
		      uint64_t deadline)
{
	unsigned int busy = 0; /* rounds since another thread began to deliver */
	struct annex_patience patience = {deadline, 0};

	for (unsigned int round = 0;; round++) {
		bool sleepy = round >= SPIN_ROUNDS;
		int rc = annex_qp_collect(qp, token, res), got;

		if (rc != -EINPROGRESS)
			return rc;
		if (qp->host.assist)
			qp->host.assist(qp->host.ctrl, qp->qid);
		got = annex_qp_process(qp);
		rc = annex_qp_collect(qp, token, res);
		if (rc != -EINPROGRESS)
			return rc;
		rc = annex_qp_down(qp);
		if (rc)
			return rc == -ECHILD ? rc : -EIO;
		if (annex_patience_ends(&patience))
			return -ETIMEDOUT;
		if ((sleepy || round % GONE_CHECK == GONE_CHECK - 1) && controller_failed(qp)) {
			annex_qp_break(qp);
			return -EIO;
		}
		/*
		 * Another thread may be delivering this completion, and a reset ends without an
		 * event: both are short, so stay awake.
		 */
		busy = got == -EBUSY ? busy + 1 : 0;
		if (!sleepy || busy || !qp->host.sleep ||
		    annex_atomic_load(&qp->state, ANNEX_ACQUIRE) != ANNEX_QP_LIVE) {
			annex_qp_backoff(busy ? busy : round);
		} else {
			uint64_t until = annex_patience_until(&patience);
			uint32_t nobody = 0;

			if (annex_atomic_cas(&qp->watched, &nobody, 1u, ANNEX_SEQ_CST))
				watch(qp, token, until);
			else
				doze(qp, token, until);
		}
	}
}

int annex_host_wait(struct annex_qp *qp, uint64_t token, struct annex_result *res,
		    uint64_t deadline)
{
	int rc = wait_awake(qp, token, res, deadline);

	/* This thread may have been the watcher, or the dozer that a watcher chose. */
	if (!annex_atomic_load(&qp->watched, ANNEX_SEQ_CST))
		hand_over(qp);
	return rc;
}
