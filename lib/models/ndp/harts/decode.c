// SPDX-License-Identifier: MIT
/*
 * The choice of a decoder, and whether code may use the registers that it names.
 */
#include "decode.h"
#include "fp.h"
#include "hot.h"

/* RV64I, and extensions that use free code points of its opcodes. */
static unsigned int decode_integer(uint32_t bits, struct rv_insn *in)
{
	unsigned int use = rv_hot(rv_decode_alu)(bits, in);

	if (!use)
		use = rv_hot(rv_decode_mul)(bits, in);
	return use ? use : rv_hot(rv_decode_bits)(bits, in);
}

static unsigned int decode_float(uint32_t bits, struct rv_insn *in)
{
	unsigned int use;

	if ((bits >> 25 & 3) == 3)
		return 0;
	in->unit = RV_ALU;
	in->aux = rv_fmt_of(bits >> 25 & 3);
	use = rv_hot(rv_decode_fp)(bits, in);
	return use ? use : rv_hot(rv_decode_convert)(bits, in);
}

static unsigned int decode_scalar(uint32_t bits, struct rv_insn *in)
{
	switch (bits & 0x7f) {
	case 0x13:
	case 0x17:
	case 0x1b:
	case 0x33:
	case 0x37:
	case 0x3b:
		return decode_integer(bits, in);
	case 0x03:
	case 0x07:
	case 0x23:
	case 0x27:
		return rv_hot(rv_decode_load)(bits, in);
	case 0x43:
	case 0x47:
	case 0x4b:
	case 0x4f:
	case 0x53:
		return decode_float(bits, in);
	case 0x63:
	case 0x67:
	case 0x6f:
		return rv_hot(rv_decode_branch)(bits, in);
	case 0x2f:
		return rv_decode_amo(bits, in);
	case 0x0f:
	case 0x73:
		return rv_decode_csr(bits, in);
	default:
		return 0;
	}
}

static bool may_use(const struct rv_insn *in, unsigned int use, const struct rv_isa *isa)
{
	return !((use & RV_XD && in->rd >= isa->nx) || (use & RV_X1 && in->rs1 >= isa->nx) ||
		 (use & RV_X2 && in->rs2 >= isa->nx) || (use & RV_FD && in->rd >= isa->nf) ||
		 (use & RV_F1 && in->rs1 >= isa->nf) || (use & RV_F2 && in->rs2 >= isa->nf) ||
		 (use & RV_F3 && in->rs3 >= isa->nf));
}

bool rv_decode(uint32_t bits, const struct rv_isa *isa, struct rv_insn *in)
{
	unsigned int use;

	*in = (struct rv_insn){.bits = bits,
			       .bytes = 4,
			       .rd = bits >> 7 & 31,
			       .rs1 = bits >> 15 & 31,
			       .rs2 = bits >> 20 & 31,
			       .rs3 = bits >> 27,
			       .rm = bits >> 12 & 7};
	use = decode_scalar(bits, in);
	if (!use)
		return rv_decode_vector(bits, isa, in);
	if (!may_use(in, use, isa))
		return false;
	if (use & RV_XD && !in->rd)
		in->rd = RV_DUMP;
	return true;
}
