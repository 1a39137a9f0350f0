// SPDX-License-Identifier: MIT
/*
 * Unit-stride vector loads and stores: of elements and segments, up to the first fault, of whole
 * registers and of masks. Contiguous memory is copied at once.
 */
#include "vaccess.h"

#define LINE 64u /* of the host's caches */

/* Between memory, at @mem, and bytes [@from, @to) of the registers at @reg of lane @i. */
static inline void copy_lane(struct rv_batch *b, unsigned int reg, unsigned int i, char *mem,
			     uint64_t from, uint64_t to, bool store)
{
	uint64_t vlenb = b->vlenb;

	for (uint64_t at = from, n; at < to; at += n) {
		unsigned int r = reg + (unsigned int)at / b->vlenb;
		uint64_t skip = at & (vlenb - 1);
		char *v = rv_row(b, r) + (size_t)i * vlenb + skip, *m = mem + (at - from);

		n = vlenb - skip < to - at ? vlenb - skip : to - at;
		if (n == 32)
			rv_copy_32(store ? m : v, store ? v : m);
		else
			memcpy(store ? m : v, store ? v : m, n);
	}
}

/* The group is the lowest @n lanes, and their addresses are evenly spaced, all the same maybe. */
static bool in_order(const struct rv_batch *b, const uint64_t *x, uint64_t *step, unsigned int *n)
{
	uint64_t uneven = 0, first = x[0];

	*n = (unsigned int)__builtin_popcountll(b->group);
	if (*n < 4 || b->group != RV_ALL >> (RV_LANES - *n))
		return false;
	*step = x[1] - first;
	for (unsigned int i = 0; i < *n; i++)
		uneven |= x[i] ^ (first + i * *step);
	return !uneven && *step <= UINT32_MAX;
}

/*
 * struct even - A copy of one piece of memory for all lanes: lane i's @bytes are at @mem + i *
 * @step.
 * @ahead: how far from there they will be the next time; 0: that is not known.
 */
struct even {
	struct rv_batch *b;
	unsigned int reg, n;
	char *mem;
	uint64_t step, bytes, ahead;
	bool store;
};

/*
 * How far on the lanes will be when they come to this instruction again: as far as the last two
 * times. 0: that differed, or they would leave the span. Those @bytes are prefetched now: the
 * host's own prefetching ends with each piece, and there is time until then for memory to answer.
 */
static uint64_t ahead(struct rv_batch *b, uint64_t va, uint64_t bytes)
{
	struct rv_stream *s = &b->stream[b->at / 2 % RV_STREAMS];
	const struct rv_span *span = &b->span[b->newest];
	uint64_t step = va - s->va, next = va + step - span->va;
	bool same = s->pc == b->at && s->step == step;

	*s = (struct rv_stream){b->at, va, step};
	return same && next < span->bytes && bytes <= span->bytes - next ? step : 0;
}

/* Ask the host for @bytes that are going to be accessed, from @at on. */
static inline void fetch(uintptr_t at, uint64_t bytes)
{
	for (uint64_t k = 0; k < bytes; k += LINE)
		__builtin_prefetch((const void *)(at + k), 0, 2);
}

/* @regs registers of 32 bytes of each lane; in the order of memory, which is the slower side. */
static inline void copy_rows(const struct even *e, unsigned int regs, bool store)
{
	const size_t row = (size_t)RV_LANES * 32;
	char *v = rv_row(e->b, e->reg), *m = e->mem;

	for (unsigned int i = 0; i < e->n; i++, v += 32, m += e->step) {
		if (e->ahead)
			fetch((uintptr_t)m + e->ahead, e->bytes);
		for (unsigned int r = 0; r < regs; r++) {
			char *vr = v + r * row, *mr = m + r * 32;

			rv_copy_32(store ? mr : vr, store ? vr : mr);
		}
	}
}

static void copy_regs(const struct even *e)
{
	unsigned int regs = (unsigned int)e->bytes / 32;

	if (e->store)
		copy_rows(e, regs, true);
	else if (regs == 8)
		copy_rows(e, 8, false); /* without a loop */
	else
		copy_rows(e, regs, false);
}

/* Of each lane 8 bytes, such as a mask of 64 elements. */
static void copy_words(const struct even *e)
{
	char *row = rv_row(e->b, e->reg);

	for (unsigned int i = 0; i < e->n; i++) {
		char *v = row + (size_t)i * e->b->vlenb, *m = e->mem + i * e->step;

		memcpy(e->store ? m : v, e->store ? v : m, 8);
	}
}

/* All lanes at once; each has @bytes. Stores that overlap are left to be made one by one. */
static bool copy_all(struct rv_batch *b, const struct rv_insn *in, uint64_t bytes, bool store)
{
	struct even e = {.b = b, .reg = in->rd, .bytes = bytes, .store = store};
	char *row = rv_row(b, in->rd);
	uint64_t first = b->x[in->rs1][0], all;

	if (!bytes || !in_order(b, b->x[in->rs1], &e.step, &e.n) || (store && e.step < bytes))
		return false;
	all = (e.n - 1) * e.step + bytes;
	e.mem = rv_reach(b, first, all, store ? RV_WRITE : RV_READ);
	if (!e.mem)
		return false;
	e.ahead = e.step >= bytes ? ahead(b, first, all) : 0;
	if (e.ahead && e.step <= LINE) {
		fetch((uintptr_t)e.mem + e.ahead, all);
		e.ahead = 0;
	}
	if (bytes == b->vlenb && e.step == bytes) {
		memcpy(store ? e.mem : row, store ? row : e.mem, e.n * bytes);
	} else if (b->vlenb == 32 && bytes % 32 == 0) {
		copy_regs(&e);
	} else if (bytes == 8) {
		copy_words(&e);
	} else {
		for (unsigned int i = 0; i < e.n; i++)
			copy_lane(b, in->rd, i, e.mem + i * e.step, 0, bytes, store);
	}
	return true;
}

/* Lane @i, element by element: where it ended, as rv_vget_elems(). */
static uint64_t elements(struct rv_batch *b, const struct rv_insn *in, const struct rv_vway *way,
			 unsigned int i, bool store)
{
	uint64_t va[RV_VELEMS], base = b->x[in->rs1][i];

	for (uint64_t e = b->vstart; e < b->vl; e++)
		va[e] = base + (e * way->nf << way->eew);
	return store ? rv_vput_elems(b, in, way, i, va) : rv_vget_elems(b, in, way, i, va);
}

/* Lane @i at once, if that can be done. */
static bool copy_one(struct rv_batch *b, const struct rv_insn *in, const struct rv_vway *way,
		     unsigned int i, bool store)
{
	uint64_t from = b->vstart << way->eew, to = b->vl << way->eew;
	char *mem;

	if (!in->vm || way->nf > 1 || from >= to)
		return false;
	mem = rv_reach(b, b->x[in->rs1][i] + from, to - from, store ? RV_WRITE : RV_READ);
	if (!mem)
		return false;
	copy_lane(b, in->rd, i, mem, from, to, store);
	return true;
}

static void access_unit(struct rv_batch *b, const struct rv_insn *in, bool store)
{
	struct rv_vway way;
	unsigned int i;

	if (!rv_vway(b, in, in->aux & 15, store, &way)) {
		rv_illegal(b, in);
		return;
	}
	if (in->vm && way.nf == 1 && !b->vstart && copy_all(b, in, b->vl << way.eew, store)) {
		rv_vdone(b, way.regs);
		return;
	}
	rv_each(b, i) {
		uint64_t e;

		if (copy_one(b, in, &way, i, store))
			continue;
		e = elements(b, in, &way, i, store);
		if (e < b->vl) {
			rv_vfault(b, i, e);
			return;
		}
	}
	rv_vdone(b, way.nf * way.regs);
}

void RV_HOT(rv_vload_unit)(struct rv_batch *b, const struct rv_insn *in)
{
	access_unit(b, in, false);
}

void RV_HOT(rv_vstore_unit)(struct rv_batch *b, const struct rv_insn *in)
{
	access_unit(b, in, true);
}

/* Only element 0 faults; another that cannot be loaded ends the vector before it. */
void RV_HOT(rv_vload_first)(struct rv_batch *b, const struct rv_insn *in)
{
	struct rv_vway way;
	bool differ = false;
	uint64_t vl[RV_LANES];
	unsigned int i;

	if (!rv_vway(b, in, in->aux & 15, false, &way)) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i) {
		struct rv_stop halt = b->halt;
		bool pause = b->pause;

		vl[i] = b->vl;
		if (copy_one(b, in, &way, i, false))
			continue;
		vl[i] = elements(b, in, &way, i, false);
		if (vl[i] >= b->vl) {
			vl[i] = b->vl;
		} else if (!vl[i]) {
			uint64_t lower = b->group & ((1ull << i) - 1);

			rv_vfault(b, i, 0);
			for (unsigned int j = 0; j < i; j++)
				if (lower >> j & 1)
					b->lane_vl[j] = vl[j];
			return;
		} else {
			b->halt = halt;
			b->pause = pause;
			differ = true;
		}
	}
	if (differ) {
		rv_each(b, i) {
			b->lane_vl[i] = vl[i];
			b->lane_vtype[i] = b->vtype;
		}
		b->pause = true;
	}
	rv_vdone(b, way.nf * way.regs);
}

/* One element, which is not changed by a load that faults. */
static bool one(struct rv_batch *b, unsigned int i, uint64_t va, char *v, unsigned int bytes,
		bool store)
{
	uint64_t value;

	if (store)
		return rv_store(b, i, va, v, bytes);
	if (!rv_load(b, i, va, &value, bytes))
		return false;
	memcpy(v, &value, bytes);
	return true;
}

/*
 * Whole registers, whatever vtype is, or the bytes of a mask (aux is 0 then). vstart counts
 * elements of the width in the encoding.
 */
static void access_whole(struct rv_batch *b, const struct rv_insn *in, bool store)
{
	unsigned int eew = in->aux & 15, regs = in->aux >> 4, i;
	uint64_t from = b->vstart << eew, to = regs ? (uint64_t)regs * b->vlenb : (b->vl + 7) / 8;
	unsigned int prot = store ? RV_WRITE : RV_READ;

	if ((!regs && rv_vill(b)) || in->rd & (regs ? regs - 1 : 0) ||
	    in->rd + regs > b->code->isa.nv) {
		rv_illegal(b, in);
		return;
	}
	if (!from && copy_all(b, in, to, store)) {
		rv_vdone(b, regs ? regs : 1);
		return;
	}
	rv_each(b, i) {
		uint64_t va = b->x[in->rs1][i];
		char *mem = from < to ? rv_reach(b, va + from, to - from, prot) : NULL;

		if (mem) {
			copy_lane(b, in->rd, i, mem, from, to, store);
			continue;
		}
		for (uint64_t at = from; at < to; at += 1u << eew) {
			char *v = rv_row(b, in->rd + (unsigned int)at / b->vlenb) +
				  (size_t)i * b->vlenb + at % b->vlenb;

			if (!one(b, i, va + at, v, 1u << eew, store)) {
				rv_vfault(b, i, at >> eew);
				return;
			}
		}
	}
	rv_vdone(b, regs ? regs : 1);
}

void RV_HOT(rv_vload_whole)(struct rv_batch *b, const struct rv_insn *in)
{
	access_whole(b, in, false);
}

void RV_HOT(rv_vstore_whole)(struct rv_batch *b, const struct rv_insn *in)
{
	access_whole(b, in, true);
}
