// SPDX-License-Identifier: MIT
/*
 * A kernel on the timed device: its phases in order, and its time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "timing.h"

#define STILL 1000000u /* cycles without an event: a fault of this model, not of a kernel */

const struct ndp_time_params ndp_time_table_iv = {
	.units = 32,
	.subcores = 4,
	.slots = 16,
	.mhz = 2000,
	.register_file = 48 << 10,
	.l1_bytes = 128 << 10,
	.l1_ways = 16,
	.l1_cycles = 4,
	.tlb_entries = 256,
	.tlb_ways = 8,
	.l2_bytes = 128 << 10,
	.l2_ways = 16,
	.l2_cycles = 7,
	.channels = 32,
	.interleave = 256,
	.dram_mhz = 800,
	.trc = 48,
	.trcd = 15,
	.tcl = 20,
	.trp = 15,
	.tbl = 2,
	.crossbars = 4,
	.cxl_ns = 150,
	.page = 2 << 20,
	.issue_cycles = 4,
	.sfu_cycles = 4,
	.vsfu_cycles = 8,
	.spawn_cycles = 1,
	.noc_cycles = 8,
	.loads = 256,
	.stores = 64,
	.banks = 16,
	.row = 2048,
	.row_idle = 50,
	.tcwl = 9,
	.trrd = 4,
	.tfaw = 16,
	.twr = 28,
	.twtr = 10,
	.trtp = 6,
	.queue = 64,
	.drain_high = 48,
	.drain_low = 16,
};

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	struct time_sim *s = ctx;

	if (va - ANNEX_M2_SCRATCHPAD >= s->k->scratchpad)
		return s->k->mem.find(s->k->mem.ctx, va, span);
	*span = (struct rv_span){ANNEX_M2_SCRATCHPAD, s->k->scratchpad,
				 s->units[s->unit_at_work].pad, RV_READ | RV_WRITE};
	return 0;
}

static int check_device(const struct ndp_time_params *p)
{
	if (!p->units || !p->subcores || !p->slots || p->slots > 64 || !p->mhz || !p->dram_mhz ||
	    !p->channels || p->channels & (p->channels - 1) || p->interleave % LINE ||
	    !p->interleave || !p->banks || p->row % LINE || !p->row || !p->page ||
	    p->crossbars < 2 || p->tlb_entries < p->tlb_ways || !p->tlb_ways || !p->l1_ways ||
	    !p->l2_ways || p->l2_bytes < p->l2_ways * LINE || p->drain_high > p->queue ||
	    p->queue < SECTORS || !p->loads || !p->stores)
		return annex_fail(-EINVAL, "no device is like that");
	return 0;
}

static int check(const struct ndp_time_kernel *k, const struct ndp_time_params *p)
{
	if (k->scratchpad < k->args_bytes ||
	    (uint64_t)k->scratchpad + (uint64_t)p->l1_ways * LINE > p->l1_bytes)
		return annex_fail(-EINVAL, "a scratchpad of %u bytes, of %u that L1 is a part of",
				  k->scratchpad, p->l1_bytes);
	if (k->bound <= k->base || !k->piece || k->image->bodies > ANNEX_M2_BODIES)
		return annex_fail(-EINVAL, "no pool region, or too many bodies");
	return 0;
}

/* Registers say how many micro-threads a sub-core has room for (III-D). */
static int count_slots(struct time_sim *s)
{
	const struct rv_isa *isa = &s->k->isa;
	uint32_t bytes = isa->nx * 8 + isa->nf * 8 + isa->nv * isa->vlen / 8;
	uint32_t n = bytes ? s->p->register_file / s->p->subcores / bytes : s->p->slots;

	s->out->slots = s->slots_used = n < s->p->slots ? n : s->p->slots;
	return n ? 0 : annex_fail(-EINVAL, "%u bytes of registers for a micro-thread", bytes);
}

static int begin(struct time_sim *s)
{
	struct rv_opts opts = {.isa = s->k->isa, .ecall_ends = true};
	struct rv_mem mem = {find, s};
	int err = check(s->k, s->p);

	if (!err)
		err = count_slots(s);
	if (!err)
		err = time_prepare(s);
	if (!err)
		err = rv_code_create(s->k->image, s->k->image->bytes, s->k->va, &s->k->isa,
				     &s->code);
	if (!err)
		err = rv_batch_create(&opts, &mem, &s->batch);
	return err;
}

static void end(struct time_sim *s)
{
	if (s->batch)
		rv_batch_destroy(s->batch);
	if (s->code)
		rv_code_destroy(s->code);
	s->batch = NULL;
	s->code = NULL;
}

static void events(struct time_sim *s)
{
	uint32_t *link = &s->wheel[s->cycle % WHEEL];

	while (*link != NONE) {
		uint32_t i = *link;
		struct time_event e = ((struct time_event *)s->events.at)[i];

		if (e.at > s->cycle) {
			link = &((struct time_event *)s->events.at)[i].next;
			continue;
		}
		*link = e.next;
		time_give(&s->events, i);
		s->moved = s->cycle;
		switch (e.kind) {
		case EVENT_READY:
			time_unit_ready(s, e.what);
			break;
		case EVENT_ARRIVE:
			time_l2_arrive(s, e.what);
			break;
		case EVENT_FILL:
			time_l2_filled(s, e.what);
			break;
		case EVENT_ANSWER:
			time_unit_answer(s, e.what);
			break;
		}
		/* Events that it adds are later, but the list may have been moved. */
		link = &s->wheel[s->cycle % WHEEL];
	}
}

static void cycle(struct time_sim *s)
{
	events(s);
	for (uint32_t i = 0; i < s->p->units; i++)
		time_unit_cycle(s, i);
	for (uint32_t i = 0; i < s->p->channels; i++)
		time_l2_cycle(s, i);
	for (; s->clock * s->p->mhz <= s->cycle * s->p->dram_mhz; s->clock++)
		for (uint32_t i = 0; i < s->p->channels; i++)
			time_dram_clock(s, i);
	s->cycle++;
}

/* Micro-threads at @pc, and the end of all that they began. */
static int phase(struct time_sim *s, uint32_t offset, bool per_slot)
{
	uint64_t slots = (uint64_t)s->p->units * s->p->subcores * s->slots_used;

	s->pc = s->k->va + offset;
	s->per_slot = per_slot;
	s->spawned = 0;
	s->share = per_slot ? slots : (s->k->bound - s->k->base + s->k->piece - 1) / s->k->piece;
	for (uint32_t i = 0; i < s->p->units; i++)
		s->units[i].next = per_slot ? i * slots / s->p->units : i;
	s->moved = s->cycle;
	while (!s->err && (s->spawned < s->share || s->live || s->under_way)) {
		cycle(s);
		if (s->cycle - s->moved > STILL)
			return annex_fail(-EIO, "nothing moves any more, at cycle %llu",
					  (ull)s->cycle);
	}
	return s->err;
}

static int phases(struct time_sim *s)
{
	const struct annex_m2_image *image = s->k->image;
	int err = 0;

	if (image->initializer)
		err = phase(s, image->initializer, true);
	for (uint32_t i = 0; i < image->bodies && !err; i++)
		err = phase(s, image->body[i], false);
	if (image->finalizer && !err)
		err = phase(s, image->finalizer, true);
	return err;
}

static void forget(struct ndp_time *t)
{
	if (t->sim)
		time_free(t->sim);
	free(t->sim);
	t->sim = NULL;
}

static int make(struct ndp_time *t)
{
	int err;

	if (t->sim)
		return 0;
	t->sim = calloc(1, sizeof(*t->sim));
	if (!t->sim)
		return annex_fail(-ENOMEM, "no memory for the device");
	t->sim->p = &t->params;
	err = time_build(t->sim);
	if (err)
		forget(t);
	return err;
}

int ndp_time_open(const struct ndp_time_params *params, struct ndp_time **out)
{
	int err = check_device(params);

	if (err)
		return err;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return annex_fail(-ENOMEM, "no memory for the device");
	(*out)->params = *params;
	return 0;
}

void ndp_time_close(struct ndp_time *t)
{
	forget(t);
	free(t);
}

int ndp_time_kernel(struct ndp_time *t, const struct ndp_time_kernel *k,
		    struct ndp_time_result *out)
{
	int err = make(t);
	struct time_sim *s = t->sim;
	uint64_t since;

	*out = (struct ndp_time_result){0};
	if (err)
		return err;
	s->k = k;
	s->out = out;
	s->executed = 0;
	since = s->cycle;
	err = begin(s);
	if (!err)
		err = phases(s);
	end(s);
	out->cycles = s->cycle - since;
	out->link_ns = t->params.cxl_ns;
	out->total_ns = (double)out->cycles * 1e3 / t->params.mhz + out->link_ns;
	if (err)
		forget(t);
	return err;
}
