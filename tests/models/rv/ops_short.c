// SPDX-License-Identifier: MIT
/*
 * C: instructions of 16 bits. wide: bytes of an access, or bits of an immediate.
 */
#include "fuzz.h"

/* Bits @from and up of @value, @n of them, at @to. */
static uint32_t field(unsigned int value, unsigned int from, unsigned int n, unsigned int to)
{
	return (value >> from & ((1u << n) - 1)) << to;
}

/* One of x8 to x15, as their instructions name them; all may be written. */
static unsigned int eight(struct rv_gen *g, bool load)
{
	unsigned int reg = rv_below(g, 8);

	if (load && !rv_chance(g, 3))
		rv_load_x(g, reg + 8, P_X);
	return reg;
}

static void load_any(struct rv_gen *g, unsigned int reg)
{
	if (reg && !rv_chance(g, 3))
		rv_load_x(g, reg, P_X);
}

static uint32_t imm6(unsigned int imm)
{
	return field(imm, 5, 1, 12) | field(imm, 0, 5, 2);
}

/* sig: r where rd must not be x0, 0 where it is. */
static void emit_ci(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rd = *op->sig == 'r' ? rv_base(g) : *op->sig == '0' ? 0 : rv_dst(g);

	load_any(g, rd);
	rv_test(g, op->match | rd << 7 | imm6(rv_below(g, 64)));
}

static void emit_lui(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rd;

	do {
		rd = rv_dst(g);
	} while (rd == 2);
	rv_test(g, op->match | rd << 7 | imm6(1 + rv_below(g, 63)));
}

static void emit_addi16sp(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int imm = (1 + rv_below(g, 63)) << 4;

	load_any(g, 2);
	rv_test(g, op->match | field(imm, 9, 1, 12) | field(imm, 4, 1, 6) | field(imm, 6, 1, 5) |
			   field(imm, 7, 2, 3) | field(imm, 5, 1, 2));
}

static void emit_addi4spn(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int imm = (1 + rv_below(g, 255)) << 2;

	load_any(g, 2);
	rv_test(g, op->match | field(imm, 4, 2, 11) | field(imm, 6, 4, 7) | field(imm, 2, 1, 6) |
			   field(imm, 3, 1, 5) | eight(g, false) << 2);
}

/* Of x8 to x15 and an immediate: c.srli, c.srai, c.andi. */
static void emit_cb(struct rv_gen *g, const struct rv_op *op)
{
	rv_test(g, op->match | eight(g, true) << 7 | imm6(rv_below(g, 64)));
}

static void emit_ca(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rd = eight(g, true);

	rv_test(g, op->match | rd << 7 | eight(g, true) << 2);
}

/* c.mv, c.add: rs2 is not x0. */
static void emit_cr(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rd = rv_dst(g), rs2 = rv_base(g);

	load_any(g, rd);
	load_any(g, rs2);
	rv_test(g, op->match | rd << 7 | rs2 << 2);
}

static void emit_jump(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int n = 1 + rv_below(g, 3), base = rv_base(g);

	rv_put(g, 0x17 | base << 7); /* auipc */
	rv_put(g, 0x13 | rv_imm((int)n * 4 + 10) | rv_fields(base, base, 0));
	rv_test(g, op->match | base << 7);
	rv_skipped(g, n);
}

static void emit_j(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int n = 1 + rv_below(g, 3), to = n * 4 + 2;

	rv_test(g, op->match | field(to, 4, 1, 11) | field(to, 3, 1, 5) | field(to, 1, 3, 3));
	rv_skipped(g, n);
}

static void emit_branch(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int n = 1 + rv_below(g, 3), to = n * 4 + 2, reg = eight(g, true);

	if (rv_chance(g, 2))
		rv_put(g, 0x13 | (reg + 8) << 7); /* zero */
	rv_test(g, op->match | field(to, 3, 2, 10) | field(to, 1, 2, 3) | reg << 7);
	rv_skipped(g, n);
}

/* c.lw and its kin. sig: l loads, s stores, an f register with a capital. */
static void emit_short(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int bytes = (unsigned int)op->wide, imm = rv_below(g, 32) * bytes;
	unsigned int base = eight(g, false), reg = eight(g, *op->sig == 's');
	uint32_t at = rv_spot(g, bytes, !rv_chance(g, 4)) - imm;

	rv_far(g, base + 8, at);
	if (*op->sig == 's' || *op->sig == 'S')
		g->item->bytes += ARENA;
	rv_test(g, op->match | field(imm, 3, 3, 10) | base << 7 | reg << 2 |
			   (bytes == 4 ? field(imm, 2, 1, 6) | field(imm, 6, 1, 5)
				       : field(imm, 6, 2, 5)));
}

static void emit_load_sp(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int bytes = (unsigned int)op->wide, imm = rv_below(g, 64) * bytes;
	unsigned int rd = *op->sig == 'l' ? rv_base(g) : rv_below(g, 32);

	rv_far(g, 2, rv_spot(g, bytes, !rv_chance(g, 4)) - imm);
	rv_test(g, op->match | rd << 7 | field(imm, 5, 1, 12) |
			   (bytes == 4 ? field(imm, 2, 3, 4) | field(imm, 6, 2, 2)
				       : field(imm, 3, 2, 5) | field(imm, 6, 3, 2)));
}

static void emit_store_sp(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int bytes = (unsigned int)op->wide, imm = rv_below(g, 64) * bytes;
	unsigned int rs2 = *op->sig == 's' ? rv_src(g, P_X) : rv_fsrc(g, P_D);

	rv_far(g, 2, rv_spot(g, bytes, !rv_chance(g, 4)) - imm);
	g->item->bytes += ARENA;
	rv_test(g, op->match | rs2 << 2 |
			   (bytes == 4 ? field(imm, 2, 4, 9) | field(imm, 6, 2, 7)
				       : field(imm, 3, 3, 10) | field(imm, 6, 3, 7)));
}

const struct rv_op rv_ops_short[] = {
	{"c.nop", 0x0001, G_C, emit_ci, "0", 0},
	{"c.addi", 0x0001, G_C, emit_ci, "r", 0},
	{"c.addiw", 0x2001, G_C, emit_ci, "r", 0},
	{"c.li", 0x4001, G_C, emit_ci, "", 0},
	{"c.slli", 0x0002, G_C, emit_ci, "", 0},
	{"c.lui", 0x6001, G_C, emit_lui, "", 0},
	{"c.addi16sp", 0x6101, G_C, emit_addi16sp, "", 0},
	{"c.addi4spn", 0x0000, G_C, emit_addi4spn, "", 0},
	{"c.srli", 0x8001, G_C, emit_cb, "", 0},
	{"c.srai", 0x8401, G_C, emit_cb, "", 0},
	{"c.andi", 0x8801, G_C, emit_cb, "", 0},
	{"c.sub", 0x8c01, G_C, emit_ca, "", 0},
	{"c.xor", 0x8c21, G_C, emit_ca, "", 0},
	{"c.or", 0x8c41, G_C, emit_ca, "", 0},
	{"c.and", 0x8c61, G_C, emit_ca, "", 0},
	{"c.subw", 0x9c01, G_C, emit_ca, "", 0},
	{"c.addw", 0x9c21, G_C, emit_ca, "", 0},
	{"c.mv", 0x8002, G_C, emit_cr, "", 0},
	{"c.add", 0x9002, G_C, emit_cr, "", 0},
	{"c.jr", 0x8002, G_C, emit_jump, "", 0},
	{"c.jalr", 0x9002, G_C, emit_jump, "", 0},
	{"c.j", 0xa001, G_C, emit_j, "", 0},
	{"c.beqz", 0xc001, G_C, emit_branch, "", 0},
	{"c.bnez", 0xe001, G_C, emit_branch, "", 0},
	{"c.fld", 0x2000, G_C, emit_short, "L", 8},
	{"c.lw", 0x4000, G_C, emit_short, "l", 4},
	{"c.ld", 0x6000, G_C, emit_short, "l", 8},
	{"c.fsd", 0xa000, G_C, emit_short, "S", 8},
	{"c.sw", 0xc000, G_C, emit_short, "s", 4},
	{"c.sd", 0xe000, G_C, emit_short, "s", 8},
	{"c.fldsp", 0x2002, G_C, emit_load_sp, "L", 8},
	{"c.lwsp", 0x4002, G_C, emit_load_sp, "l", 4},
	{"c.ldsp", 0x6002, G_C, emit_load_sp, "l", 8},
	{"c.fsdsp", 0xa002, G_C, emit_store_sp, "S", 8},
	{"c.swsp", 0xc002, G_C, emit_store_sp, "s", 4},
	{"c.sdsp", 0xe002, G_C, emit_store_sp, "s", 8},
	{NULL, 0, 0, NULL, NULL, 0},
};
