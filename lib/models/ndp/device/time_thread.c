// SPDX-License-Identifier: MIT
/*
 * A micro-thread's work: it is executed from its beginning to its end, and recorded.
 */
#include <errno.h>
#include "core/array.h"
#include "core/log.h"
#include "timing.h"

static int no_memory(void)
{
	return annex_fail(-ENOMEM, "no memory to note a micro-thread");
}

/* Neighbouring elements in the same sector are one access. */
static int note_touch(struct time_sim *s, const struct rv_touch *touch, struct time_trace *t,
		      uint64_t *before)
{
	bool pad = touch->va - ANNEX_M2_SCRATCHPAD < s->k->scratchpad;
	uint64_t kind = (touch->write || s->noted.atomic ? TOUCH_WRITE : 0) | (pad ? TOUCH_PAD : 0);
	uint64_t at = touch->va & ~(uint64_t)(SECTOR - 1);

	for (; at < touch->va + touch->bytes; at += SECTOR) {
		if ((at | kind) == *before)
			continue;
		if (!array_grow(t->sector, t->nsectors, t->sectors_room))
			return no_memory();
		t->sector[t->nsectors++] = *before = at | kind;
	}
	return 0;
}

static int note_step(struct time_sim *s, struct time_trace *t)
{
	const struct rv_step *noted = &s->noted;
	uint32_t first = t->nsectors;
	uint64_t before = UINT64_MAX;

	if (!array_grow(t->step, t->nsteps, t->steps_room))
		return no_memory();
	for (unsigned int i = 0; i < noted->ntouch; i++)
		if (note_touch(s, &noted->touch[i], t, &before))
			return -ENOMEM;
	t->step[t->nsteps++] = (struct time_step){
		.unit = (uint8_t)noted->unit,
		.atomic = noted->atomic,
		.uops = (uint16_t)(noted->uops ? noted->uops : 1),
		.sectors = t->nsectors - first,
	};
	s->out->issued[noted->unit]++;
	return 0;
}

static int failed(struct time_sim *s, const struct rv_stop *stop)
{
	unsigned long long pc = stop->pc - s->k->va, value = stop->value;

	s->out->pc = stop->pc;
	s->out->addr = stop->value;
	switch (stop->why) {
	case RV_ILLEGAL:
		return annex_fail(-ENOEXEC,
				  "illegal instruction 0x%08llx, 0x%llx bytes into the "
				  "kernel",
				  value, pc);
	case RV_EBREAK:
		return annex_fail(-EDOM, "ebreak, 0x%llx bytes into the kernel", pc);
	default:
		return annex_fail(-EFAULT, "0x%llx cannot be reached, 0x%llx bytes into the kernel",
				  value, pc);
	}
}

int time_thread_run(struct time_sim *s, uint32_t unit, uint64_t number, struct time_trace *t)
{
	uint64_t x2 = s->per_slot ? number : number * s->k->piece;
	struct rv_stop stop;

	t->nsteps = t->nsectors = 0;
	if (unit != s->unit_at_work) {
		s->unit_at_work = unit;
		rv_forget(s->batch);
	}
	rv_start(s->batch, s->code, 1, s->pc);
	rv_x(s->batch, 2)[0] = x2;
	rv_x(s->batch, 1)[0] = s->per_slot ? s->share : s->k->base + x2;
	do {
		if (s->executed++ == s->k->budget)
			return annex_fail(-ETIME, "the budget of instructions is used up");
		stop = rv_step(s->batch, &s->noted);
		if (stop.why != RV_BUDGET && stop.why != RV_ENDED)
			return failed(s, &stop);
		if (note_step(s, t))
			return -ENOMEM;
	} while (stop.why != RV_ENDED);
	s->out->threads++;
	return 0;
}
