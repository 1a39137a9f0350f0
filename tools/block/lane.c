// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include "tools/common/error.h"
#include "lane.h"

#define SPINS 256u       /* polls in vain before the thread yields */
#define NAP_SPINS 2u     /* the same, if it is to sleep */
#define ALL_EVERY 8u     /* polls in vain before one for commands that overtook others */
#define CLOCK_EVERY 512u /* vain polls between two looks at the clock; a sleep counts as many */
#define NAP_LOOKS 16u
#define DOZE_MS 20u /* polling in vain for so long: sleep */

/* Build commands for all free slots. Return: whether there are more to come. */
static bool refill(struct lane *l, const struct lane_job *job, uint32_t block)
{
	while (l->n_free) {
		uint32_t slot = l->free[l->n_free - 1];
		struct annex_io *io = &l->ios[l->n_ready];
		uint64_t at = (uint64_t)slot * l->stride;

		*io = (struct annex_io){.nsid = 1, .addr = l->addr + at};
		if (!job->next(job->ctx, io, l->buf + at))
			return false;
		io->bytes = io->nlb * block;
		l->ready_slots[l->n_ready++] = slot;
		l->n_free--;
	}
	return true;
}

/* Submit the built commands, as many as the queue takes. */
static int submit(struct lane *l)
{
	uint64_t now = l->timed ? annex_now() : 0;
	int got = annex_qp_submit(l->qp, l->ios, l->n_ready, l->tokens, 0);
	uint32_t n = got < 0 ? 0 : (uint32_t)got;

	if (got < 0 && got != -EAGAIN)
		return err_set(got, "%s accepts no commands: %s", annex_dev_uri(l->dev),
			       annex_strerror(got));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = l->ready_slots[i];

		l->flights[slot] = (struct lane_flight){.token = l->tokens[i],
							.slba = l->ios[i].slba,
							.since = now,
							.nlb = l->ios[i].nlb,
							.slot = slot,
							.next = LANE_NONE};
		if (l->newest == LANE_NONE)
			l->oldest = slot;
		else
			l->flights[l->newest].next = slot;
		l->newest = slot;
	}
	l->n_flights += n;
	l->n_ready -= n;
	if (n && l->n_ready) {
		memmove(l->ios, l->ios + n, l->n_ready * sizeof(*l->ios));
		memmove(l->ready_slots, l->ready_slots + n, l->n_ready * sizeof(*l->ready_slots));
	}
	return 0;
}

static int judge(struct lane *l, const struct lane_job *job, const struct lane_flight *f,
		 uint16_t status, uint64_t now)
{
	int err = annex_nvme_errno(status);

	if (err)
		return err_set(err, "%s: the command at LBA %llu failed: %s (NVMe status 0x%03x)",
			       annex_dev_uri(l->dev), (ull)f->slba, annex_strerror(err),
			       status & ANNEX_SC_MASK);
	return job->done(job->ctx, f, l->buf + (uint64_t)f->slot * l->stride,
			 l->timed ? now - f->since : 0);
}

/* Take @slot, which comes after @before, out of the list: its command has ended. */
static void land(struct lane *l, uint32_t slot, uint32_t before)
{
	uint32_t next = l->flights[slot].next;

	if (before == LANE_NONE)
		l->oldest = next;
	else
		l->flights[before].next = next;
	if (l->newest == slot)
		l->newest = before;
	l->n_flights--;
	l->free[l->n_free++] = slot;
}

/*
 * Take the results that have arrived. Most commands complete in order: unless @all, the search ends
 * where as many have been found as were delivered. Return: number of results, or an error.
 */
static int collect(struct lane *l, const struct lane_job *job, bool all)
{
	int delivered = annex_qp_help(l->qp), found = 0, err = 0;
	uint32_t before = LANE_NONE, next;
	struct annex_result res;
	uint64_t now = 0;

	for (uint32_t slot = l->oldest; slot != LANE_NONE; slot = next) {
		const struct lane_flight *f = &l->flights[slot];
		int rc = annex_qp_collect(l->qp, f->token, &res);

		next = f->next;
		if (rc == -EINPROGRESS) {
			if (!all && found >= delivered)
				break;
			before = slot;
			continue;
		}
		if (l->timed && !now)
			now = annex_now();
		if (!err)
			err = rc ? err_set(rc, "%s lost a command", annex_dev_uri(l->dev))
				 : judge(l, job, f, res.status, now);
		land(l, slot, before);
		found++;
	}
	return err ? err : found;
}

/* After an error: wait for every command, as the device may write its buffer until then. */
static void drain(struct lane *l)
{
	uint64_t deadline = annex_deadline_ms(annex_dev_timeout_ms(l->dev));

	while (l->n_flights) {
		uint64_t token = l->flights[l->oldest].token;

		if (annex_qp_wait(l->qp, token, NULL, deadline)) {
			annex_dev_recover(l->dev, l->qp, token);
			annex_qp_collect(l->qp, token, NULL);
		}
		land(l, l->oldest, LANE_NONE);
	}
	for (uint32_t i = 0; i < l->n_ready; i++)
		l->free[l->n_free++] = l->ready_slots[i];
	l->n_ready = 0;
}

/*
 * No completion for long: sleep until the oldest command completes, or the library finds that the
 * controller has failed. Return: number of results taken, or an error.
 */
static int doze(struct lane *l, const struct lane_job *job, uint64_t late)
{
	const struct lane_flight *f = &l->flights[l->oldest];
	struct annex_result res;
	int rc = annex_qp_wait(l->qp, f->token, &res, annex_deadline_ms(DOZE_MS));

	if (rc == -ETIMEDOUT)
		return annex_now() < late
			       ? 0
			       : err_set(rc, "%s: no command has completed for %u ms",
					 annex_dev_uri(l->dev), annex_dev_timeout_ms(l->dev));
	if (rc)
		return err_set(rc, "%s: the controller has failed or is gone",
			       annex_dev_uri(l->dev));
	rc = judge(l, job, f, res.status, l->timed ? annex_now() : 0);
	land(l, l->oldest, LANE_NONE);
	return rc ? rc : 1;
}

/*
 * No completion, for the @idle-th time in a row. *@since: when that began; 0: not known yet.
 * Return: number of results taken after all, or an error.
 */
static int rest(struct lane *l, const struct lane_job *job, unsigned int idle, uint64_t *since)
{
	struct timespec nap = {.tv_nsec = l->nap_ns};
	uint64_t now;

	if (l->nap_ns && idle >= NAP_SPINS)
		nanosleep(&nap, NULL);
	else if (idle % SPINS)
		annex_pause();
	else
		sched_yield();
	if (idle % (l->nap_ns ? NAP_LOOKS : CLOCK_EVERY))
		return 0;
	now = annex_now();
	if (!*since)
		*since = now;
	if (!l->n_flights || now - *since < DOZE_MS * ANNEX_NSEC_PER_MSEC)
		return 0;
	return doze(l, job, *since + annex_dev_timeout_ms(l->dev) * ANNEX_NSEC_PER_MSEC);
}

int lane_run(struct lane *l, const struct lane_job *job, uint32_t block)
{
	struct timespec nap = {.tv_nsec = l->nap_ns};
	unsigned int idle = 0;
	uint64_t since = 0;
	bool more = true;
	int got = 0;

	while (got >= 0) {
		if (more)
			more = refill(l, job, block);
		if (l->n_ready && (l->n_ready >= l->batch || !more || !l->n_flights)) {
			got = submit(l);
			if (got)
				break;
		}
		if (!l->n_flights && !l->n_ready && !more)
			return 0;
		got = l->n_flights ? collect(l, job, !l->alone || idle % ALL_EVERY == ALL_EVERY - 1)
				   : 0;
		if (got > 0) {
			idle = 0;
			since = 0;
			/* Not yet worth a doorbell: have more of them come first. */
			if (l->nap_ns && l->n_free < l->batch && more)
				nanosleep(&nap, NULL);
		} else if (!got) {
			got = rest(l, job, ++idle, &since);
			if (got > 0)
				idle = since = 0;
		}
	}
	drain(l);
	return got;
}
