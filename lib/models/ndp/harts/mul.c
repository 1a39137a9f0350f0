// SPDX-License-Identifier: MIT
/*
 * Multiplication and division (the M extension). Division by zero and overflow have results.
 */
#include "decode.h"
#include "hot.h"
#include "rows.h"

static inline uint64_t div_signed(int64_t x, int64_t y)
{
	if (!y)
		return UINT64_MAX;
	return x == INT64_MIN && y == -1 ? (uint64_t)x : (uint64_t)(x / y);
}

static inline uint64_t rem_signed(int64_t x, int64_t y)
{
	if (!y)
		return (uint64_t)x;
	return y == -1 ? 0 : (uint64_t)(x % y);
}

static inline uint64_t div_word(int32_t x, int32_t y)
{
	return word((uint32_t)div_signed(x, y));
}

static inline uint64_t rem_word(int32_t x, int32_t y)
{
	return word((uint32_t)rem_signed(x, y));
}

BINARY(mul, x *y)
BINARY(mulh, (uint64_t)((__int128)(int64_t)x *(int64_t)y >> 64))
BINARY(mulhsu, (uint64_t)((__int128)(int64_t)x *(__int128)y >> 64))
BINARY(mulhu, (uint64_t)((unsigned __int128)x *y >> 64))
BINARY(div_, div_signed((int64_t)x, (int64_t)y))
BINARY(divu, y ? x / y : UINT64_MAX)
BINARY(rem, rem_signed((int64_t)x, (int64_t)y))
BINARY(remu, y ? x % y : x)
BINARY(mulw, word((uint32_t)x *(uint32_t)y))
BINARY(divw, div_word((int32_t)x, (int32_t)y))
BINARY(divuw, word((uint32_t)y ? (uint32_t)x / (uint32_t)y : UINT32_MAX))
BINARY(remw, rem_word((int32_t)x, (int32_t)y))
BINARY(remuw, word((uint32_t)y ? (uint32_t)x % (uint32_t)y : (uint32_t)x))

unsigned int RV_HOT(rv_decode_mul)(uint32_t bits, struct rv_insn *in)
{
	static rv_op *const twin[8] = {mul, mulh, mulhsu, mulhu, div_, divu, rem, remu};
	static rv_op *const half[8] = {mulw, NULL, NULL, NULL, divw, divuw, remw, remuw};
	uint32_t f3 = bits >> 12 & 7, opcode = bits & 0x7f;

	if (bits >> 25 != 1 || (opcode != 0x33 && opcode != 0x3b))
		return 0;
	in->op = opcode == 0x33 ? twin[f3] : half[f3];
	in->unit = f3 < 4 ? RV_ALU : RV_SFU;
	return in->op ? RV_XD | RV_X1 | RV_X2 : 0;
}
