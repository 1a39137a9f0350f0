// SPDX-License-Identifier: MIT
/*
 * Floating point to and from integers, between precisions, and moved as bits.
 */
#include "fp.h"
#include "hot.h"
#include "rows.h"

/* The integer that the second operand's field names: w, wu, l, lu. */
static inline unsigned int int_bits(const struct rv_insn *in)
{
	return in->rs2 < 2 ? 32 : 64;
}

static inline bool int_signed(const struct rv_insn *in)
{
	return !(in->rs2 & 1);
}

/* Words in registers are extended by their sign, unsigned ones too. */
static void to_int_exactly(struct rv_batch *b, const struct rv_insn *in)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	enum rv_round rm;
	unsigned int i;

	rv_each(b, i) {
		uint64_t x = rv_unbox(fmt, b->f[in->rs1][i]), v;

		if (!rv_rounding(b, in, i, &rm))
			return;
		v = rv_soft_to_int(fmt, x, int_bits(in), int_signed(in), rm, &b->fflags[i]);
		b->x[in->rd][i] = int_bits(in) == 32 ? word((uint32_t)v) : v;
	}
}

/* Towards zero, as the host's conversions; saturate to the range of the type. */
static inline uint64_t truncate_word(double v)
{
	if (v != v || v >= 2147483648.0)
		return INT32_MAX;
	return word(v <= -2147483648.0 ? 1u << 31 : (uint32_t)(int32_t)v);
}

static inline uint64_t truncate_twin(double v)
{
	if (v != v || v >= 9223372036854775808.0)
		return INT64_MAX;
	return v <= -9223372036854775808.0 ? 1ull << 63 : (uint64_t)(int64_t)v;
}

#define TRUNCATE(name, get, truncate)                                                              \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->f[in->rs1];                                                 \
		uint64_t *d = b->x[in->rd];                                                        \
		if (b->exact || in->rm != RV_RTZ)                                                  \
			to_int_exactly(b, in);                                                     \
		else                                                                               \
			rv_lanes(b, i, d[i] = truncate((double)get(x[i])));                        \
	}

TRUNCATE(w_s, get_s, truncate_word)
TRUNCATE(w_d, get_d, truncate_word)
TRUNCATE(l_s, get_s, truncate_twin)
TRUNCATE(l_d, get_d, truncate_twin)

static void from_int_exactly(struct rv_batch *b, const struct rv_insn *in)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	enum rv_round rm;
	unsigned int i;

	rv_each(b, i) {
		uint64_t v = b->x[in->rs1][i];

		if (!rv_rounding(b, in, i, &rm))
			return;
		if (int_bits(in) == 32)
			v = int_signed(in) ? word((uint32_t)v) : (uint32_t)v;
		v = rv_soft_from_int(fmt, v, int_signed(in), rm, &b->fflags[i]);
		b->f[in->rd][i] = rv_box(fmt, v);
	}
}

#define FROM_INT(name, put, type, cast)                                                            \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->x[in->rs1];                                                 \
		uint64_t *d = b->f[in->rd];                                                        \
		if (rv_fast(b, in))                                                                \
			rv_lanes(b, i, d[i] = put((type)(cast)x[i]));                              \
		else                                                                               \
			from_int_exactly(b, in);                                                   \
	}

FROM_INT(s_w, put_s, float, int32_t)
FROM_INT(s_wu, put_s, float, uint32_t)
FROM_INT(s_l, put_s, float, int64_t)
FROM_INT(s_lu, put_s, float, uint64_t)
FROM_INT(d_w, put_d, double, int32_t)
FROM_INT(d_wu, put_d, double, uint32_t)
FROM_INT(d_l, put_d, double, int64_t)
FROM_INT(d_lu, put_d, double, uint64_t)

/* The field of the second operand has the precision of the source. */
static void convert_exactly(struct rv_batch *b, const struct rv_insn *in)
{
	enum rv_fmt to = (enum rv_fmt)(in->aux & 3), from = (enum rv_fmt)(in->aux >> 2);
	enum rv_round rm;
	unsigned int i;

	rv_each(b, i) {
		uint64_t x = rv_unbox(from, b->f[in->rs1][i]);

		if (!rv_rounding(b, in, i, &rm))
			return;
		b->f[in->rd][i] = rv_box(to, rv_soft_convert(from, to, x, rm, &b->fflags[i]));
	}
}

#define CONVERT(name, put, get, type)                                                              \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->f[in->rs1];                                                 \
		uint64_t *d = b->f[in->rd];                                                        \
		if (rv_fast(b, in))                                                                \
			rv_lanes(b, i, d[i] = put((type)get(x[i])));                               \
		else                                                                               \
			convert_exactly(b, in);                                                    \
	}

CONVERT(s_d, put_s, get_d, float)
CONVERT(d_s, put_d, get_s, double)
#ifdef __F16C__
CONVERT(h_s, put_h, get_s, float)
CONVERT(s_h, put_s, get_h, float)
CONVERT(d_h, put_d, get_h, double)
#else
#define h_s convert_exactly
#define s_h convert_exactly
#define d_h convert_exactly
#endif

static void move_to_x(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int up = 64 - rv_fmt_bits((enum rv_fmt)in->aux);
	uint64_t *f = b->f[in->rs1], *d = b->x[in->rd];

	rv_lanes(b, i, d[i] = (uint64_t)((int64_t)(f[i] << up) >> up));
}

static void move_to_f(struct rv_batch *b, const struct rv_insn *in)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	uint64_t *x = b->x[in->rs1], *d = b->f[in->rd];

	rv_lanes(b, i, d[i] = rv_box(fmt, x[i]));
}

static void classify(struct rv_batch *b, const struct rv_insn *in)
{
	enum rv_fmt fmt = (enum rv_fmt)in->aux;
	unsigned int i;

	rv_each(b, i) {
		b->x[in->rd][i] = rv_soft_class(fmt, rv_unbox(fmt, b->f[in->rs1][i]));
	}
}

static unsigned int set(struct rv_insn *in, rv_op *op, unsigned int use)
{
	in->op = op;
	return use;
}

static unsigned int decode_precision(uint32_t bits, struct rv_insn *in)
{
	static rv_op *const ops[3][3] = {
		{NULL, h_s, convert_exactly}, {s_h, NULL, s_d}, {d_h, d_s, NULL}};
	uint32_t code = bits >> 20 & 31;
	unsigned int from = rv_fmt_of(code), to = in->aux;

	if (code > 2 || from == to || !rv_is_rm(in))
		return 0;
	in->aux = to | from << 2;
	return set(in, ops[to][from], RV_FD | RV_F1);
}

static unsigned int decode_move(uint32_t bits, struct rv_insn *in)
{
	if (bits >> 20 & 31)
		return 0;
	if (bits >> 27 == 0x1e)
		return in->rm ? 0 : set(in, move_to_f, RV_FD | RV_X1);
	return in->rm > 1 ? 0 : set(in, in->rm ? classify : move_to_x, RV_XD | RV_F1);
}

unsigned int RV_HOT(rv_decode_convert)(uint32_t bits, struct rv_insn *in)
{
	static rv_op *const truncations[3][4] = {
		{to_int_exactly, to_int_exactly, to_int_exactly, to_int_exactly},
		{w_s, to_int_exactly, l_s, to_int_exactly},
		{w_d, to_int_exactly, l_d, to_int_exactly}};
	static rv_op *const floats[3][4] = {
		{from_int_exactly, from_int_exactly, from_int_exactly, from_int_exactly},
		{s_w, s_wu, s_l, s_lu},
		{d_w, d_wu, d_l, d_lu}};

	if ((bits & 0x7f) != 0x53)
		return 0;
	switch (bits >> 27) {
	case 0x08:
		return decode_precision(bits, in);
	case 0x18:
		return in->rs2 < 4 && rv_is_rm(in)
			       ? set(in, truncations[in->aux][in->rs2], RV_XD | RV_F1)
			       : 0;
	case 0x1a:
		return in->rs2 < 4 && rv_is_rm(in)
			       ? set(in, floats[in->aux][in->rs2], RV_FD | RV_X1)
			       : 0;
	case 0x1c:
	case 0x1e:
		return decode_move(bits, in);
	default:
		return 0;
	}
}
