// SPDX-License-Identifier: MIT
/*
 * The synchronous call: submit, wait, recover.
 */
#include <errno.h>
#include "core/log.h"
#include "dev.h"

#define WINDOW 64u /* commands of one call in flight at once */

/* Take the result of @token, by recovery if necessary. Return: 0, or the error of a late one. */
static int finish(struct annex_dev *dev, struct annex_qp *qp, uint64_t token,
		  struct annex_result *res, uint64_t deadline)
{
	int late = annex_qp_wait(qp, token, res, deadline);

	if (!late)
		return 0;
	annex_dev_recover(dev, qp, token);
	/* Recovery completes the token in any case. */
	if (annex_qp_collect(qp, token, res))
		return annex_fail(-EIO, "%s: a command did not end by recovery", dev->uri);
	if (!res->status) /* it completed meanwhile */
		return 0;
	if (annex_atomic_load(&qp->state, ANNEX_ACQUIRE) == ANNEX_QP_DEAD)
		return annex_fail(-ENODEV, "%s: the controller is gone", dev->uri);
	return annex_fail(-ETIMEDOUT, "%s: a command did not complete in %u ms", dev->uri,
			  dev->opts.timeout_ms);
}

static int submit_some(struct annex_dev *dev, struct annex_qp *qp, const struct annex_io *ios,
		       unsigned int n, uint64_t *tokens, uint64_t deadline)
{
	/* Relaxed: two looks at a counter, a timeout apart. */
	uint64_t head = annex_atomic_load(&qp->cq_head, ANNEX_RELAXED);
	int got = annex_qp_submit(qp, ios, n, tokens, deadline);

	/* No completion in all that time: the commands that hold the identifiers are lost. */
	if (got == -ETIMEDOUT && head == annex_atomic_load(&qp->cq_head, ANNEX_RELAXED)) {
		annex_qp_break(qp);
		got = -EIO;
		deadline = annex_deadline_ms(dev->opts.timeout_ms);
	}
	if (got == -EIO) { /* a command has broken the queue pair: recover, then try once more */
		got = annex_dev_recover(dev, qp, NVME_NO_TOKEN);
		if (!got)
			got = annex_qp_submit(qp, ios, n, tokens, deadline);
	}
	return got;
}

int annex_dev_io(struct annex_dev *dev, const struct annex_io *ios, unsigned int n,
		 struct annex_result *res)
{
	struct annex_qp *qp = annex_dev_qp(dev);
	int first = 0;

	if (dev->fork.child)
		return fork_refuse(dev->uri);
	for (unsigned int i = 0; res && i < n; i++)
		res[i] = (struct annex_result){0, ANNEX_SC_ABORTED_BY_HOST};
	for (unsigned int i = 0; i < n; i++) {
		int err = annex_io_check(&ios[i], &qp->limits);

		if (err)
			return annex_fail(err, "%s: command %u of %u is malformed or too large",
					  dev->uri, i + 1, n);
	}
	for (unsigned int done = 0; done < n;) {
		uint64_t deadline = annex_deadline_ms(dev->opts.timeout_ms);
		unsigned int want = n - done < WINDOW ? n - done : WINDOW;
		uint64_t tokens[WINDOW];
		int got = submit_some(dev, qp, ios + done, want, tokens, deadline);

		if (got < 0)
			return first ? first
				     : annex_fail(got, "%s: cannot submit a command", dev->uri);
		for (int i = 0; i < got; i++) {
			struct annex_result r = {0, ANNEX_SC_ABORTED_BY_HOST};
			KEEP_LAST_ERROR(first);
			int err = finish(dev, qp, tokens[i], &r, deadline);

			if (!err && r.status)
				err = annex_fail(
					annex_nvme_errno(r.status),
					"%s: command 0x%02x at block %llu: NVMe status 0x%03x",
					dev->uri, ios[done + (unsigned int)i].opcode,
					(ull)ios[done + (unsigned int)i].slba,
					r.status & ANNEX_SC_MASK);
			if (!first)
				first = err;
			if (res)
				res[done + (unsigned int)i] = r;
		}
		done += (unsigned int)got;
	}
	return first;
}
