// SPDX-License-Identifier: MIT
/*
 * Integer arithmetic of RV64I.
 */
#include "decode.h"
#include "hot.h"
#include "rows.h"

BINARY(add, x + y)
BINARY(sub, x - y)
BINARY(sll, x << (y & 63))
BINARY(slt, (int64_t)x < (int64_t)y)
BINARY(sltu, x < y)
BINARY(xor_, x ^ y)
BINARY(srl, x >> (y & 63))
BINARY(sra, (uint64_t)((int64_t)x >> (y & 63)))
BINARY(or_, x | y)
BINARY(and_, x &y)
BINARY(addw, word((uint32_t)(x + y)))
BINARY(subw, word((uint32_t)(x - y)))
BINARY(sllw, word((uint32_t)x << (y & 31)))
BINARY(srlw, word((uint32_t)x >> (y & 31)))
BINARY(sraw, word((uint32_t)((int32_t)x >> (y & 31))))

UNARY(addi, x + imm)
UNARY(slti, (int64_t)x < (int64_t)imm)
UNARY(sltiu, x < imm)
UNARY(xori, x ^ imm)
UNARY(ori, x | imm)
UNARY(andi, x &imm)
UNARY(slli, x << (imm & 63))
UNARY(srli, x >> (imm & 63))
UNARY(srai, (uint64_t)((int64_t)x >> (imm & 63)))
UNARY(addiw, word((uint32_t)(x + imm)))
UNARY(slliw, word((uint32_t)x << (imm & 31)))
UNARY(srliw, word((uint32_t)x >> (imm & 31)))
UNARY(sraiw, word((uint32_t)((int32_t)x >> (imm & 31))))

static void lui(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t *d = b->x[in->rd], imm = (uint64_t)in->imm;

	rv_lanes(b, i, d[i] = imm);
}

static void auipc(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t *d = b->x[in->rd], value = b->at + (uint64_t)in->imm;

	rv_lanes(b, i, d[i] = value);
}

static rv_op *immediate(uint32_t bits, struct rv_insn *in)
{
	static rv_op *const plain[8] = {addi, NULL, slti, sltiu, xori, NULL, ori, andi};
	uint32_t f3 = bits >> 12 & 7, top = bits >> 26;

	in->imm = (int32_t)bits >> 20;
	if (f3 == 1)
		return top == 0 ? slli : NULL;
	if (f3 == 5)
		return top == 0 ? srli : top == 0x10 ? srai : NULL;
	return plain[f3];
}

static rv_op *immediate_word(uint32_t bits, struct rv_insn *in)
{
	uint32_t f3 = bits >> 12 & 7, top = bits >> 25;

	in->imm = (int32_t)bits >> 20;
	if (f3 == 0)
		return addiw;
	if (f3 == 1)
		return top == 0 ? slliw : NULL;
	if (f3 == 5)
		return top == 0 ? srliw : top == 0x20 ? sraiw : NULL;
	return NULL;
}

static rv_op *registers(uint32_t bits)
{
	static rv_op *const plain[8] = {add, sll, slt, sltu, xor_, srl, or_, and_};
	uint32_t f3 = bits >> 12 & 7, top = bits >> 25;

	if (top == 0x20)
		return f3 == 0 ? sub : f3 == 5 ? sra : NULL;
	return top == 0 ? plain[f3] : NULL;
}

static rv_op *registers_word(uint32_t bits)
{
	uint32_t f3 = bits >> 12 & 7, top = bits >> 25;

	if (top == 0x20)
		return f3 == 0 ? subw : f3 == 5 ? sraw : NULL;
	if (top)
		return NULL;
	return f3 == 0 ? addw : f3 == 1 ? sllw : f3 == 5 ? srlw : NULL;
}

unsigned int RV_HOT(rv_decode_alu)(uint32_t bits, struct rv_insn *in)
{
	unsigned int use = RV_XD | RV_X1;

	in->unit = RV_ALU;
	switch (bits & 0x7f) {
	case 0x37:
		in->op = lui;
		in->imm = (int32_t)(bits & 0xfffff000);
		return RV_XD;
	case 0x17:
		in->op = auipc;
		in->imm = (int32_t)(bits & 0xfffff000);
		return RV_XD;
	case 0x13:
		in->op = immediate(bits, in);
		break;
	case 0x1b:
		in->op = immediate_word(bits, in);
		break;
	case 0x33:
		in->op = registers(bits);
		use |= RV_X2;
		break;
	default:
		in->op = registers_word(bits);
		use |= RV_X2;
		break;
	}
	return in->op ? use : 0;
}
