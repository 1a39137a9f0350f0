// SPDX-License-Identifier: MIT
/*
 * Clients: processes, each with an address space (ASID), kernels and launches of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "core/thread.h"
#include "state.h"
#include "instance.h"
#include "models/ndp/harts/rv.h"
#include "unit.h"

static void insert(struct ndp_client *c, uint16_t asid)
{
	struct annex_ndp *ndp = c->ndp;

	c->asid = asid;
	TAILQ_INIT(&c->waiting);
	TAILQ_INIT(&c->running);
	TAILQ_INIT(&c->active);
	ndp_space_init(&c->space, ndp->tlb, asid);
	ndp->client[asid - 1] = c;
	ndp->clients++;
}

int ndp_client_open(struct annex_ndp *ndp, bool privileged, struct ndp_client **out)
{
	struct ndp_client *c = calloc(1, sizeof(*c));
	unsigned int i = 0;

	if (c)
		c->past = calloc(ndp->past, sizeof(*c->past));
	if (!c || !c->past) {
		free(c);
		return annex_fail(-ENOMEM, "NDP: no memory for another process");
	}
	c->ndp = ndp;
	c->privileged = privileged;
	pthread_mutex_lock(&ndp->lock);
	while (i < NDP_CLIENTS && ndp->client[i])
		i++;
	if (i < NDP_CLIENTS)
		insert(c, (uint16_t)(i + 1));
	pthread_mutex_unlock(&ndp->lock);
	if (i < NDP_CLIENTS) {
		*out = c;
		return 0;
	}
	free(c->past);
	free(c);
	return annex_fail(-ENOSPC, "NDP: serves %u processes at most", NDP_CLIENTS);
}

/* End one of its instances that no thread is at. Return: false: there is none. */
static bool end_one(struct ndp_client *c)
{
	struct ndp_instance *in = TAILQ_FIRST(&c->waiting);
	struct ndp_reply reply = {0};

	if (!in) {
		TAILQ_FOREACH(in, &c->running, link)
		{
			ndp_instance_fail(in, -ENODEV, 0, 0);
			if (!in->held)
				break;
		}
	} else {
		ndp_instance_fail(in, -ENODEV, 0, 0);
	}
	if (!in)
		return false;
	ndp_instance_end(in, &reply);
	ndp_reply(c->ndp, &reply);
	return true;
}

/*
 * No time limit: threads look at their stop word every few thousand instructions (rv_run()),
 * nothing new begins for a client that is closing, and answers must not block. This bounds the
 * wait. To give up instead would take memory away from threads that use it.
 */
static void end_all(struct ndp_client *c)
{
	pthread_mutex_lock(&c->ndp->lock);
	c->closing = true;
	while (end_one(c))
		;
	while (!TAILQ_EMPTY(&c->running) || c->answering)
		THREAD_KEPT(pthread_cond_wait(&c->ndp->settled, &c->ndp->lock));
	pthread_mutex_unlock(&c->ndp->lock);
}

/* Its number may be another's from now on, so nothing in the TLB has it any more. */
static void give_up_place(struct ndp_client *c)
{
	pthread_mutex_lock(&c->ndp->lock);
	c->ndp->client[c->asid - 1] = NULL;
	c->ndp->clients--;
	ndp_instance_admit(c->ndp); /* places that were kept for it */
	pthread_mutex_unlock(&c->ndp->lock);
}

void ndp_client_close(struct ndp_client *c)
{
	if (!c)
		return;
	end_all(c);
	for (unsigned int i = 0; i < ANNEX_M2_KERNELS; i++)
		rv_code_destroy(c->kernel[i].code);
	ndp_space_release(&c->space);
	give_up_place(c);
	free(c->past);
	free(c);
}

uint32_t ndp_client_asid(const struct ndp_client *c)
{
	return c->asid;
}

static bool is_scratchpad(const struct ndp_client *c, uint64_t va, uint64_t bytes)
{
	uint64_t end = ANNEX_M2_SCRATCHPAD + c->ndp->opts.scratchpad;

	return va < end &&
	       bytes > ANNEX_M2_SCRATCHPAD - (va < ANNEX_M2_SCRATCHPAD ? va : ANNEX_M2_SCRATCHPAD);
}

int ndp_client_map(struct ndp_client *c, uint64_t va, void *host, uint64_t bytes, unsigned int prot)
{
	if (is_scratchpad(c, va, bytes))
		return annex_fail(-EINVAL, "NDP: %#llx is where scratchpads are", (ull)va);
	return ndp_space_map(&c->space, va, host, bytes, prot);
}

/* Mark what the client's units have translated. Return: whether a thread is about to use it. */
static bool mark(struct ndp_client *c, bool first)
{
	const struct ndp_instance *in;
	bool busy = false;

	TAILQ_FOREACH(in, &c->running, link)
	{
		for (unsigned int i = 0; i < c->ndp->opts.units; i++) {
			struct ndp_batch *b = in->place->unit[i].batch;

			if (!b)
				continue;
			if (first && !b->running)
				ndp_batch_forget(b);
			b->stale = b->stale || (first && b->running);
			busy = busy || b->stale;
			/* Relaxed: only a hint to come out; the lock orders the rest. */
			if (b->stale)
				annex_atomic_store(&b->stop, 1u, ANNEX_RELAXED);
		}
	}
	return busy;
}

/*
 * Units keep translations as spans, so all of them forget all of theirs. Units at work come out of
 * their batches for it (ndp_settle); the accesses before stand. No time limit, as in end_all():
 * only batches that ran at the first look are waited for, and each comes out once. The caller takes
 * the memory away afterwards, so no failure could be reported to it.
 */
static void forget(struct ndp_client *c)
{
	bool first = true;

	while (mark(c, first)) {
		first = false;
		THREAD_KEPT(pthread_cond_wait(&c->ndp->settled, &c->ndp->lock));
	}
}

int ndp_client_unmap(struct ndp_client *c, uint64_t va, uint64_t bytes)
{
	int err = ndp_space_unmap(&c->space, va, bytes);

	if (err)
		return err;
	pthread_mutex_lock(&c->ndp->lock);
	forget(c);
	pthread_mutex_unlock(&c->ndp->lock);
	return 0;
}

int ndp_client_shootdown(struct ndp_client *c, const struct annex_m2_shootdown *asked)
{
	struct annex_ndp *ndp = c->ndp;
	struct ndp_client *whose;

	if (!c->privileged)
		return annex_fail(-EPERM, "NDP: this process may not shoot down translations");
	if (asked->zero || asked->page >> (NDP_VA_BITS - NDP_PAGE_SHIFT))
		return annex_fail(-EINVAL, "NDP: no page has number %#llx", (ull)asked->page);
	if (!asked->asid || asked->asid > NDP_CLIENTS)
		return annex_fail(-ENOENT, "NDP: no process has ASID %u", asked->asid);
	pthread_mutex_lock(&ndp->lock);
	whose = ndp->client[asked->asid - 1];
	if (whose && whose->closing)
		whose = NULL;
	if (whose) {
		ndp_tlb_drop(ndp->tlb, whose->asid, asked->page);
		whose->answering++; /* it stays meanwhile */
		forget(whose);
		whose->answering--;
		if (whose->closing)
			pthread_cond_broadcast(&ndp->settled);
	}
	pthread_mutex_unlock(&ndp->lock);
	return whose ? 0 : annex_fail(-ENOENT, "NDP: no process has ASID %u", asked->asid);
}
