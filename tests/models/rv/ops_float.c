// SPDX-License-Identifier: MIT
/*
 * F, D and Zfh. The letters of an instruction's operands: X, F the kind of its result; a an
 * integer; then h, s, d the format of a float that it reads; r: it rounds.
 */
#include "fuzz.h"

static uint32_t mode(struct rv_gen *g)
{
	rv_rounding(g);
	if (!g->flags)
		return rv_chance(g, 16) ? rv_below(g, 5) << 12 : rv_below(g, 2) * 7 << 12;
	return (rv_chance(g, 2) ? 7 : rv_below(g, 5)) << 12;
}

static void emit_plain(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int reg[3] = {0, 0, 0}, n = 0, dst = rv_below(g, 32);
	bool rounds = false;
	uint32_t bits;

	for (const char *c = op->sig; *c; c++) {
		switch (*c) {
		case 'X':
			dst = rv_dst(g);
			break;
		case 'a':
			reg[n++] = rv_src(g, P_X);
			break;
		case 'h':
			reg[n++] = rv_fsrc(g, rv_chance(g, 64) ? P_D : P_H);
			break;
		case 's':
			reg[n++] = rv_fsrc(g, rv_chance(g, 64) ? P_D : P_S);
			break;
		case 'd':
			reg[n++] = rv_fsrc(g, P_D);
			break;
		case 'r':
			rounds = true;
			break;
		}
	}
	bits = op->match | rv_fields(dst, reg[0], reg[1]) | reg[2] << 27;
	if (rounds)
		bits |= mode(g);
	else
		rv_rounding(g);
	rv_test(g, bits);
}

/* wide: bytes. */
static void emit_load(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int base = rv_base(g);
	int imm = (int)rv_below(g, 4096) - 2048;

	rv_far(g, base, rv_spot(g, (unsigned int)op->wide, !rv_chance(g, 4)) - (uint32_t)imm);
	rv_test(g, op->match | rv_imm(imm) | rv_fields(rv_below(g, 32), base, 0));
}

static void emit_store(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int base = rv_base(g), rs2 = rv_fsrc(g, P_D);
	int imm = (int)rv_below(g, 4096) - 2048;

	rv_far(g, base, rv_spot(g, (unsigned int)op->wide, !rv_chance(g, 4)) - (uint32_t)imm);
	g->item->bytes += ARENA;
	rv_test(g, op->match | rv_simm(imm) | rv_fields(0, base, rs2));
}

#define FP(f5, fmt, f3) ((uint32_t)(f5) << 27 | (uint32_t)(fmt) << 25 | (f3) << 12 | 0x53)
#define OP(name, f5, fmt, f3, rs2, group, sig)                                                     \
	{                                                                                          \
		name, FP(f5, fmt, f3) | (rs2) << 20, group, emit_plain, sig, 0                     \
	}
#define FMA(name, op, fmt, group, sig)                                                             \
	{                                                                                          \
		name, (uint32_t)(fmt) << 25 | (op), group, emit_plain, sig, 0                      \
	}

/* What each format has: s in names, 0 in encodings, s in operands... */
#define FORMAT(n, fmt, group, c)                                                                   \
	FMA("fmadd." n, 0x43, fmt, group, "F" c c c "r"),                                          \
		FMA("fmsub." n, 0x47, fmt, group, "F" c c c "r"),                                  \
		FMA("fnmsub." n, 0x4b, fmt, group, "F" c c c "r"),                                 \
		FMA("fnmadd." n, 0x4f, fmt, group, "F" c c c "r"),                                 \
		OP("fadd." n, 0, fmt, 0, 0, group, "F" c c "r"),                                   \
		OP("fsub." n, 1, fmt, 0, 0, group, "F" c c "r"),                                   \
		OP("fmul." n, 2, fmt, 0, 0, group, "F" c c "r"),                                   \
		OP("fdiv." n, 3, fmt, 0, 0, group, "F" c c "r"),                                   \
		OP("fsqrt." n, 11, fmt, 0, 0, group, "F" c "r"),                                   \
		OP("fsgnj." n, 4, fmt, 0, 0, group, "F" c c),                                      \
		OP("fsgnjn." n, 4, fmt, 1, 0, group, "F" c c),                                     \
		OP("fsgnjx." n, 4, fmt, 2, 0, group, "F" c c),                                     \
		OP("fmin." n, 5, fmt, 0, 0, group, "F" c c),                                       \
		OP("fmax." n, 5, fmt, 1, 0, group, "F" c c),                                       \
		OP("fle." n, 20, fmt, 0, 0, group, "X" c c),                                       \
		OP("flt." n, 20, fmt, 1, 0, group, "X" c c),                                       \
		OP("feq." n, 20, fmt, 2, 0, group, "X" c c),                                       \
		OP("fclass." n, 28, fmt, 1, 0, group, "X" c),                                      \
		OP("fcvt.w." n, 24, fmt, 0, 0, group, "X" c "r"),                                  \
		OP("fcvt.wu." n, 24, fmt, 0, 1, group, "X" c "r"),                                 \
		OP("fcvt.l." n, 24, fmt, 0, 2, group, "X" c "r"),                                  \
		OP("fcvt.lu." n, 24, fmt, 0, 3, group, "X" c "r"),                                 \
		OP("fcvt." n ".w", 26, fmt, 0, 0, group, "Far"),                                   \
		OP("fcvt." n ".wu", 26, fmt, 0, 1, group, "Far"),                                  \
		OP("fcvt." n ".l", 26, fmt, 0, 2, group, "Far"),                                   \
		OP("fcvt." n ".lu", 26, fmt, 0, 3, group, "Far")

const struct rv_op rv_ops_float[] = {
	FORMAT("s", 0, G_F, "s"),
	OP("fmv.x.w", 28, 0, 0, 0, G_F, "Xs"),
	OP("fmv.w.x", 30, 0, 0, 0, G_F, "Fa"),
	{"flw", 0x2007, G_F, emit_load, "", 4},
	{"fsw", 0x2027, G_F, emit_store, "", 4},
	FORMAT("d", 1, G_D, "d"),
	OP("fmv.x.d", 28, 1, 0, 0, G_D, "Xd"),
	OP("fmv.d.x", 30, 1, 0, 0, G_D, "Fa"),
	OP("fcvt.s.d", 8, 0, 0, 1, G_D, "Fdr"),
	OP("fcvt.d.s", 8, 1, 0, 0, G_D, "Fsr"),
	{"fld", 0x3007, G_D, emit_load, "", 8},
	{"fsd", 0x3027, G_D, emit_store, "", 8},
	FORMAT("h", 2, G_ZFH, "h"),
	OP("fmv.x.h", 28, 2, 0, 0, G_ZFH, "Xh"),
	OP("fmv.h.x", 30, 2, 0, 0, G_ZFH, "Fa"),
	OP("fcvt.s.h", 8, 0, 0, 2, G_ZFH, "Fhr"),
	OP("fcvt.h.s", 8, 2, 0, 0, G_ZFH, "Fsr"),
	OP("fcvt.d.h", 8, 1, 0, 2, G_ZFH, "Fhr"),
	OP("fcvt.h.d", 8, 2, 0, 1, G_ZFH, "Fdr"),
	{"flh", 0x1007, G_ZFH, emit_load, "", 2},
	{"fsh", 0x1027, G_ZFH, emit_store, "", 2},
	{NULL, 0, 0, NULL, NULL, 0},
};
