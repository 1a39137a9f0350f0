// SPDX-License-Identifier: MIT
/*
 * Vectors: shapes, reductions, masks and permutations.
 */
#include <string.h>
#include "fuzz.h"

/*
 * A vtype, most often one that there is. Not elements wider than that part of 64 bits which a
 * fraction of a register is: an implementation may have them or not.
 */
static uint32_t random_vtype(struct rv_gen *g)
{
	uint32_t vtype;

	do {
		vtype = rv_below(g, rv_chance(g, 4) ? 1024 : 256) & (rv_chance(g, 4) ? ~0u : ~32u);
	} while ((vtype & 7) > 4 && (vtype >> 3 & 7) + 8 > (vtype & 7) + 3);
	return vtype;
}

/* A length: from a register, small, or near the longest. Not x0 both times: that keeps vl. */
static uint32_t lengths(struct rv_gen *g)
{
	unsigned int rd = rv_dst(g), rs1 = rv_below(g, 8) ? rv_base(g) : 0;

	if (!rs1 && !rd)
		rd = 5;
	if (rs1 && rv_chance(g, 2))
		rv_li(g, rs1, rv_below(g, 4 * 8 * g->vlenb));
	else if (rs1)
		rv_load_x(g, rs1, rv_chance(g, 2) ? P_SMALL : P_X);
	g->vset = false;
	return rv_fields(rd, rs1, 0);
}

static void emit_vsetvli(struct rv_gen *g, const struct rv_op *op)
{
	uint32_t bits = lengths(g);

	rv_test(g, op->match | bits | (rv_chance(g, 16) ? 0x400 : 0) << 20 | random_vtype(g) << 20);
}

static void emit_vsetivli(struct rv_gen *g, const struct rv_op *op)
{
	g->vset = false;
	rv_test(g, op->match | random_vtype(g) << 20 | rv_fields(rv_dst(g), rv_below(g, 32), 0));
}

static void emit_vsetvl(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs2 = SCRATCH;
	uint32_t bits;

	do {
		bits = lengths(g);
	} while (rs2 == (bits >> 15 & 31));
	rv_li(g, SCRATCH, random_vtype(g));
	if (rv_chance(g, 8))
		rv_put(g, 0x30 << 20 | 0x13 | 1 << 12 | rv_fields(SCRATCH, SCRATCH, 0)); /* slli */
	rv_test(g, op->match | bits | rs2 << 20);
}

/* sig: w, the sum is wider; u, the order of a sum is not said, so that it must be exact. */
static void emit_reduction(struct rv_gen *g, const struct rv_op *op)
{
	bool wide = strchr(op->sig, 'w'), exact = strchr(op->sig, 'u');
	bool floats = op->wide & V_FLOAT;
	unsigned int pool = exact ? P_WHOLE : floats ? P_FLOAT : P_I;
	struct rv_vreg s[2];
	unsigned int vd = rv_below(g, 32);
	uint32_t vm;

	rv_shape(g, floats, wide ? 2 : 3, -3, 3);
	vm = rv_mask(g);
	s[0] = (struct rv_vreg){g->sew, g->lmul, 0};
	s[1] = (struct rv_vreg){g->sew + wide, 0, 0};
	rv_pick(g, NULL, s, 2, vm ? 0 : RV_WITH_V0);
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int from = pool + (unsigned int)s[i].eew, count = rv_count(s[i].emul);

		if (exact)
			rv_load_v(g, s[i].reg, count, from);
		else
			rv_vsrc(g, s[i].reg, count, from);
	}
	rv_use_shape(g);
	if (floats)
		rv_rounding(g);
	rv_test(g, op->match | vm | vd << 7 | s[0].reg << 20 | s[1].reg << 15);
}

static void emit_mask_logic(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int vs1 = rv_below(g, 32), vs2 = rv_below(g, 32);

	rv_shape(g, 0, 3, -3, 3);
	rv_vsrc(g, vs1, 1, P_MASK);
	rv_vsrc(g, vs2, 1, P_MASK);
	rv_use_shape(g);
	rv_vstart(g);
	rv_test(g, op->match | 1u << 25 | rv_below(g, 32) << 7 | vs1 << 15 | vs2 << 20);
}

/* vcpop, vfirst. */
static void emit_mask_count(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int vs2 = rv_below(g, 32);
	uint32_t vm;

	rv_shape(g, 0, 3, -3, 3);
	vm = rv_mask(g);
	rv_vsrc(g, vs2, 1, P_MASK);
	rv_use_shape(g);
	rv_test(g, op->match | vm | rv_dst(g) << 7 | vs2 << 20);
}

/* vmsbf and its kin, viota and vid: sig m: a mask comes out; 0: nothing goes in. */
static void emit_mask_unary(struct rv_gen *g, const struct rv_op *op)
{
	struct rv_vreg d, s = {-1, 0, 0};
	bool mask = *op->sig == 'm', none = *op->sig == '0';
	uint32_t vm;

	rv_shape(g, 0, 3, -3, 3);
	vm = rv_mask(g);
	d = (struct rv_vreg){mask ? -1 : g->sew, mask ? 0 : g->lmul, 0};
	do {
		rv_pick(g, &d, &s, 1, RV_APART | (vm ? 0 : RV_WITH_V0));
	} while (!vm && d.reg == 0);
	if (none)
		s.reg = 0;
	else
		rv_vsrc(g, s.reg, 1, P_MASK);
	rv_use_shape(g);
	if (none)
		rv_vstart(g);
	rv_test(g, op->match | vm | d.reg << 7 | s.reg << 20);
}

static void emit_compress(struct rv_gen *g, const struct rv_op *op)
{
	struct rv_vreg d, s[2];

	rv_shape(g, 0, 3, -3, 3);
	d = s[0] = (struct rv_vreg){g->sew, g->lmul, 0};
	s[1] = (struct rv_vreg){-1, 0, 0};
	rv_pick(g, &d, s, 2, RV_APART);
	rv_vsrc(g, s[0].reg, rv_count(s[0].emul), P_I + (unsigned int)g->sew);
	rv_vsrc(g, s[1].reg, 1, P_MASK);
	rv_use_shape(g);
	rv_test(g, op->match | 1u << 25 | d.reg << 7 | s[0].reg << 20 | s[1].reg << 15);
}

/* The first element, from or to a scalar: sig X, F written, x, f read. wide: floats. */
static void emit_first(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int v = rv_below(g, 32);
	uint32_t bits = op->match | 1u << 25;

	rv_shape(g, op->wide & V_FLOAT, 3, -3, 3);
	if (*op->sig == 'X' || *op->sig == 'F') {
		rv_vsrc(g, v, 1, P_I + (unsigned int)g->sew);
		bits |= v << 20 | (*op->sig == 'X' ? rv_dst(g) : rv_below(g, 32)) << 7;
	} else if (*op->sig == 'x') {
		bits |= v << 7 | rv_src(g, P_X) << 15;
	} else {
		bits |= v << 7 | rv_fsrc(g, P_H + (unsigned int)g->sew - 1) << 15;
	}
	rv_use_shape(g);
	if (g->frm_bad)
		rv_rounding(g);
	rv_vstart(g);
	rv_test(g, bits);
}

/* wide: how many registers. */
static void emit_move(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int n = (unsigned int)op->wide;
	unsigned int vd = rv_below(g, 32 / n) * n, vs2 = rv_below(g, 32 / n) * n;

	rv_shape(g, 0, 3, -3, 3);
	rv_vsrc(g, vs2, n, P_I);
	rv_use_shape(g);
	rv_vstart(g);
	rv_test(g, op->match | 1u << 25 | (n - 1) << 15 | vd << 7 | vs2 << 20);
}

/* wide: a source so many times narrower, log2. */
static void emit_extend(struct rv_gen *g, const struct rv_op *op)
{
	struct rv_vreg d, s;
	uint32_t vm;

	rv_shape(g, op->wide, 3, op->wide - 3, 3);
	vm = rv_mask(g);
	d = (struct rv_vreg){g->sew, g->lmul, 0};
	s = (struct rv_vreg){g->sew - op->wide, g->lmul - op->wide, 0};
	rv_pick(g, &d, &s, 1, vm ? 0 : RV_WITH_V0);
	rv_vsrc(g, s.reg, rv_count(s.emul), P_I + (unsigned int)s.eew);
	rv_use_shape(g);
	rv_vstart(g);
	rv_test(g, op->match | vm | d.reg << 7 | s.reg << 20);
}

/* Gather by a vector of indices. wide: they are of 16 bits. */
static void emit_gather(struct rv_gen *g, const struct rv_op *op)
{
	struct rv_vreg d, s[2];
	uint32_t vm;

	do {
		rv_shape(g, 0, 3, -3, 3);
		s[1] = (struct rv_vreg){g->sew, g->lmul, 0};
		if (op->wide)
			s[1] = (struct rv_vreg){1, 1 - g->sew + g->lmul, 0};
	} while (s[1].emul < -3 || s[1].emul > 3);
	vm = rv_mask(g);
	d = s[0] = (struct rv_vreg){g->sew, g->lmul, 0};
	rv_pick(g, &d, s, 2, RV_APART | (vm ? 0 : RV_WITH_V0));
	rv_vsrc(g, s[0].reg, rv_count(s[0].emul), P_I + (unsigned int)g->sew);
	rv_vsrc(g, s[1].reg, rv_count(s[1].emul),
		(rv_chance(g, 4) ? P_I : P_INDEX) + (unsigned int)s[1].eew);
	rv_use_shape(g);
	rv_vstart(g);
	rv_test(g, op->match | vm | d.reg << 7 | s[0].reg << 20 | s[1].reg << 15);
}

#define RED(name, f6)                                                                              \
	{                                                                                          \
		name ".vs", RV_V(f6, OPMVV), G_VRED, emit_reduction, "", 0                         \
	}
#define WRED(name, f6)                                                                             \
	{                                                                                          \
		name ".vs", RV_V(f6, OPIVV), G_VRED, emit_reduction, "w", 0                        \
	}
#define FRED(name, f6, sig)                                                                        \
	{                                                                                          \
		name ".vs", RV_V(f6, OPFVV), G_VRED, emit_reduction, sig, V_FLOAT                  \
	}
#define LOGIC(name, f6)                                                                            \
	{                                                                                          \
		name ".mm", RV_V(f6, OPMVV), G_VMASK, emit_mask_logic, "", 0                       \
	}
#define UNARY(name, vs1, sig)                                                                      \
	{                                                                                          \
		name, RV_V(0x14, OPMVV) | (vs1) << 15, G_VMASK, emit_mask_unary, sig, 0            \
	}
#define SLIDE(name, f6, f3, sig, wide)                                                             \
	{                                                                                          \
		name, RV_V(f6, f3), G_VPERM, rv_emit_vector, sig, wide                             \
	}
#define EXTEND(name, vs1, log)                                                                     \
	{                                                                                          \
		name, RV_V(0x12, OPMVV) | (vs1) << 15, G_VINT, emit_extend, "", log                \
	}
#define MOVE(name, n)                                                                              \
	{                                                                                          \
		name, RV_V(0x27, OPIVI), G_VPERM, emit_move, "", n                                 \
	}

const struct rv_op rv_ops_vother[] = {
	{"vsetvli", 0x00007057, G_VCFG, emit_vsetvli, "", 0},
	{"vsetivli", 0xc0007057, G_VCFG, emit_vsetivli, "", 0},
	{"vsetvl", 0x80007057, G_VCFG, emit_vsetvl, "", 0},
	EXTEND("vzext.vf8", 2, 3),
	EXTEND("vsext.vf8", 3, 3),
	EXTEND("vzext.vf4", 4, 2),
	EXTEND("vsext.vf4", 5, 2),
	EXTEND("vzext.vf2", 6, 1),
	EXTEND("vsext.vf2", 7, 1),
	RED("vredsum", 0x00),
	RED("vredand", 0x01),
	RED("vredor", 0x02),
	RED("vredxor", 0x03),
	RED("vredminu", 0x04),
	RED("vredmin", 0x05),
	RED("vredmaxu", 0x06),
	RED("vredmax", 0x07),
	WRED("vwredsumu", 0x30),
	WRED("vwredsum", 0x31),
	FRED("vfredusum", 0x01, "u"),
	FRED("vfredosum", 0x03, ""),
	FRED("vfredmin", 0x05, ""),
	FRED("vfredmax", 0x07, ""),
	FRED("vfwredusum", 0x31, "uw"),
	FRED("vfwredosum", 0x33, "w"),
	LOGIC("vmandn", 0x18),
	LOGIC("vmand", 0x19),
	LOGIC("vmor", 0x1a),
	LOGIC("vmxor", 0x1b),
	LOGIC("vmorn", 0x1c),
	LOGIC("vmnand", 0x1d),
	LOGIC("vmnor", 0x1e),
	LOGIC("vmxnor", 0x1f),
	{"vcpop.m", RV_V(0x10, OPMVV) | 16 << 15, G_VMASK, emit_mask_count, "", 0},
	{"vfirst.m", RV_V(0x10, OPMVV) | 17 << 15, G_VMASK, emit_mask_count, "", 0},
	UNARY("vmsbf.m", 1, "m"),
	UNARY("vmsof.m", 2, "m"),
	UNARY("vmsif.m", 3, "m"),
	UNARY("viota.m", 16, "1"),
	UNARY("vid.v", 17, "0"),
	{"vmv.x.s", RV_V(0x10, OPMVV), G_VPERM, emit_first, "X", 0},
	{"vmv.s.x", RV_V(0x10, OPMVX), G_VPERM, emit_first, "x", 0},
	{"vfmv.f.s", RV_V(0x10, OPFVV), G_VPERM, emit_first, "F", V_FLOAT},
	{"vfmv.s.f", RV_V(0x10, OPFVF), G_VPERM, emit_first, "f", V_FLOAT},
	SLIDE("vslideup.vx", 0x0e, OPIVX, "11xo", V_SMALL),
	SLIDE("vslideup.vi", 0x0e, OPIVI, "11io", 0),
	SLIDE("vslidedown.vx", 0x0f, OPIVX, "11x", V_SMALL),
	SLIDE("vslidedown.vi", 0x0f, OPIVI, "11i", 0),
	SLIDE("vslide1up.vx", 0x0e, OPMVX, "11xo", 0),
	SLIDE("vslide1down.vx", 0x0f, OPMVX, "11x", 0),
	SLIDE("vfslide1up.vf", 0x0e, OPFVF, "11fo", V_FLOAT),
	SLIDE("vfslide1down.vf", 0x0f, OPFVF, "11f", V_FLOAT),
	{"vrgather.vv", RV_V(0x0c, OPIVV), G_VPERM, emit_gather, "", 0},
	SLIDE("vrgather.vx", 0x0c, OPIVX, "11xo", V_SMALL),
	SLIDE("vrgather.vi", 0x0c, OPIVI, "11io", 0),
	{"vrgatherei16.vv", RV_V(0x0e, OPIVV), G_VPERM, emit_gather, "", 1},
	{"vcompress.vm", RV_V(0x17, OPMVV), G_VPERM, emit_compress, "", 0},
	MOVE("vmv1r.v", 1),
	MOVE("vmv2r.v", 2),
	MOVE("vmv4r.v", 4),
	MOVE("vmv8r.v", 8),
	{NULL, 0, 0, NULL, NULL, 0},
};
