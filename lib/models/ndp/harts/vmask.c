// SPDX-License-Identifier: MIT
/*
 * Instructions of masks: logic, counts, first set bits, iota and id.
 */
#include "vector.h"

/* Words of register @reg of lane @i. */
static v_u64 *words(struct rv_batch *b, unsigned int reg, unsigned int i)
{
	return (v_u64 *)(rv_row(b, reg) + (size_t)i * b->vlenb);
}

/* Of word @w, the elements below vl. */
static uint64_t below_vl(const struct rv_batch *b, unsigned int w)
{
	uint64_t left = b->vl - 64 * (uint64_t)w;

	return left < 64 ? ~(UINT64_MAX << left) : UINT64_MAX;
}

static unsigned int word_count(const struct rv_batch *b)
{
	return (unsigned int)(b->vl + 63) / 64;
}

static inline uint64_t logic(unsigned int funct, uint64_t x, uint64_t y)
{
	switch (funct) {
	case 0:
		return x & ~y;
	case 1:
		return x & y;
	case 2:
		return x | y;
	case 3:
		return x ^ y;
	case 4:
		return x | ~y;
	case 5:
		return ~(x & y);
	case 6:
		return ~(x | y);
	default:
		return ~(x ^ y);
	}
}

void rv_vmask_logic(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int funct = in->bits >> 26 & 7, i;

	if (rv_vill(b)) {
		rv_illegal(b, in);
		return;
	}
	for (unsigned int w = (unsigned int)b->vstart / 64; w < word_count(b); w++) {
		uint64_t bits = below_vl(b, w);

		if (b->vstart > 64 * (uint64_t)w)
			bits &= UINT64_MAX << (b->vstart - 64 * (uint64_t)w);
		rv_each(b, i) {
			uint64_t x = words(b, in->rs2, i)[w], y = words(b, in->rs1, i)[w];
			v_u64 *d = words(b, in->rd, i) + w;

			*d = (*d & ~bits) | (logic(funct, x, y) & bits);
		}
	}
	rv_vdone(b, 1);
}

/* Elements of word @w of vs2 that are set and active; vstart is 0. */
static uint64_t set(struct rv_batch *b, const struct rv_insn *in, unsigned int i, unsigned int w)
{
	uint64_t bits = words(b, in->rs2, i)[w] & below_vl(b, w);

	return in->vm ? bits : bits & rv_vmask(b, i)[w];
}

void rv_vcpop(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int i;

	if (rv_vill(b) || b->vstart) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i) {
		uint64_t n = 0;

		for (unsigned int w = 0; w < word_count(b); w++)
			n += (uint64_t)__builtin_popcountll(set(b, in, i, w));
		b->x[in->rd][i] = n;
	}
	rv_vdone(b, 1);
}

/* -1: there is none. */
static uint64_t first(struct rv_batch *b, const struct rv_insn *in, unsigned int i)
{
	for (unsigned int w = 0; w < word_count(b); w++) {
		uint64_t bits = set(b, in, i, w);

		if (bits)
			return 64 * (uint64_t)w + (unsigned int)__builtin_ctzll(bits);
	}
	return UINT64_MAX;
}

void rv_vfirst(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int i;

	if (rv_vill(b) || b->vstart) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i)
		b->x[in->rd][i] = first(b, in, i);
	rv_vdone(b, 1);
}

enum { BEFORE = 1, ONLY = 2, INCLUDING = 3 };

void rv_vmask_set(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int i;

	if (rv_vill(b) || b->vstart || in->rd == in->rs2 || (!in->vm && !in->rd)) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i) {
		uint64_t at = first(b, in, i);

		for (unsigned int w = 0; w < word_count(b); w++) {
			uint64_t bits = below_vl(b, w), base = 64 * (uint64_t)w, new = 0;
			v_u64 *d = words(b, in->rd, i) + w;

			if (!in->vm)
				bits &= rv_vmask(b, i)[w];
			if (at >= base + 64)
				new = in->rs1 == ONLY ? 0 : UINT64_MAX;
			else if (at >= base && in->rs1 == BEFORE)
				new = (1ull << (at - base)) - 1;
			else if (at >= base && in->rs1 == ONLY)
				new = 1ull << (at - base);
			else if (at >= base)
				new = 2 * (1ull << (at - base)) - 1;
			*d = (*d & ~bits) | (new &bits);
		}
	}
	rv_vdone(b, 1);
}

static unsigned int group_regs(const struct rv_batch *b)
{
	return rv_vregs(rv_lmul(b));
}

void rv_viota(struct rv_batch *b, const struct rv_insn *in)
{
	char d[8 * RV_VLENB] __attribute__((aligned(64)));
	unsigned int sew = rv_sew(b), i;

	if (rv_vill(b) || b->vstart || !rv_valign(b, in->rd, rv_lmul(b)) ||
	    !rv_vapart(in->rd, rv_lmul(b), in->rs2, 0) || (!in->vm && !in->rd)) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i) {
		const v_u64 *from = words(b, in->rs2, i), *mask = rv_vmask(b, i);
		uint64_t n = 0;

		rv_vget(b, in->rd, group_regs(b), i, d);
		for (uint64_t e = 0; e < b->vl; e++) {
			if (!in->vm && !rv_vbit(mask, e))
				continue;
			rv_vwrite(d + (e << sew), sew, n);
			n += rv_vbit(from, e);
		}
		rv_vput(b, in->rd, group_regs(b), i, d);
	}
	rv_vdone(b, group_regs(b));
}

void rv_vid(struct rv_batch *b, const struct rv_insn *in)
{
	char d[8 * RV_VLENB] __attribute__((aligned(64)));
	unsigned int sew = rv_sew(b), i;

	if (rv_vill(b) || !rv_valign(b, in->rd, rv_lmul(b)) || (!in->vm && !in->rd)) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i) {
		const v_u64 *mask = rv_vmask(b, i);

		rv_vget(b, in->rd, group_regs(b), i, d);
		for (uint64_t e = b->vstart; e < b->vl; e++) {
			if (in->vm || rv_vbit(mask, e))
				rv_vwrite(d + (e << sew), sew, e);
		}
		rv_vput(b, in->rd, group_regs(b), i, d);
	}
	rv_vdone(b, group_regs(b));
}
