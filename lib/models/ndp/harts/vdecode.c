// SPDX-License-Identifier: MIT
/*
 * The handler and the kernel of a vector instruction. Rules that depend on vtype are checked when
 * it is executed; an encoding that is always forbidden is illegal here.
 */
#include "vector.h"

/* Kinds of the second operand, as the tables of forms below have them. */
enum { VECTOR = 1, SCALAR = 2, IMMEDIATE = 4 };

/* Which fields name registers, and of what kind; 0: no such instruction. */
enum { VD = 1, V1 = 2, V2 = 4, XD = 8, X1 = 16, FD = 32, F1 = 64, X2 = 128, OTHER = 256 };

/*
 * The forms of each funct6, 16 a line: a digit is the sum of its kinds of the second operand. The
 * mnemonics are in the tables of kernels (rv_vint_opi, rv_vmul_opm, rv_vfp_opf and others).
 */
static const char opi_forms[] = "7036333307777076"
				"7733000777337766"
				"7733070777777777"
				"1100000000000000";
static const char opm_forms[] = "1111111133330022"
				"3010100111111111"
				"3333333303030303"
				"3333333330333323";
static const char opf_forms[] = "3131313133300022"
				"3011000233033202"
				"3200300233333333"
				"3131303030003333";

static unsigned int first_use(const struct rv_insn *in)
{
	static const uint16_t use[] = {V1, V1, V1, OTHER, X1, F1, X1, 0};

	return use[in->rm];
}

static unsigned int handler(struct rv_insn *in, rv_op *op)
{
	in->op = op;
	return VD | V2 | first_use(in);
}

static unsigned int kernel(struct rv_insn *in, const struct rv_vop *op)
{
	unsigned int use = VD;

	if (!op)
		return 0;
	in->op = rv_hot(rv_velem);
	in->vop = op;
	in->unit = op->flags & RV_VOP_SFU ? RV_VSFU : RV_VALU;
	if (op->a != RV_VNONE)
		use |= V2;
	if (op->b != RV_VNONE)
		use |= first_use(in);
	return use;
}

/* Instructions that exist with v0 as an operand (not masked) and, some of them, without. */
static unsigned int decode_bits(const struct rv_vop *const *without,
				const struct rv_vop *const *with, unsigned int funct6,
				struct rv_insn *in)
{
	if (in->vm) {
		if (funct6 == 0x17 && in->rs2)
			return 0;
		return kernel(in, without[funct6]);
	}
	in->vm = 1;
	return kernel(in, with[funct6]);
}

static unsigned int decode_opi(unsigned int funct6, struct rv_insn *in)
{
	unsigned int form = in->rm == 0 ? VECTOR : in->rm == 4 ? SCALAR : IMMEDIATE;

	if (!((unsigned int)(opi_forms[funct6] - '0') & form))
		return 0;
	switch (funct6) {
	case 0x0c:
		return handler(in, rv_vgather);
	case 0x0e:
		return handler(in, form == VECTOR ? rv_vgather16 : rv_vslideup);
	case 0x0f:
		return handler(in, rv_vslidedown);
	case 0x10:
	case 0x11:
	case 0x12:
	case 0x13:
	case 0x17:
		return decode_bits(rv_hot(rv_vint_opi), rv_hot(rv_vint_bits), funct6, in);
	case 0x27:
		if (form != IMMEDIATE)
			break;
		return in->vm && (0x8bu >> in->rs1 & 1) ? handler(in, rv_vmove_regs) : 0;
	case 0x30:
	case 0x31:
		return handler(in, rv_vwred);
	}
	if (rv_hot(rv_vfix_opi)[funct6])
		return kernel(in, rv_hot(rv_vfix_opi)[funct6]);
	return kernel(in, rv_hot(rv_vint_opi)[funct6]);
}

/* Moves to and from x registers, and counts of masks: the field of vs1 or vs2 selects one. */
static unsigned int decode_scalar(struct rv_insn *in)
{
	unsigned int which = in->rm == 2 ? in->rs1 : in->rs2;

	if (in->rm == 6) {
		in->op = rv_vmv_s_x;
		return !which && in->vm ? VD | X1 : 0;
	}
	if (which != 0 && which != 0x10 && which != 0x11)
		return 0;
	in->op = which == 0 ? rv_vmv_x_s : which == 0x10 ? rv_vcpop : rv_vfirst;
	return which || in->vm ? XD | V2 : 0;
}

static unsigned int decode_vmunary(struct rv_insn *in)
{
	switch (in->rs1) {
	case 1:
	case 2:
	case 3:
		in->op = rv_vmask_set;
		return VD | V2;
	case 0x10:
		in->op = rv_viota;
		return VD | V2;
	case 0x11:
		in->op = rv_vid;
		return in->rs2 ? 0 : VD;
	default:
		return 0;
	}
}

static unsigned int decode_opm(unsigned int funct6, struct rv_insn *in)
{
	unsigned int form = in->rm == 2 ? VECTOR : SCALAR;

	if (!((unsigned int)(opm_forms[funct6] - '0') & form))
		return 0;
	if (funct6 < 8)
		return handler(in, rv_vred);
	switch (funct6) {
	case 0x0e:
		return handler(in, rv_vslide1up);
	case 0x0f:
		return handler(in, rv_vslide1down);
	case 0x10:
		return decode_scalar(in);
	case 0x12:
		return kernel(in, rv_hot(rv_vint_ext)[in->rs1]);
	case 0x14:
		return decode_vmunary(in);
	case 0x17:
		return in->vm ? handler(in, rv_vcompress) : 0;
	}
	if (funct6 >= 0x18 && funct6 < 0x20)
		return in->vm ? handler(in, rv_vmask_logic) : 0;
	if (rv_hot(rv_vfix_opm)[funct6])
		return kernel(in, rv_hot(rv_vfix_opm)[funct6]);
	return kernel(in, rv_hot(rv_vmul_opm)[funct6]);
}

static unsigned int decode_fmove(struct rv_insn *in)
{
	if (!in->vm || (in->rm == 1 ? in->rs1 : in->rs2))
		return 0;
	in->op = in->rm == 1 ? rv_vfmv_f_s : rv_vfmv_s_f;
	return in->rm == 1 ? FD | V2 : VD | F1;
}

static unsigned int decode_opf(unsigned int funct6, struct rv_insn *in)
{
	unsigned int form = in->rm == 1 ? VECTOR : SCALAR;

	if (!((unsigned int)(opf_forms[funct6] - '0') & form))
		return 0;
	switch (funct6) {
	case 0x01:
	case 0x03:
	case 0x05:
	case 0x07:
		return handler(in, rv_vfred);
	case 0x31:
	case 0x33:
		return handler(in, rv_vfwred);
	case 0x0e:
		return handler(in, rv_vslide1up);
	case 0x0f:
		return handler(in, rv_vslide1down);
	case 0x10:
		return decode_fmove(in);
	case 0x12:
		return kernel(in, rv_hot(rv_vcvt)[in->rs1]);
	case 0x13:
		return kernel(in, rv_hot(rv_vfp_one)[in->rs1]);
	case 0x17:
		return decode_bits(rv_hot(rv_vfp_opf), rv_hot(rv_vfp_bits), funct6, in);
	}
	if (rv_hot(rv_vfma_opf)[funct6])
		return kernel(in, rv_hot(rv_vfma_opf)[funct6]);
	return kernel(in, rv_hot(rv_vfp_opf)[funct6]);
}

static unsigned int decode_arithmetic(uint32_t bits, struct rv_insn *in)
{
	unsigned int funct6 = bits >> 26;

	in->unit = RV_VALU;
	switch (in->rm) {
	case 0:
	case 3:
	case 4:
		return decode_opi(funct6, in);
	case 2:
	case 6:
		return decode_opm(funct6, in);
	case 1:
	case 5:
		return decode_opf(funct6, in);
	}
	in->op = rv_vset;
	if (!(bits >> 31))
		return XD | X1;
	if (bits >> 30 == 3)
		return XD;
	return bits >> 25 == 0x40 ? XD | X1 | X2 : 0;
}

/* Unit-stride: what else than that is in the field of rs2. */
static unsigned int decode_unit(bool store, unsigned int nf, unsigned int eew, struct rv_insn *in)
{
	switch (in->rs2) {
	case 0:
		in->op = store ? rv_hot(rv_vstore_unit) : rv_hot(rv_vload_unit);
		return VD | X1;
	case 0x08:
		if (!in->vm || nf & (nf - 1) || (store && eew))
			return 0;
		in->op = store ? rv_hot(rv_vstore_whole) : rv_hot(rv_vload_whole);
		return VD | X1;
	case 0x0b:
		if (!in->vm || nf != 1 || eew)
			return 0;
		in->op = store ? rv_hot(rv_vstore_whole) : rv_hot(rv_vload_whole);
		in->aux = 0; /* not registers, but vl bits of one */
		return VD | X1;
	case 0x10:
		in->op = rv_hot(rv_vload_first);
		return store ? 0 : VD | X1;
	default:
		return 0;
	}
}

static unsigned int decode_memory(uint32_t bits, struct rv_insn *in)
{
	static const int8_t widths[] = {0, -1, -1, -1, -1, 1, 2, 3};
	unsigned int mode = bits >> 26 & 3, nf = (bits >> 29) + 1;
	bool store = bits & 0x20;

	if (widths[in->rm] < 0 || bits >> 28 & 1)
		return 0;
	in->unit = RV_VLSU;
	in->aux = (unsigned int)widths[in->rm] | nf << 4;
	if (mode == 0)
		return decode_unit(store, nf, in->aux & 15, in);
	in->op = store ? rv_vstore_apart : rv_vload_apart;
	return VD | X1 | (mode == 2 ? X2 : V2);
}

static bool may_use(const struct rv_insn *in, unsigned int use, const struct rv_isa *isa)
{
	return !((use & VD && in->rd >= isa->nv) || (use & V1 && in->rs1 >= isa->nv) ||
		 (use & V2 && in->rs2 >= isa->nv) || (use & XD && in->rd >= isa->nx) ||
		 (use & X1 && in->rs1 >= isa->nx) || (use & X2 && in->rs2 >= isa->nx) ||
		 (use & FD && in->rd >= isa->nf) || (use & F1 && in->rs1 >= isa->nf) ||
		 (!in->vm && !isa->nv));
}

bool rv_decode_vector(uint32_t bits, const struct rv_isa *isa, struct rv_insn *in)
{
	unsigned int use = 0, opcode = bits & 0x7f;

	in->vm = bits >> 25 & 1;
	in->vop = NULL;
	if (opcode == 0x57)
		use = decode_arithmetic(bits, in);
	else if (opcode == 0x07 || opcode == 0x27)
		use = decode_memory(bits, in);
	if (!use || !may_use(in, use, isa))
		return false;
	if (use & XD && !in->rd)
		in->rd = RV_DUMP;
	return true;
}
