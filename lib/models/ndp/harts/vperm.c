// SPDX-License-Identifier: MIT
/*
 * Permutations: slides, gathers and compress. A lane's group is one array while they are at it.
 */
#include "vector.h"

#define GROUP (8 * RV_VLENB)

/* The operands of a lane's instruction: its group of vs2, and its future vd. */
struct lane {
	struct rv_batch *b;
	const struct rv_insn *in;
	unsigned int i, sew, regs;
	uint64_t vlmax;
	char from[GROUP] __attribute__((aligned(64)));
	char to[GROUP] __attribute__((aligned(64)));
	char index[GROUP] __attribute__((aligned(64)));
};

static uint64_t scalar(const struct lane *l)
{
	const struct rv_insn *in = l->in;

	return in->rm == 3 ? in->rs1 : l->b->x[in->rs1][l->i];
}

/* The element, of an x or f register, that fills the hole of a slide. */
static uint64_t filler(const struct lane *l)
{
	if (l->in->rm == 5)
		return rv_vfscalar(l->b, l->in->rs1, l->i, l->sew);
	return l->b->x[l->in->rs1][l->i];
}

/* Active elements from @first on become vd. */
static void put(struct lane *l, uint64_t first)
{
	const struct rv_insn *in = l->in;
	struct rv_batch *b = l->b;
	const v_u64 *mask = rv_vmask(b, l->i);
	unsigned int size = 1u << l->sew;
	char d[GROUP];

	if (first < b->vstart)
		first = b->vstart;
	if (first >= b->vl)
		return;
	if (in->vm && !first && b->vl << l->sew == l->regs * (uint64_t)b->vlenb) {
		rv_vput(b, in->rd, l->regs, l->i, l->to);
		return;
	}
	rv_vget(b, in->rd, l->regs, l->i, d);
	if (in->vm) {
		memcpy(d + first * size, l->to + first * size, (b->vl - first) * size);
	} else {
		for (uint64_t e = first; e < b->vl; e++) {
			if (rv_vbit(mask, e))
				memcpy(d + e * size, l->to + e * size, size);
		}
	}
	rv_vput(b, in->rd, l->regs, l->i, d);
}

/* All of them: not vill, aligned; v0 is either the mask or elements. */
static bool legal(struct rv_batch *b, const struct rv_insn *in, bool apart)
{
	int lmul = rv_lmul(b);

	return !rv_vill(b) && rv_valign(b, in->rd, lmul) && rv_valign(b, in->rs2, lmul) &&
	       (in->vm || (in->rd && in->rs2)) && !(apart && in->rd == in->rs2);
}

typedef void each_lane(struct lane *l);

static void run(struct rv_batch *b, const struct rv_insn *in, bool is_legal, each_lane *each)
{
	struct lane l;
	unsigned int i;

	if (!is_legal) {
		rv_illegal(b, in);
		return;
	}
	l.b = b;
	l.in = in;
	l.sew = rv_sew(b);
	l.regs = rv_vregs(rv_lmul(b));
	l.vlmax = rv_vlmax(b);
	if (b->vstart < b->vl) {
		rv_each(b, i) {
			l.i = i;
			rv_vget(b, in->rs2, l.regs, i, l.from);
			each(&l);
		}
	}
	rv_vdone(b, l.regs);
}

static void slideup(struct lane *l)
{
	uint64_t by = scalar(l);

	if (by >= l->b->vl)
		return;
	memcpy(l->to + (by << l->sew), l->from, (l->b->vl - by) << l->sew);
	put(l, by);
}

static void slidedown(struct lane *l)
{
	uint64_t by = scalar(l), have;

	have = by < l->vlmax ? (l->vlmax - by) << l->sew : 0;
	memcpy(l->to, l->from + (l->vlmax << l->sew) - have, have);
	memset(l->to + have, 0, (l->vlmax << l->sew) - have);
	put(l, 0);
}

static void slide1up(struct lane *l)
{
	memcpy(l->to + (1u << l->sew), l->from, (l->b->vl - 1) << l->sew);
	rv_vwrite(l->to, l->sew, filler(l));
	put(l, 0);
}

static void slide1down(struct lane *l)
{
	memcpy(l->to, l->from + (1u << l->sew), (l->b->vl - 1) << l->sew);
	rv_vwrite(l->to + ((l->b->vl - 1) << l->sew), l->sew, filler(l));
	put(l, 0);
}

#define GATHER(T, I)                                                                               \
	for (uint64_t e = l->b->vstart; e < l->b->vl; e++) {                                       \
		uint64_t at_ = ((const I *)l->index)[e];                                           \
		((T *)l->to)[e] = at_ < l->vlmax ? ((const T *)l->from)[at_] : 0;                  \
	}

static void gather(struct lane *l)
{
	rv_vget(l->b, l->in->rs1, l->regs, l->i, l->index);
	switch (l->sew) {
	case 0:
		GATHER(v_u8, v_u8);
		break;
	case 1:
		GATHER(v_u16, v_u16);
		break;
	case 2:
		GATHER(v_u32, v_u32);
		break;
	default:
		GATHER(v_u64, v_u64);
	}
	put(l, 0);
}

static void gather16(struct lane *l)
{
	int emul = 1 - (int)l->sew + rv_lmul(l->b);

	rv_vget(l->b, l->in->rs1, rv_vregs(emul), l->i, l->index);
	switch (l->sew) {
	case 0:
		GATHER(v_u8, v_u16);
		break;
	case 1:
		GATHER(v_u16, v_u16);
		break;
	case 2:
		GATHER(v_u32, v_u16);
		break;
	default:
		GATHER(v_u64, v_u16);
	}
	put(l, 0);
}

/* The same element everywhere. */
static void gather_scalar(struct lane *l)
{
	uint64_t at = scalar(l), value;

	value = at < l->vlmax ? rv_vread(l->from + (at << l->sew), l->sew) : 0;
	for (uint64_t e = l->b->vstart; e < l->b->vl; e++)
		rv_vwrite(l->to + (e << l->sew), l->sew, value);
	put(l, 0);
}

/* Elements that vs1's bits choose, one beside the other; the rest stays. */
static void compress(struct lane *l)
{
	const v_u64 *chosen = (v_u64 *)(rv_row(l->b, l->in->rs1) + (size_t)l->i * l->b->vlenb);
	unsigned int size = 1u << l->sew;
	uint64_t n = 0;

	rv_vget(l->b, l->in->rd, l->regs, l->i, l->to);
	for (uint64_t e = 0; e < l->b->vl; e++) {
		if (rv_vbit(chosen, e))
			memcpy(l->to + n++ * size, l->from + e * size, size);
	}
	rv_vput(l->b, l->in->rd, l->regs, l->i, l->to);
}

void rv_vslideup(struct rv_batch *b, const struct rv_insn *in)
{
	run(b, in, legal(b, in, true), slideup);
}

void rv_vslidedown(struct rv_batch *b, const struct rv_insn *in)
{
	run(b, in, legal(b, in, false), slidedown);
}

/* Slides of f registers have no bytes, and need a valid rounding mode, although none rounds. */
static bool slide1_ok(struct rv_batch *b, const struct rv_insn *in, bool apart)
{
	return legal(b, in, apart) && (in->rm != 5 || rv_sew(b));
}

void rv_vslide1up(struct rv_batch *b, const struct rv_insn *in)
{
	if (in->rm != 5 || rv_vframes(b, in))
		run(b, in, slide1_ok(b, in, true), slide1up);
}

/*
 * One register, all of its elements, all lanes: a move of the row. An element that came from the
 * next lane is then replaced.
 */
static void slide_row(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int sew = rv_sew(b), size = 1u << sew, i;
	char *d = rv_row(b, in->rd), *end = d + b->vlenb - size;

	memmove(d, rv_row(b, in->rs2) + size, (size_t)RV_LANES * b->vlenb - size);
	for (i = 0; i < RV_LANES; i++)
		rv_vwrite(end + (size_t)i * b->vlenb, sew, b->x[in->rs1][i]);
	rv_vdone(b, 1);
}

void rv_vslide1down(struct rv_batch *b, const struct rv_insn *in)
{
	if (b->dense && in->rm == 6 && in->vm && !rv_lmul(b) && !b->vstart &&
	    b->vl == rv_vlmax(b) && slide1_ok(b, in, false))
		slide_row(b, in);
	else if (in->rm != 5 || rv_vframes(b, in))
		run(b, in, slide1_ok(b, in, false), slide1down);
}

void rv_vgather(struct rv_batch *b, const struct rv_insn *in)
{
	bool ok = legal(b, in, true);

	if (in->rm)
		run(b, in, ok, gather_scalar);
	else
		run(b, in,
		    ok && in->rd != in->rs1 && (in->vm || in->rs1) &&
			    rv_valign(b, in->rs1, rv_lmul(b)),
		    gather);
}

void rv_vgather16(struct rv_batch *b, const struct rv_insn *in)
{
	int lmul = rv_lmul(b), emul = 1 - (int)rv_sew(b) + lmul;

	run(b, in,
	    legal(b, in, true) && emul >= -3 && rv_valign(b, in->rs1, emul) &&
		    (in->vm || in->rs1) && rv_voverlap_ok(in->rd, lmul, in->rs1, emul) &&
		    (emul == lmul || rv_vapart(in->rs1, emul, in->rs2, lmul)),
	    gather16);
}

void rv_vcompress(struct rv_batch *b, const struct rv_insn *in)
{
	run(b, in, legal(b, in, true) && !b->vstart && rv_vapart(in->rd, rv_lmul(b), in->rs1, 0),
	    compress);
}
