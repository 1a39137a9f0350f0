// SPDX-License-Identifier: MIT
/*
 * Jumps and branches, where lanes part.
 */
#include "decode.h"
#include "group.h"
#include "hot.h"

static void branch(struct rv_batch *b, const struct rv_insn *in, uint64_t taken)
{
	uint64_t to = b->at + (uint64_t)in->imm;

	taken &= b->group;
	if (taken == b->group)
		b->next = to;
	else if (taken)
		rv_leave(b, taken, to);
}

#define BRANCH(name, cond)                                                                         \
	static void name(struct rv_batch *b, const struct rv_insn *in)                             \
	{                                                                                          \
		const uint64_t *x = b->x[in->rs1], *y = b->x[in->rs2];                             \
		uint64_t taken = 0;                                                                \
		rv_lanes(b, i, taken |= (cond) ? rv_bit[i] : 0);                                   \
		branch(b, in, taken);                                                              \
	}

BRANCH(beq, x[i] == y[i])
BRANCH(bne, x[i] != y[i])
BRANCH(blt, (int64_t)x[i] < (int64_t)y[i])
BRANCH(bge, (int64_t)x[i] >= (int64_t)y[i])
BRANCH(bltu, x[i] < y[i])
BRANCH(bgeu, x[i] >= y[i])

static void jal(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t *d = b->x[in->rd], link = b->next;

	if (in->rd != RV_DUMP)
		rv_lanes(b, i, d[i] = link);
	b->next = b->at + (uint64_t)in->imm;
}

/* Lanes that jump elsewhere than the first of them leave, in as many parts as there are targets. */
static void jalr(struct rv_batch *b, const struct rv_insn *in)
{
	const uint64_t *x = b->x[in->rs1];
	uint64_t *d = b->x[in->rd], link = b->next, imm = (uint64_t)in->imm, to[RV_LANES] = {0};
	unsigned int first = (unsigned int)__builtin_ctzll(b->group);
	uint64_t rest = 0;

	rv_lanes(b, i, to[i] = (x[i] + imm) & ~1ull);
	if (in->rd != RV_DUMP)
		rv_lanes(b, i, d[i] = link);
	b->next = to[first];
	rv_lanes(b, i, rest |= to[i] != to[first] ? rv_bit[i] : 0);
	for (rest &= b->group; rest;) {
		uint64_t lanes = 0, target = to[__builtin_ctzll(rest)];

		for (uint64_t left = rest; left; left &= left - 1)
			if (to[__builtin_ctzll(left)] == target)
				lanes |= left & -left;
		rv_leave(b, lanes, target);
		rest &= ~lanes;
	}
}

static int64_t branch_offset(uint32_t bits)
{
	return (int64_t)((int32_t)bits >> 31) * 4096 + (int64_t)(bits >> 7 & 1) * 2048 +
	       (int64_t)(bits >> 25 & 0x3f) * 32 + (int64_t)(bits >> 8 & 15) * 2;
}

static int64_t jump_offset(uint32_t bits)
{
	return (int64_t)((int32_t)bits >> 31) * 1048576 + (int64_t)(bits & 0xff000) +
	       (int64_t)(bits >> 20 & 1) * 2048 + (int64_t)(bits >> 21 & 0x3ff) * 2;
}

unsigned int RV_HOT(rv_decode_branch)(uint32_t bits, struct rv_insn *in)
{
	static rv_op *const branches[8] = {beq, bne, NULL, NULL, blt, bge, bltu, bgeu};

	in->unit = RV_BRANCH;
	switch (bits & 0x7f) {
	case 0x6f:
		in->op = jal;
		in->imm = jump_offset(bits);
		return RV_XD;
	case 0x67:
		if (bits >> 12 & 7)
			return 0;
		in->op = jalr;
		in->imm = (int32_t)bits >> 20;
		return RV_XD | RV_X1;
	default:
		in->op = branches[bits >> 12 & 7];
		in->imm = branch_offset(bits);
		return in->op ? RV_X1 | RV_X2 : 0;
	}
}
