/* SPDX-License-Identifier: MIT */
/*
 * NVMe queue pairs for many concurrent submitters: submit, then poll or wait.
 *
 * A token identifies a submitted command until its result has been taken or the token has been
 * abandoned. Any number of threads may use a queue pair at once; a thread that polls delivers the
 * completions of other threads too. annex/detail/ring.h describes how the rings are shared. This
 * header compiles as C11 and as CUDA device code. docs/examples/queue.c is a complete program.
 */
#ifndef ANNEX_QUEUE_H
#define ANNEX_QUEUE_H

#include <annex/detail/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * annex_qp_submit() - Submit a batch of commands; does not wait for their completion.
 * @qp: the queue pair.
 * @ios: the commands.
 * @n: number of commands.
 * @tokens: set to one token per command. Pass each to annex_qp_poll(), annex_qp_wait() or
 *	annex_qp_abandon().
 * @deadline: latest time (annex_now()) to wait for the first free command identifier; 0: do not
 *	wait. The call does not wait for more identifiers, because the caller itself may hold all
 *	others.
 *
 * The doorbell is written at most once per ANNEX_QP_BATCH commands. Buffers must stay mapped and
 * unmodified until the command is complete. Any number of threads may submit at once.
 *
 * Return: number of submitted commands, from the first on (fewer than @n if the queue is full);
 * -EINVAL or -E2BIG (annex_io_check(); nothing was submitted); -EAGAIN (@deadline is 0 and no
 * identifier is free); -ETIMEDOUT; -EIO (the queue needs a reset: annex_dev_recover()); -ENODEV.
 */
static inline ANNEX_HD int annex_qp_submit(struct annex_qp *qp, const struct annex_io *ios,
					   unsigned int n, uint64_t *tokens, uint64_t deadline)
{
	unsigned int done = 0;

	for (unsigned int i = 0; i < n; i++) {
		int err = annex_io_check(&ios[i], &qp->limits);

		if (err)
			return err;
	}
	while (done < n) {
		struct annex_sqe sqes[ANNEX_QP_BATCH];
		uint16_t cids[ANNEX_QP_BATCH];
		uint32_t want = n - done < ANNEX_QP_BATCH ? n - done : ANNEX_QP_BATCH;
		int got = annex_qp_reserve(qp, want, cids, done ? 0 : deadline);

		if (got < 0)
			return done ? (int)done : got;
		for (int i = 0; i < got; i++) {
			uint64_t list = (uint64_t)cids[i] * qp->limits.list_bytes;

			annex_io_build(&sqes[i], &ios[done + i], &qp->limits, cids[i],
				       qp->lists + list, qp->lists_addr + list);
			tokens[done + i] = annex_qp_token(qp, cids[i]);
		}
		if (!annex_qp_enqueue(qp, sqes, cids, (uint32_t)got))
			done += (unsigned int)got;
	}
	return (int)done;
}

/**
 * annex_qp_peek() - Read a token's result, if it has been delivered, without taking it.
 * @qp: the queue pair.
 * @token: the command.
 * @res: NULL, or receives its result.
 *
 * Until annex_qp_collect() the token keeps its command identifier and list memory.
 *
 * Return: as annex_qp_collect().
 */
static inline ANNEX_HD int annex_qp_peek(struct annex_qp *qp, uint64_t token,
					 struct annex_result *res)
{
	struct annex_req *r;
	uint64_t s;

	if ((token & 0xffff) >= qp->depth - 1)
		return -EINVAL;
	r = &qp->reqs[token & 0xffff];
	/* Acquire: pairs with the delivery. */
	s = annex_local_load(&r->state, ANNEX_ACQUIRE);
	if (!ANNEX_REQ_MATCHES(s, token) || ANNEX_REQ_STATE(s) == ANNEX_REQ_FREE ||
	    ANNEX_REQ_STATE(s) == ANNEX_REQ_ORPHAN)
		return -EINVAL;
	if (ANNEX_REQ_STATE(s) != ANNEX_REQ_DONE)
		return -EINPROGRESS;
	if (res) {
		res->dw0 = r->dw0;
		res->status = r->status;
	}
	return 0;
}

/**
 * annex_qp_collect() - Take the result of a token if it has been delivered.
 * @qp: the queue pair.
 * @token: the command.
 * @res: NULL, or receives its result.
 *
 * Does not poll the completion queue: for collecting many tokens after one annex_qp_process().
 *
 * Return: 0 (complete: the token is used up), -EINPROGRESS, -EINVAL (no such token).
 */
static inline ANNEX_HD int annex_qp_collect(struct annex_qp *qp, uint64_t token,
					    struct annex_result *res)
{
	int rc = annex_qp_peek(qp, token, res);
	uint64_t *state;

	if (rc)
		return rc;
	state = &qp->reqs[token & 0xffff].state;
	/*
	 * Relaxed: no other thread changes the word now. Release: list memory and result are no
	 * longer used; pairs with the next reservation.
	 */
	annex_local_store(
		state, (annex_local_load(state, ANNEX_RELAXED) & ANNEX_REQ_KEEP) + ANNEX_REQ_NEXT,
		ANNEX_RELEASE);
	return 0;
}

/**
 * annex_qp_poll() - Check whether a command has completed, without waiting.
 * @qp: the queue pair.
 * @token: the command.
 * @res: NULL, or receives its result.
 *
 * Also delivers completions of other tokens. One thread at a time may poll a token.
 *
 * Return: 0 (complete: the token is used up), -EINPROGRESS, -EINVAL (no such token), -ECHILD (the
 * device was opened before fork()).
 */
static inline ANNEX_HD int annex_qp_poll(struct annex_qp *qp, uint64_t token,
					 struct annex_result *res)
{
	int rc = annex_qp_collect(qp, token, res);

	if (rc != -EINPROGRESS)
		return rc;
	annex_qp_help(qp);
	rc = annex_qp_collect(qp, token, res);
	return rc == -EINPROGRESS && annex_qp_down(qp) == -ECHILD ? -ECHILD : rc;
}

/**
 * annex_qp_abandon() - Abandon a token.
 * @qp: the queue pair.
 * @token: the token.
 *
 * The identifier and the buffer stay reserved until the completion arrives or the queue is reset:
 * the device may still write the buffer until then.
 */
static inline ANNEX_HD void annex_qp_abandon(struct annex_qp *qp, uint64_t token)
{
	struct annex_req *r;
	uint64_t s;

	if ((token & 0xffff) >= qp->depth - 1)
		return;
	r = &qp->reqs[token & 0xffff];
	s = annex_local_load(&r->state, ANNEX_ACQUIRE);
	while (ANNEX_REQ_MATCHES(s, token) && ANNEX_REQ_STATE(s) == ANNEX_REQ_TAKEN) {
		/* Release: the owner's accesses to the request come before. */
		if (annex_local_cas(&r->state, &s, (s & ANNEX_REQ_KEEP) | ANNEX_REQ_ORPHAN,
				    ANNEX_RELEASE))
			return;
	}
	annex_qp_collect(qp, token, NULL); /* it had just completed */
}

/**
 * annex_qp_wait() - Wait until a command has completed, or until a deadline.
 * @qp: the queue pair.
 * @token: the command.
 * @res: NULL, or receives its result.
 * @deadline: latest time to wait (annex_now()).
 *
 * Spins briefly, then sleeps if the controller can wake it, otherwise yields.
 *
 * Return: 0 (complete: the token is used up); -ETIMEDOUT, or -EIO when the controller has failed
 * (the token is still valid, annex_dev_recover() completes it); -EINVAL (no such token); -ECHILD.
 */
static inline ANNEX_HD int annex_qp_wait(struct annex_qp *qp, uint64_t token,
					 struct annex_result *res, uint64_t deadline)
{
#if ANNEX_ON_GPU
	for (unsigned int round = 0;; round++) {
		int rc = annex_qp_poll(qp, token, res);

		if (rc != -EINPROGRESS)
			return rc;
		if (annex_qp_down(qp))
			return -EIO;
		if (annex_now() >= deadline)
			return -ETIMEDOUT;
		annex_qp_backoff(round);
	}
#else
	int rc = annex_qp_collect(qp, token, res);

	return rc != -EINPROGRESS ? rc : annex_host_wait(qp, token, res, deadline);
#endif
}

/**
 * annex_qp_submit_sqe() - Submit one raw submission queue entry (host only).
 * @qp: the queue pair.
 * @sqe: complete except for the command identifier; its data pointers are used unchanged.
 * @token: set to the command's token.
 * @deadline: as for annex_qp_submit().
 *
 * For commands that struct annex_io does not describe.
 *
 * Return: as annex_qp_submit(), 0 on success.
 */
int annex_qp_submit_sqe(struct annex_qp *qp, const struct annex_sqe *sqe, uint64_t *token,
			uint64_t deadline);

#ifdef __cplusplus
}
#endif
#endif
