// SPDX-License-Identifier: MIT
/*
 * Integer reductions: vd's element 0 becomes that of vs1 and all of vs2, taken together.
 */
#include "vector.h"

#define GROUP (8 * RV_VLENB)

enum { SUM, AND, OR, XOR, MINU, MIN, MAXU, MAX };

/*
 * Reduce elements [0, n) of the array @from, only those in @mask unless it is NULL. The first loop
 * has no branches, so that compilers vectorize it.
 */
#define REDUCE(T, D, expr)                                                                         \
	do {                                                                                       \
		const T *y = from;                                                                 \
		D x = (D)start;                                                                    \
		if (!mask) {                                                                       \
			for (uint64_t e = 0; e < n; e++)                                           \
				x = (D)(expr);                                                     \
		} else {                                                                           \
			for (uint64_t e = 0; e < n; e++) {                                         \
				if (rv_vbit(mask, e))                                              \
					x = (D)(expr);                                             \
			}                                                                          \
		}                                                                                  \
		return (uint64_t)x;                                                                \
	} while (0)

#define REDUCTIONS(bits)                                                                           \
	static uint64_t reduce_##bits(unsigned int funct, const void *from, uint64_t n,            \
				      const v_u64 *mask, uint64_t start)                           \
	{                                                                                          \
		switch (funct) {                                                                   \
		case SUM:                                                                          \
			REDUCE(v_u##bits, uint##bits##_t, x + y[e]);                               \
		case AND:                                                                          \
			REDUCE(v_u##bits, uint##bits##_t, x &y[e]);                                \
		case OR:                                                                           \
			REDUCE(v_u##bits, uint##bits##_t, x | y[e]);                               \
		case XOR:                                                                          \
			REDUCE(v_u##bits, uint##bits##_t, x ^ y[e]);                               \
		case MINU:                                                                         \
			REDUCE(v_u##bits, uint##bits##_t, x < y[e] ? x : y[e]);                    \
		case MIN:                                                                          \
			REDUCE(v_i##bits, int##bits##_t, x < y[e] ? x : y[e]);                     \
		case MAXU:                                                                         \
			REDUCE(v_u##bits, uint##bits##_t, x > y[e] ? x : y[e]);                    \
		default:                                                                           \
			REDUCE(v_i##bits, int##bits##_t, x > y[e] ? x : y[e]);                     \
		}                                                                                  \
	}
REDUCTIONS(8)
REDUCTIONS(16)
REDUCTIONS(32)
REDUCTIONS(64)

static uint64_t reduce_wide(bool is_signed, unsigned int sew, const void *from, uint64_t n,
			    const v_u64 *mask, uint64_t start)
{
	switch (sew << 1 | is_signed) {
	case 0:
		REDUCE(v_u8, uint16_t, x + y[e]);
	case 1:
		REDUCE(v_i8, uint16_t, x + y[e]);
	case 2:
		REDUCE(v_u16, uint32_t, x + y[e]);
	case 3:
		REDUCE(v_i16, uint32_t, x + (uint32_t)y[e]);
	case 4:
		REDUCE(v_u32, uint64_t, x + y[e]);
	default:
		REDUCE(v_i32, uint64_t, x + (uint64_t)y[e]);
	}
}

static uint64_t reduce(unsigned int funct, unsigned int sew, const void *from, uint64_t n,
		       const v_u64 *mask, uint64_t start)
{
	switch (sew) {
	case 0:
		return reduce_8(funct, from, n, mask, start);
	case 1:
		return reduce_16(funct, from, n, mask, start);
	case 2:
		return reduce_32(funct, from, n, mask, start);
	default:
		return reduce_64(funct, from, n, mask, start);
	}
}

static void run(struct rv_batch *b, const struct rv_insn *in, bool wide)
{
	unsigned int sew = rv_sew(b), regs = rv_vregs(rv_lmul(b)), funct = in->bits >> 26, i;
	char group[GROUP] __attribute__((aligned(64)));

	if (rv_vill(b) || b->vstart || (wide && sew > 2) || !rv_valign(b, in->rs2, rv_lmul(b))) {
		rv_illegal(b, in);
		return;
	}
	if (b->vl) {
		rv_each(b, i) {
			size_t at = (size_t)i * b->vlenb;
			uint64_t x = rv_vread(rv_row(b, in->rs1) + at, sew + wide);
			const v_u64 *mask = in->vm ? NULL : rv_vmask(b, i);
			const char *from = rv_row(b, in->rs2) + at;

			if (regs > 1) {
				rv_vget(b, in->rs2, regs, i, group);
				from = group;
			}
			x = wide ? reduce_wide(funct & 1, sew, from, b->vl, mask, x)
				 : reduce(funct, sew, from, b->vl, mask, x);
			rv_vwrite(rv_row(b, in->rd) + at, sew + wide, x);
		}
	}
	rv_vdone(b, regs);
}

void rv_vred(struct rv_batch *b, const struct rv_insn *in)
{
	run(b, in, false);
}

void rv_vwred(struct rv_batch *b, const struct rv_insn *in)
{
	run(b, in, true);
}
