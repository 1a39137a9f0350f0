// SPDX-License-Identifier: MIT
/*
 * Arithmetic and comparisons of the F, D and Zfh extensions: by the host where that gives the same,
 * otherwise exactly.
 */
#include <math.h>
#include "fp.h"
#include "hot.h"

typedef uint64_t soft_binary(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm,
			     uint8_t *flags);

static void exactly(struct rv_batch *b, const struct rv_insn *in, soft_binary *op)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	enum rv_round rm;
	unsigned int i;

	rv_each(b, i) {
		uint64_t x = rv_unbox(fmt, b->f[in->rs1][i]), y = rv_unbox(fmt, b->f[in->rs2][i]);

		if (!rv_rounding(b, in, i, &rm))
			return;
		b->f[in->rd][i] = rv_box(fmt, op(fmt, x, y, rm, &b->fflags[i]));
	}
}

#define EXACT(name, op)                                                                            \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		exactly(b, in, op);                                                                \
	}

#define FAST(name, p, op, soft)                                                                    \
	static void name##_##p(struct rv_batch *b, const struct rv_insn *in)                       \
	{                                                                                          \
		const uint64_t *x = b->f[in->rs1], *y = b->f[in->rs2];                             \
		uint64_t *d = b->f[in->rd];                                                        \
		if (rv_fast(b, in))                                                                \
			rv_lanes(b, i, d[i] = put_##p(get_##p(x[i]) op get_##p(y[i])));            \
		else                                                                               \
			exactly(b, in, soft);                                                      \
	}

#ifdef __F16C__
#define HALF(name, op, soft) FAST(name, h, op, soft)
#else
#define HALF(name, op, soft) EXACT(name##_h, soft)
#endif

#define ARITHMETIC(name, op)                                                                       \
	FAST(name, s, op, rv_soft_##name)                                                          \
	FAST(name, d, op, rv_soft_##name)                                                          \
	HALF(name, op, rv_soft_##name)

ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)
ARITHMETIC(div, /)

static uint64_t soft_root(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags)
{
	(void)b;
	return rv_soft_sqrt(fmt, a, rm, flags);
}

EXACT(sqrt_h, soft_root)

static void sqrt_s(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t *x = b->f[in->rs1], *d = b->f[in->rd];

	if (rv_fast(b, in))
		rv_lanes(b, i, d[i] = put_s(sqrtf(get_s(x[i]))));
	else
		exactly(b, in, soft_root);
}

static void sqrt_d(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t *x = b->f[in->rs1], *d = b->f[in->rd];

	if (rv_fast(b, in))
		rv_lanes(b, i, d[i] = put_d(sqrt(get_d(x[i]))));
	else
		exactly(b, in, soft_root);
}

/* The four of a family, by two signs: of the product (in the lowest bit) and of the addend. */
static void fused_exactly(struct rv_batch *b, const struct rv_insn *in, unsigned int signs)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	uint64_t minus = 1ull << (rv_fmt_bits(fmt) - 1);
	enum rv_round rm;
	unsigned int i;

	rv_each(b, i) {
		uint64_t x = rv_unbox(fmt, b->f[in->rs1][i]), y = rv_unbox(fmt, b->f[in->rs2][i]);
		uint64_t z = rv_unbox(fmt, b->f[in->rs3][i]);

		if (!rv_rounding(b, in, i, &rm))
			return;
		x ^= signs & 1 ? minus : 0;
		z ^= signs & 2 ? minus : 0;
		b->f[in->rd][i] = rv_box(fmt, rv_soft_fma(fmt, x, y, z, rm, &b->fflags[i]));
	}
}

#define FUSED_FAST(name, p, fma, a, c, signs)                                                      \
	static void name##_##p(struct rv_batch *b, const struct rv_insn *in)                       \
	{                                                                                          \
		const uint64_t *x = b->f[in->rs1], *y = b->f[in->rs2], *z = b->f[in->rs3];         \
		uint64_t *d = b->f[in->rd];                                                        \
		if (rv_fast(b, in))                                                                \
			rv_lanes(b, i,                                                             \
				 d[i] = put_##p(                                                   \
					 fma(a get_##p(x[i]), get_##p(y[i]), c get_##p(z[i]))));   \
		else                                                                               \
			fused_exactly(b, in, signs);                                               \
	}

#define FUSED(name, a, c, signs)                                                                   \
	FUSED_FAST(name, s, fmaf, a, c, signs)                                                     \
	FUSED_FAST(name, d, fma, a, c, signs)                                                      \
	static void name##_h(struct rv_batch *b, const struct rv_insn *in)                         \
	{                                                                                          \
		fused_exactly(b, in, signs);                                                       \
	}

FUSED(fmadd, +, +, 0)
FUSED(fmsub, +, -, 2)
FUSED(fnmsub, -, +, 1)
FUSED(fnmadd, -, -, 3)

typedef bool soft_test(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags);

static void test_exactly(struct rv_batch *b, const struct rv_insn *in, soft_test *op)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	unsigned int i;

	rv_each(b, i) {
		uint64_t x = rv_unbox(fmt, b->f[in->rs1][i]), y = rv_unbox(fmt, b->f[in->rs2][i]);

		b->x[in->rd][i] = op(fmt, x, y, &b->fflags[i]);
	}
}

#define TEST_FAST(name, p, op)                                                                     \
	static void name##_##p(struct rv_batch *b, const struct rv_insn *in)                       \
	{                                                                                          \
		const uint64_t *x = b->f[in->rs1], *y = b->f[in->rs2];                             \
		uint64_t *d = b->x[in->rd];                                                        \
		if (b->exact)                                                                      \
			test_exactly(b, in, rv_soft_##name);                                       \
		else                                                                               \
			rv_lanes(b, i, d[i] = get_##p(x[i]) op get_##p(y[i]));                     \
	}

#define TEST(name, op)                                                                             \
	TEST_FAST(name, s, op)                                                                     \
	TEST_FAST(name, d, op)                                                                     \
	static void name##_h(struct rv_batch *b, const struct rv_insn *in)                         \
	{                                                                                          \
		test_exactly(b, in, rv_soft_##name);                                               \
	}

TEST(eq, ==)
TEST(lt, <)
TEST(le, <=)

static void choose_exactly(struct rv_batch *b, const struct rv_insn *in)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	unsigned int i;

	rv_each(b, i) {
		uint64_t x = rv_unbox(fmt, b->f[in->rs1][i]), y = rv_unbox(fmt, b->f[in->rs2][i]);
		uint64_t v = (in->rm ? rv_soft_max : rv_soft_min)(fmt, x, y, &b->fflags[i]);

		b->f[in->rd][i] = rv_box(fmt, v);
	}
}

/*
 * Of a NaN and a number the number; of both zeros the one that has a sign is the lesser one, and
 * its bits are more.
 */
#define CHOOSE(name, p, is, bits_are)                                                              \
	static inline uint64_t name##_##p##_of(uint64_t x, uint64_t y)                             \
	{                                                                                          \
		bool first = get_##p(x) is get_##p(y) || get_##p(y) != get_##p(y) ||               \
			     (get_##p(x) == get_##p(y) && x bits_are y);                           \
		return put_##p(first ? get_##p(x) : get_##p(y));                                   \
	}                                                                                          \
	static void name##_##p(struct rv_batch *b, const struct rv_insn *in)                       \
	{                                                                                          \
		const uint64_t *x = b->f[in->rs1], *y = b->f[in->rs2];                             \
		uint64_t *d = b->f[in->rd];                                                        \
		if (b->exact)                                                                      \
			choose_exactly(b, in);                                                     \
		else                                                                               \
			rv_lanes(b, i, d[i] = name##_##p##_of(x[i], y[i]));                        \
	}

CHOOSE(min, s, <, >)
CHOOSE(min, d, <, >)
CHOOSE(max, s, >, <)
CHOOSE(max, d, >, <)

/* Signs of one on the other: copied (0), inverted (1), or both multiplied (2). */
#define INJECT(p, fmt)                                                                             \
	static void inject_##p(struct rv_batch *b, const struct rv_insn *in)                       \
	{                                                                                          \
		uint64_t minus = 1ull << (rv_fmt_bits(fmt) - 1);                                   \
		uint64_t keep = in->rm == 2 ? minus : 0, flip = in->rm == 1 ? minus : 0;           \
		const uint64_t *x = b->f[in->rs1], *y = b->f[in->rs2];                             \
		uint64_t *d = b->f[in->rd];                                                        \
		rv_lanes(b, i, uint64_t v = rv_unbox(fmt, x[i]);                                   \
			 uint64_t s = (v & keep) ^ flip ^ rv_unbox(fmt, y[i]);                     \
			 d[i] = rv_box(fmt, (v & ~minus) | (s & minus)));                          \
	}

INJECT(h, RV_H)
INJECT(s, RV_S)
INJECT(d, RV_D)

/* By precision: H, S, D. */
static rv_op *const adds[] = {add_h, add_s, add_d}, *const subs[] = {sub_h, sub_s, sub_d},
		    *const muls[] = {mul_h, mul_s, mul_d}, *const divs[] = {div_h, div_s, div_d},
		    *const sqrts[] = {sqrt_h, sqrt_s, sqrt_d}, *const eqs[] = {eq_h, eq_s, eq_d},
		    *const lts[] = {lt_h, lt_s, lt_d}, *const les[] = {le_h, le_s, le_d},
		    *const injects[] = {inject_h, inject_s, inject_d};
static rv_op *const choices[2][3] = {{choose_exactly, min_s, min_d},
				     {choose_exactly, max_s, max_d}};
static rv_op *const fused[4][3] = {{fmadd_h, fmadd_s, fmadd_d},
				   {fmsub_h, fmsub_s, fmsub_d},
				   {fnmsub_h, fnmsub_s, fnmsub_d},
				   {fnmadd_h, fnmadd_s, fnmadd_d}};

static unsigned int set(struct rv_insn *in, rv_op *op, unsigned int use)
{
	in->op = op;
	return op ? use : 0;
}

static unsigned int decode_compare(struct rv_insn *in)
{
	rv_op *const *ops[3] = {les, lts, eqs};

	return in->rm < 3 ? set(in, ops[in->rm][in->aux], RV_XD | RV_F1 | RV_F2) : 0;
}

unsigned int RV_HOT(rv_decode_fp)(uint32_t bits, struct rv_insn *in)
{
	unsigned int two = RV_FD | RV_F1 | RV_F2;

	if ((bits & 0x7f) != 0x53)
		return rv_is_rm(in) ? set(in, fused[bits >> 2 & 3][in->aux], two | RV_F3) : 0;
	switch (bits >> 27) {
	case 0x00:
		return rv_is_rm(in) ? set(in, adds[in->aux], two) : 0;
	case 0x01:
		return rv_is_rm(in) ? set(in, subs[in->aux], two) : 0;
	case 0x02:
		return rv_is_rm(in) ? set(in, muls[in->aux], two) : 0;
	case 0x03:
		in->unit = RV_SFU;
		return rv_is_rm(in) ? set(in, divs[in->aux], two) : 0;
	case 0x0b:
		in->unit = RV_SFU;
		return rv_is_rm(in) && !in->rs2 ? set(in, sqrts[in->aux], RV_FD | RV_F1) : 0;
	case 0x04:
		return in->rm < 3 ? set(in, injects[in->aux], two) : 0;
	case 0x05:
		return in->rm < 2 ? set(in, choices[in->rm][in->aux], two) : 0;
	case 0x14:
		return decode_compare(in);
	default:
		return 0;
	}
}
