// SPDX-License-Identifier: MIT
/*
 * Floating-point reductions, all in the order of elements: by the host's arithmetic if flags are
 * not read, else by soft.h.
 */
#include "vfloat.h"

#define GROUP (8 * RV_VLENB)

enum { SUM = 0, MIN = 2, MAX = 3 }; /* funct6, halved */

static uint64_t soft(unsigned int funct, enum rv_fmt fmt, uint64_t x, uint64_t y, enum rv_round rm,
		     uint8_t *flags)
{
	switch (funct) {
	case MIN:
		return rv_soft_min(fmt, x, y, flags);
	case MAX:
		return rv_soft_max(fmt, x, y, flags);
	default:
		return rv_soft_add(fmt, x, y, rm, flags);
	}
}

/* Elements are of @from's precision, the sum is of @fmt. */
static uint64_t reduce_soft(struct rv_batch *b, unsigned int i, unsigned int funct,
			    enum rv_fmt from, enum rv_fmt fmt, const char *y, const v_u64 *mask,
			    uint64_t x)
{
	enum rv_round rm = b->frm[i];

	for (uint64_t e = 0; e < b->vl; e++) {
		uint64_t value = rv_vread(y + (e << (from + 1)), from + 1u);

		if (mask && !rv_vbit(mask, e))
			continue;
		if (from != fmt)
			value = rv_soft_convert(from, fmt, value, rm, &b->fflags[i]);
		x = soft(funct, fmt, x, value, rm, &b->fflags[i]);
	}
	return x;
}

/* The host's arithmetic on numbers x and y; the result stays as it is when there are none. */
#define FOLD(T, D, F, of, put, of_y, expr)                                                         \
	do {                                                                                       \
		const T *elem = (const T *)y_;                                                     \
		D to = *(const D *)x_;                                                             \
		for (uint64_t e = 0; e < n; e++) {                                                 \
			F x = of(to), y = of_y(elem[e]);                                           \
			if (!mask || rv_vbit(mask, e))                                             \
				to = put(expr);                                                    \
		}                                                                                  \
		*(D *)x_ = to;                                                                     \
	} while (0)
#define FOLD_SAME(fmt, expr)                                                                       \
	do {                                                                                       \
		if (fmt == RV_H)                                                                   \
			FOLD(v_u16, v_u16, float, of_h, to_h, of_h, expr);                         \
		else if (fmt == RV_S)                                                              \
			FOLD(v_f32, v_f32, float, of_s, to_s, of_s, expr);                         \
		else                                                                               \
			FOLD(v_f64, v_f64, double, of_d, to_d, of_d, expr);                        \
	} while (0)

static void reduce_quick(unsigned int funct, enum rv_fmt from, enum rv_fmt fmt, const char *y_,
			 const v_u64 *mask, uint64_t n, void *x_)
{
	if (funct == MIN)
		FOLD_SAME(fmt, LEAST(x, y));
	else if (funct == MAX)
		FOLD_SAME(fmt, MOST(x, y));
	else if (from == fmt)
		FOLD_SAME(fmt, x + y);
	else if (from == RV_H)
		FOLD(v_u16, v_f32, float, of_s, to_s, of_h, x + y);
	else
		FOLD(v_f32, v_f64, double, of_d, to_d, of_s, x + y);
}

static void run(struct rv_batch *b, const struct rv_insn *in, bool wide)
{
	unsigned int sew = rv_sew(b), regs = rv_vregs(rv_lmul(b)), i;
	unsigned int funct = wide ? SUM : in->bits >> 27 & 3;
	char group[GROUP] __attribute__((aligned(64)));

	if (rv_vill(b) || b->vstart || !sew || (wide && sew > 2) ||
	    !rv_valign(b, in->rs2, rv_lmul(b))) {
		rv_illegal(b, in);
		return;
	}
	if (!rv_vframes(b, in))
		return;
	if (b->vl) {
		rv_each(b, i) {
			size_t at = (size_t)i * b->vlenb;
			uint64_t x = rv_vread(rv_row(b, in->rs1) + at, sew + wide);
			const v_u64 *mask = in->vm ? NULL : rv_vmask(b, i);

			rv_vget(b, in->rs2, regs, i, group);
			if (b->quick)
				reduce_quick(funct, sew - 1, sew - 1 + wide, group, mask, b->vl,
					     &x);
			else
				x = reduce_soft(b, i, funct, sew - 1, sew - 1 + wide, group, mask,
						x);
			rv_vwrite(rv_row(b, in->rd) + at, sew + wide, x);
		}
	}
	rv_vdone(b, regs);
}

void rv_vfred(struct rv_batch *b, const struct rv_insn *in)
{
	run(b, in, false);
}

void rv_vfwred(struct rv_batch *b, const struct rv_insn *in)
{
	run(b, in, true);
}
