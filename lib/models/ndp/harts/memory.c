// SPDX-License-Identifier: MIT
/*
 * How harts reach memory: through the spans that rv_mem.find() gives, of which a batch keeps a few.
 */
#include <string.h>
#include "hart.h"

void rv_forget(struct rv_batch *b)
{
	b->nspan = b->newest = 0;
	b->span[0].bytes = 0;
}

/* The span that @va is in becomes the newest; NULL: there is none. */
static const struct rv_span *find(struct rv_batch *b, uint64_t va)
{
	struct rv_span s;
	unsigned int at;

	for (unsigned int i = 0; i < b->nspan; i++) {
		if (va - b->span[i].va < b->span[i].bytes) {
			b->newest = i;
			return &b->span[i];
		}
	}
	if (b->mem.find(b->mem.ctx, va, &s) || va - s.va >= s.bytes)
		return NULL;
	/* The one after the newest is not the newest: two that take turns both stay. */
	at = b->nspan < RV_SPANS ? b->nspan++ : (b->newest + 1) % RV_SPANS;
	b->span[at] = s;
	b->newest = at;
	return &b->span[at];
}

static void note(struct rv_step *step, uint64_t va, uint64_t bytes, unsigned int prot)
{
	if (step->ntouch < RV_TOUCHES)
		step->touch[step->ntouch++] = (struct rv_touch){va, (uint32_t)bytes,
								prot & RV_WRITE};
}

void *rv_reach_slow(struct rv_batch *b, uint64_t va, uint64_t bytes, unsigned int prot)
{
	const struct rv_span *s = find(b, va);

	if (!s || bytes > s->bytes - (va - s->va) || (s->prot & prot) != prot)
		return NULL;
	if (b->step)
		note(b->step, va, bytes, prot);
	return s->host + (va - s->va);
}

/* As much of [@va, @va + @bytes) as one span has; 0 and a halt: its first byte is out of reach. */
static uint64_t piece(struct rv_batch *b, unsigned int i, uint64_t va, uint64_t bytes,
		      unsigned int prot)
{
	const struct rv_span *s = find(b, va);
	uint64_t room;

	if (!s || !(s->prot & prot)) {
		rv_halt(b, prot == RV_WRITE ? RV_STORE : RV_LOAD, i, va);
		return 0;
	}
	room = s->bytes - (va - s->va);
	return room < bytes ? room : bytes;
}

bool rv_load(struct rv_batch *b, unsigned int i, uint64_t va, void *to, unsigned int bytes)
{
	const char *from = rv_reach(b, va, bytes, RV_READ);
	unsigned int n;

	if (from) {
		memcpy(to, from, bytes);
		return true;
	}
	for (unsigned int at = 0; at < bytes; at += n) {
		n = (unsigned int)piece(b, i, va + at, bytes - at, RV_READ);
		if (!n)
			return false;
		memcpy((char *)to + at, rv_reach_slow(b, va + at, n, RV_READ), n);
	}
	return true;
}

bool rv_store(struct rv_batch *b, unsigned int i, uint64_t va, const void *from, unsigned int bytes)
{
	char *to = rv_reach(b, va, bytes, RV_WRITE);
	unsigned int n;

	if (to) {
		memcpy(to, from, bytes);
		return true;
	}
	/* Nothing is written unless all of it can be. */
	for (unsigned int at = 0; at < bytes; at += n) {
		n = (unsigned int)piece(b, i, va + at, bytes - at, RV_WRITE);
		if (!n)
			return false;
	}
	for (unsigned int at = 0; at < bytes; at += n) {
		n = (unsigned int)piece(b, i, va + at, bytes - at, RV_WRITE);
		if (!n)
			return false;
		memcpy(rv_reach_slow(b, va + at, n, RV_WRITE), (const char *)from + at, n);
	}
	return true;
}
