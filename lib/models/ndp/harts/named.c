// SPDX-License-Identifier: MIT
/*
 * Which registers code names, so that no others need be cleared before it starts: for short kernels
 * that would take longer than they run.
 */
#include "hart.h"

static uint32_t reg(uint32_t bits, unsigned int shift)
{
	return 1u << (bits >> shift & 31);
}

#define RD 7
#define RS1 15
#define RS2 20
#define RS3 27

/* An upper bound: fields of immediates may count as registers. */
static void scalar(struct rv_code *code, uint32_t bits)
{
	uint32_t one = reg(bits, RD) | reg(bits, RS1), two = one | reg(bits, RS2);

	switch (bits & 0x7f) {
	case 0x17:
	case 0x37:
	case 0x6f:
		code->xs |= reg(bits, RD);
		break;
	case 0x03:
	case 0x13:
	case 0x1b:
	case 0x67:
	case 0x73:
		code->xs |= one;
		break;
	case 0x07:
		code->xs |= reg(bits, RS1);
		code->fs |= reg(bits, RD);
		break;
	case 0x27:
		code->xs |= reg(bits, RS1);
		code->fs |= reg(bits, RS2);
		break;
	case 0x43:
	case 0x47:
	case 0x4b:
	case 0x4f:
		code->fs |= two | reg(bits, RS3);
		break;
	case 0x53:
		code->xs |= one;
		code->fs |= two;
		break;
	default:
		code->xs |= two;
		break;
	}
}

/*
 * struct shapes - The largest group of registers, in eighths of one, that elements of 8 << n bits
 * make with any type that the code asks for; and of elements as wide as the type's own.
 */
struct shapes {
	unsigned int wide[4];
	unsigned int own;
};

static void ask(struct shapes *s, uint32_t vtype)
{
	int lmul = (int)((vtype & 7) ^ 4) - 4, sew = (int)(vtype >> 3 & 7);

	if (sew > 3)
		return;
	for (int eew = 0; eew < 4; eew++) {
		int shift = 3 + lmul + eew - sew;
		unsigned int eighths = shift < 0 ? 1 : shift > 6 ? 64 : 1u << shift;

		s->wide[eew] = eighths > s->wide[eew] ? eighths : s->wide[eew];
		if (eew == sew)
			s->own = eighths > s->own ? eighths : s->own;
	}
}

static bool is_vset(uint32_t bits)
{
	return (bits & 0x707f) == 0x7057;
}

/* Types that are not in the instruction may be any. */
static void find_shapes(const struct rv_code *code, struct shapes *s)
{
	for (uint64_t i = 0; i < code->bytes / 2; i++) {
		uint32_t bits = code->insn[i].bits;

		if (code->insn[i].op == rv_illegal || !is_vset(bits))
			continue;
		if (bits >> 31 && bits >> 30 != 3)
			*s = (struct shapes){{64, 64, 64, 64}, 64};
		ask(s, bits >> 20);
	}
}

static void group(struct rv_code *code, uint32_t bits, unsigned int shift, unsigned int registers)
{
	unsigned int first = bits >> shift & 31;
	uint64_t rows = (1ull << (registers < 8 ? registers : 8)) - 1;

	code->vs |= (uint32_t)(rows << first);
}

static unsigned int whole(unsigned int eighths)
{
	return (eighths + 7) / 8;
}

/* Integers and floating point in instructions of vectors: operands, addresses, strides, results. */
static void vector_scalars(struct rv_code *code, uint32_t bits)
{
	uint32_t f3 = bits >> 12 & 7;

	if ((bits & 0x7f) != 0x57) {
		code->xs |= reg(bits, RS1) | ((bits >> 26 & 3) == 2 ? reg(bits, RS2) : 0);
		return;
	}
	switch (f3) {
	case 1:
		code->fs |= reg(bits, RD);
		break;
	case 2:
		code->xs |= reg(bits, RD);
		break;
	case 4:
	case 6:
		code->xs |= reg(bits, RS1);
		break;
	case 5:
		code->fs |= reg(bits, RS1);
		break;
	case 7:
		code->xs |= reg(bits, RD) | reg(bits, RS1) | reg(bits, RS2);
		break;
	default:
		break;
	}
}

static void vector(struct rv_code *code, uint32_t bits, const struct shapes *s)
{
	uint32_t f3 = bits >> 12 & 7, fields = (bits >> 29) + 1;
	unsigned int n;

	code->vs |= 1; /* the mask */
	vector_scalars(code, bits);
	if ((bits & 0x7f) == 0x57) {
		/* Operands and results may be twice as wide. vmv8r.v moves as many as it says. */
		n = whole(2 * s->own);
		if (bits >> 26 == 0x27 && f3 == 3)
			n = (bits >> 15 & 7) + 1;
		group(code, bits, RD, n);
		group(code, bits, RS2, n);
		if (f3 < 3)
			group(code, bits, RS1, n);
		return;
	}
	n = whole(s->wide[f3 ? f3 - 4 : 0]);
	n = n > whole(s->own) ? n : whole(s->own);
	group(code, bits, RD, (n ? n : 1) * fields);
	if (bits >> 26 & 1)
		group(code, bits, RS2, n);
}

static bool is_vector(uint32_t bits)
{
	uint32_t opcode = bits & 0x7f, f3 = bits >> 12 & 7;

	return opcode == 0x57 || ((opcode == 0x07 || opcode == 0x27) && (f3 == 0 || f3 > 4));
}

void rv_find_named(struct rv_code *code)
{
	struct shapes s = {0};

	find_shapes(code, &s);
	for (uint64_t i = 0; i < code->bytes / 2; i++) {
		uint32_t bits = code->insn[i].bits;

		if (code->insn[i].op == rv_illegal)
			continue;
		if (is_vector(bits))
			vector(code, bits, &s);
		else
			scalar(code, bits);
	}
}
