// SPDX-License-Identifier: MIT
/*
 * Compressed instructions (the C extension of RV64 with D): each is a long one in short.
 */
#include "hart.h"

/* Bits [@from, @from + @n) of the half-word, moved to bit @to. */
static uint32_t part(uint16_t h, unsigned int from, unsigned int n, unsigned int to)
{
	return (uint32_t)(h >> from & ((1u << n) - 1)) << to;
}

static int32_t extend(uint32_t value, unsigned int bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/* The formats of long instructions. */
static uint32_t type_r(uint32_t top, uint32_t rs2, uint32_t rs1, uint32_t f3, uint32_t rd,
		       uint32_t op)
{
	return top << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static uint32_t type_i(int32_t imm, uint32_t rs1, uint32_t f3, uint32_t rd, uint32_t op)
{
	return (uint32_t)imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | op;
}

static uint32_t type_s(uint32_t imm, uint32_t rs2, uint32_t rs1, uint32_t f3, uint32_t op)
{
	return (imm >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | (imm & 31) << 7 | op;
}

static uint32_t type_b(int32_t imm, uint32_t rs1, uint32_t f3)
{
	uint32_t u = (uint32_t)imm;

	return (u >> 12 & 1) << 31 | (u >> 5 & 0x3f) << 25 | rs1 << 15 | f3 << 12 |
	       (u >> 1 & 15) << 8 | (u >> 11 & 1) << 7 | 0x63;
}

static uint32_t type_j(int32_t imm, uint32_t rd)
{
	uint32_t u = (uint32_t)imm;

	return (u >> 20 & 1) << 31 | (u >> 1 & 0x3ff) << 21 | (u >> 11 & 1) << 20 |
	       (u >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}

/* The six-bit immediate of most of quadrant 1. */
static int32_t imm6(uint16_t h)
{
	return extend(part(h, 2, 5, 0) | part(h, 12, 1, 5), 6);
}

static uint32_t shamt(uint16_t h)
{
	return part(h, 2, 5, 0) | part(h, 12, 1, 5);
}

static uint32_t quadrant0(uint16_t h)
{
	uint32_t rd = 8 + part(h, 2, 3, 0), rs1 = 8 + part(h, 7, 3, 0);
	uint32_t word = part(h, 10, 3, 3) | part(h, 6, 1, 2) | part(h, 5, 1, 6);
	uint32_t twin = part(h, 10, 3, 3) | part(h, 5, 2, 6);
	uint32_t frame = part(h, 11, 2, 4) | part(h, 7, 4, 6) | part(h, 6, 1, 2) | part(h, 5, 1, 3);

	switch (h >> 13) {
	case 0: /* c.addi4spn */
		return frame ? type_i((int32_t)frame, 2, 0, rd, 0x13) : 0;
	case 1: /* c.fld */
		return type_i((int32_t)twin, rs1, 3, rd, 0x07);
	case 2: /* c.lw */
		return type_i((int32_t)word, rs1, 2, rd, 0x03);
	case 3: /* c.ld */
		return type_i((int32_t)twin, rs1, 3, rd, 0x03);
	case 5: /* c.fsd */
		return type_s(twin, rd, rs1, 3, 0x27);
	case 6: /* c.sw */
		return type_s(word, rd, rs1, 2, 0x23);
	case 7: /* c.sd */
		return type_s(twin, rd, rs1, 3, 0x23);
	default:
		return 0;
	}
}

/* c.srli to c.addw */
static uint32_t arithmetic(uint16_t h)
{
	uint32_t rd = 8 + part(h, 7, 3, 0), rs2 = 8 + part(h, 2, 3, 0);
	static const uint8_t f3[4] = {0, 4, 6, 7}; /* sub xor or and */
	uint32_t which = part(h, 5, 2, 0);

	switch (part(h, 10, 2, 0)) {
	case 0:
		return type_i((int32_t)shamt(h), rd, 5, rd, 0x13);
	case 1:
		return type_i((int32_t)(shamt(h) | 0x400), rd, 5, rd, 0x13);
	case 2:
		return type_i(imm6(h), rd, 7, rd, 0x13);
	default:
		if (!(h & 1 << 12))
			return type_r(which ? 0 : 0x20, rs2, rd, f3[which], rd, 0x33);
		return which < 2 ? type_r(which ? 0 : 0x20, rs2, rd, 0, rd, 0x3b) : 0;
	}
}

/* c.lui and c.addi16sp */
static uint32_t upper(uint16_t h, uint32_t rd)
{
	int32_t frame = extend(part(h, 6, 1, 4) | part(h, 2, 1, 5) | part(h, 5, 1, 6) |
				       part(h, 3, 2, 7) | part(h, 12, 1, 9),
			       10);

	if (rd == 2)
		return frame ? type_i(frame, 2, 0, 2, 0x13) : 0;
	return imm6(h) ? (uint32_t)imm6(h) << 12 | rd << 7 | 0x37 : 0;
}

static uint32_t quadrant1(uint16_t h)
{
	uint32_t rd = part(h, 7, 5, 0), low = 8 + part(h, 7, 3, 0);
	int32_t jump = extend(part(h, 3, 3, 1) | part(h, 11, 1, 4) | part(h, 2, 1, 5) |
				      part(h, 7, 1, 6) | part(h, 6, 1, 7) | part(h, 9, 2, 8) |
				      part(h, 8, 1, 10) | part(h, 12, 1, 11),
			      12);
	int32_t branch = extend(part(h, 3, 2, 1) | part(h, 10, 2, 3) | part(h, 2, 1, 5) |
					part(h, 5, 2, 6) | part(h, 12, 1, 8),
				9);

	switch (h >> 13) {
	case 0: /* c.addi */
		return type_i(imm6(h), rd, 0, rd, 0x13);
	case 1: /* c.addiw */
		return rd ? type_i(imm6(h), rd, 0, rd, 0x1b) : 0;
	case 2: /* c.li */
		return type_i(imm6(h), 0, 0, rd, 0x13);
	case 3:
		return upper(h, rd);
	case 4:
		return arithmetic(h);
	case 5: /* c.j */
		return type_j(jump, 0);
	case 6: /* c.beqz */
		return type_b(branch, low, 0);
	default: /* c.bnez */
		return type_b(branch, low, 1);
	}
}

/* c.jr, c.mv, c.ebreak, c.jalr, c.add */
static uint32_t move(uint16_t h, uint32_t rd, uint32_t rs2)
{
	if (!(h & 1 << 12)) {
		if (rs2)
			return type_r(0, rs2, 0, 0, rd, 0x33);
		return rd ? type_i(0, rd, 0, 0, 0x67) : 0;
	}
	if (rs2)
		return type_r(0, rs2, rd, 0, rd, 0x33);
	return rd ? type_i(0, rd, 0, 1, 0x67) : 0x00100073;
}

static uint32_t quadrant2(uint16_t h)
{
	uint32_t rd = part(h, 7, 5, 0), rs2 = part(h, 2, 5, 0);
	uint32_t word = part(h, 4, 3, 2) | part(h, 12, 1, 5) | part(h, 2, 2, 6);
	uint32_t twin = part(h, 5, 2, 3) | part(h, 12, 1, 5) | part(h, 2, 3, 6);
	uint32_t word_out = part(h, 9, 4, 2) | part(h, 7, 2, 6);
	uint32_t twin_out = part(h, 10, 3, 3) | part(h, 7, 3, 6);

	switch (h >> 13) {
	case 0: /* c.slli */
		return type_i((int32_t)shamt(h), rd, 1, rd, 0x13);
	case 1: /* c.fldsp */
		return type_i((int32_t)twin, 2, 3, rd, 0x07);
	case 2: /* c.lwsp */
		return rd ? type_i((int32_t)word, 2, 2, rd, 0x03) : 0;
	case 3: /* c.ldsp */
		return rd ? type_i((int32_t)twin, 2, 3, rd, 0x03) : 0;
	case 4:
		return move(h, rd, rs2);
	case 5: /* c.fsdsp */
		return type_s(twin_out, rs2, 2, 3, 0x27);
	case 6: /* c.swsp */
		return type_s(word_out, rs2, 2, 2, 0x23);
	default: /* c.sdsp */
		return type_s(twin_out, rs2, 2, 3, 0x23);
	}
}

bool rv_expand(uint16_t half, uint32_t *bits)
{
	uint32_t wide = 0;

	switch (half & 3) {
	case 0:
		wide = quadrant0(half);
		break;
	case 1:
		wide = quadrant1(half);
		break;
	case 2:
		wide = quadrant2(half);
		break;
	default:
		break;
	}
	if (wide)
		*bits = wide;
	return wide != 0;
}
