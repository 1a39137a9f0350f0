// SPDX-License-Identifier: MIT
/*
 * Micro-threads are mapped on units by address, 64 neighbours (a batch) at a time; of large pools,
 * a unit gets several batches that lie side by side. M2NDP sections III-D, III-E and III-G.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/ndp.h>
#include "unit.h"

#define GRAIN_MAX 32u

/* Units with work in the phase are ready; the lowest are taken first. */
bool ndp_phase_next(struct ndp_instance *in)
{
	const struct annex_ndp_opts *opts = &in->client->ndp->opts;
	uint64_t units = opts->units;

	if (in->phase == in->kernel->phases)
		return false;
	in->batches = (in->pieces + RV_LANES - 1) / RV_LANES;
	if (!in->kernel->phase[in->phase++].slots) {
		in->grain = in->batches / (2 * units);
		in->grain = in->grain < 1 ? 1 : in->grain > GRAIN_MAX ? GRAIN_MAX : in->grain;
		if (in->batches / in->grain < units)
			units = (in->batches + in->grain - 1) / in->grain;
	}
	in->nready = in->todo = (unsigned int)units;
	for (unsigned int i = 0; i < units; i++) {
		in->place->ready[i] = (uint16_t)(units - 1 - i);
		in->place->unit[i].next = 0;
	}
	return true;
}

static const struct ndp_phase *phase_of(const struct ndp_instance *in)
{
	return &in->kernel->phase[in->phase - 1];
}

/* The micro-threads [*@first, + return value) are the unit's batch number @k; 0: there is none. */
static unsigned int share(const struct ndp_instance *in, unsigned int unit, uint64_t k,
			  uint64_t *first)
{
	const struct annex_ndp *ndp = in->client->ndp;
	uint64_t end, batch;

	if (phase_of(in)->slots) {
		*first = (uint64_t)unit * ndp_unit_slots(ndp) + k * RV_LANES;
		end = (uint64_t)(unit + 1) * ndp_unit_slots(ndp);
	} else {
		batch = (k / in->grain * ndp->opts.units + unit) * in->grain + k % in->grain;
		*first = batch * RV_LANES;
		end = in->pieces;
	}
	if (*first >= end)
		return 0;
	return end - *first < RV_LANES ? (unsigned int)(end - *first) : RV_LANES;
}

/* Where the unit's scratchpad lies. */
static char *scratchpad_of(const struct ndp_batch *b)
{
	return b->instance->place->scratchpad +
	       (size_t)b->unit * b->instance->client->ndp->scratchpad_stride;
}

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	const struct ndp_batch *b = ctx;
	const struct ndp_instance *in = b->instance;

	if (va - ANNEX_M2_SCRATCHPAD >= in->kernel->scratchpad)
		return ndp_space_find(&in->client->space, va, span);
	*span = (struct rv_span){ANNEX_M2_SCRATCHPAD, in->kernel->scratchpad, scratchpad_of(b),
				 RV_READ | RV_WRITE};
	return 0;
}

struct ndp_batch *ndp_batch_get(struct ndp_instance *in, unsigned int unit)
{
	struct annex_ndp *ndp = in->client->ndp;
	struct ndp_batch *b = SLIST_FIRST(&ndp->batches);

	if (b) {
		SLIST_REMOVE_HEAD(&ndp->batches, link);
	} else {
		b = calloc(1, sizeof(*b));
		if (!b)
			return NULL;
		SLIST_INSERT_HEAD(&ndp->all_batches, b, all);
	}
	b->instance = in;
	b->unit = unit;
	b->fresh = true;
	b->live = false;
	in->place->unit[unit].batch = b;
	return b;
}

void ndp_batch_put(struct annex_ndp *ndp, struct ndp_batch *b)
{
	b->instance->place->unit[b->unit].batch = NULL;
	b->instance = NULL;
	b->stale = false;
	SLIST_INSERT_HEAD(&ndp->batches, b, link);
}

void ndp_batch_forget(struct ndp_batch *b)
{
	if (b->rv)
		rv_forget(b->rv);
	b->stale = false;
}

void ndp_batch_destroy(struct ndp_batch *b)
{
	rv_batch_destroy(b->rv);
	free(b);
}

/* Harts, made when they are first needed, with the unit's memory before them. */
static int prepare(struct ndp_batch *b)
{
	struct ndp_instance *in = b->instance;
	struct ndp_unit *u = &in->place->unit[b->unit];
	struct rv_mem mem = {find, b};
	struct rv_opts opts = {.isa = {in->client->ndp->opts.vlen, 32, 32, 32},
			       .ecall_ends = true,
			       .stop = &b->stop};
	int err = 0;

	if (b->rv && b->fresh)
		rv_forget(b->rv);
	else if (!b->rv)
		err = rv_batch_create(&opts, &mem, &b->rv);
	b->fresh = false;
	if (!err && !u->warm) {
		char *pad = scratchpad_of(b);
		unsigned int args = in->kernel->asked.args;

		memcpy(pad, in->args, args);
		memset(pad + args, 0, in->kernel->scratchpad - args);
		u->warm = true;
	}
	return err;
}

/* The unit's next micro-threads, with x1 and x2 as in M2NDP section III-E; false: none left. */
static bool spawn(struct ndp_batch *b)
{
	const struct ndp_instance *in = b->instance;
	const struct annex_ndp *ndp = in->client->ndp;
	uint64_t first, *x1 = rv_x(b->rv, 1), *x2 = rv_x(b->rv, 2);
	unsigned int n = share(in, b->unit, in->place->unit[b->unit].next, &first);
	uint64_t piece = ndp->opts.piece;

	if (!n)
		return false;
	rv_start(b->rv, in->kernel->code, n, phase_of(in)->pc);
	if (phase_of(in)->slots) {
		for (unsigned int i = 0; i < n; i++) {
			x1[i] = (uint64_t)ndp->opts.units * ndp_unit_slots(ndp);
			x2[i] = first + i;
		}
	} else {
		for (unsigned int i = 0; i < n; i++) {
			x2[i] = (first + i) * piece;
			x1[i] = in->base + x2[i];
		}
	}
	in->place->unit[b->unit].next++;
	b->live = true;
	return true;
}

static int error_of(enum rv_why why)
{
	switch (why) {
	case RV_ILLEGAL:
		return -ENOEXEC;
	case RV_EBREAK:
		return -EDOM;
	default: /* fetch, load, store, misaligned */
		return -EFAULT;
	}
}

/* Continue live lanes. Return: whether more may be ready at once. */
static bool go_on(struct ndp_batch *b, uint64_t most, struct ndp_run *run)
{
	struct rv_stop stop = rv_run(b->rv, most, &run->done);

	switch (stop.why) {
	case RV_ENDED:
		b->live = false;
		return true;
	case RV_BUDGET:
		return true;
	case RV_STOPPED:
		return false;
	default:
		run->end = NDP_FAILED;
		run->err = error_of(stop.why);
		run->pc = stop.pc;
		run->addr = stop.value;
		return false;
	}
}

void ndp_unit_run(struct ndp_batch *b, const struct ndp_bounds *bounds, struct ndp_run *run)
{
	uint64_t look, left;

	*run = (struct ndp_run){.end = NDP_LATER};
	run->err = prepare(b);
	if (run->err) {
		run->end = NDP_FAILED;
		return;
	}
	look = bounds->step; /* at the clock, which is not for nothing */
	do {
		if (!b->live && !spawn(b)) {
			run->end = NDP_FINISHED;
			return;
		}
		if (run->done >= look) {
			if (annex_now() >= bounds->until)
				break;
			look = run->done + bounds->step;
		}
		left = bounds->grant < look ? bounds->grant : look;
	} while (go_on(b, left - run->done, run) && run->done < bounds->grant);
	if (run->end == NDP_LATER && !b->live) {
		uint64_t first;

		if (!share(b->instance, b->unit, b->instance->place->unit[b->unit].next, &first))
			run->end = NDP_FINISHED;
	}
}
