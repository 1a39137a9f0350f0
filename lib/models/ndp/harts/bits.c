// SPDX-License-Identifier: MIT
/*
 * Zba and Zbb: addresses of array elements, and bits.
 */
#include "decode.h"
#include "hot.h"
#include "rows.h"

static inline uint64_t rotate(uint64_t x, unsigned int right)
{
	return x >> (right & 63) | x << (-right & 63);
}

static inline uint32_t rotate_word(uint32_t x, unsigned int right)
{
	return x >> (right & 31) | x << (-right & 31);
}

/* Ones in each byte that is not zero. */
static inline uint64_t or_combine(uint64_t x)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7f;
	uint64_t top = (((x & low) + low) | x) & ~low;

	return (top >> 7) * 255;
}

BINARY(add_uw, y + (uint32_t)x)
BINARY(sh1add, y + (x << 1))
BINARY(sh2add, y + (x << 2))
BINARY(sh3add, y + (x << 3))
BINARY(sh1add_uw, y + ((uint64_t)(uint32_t)x << 1))
BINARY(sh2add_uw, y + ((uint64_t)(uint32_t)x << 2))
BINARY(sh3add_uw, y + ((uint64_t)(uint32_t)x << 3))
BINARY(andn, x & ~y)
BINARY(orn, x | ~y)
BINARY(xnor, ~(x ^ y))
BINARY(max, (int64_t)x > (int64_t)y ? x : y)
BINARY(maxu, x > y ? x : y)
BINARY(min, (int64_t)x < (int64_t)y ? x : y)
BINARY(minu, x < y ? x : y)
BINARY(rol, rotate(x, -(unsigned int)y))
BINARY(ror, rotate(x, (unsigned int)y))
BINARY(rolw, word(rotate_word((uint32_t)x, -(unsigned int)y)))
BINARY(rorw, word(rotate_word((uint32_t)x, (unsigned int)y)))

UNARY(slli_uw, (uint64_t)(uint32_t)x << (imm & 63))
UNARY(rori, rotate(x, (unsigned int)imm))
UNARY(roriw, word(rotate_word((uint32_t)x, (unsigned int)imm)))

/* Of one operand; those have no immediate. */
#define ALONE(name, value) UNARY(name, ((void)imm, (value)))

ALONE(clz, x ? (uint64_t)__builtin_clzll(x) : 64)
ALONE(ctz, x ? (uint64_t)__builtin_ctzll(x) : 64)
ALONE(cpop, __builtin_popcountll(x))
ALONE(clzw, (uint32_t)x ? (uint64_t)__builtin_clz((uint32_t)x) : 32)
ALONE(ctzw, (uint32_t)x ? (uint64_t)__builtin_ctz((uint32_t)x) : 32)
ALONE(cpopw, __builtin_popcount((uint32_t)x))
ALONE(sext_b, (int64_t)(int8_t)x)
ALONE(sext_h, (int64_t)(int16_t)x)
ALONE(zext_h, (uint16_t)x)
ALONE(orc_b, or_combine(x))
ALONE(rev8, __builtin_bswap64(x))

static rv_op *alone(uint32_t bits)
{
	static rv_op *const left[6] = {clz, ctz, cpop, NULL, sext_b, sext_h};
	uint32_t f3 = bits >> 12 & 7, imm = bits >> 20;

	if (f3 == 1)
		return imm >= 0x600 && imm < 0x606 ? left[imm - 0x600] : NULL;
	if (f3 == 5)
		return imm == 0x287 ? orc_b : imm == 0x6b8 ? rev8 : imm >> 6 == 0x18 ? rori : NULL;
	return NULL;
}

static rv_op *alone_word(uint32_t bits)
{
	static rv_op *const left[3] = {clzw, ctzw, cpopw};
	uint32_t f3 = bits >> 12 & 7, imm = bits >> 20;

	if (f3 == 1 && imm >> 6 == 2)
		return slli_uw;
	if (f3 == 1)
		return imm >= 0x600 && imm < 0x603 ? left[imm - 0x600] : NULL;
	return f3 == 5 && imm >> 5 == 0x30 ? roriw : NULL;
}

static rv_op *pair(uint32_t bits)
{
	switch ((bits >> 25) << 3 | (bits >> 12 & 7)) {
	case 0x10 << 3 | 2:
		return sh1add;
	case 0x10 << 3 | 4:
		return sh2add;
	case 0x10 << 3 | 6:
		return sh3add;
	case 0x20 << 3 | 7:
		return andn;
	case 0x20 << 3 | 6:
		return orn;
	case 0x20 << 3 | 4:
		return xnor;
	case 0x05 << 3 | 4:
		return min;
	case 0x05 << 3 | 5:
		return minu;
	case 0x05 << 3 | 6:
		return max;
	case 0x05 << 3 | 7:
		return maxu;
	case 0x30 << 3 | 1:
		return rol;
	case 0x30 << 3 | 5:
		return ror;
	default:
		return NULL;
	}
}

static rv_op *pair_word(uint32_t bits)
{
	switch ((bits >> 25) << 3 | (bits >> 12 & 7)) {
	case 0x04 << 3 | 0:
		return add_uw;
	case 0x04 << 3 | 4:
		return bits >> 20 & 31 ? NULL : zext_h;
	case 0x10 << 3 | 2:
		return sh1add_uw;
	case 0x10 << 3 | 4:
		return sh2add_uw;
	case 0x10 << 3 | 6:
		return sh3add_uw;
	case 0x30 << 3 | 1:
		return rolw;
	case 0x30 << 3 | 5:
		return rorw;
	default:
		return NULL;
	}
}

unsigned int RV_HOT(rv_decode_bits)(uint32_t bits, struct rv_insn *in)
{
	unsigned int use = RV_XD | RV_X1;

	in->unit = RV_ALU;
	in->imm = bits >> 20 & 63;
	switch (bits & 0x7f) {
	case 0x13:
		in->op = alone(bits);
		break;
	case 0x1b:
		in->op = alone_word(bits);
		break;
	case 0x33:
		in->op = pair(bits);
		use |= RV_X2;
		break;
	case 0x3b:
		in->op = pair_word(bits);
		use |= RV_X2;
		break;
	default:
		return 0;
	}
	return in->op ? use : 0;
}
