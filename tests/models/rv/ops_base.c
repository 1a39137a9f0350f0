// SPDX-License-Identifier: MIT
/*
 * RV64I, M, A, Zicsr, Zba and Zbb.
 */
#include "fuzz.h"

static void emit_r(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs1 = rv_src(g, P_X), rs2 = rv_src(g, P_X);

	rv_test(g, op->match | rv_fields(rv_dst(g), rs1, rs2));
}

static void emit_unary(struct rv_gen *g, const struct rv_op *op)
{
	rv_test(g, op->match | rv_fields(rv_dst(g), rv_src(g, P_X), 0));
}

/* wide: bits of the immediate. */
static void emit_i(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs1 = rv_src(g, P_X), imm = rv_below(g, 1u << op->wide);

	if (op->wide == 12 && rv_chance(g, 8))
		imm = rv_chance(g, 2) ? 0 : 0xfff;
	rv_test(g, op->match | rv_imm((int)imm) | rv_fields(rv_dst(g), rs1, 0));
}

static void emit_u(struct rv_gen *g, const struct rv_op *op)
{
	rv_test(g, op->match | rv_below(g, 1u << 20) << 12 | rv_dst(g) << 7);
}

/* An address register and an immediate that together give a spot in the arena. */
static unsigned int address(struct rv_gen *g, unsigned int bytes, int *imm)
{
	unsigned int base = rv_base(g);
	uint32_t at = rv_spot(g, bytes, !rv_chance(g, 4));

	*imm = (int)rv_below(g, 4096) - 2048;
	rv_far(g, base, at - (uint32_t)*imm);
	return base;
}

/* wide: bytes. */
static void emit_load(struct rv_gen *g, const struct rv_op *op)
{
	int imm;
	unsigned int base = address(g, (unsigned int)op->wide, &imm);

	rv_test(g, op->match | rv_imm(imm) | rv_fields(rv_dst(g), base, 0));
}

static void emit_store(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs2 = rv_src(g, P_X), base;
	int imm;

	base = address(g, (unsigned int)op->wide, &imm);
	g->item->bytes += ARENA;
	rv_test(g, op->match | rv_simm(imm) | rv_fields(0, base, rs2));
}

static void emit_branch(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs1 = rv_src(g, P_X), rs2 = rv_chance(g, 4) ? rs1 : rv_src(g, P_X);
	unsigned int n = 1 + rv_below(g, 3);

	rv_test(g, op->match | (n * 4 + 4) << 7 | rv_fields(0, rs1, rs2));
	rv_skipped(g, n);
}

static void emit_jal(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int n = 1 + rv_below(g, 3);

	rv_test(g, op->match | (n * 4 + 4) << 20 | rv_dst(g) << 7);
	rv_skipped(g, n);
}

static void emit_jalr(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int n = 1 + rv_below(g, 3), base = rv_base(g);
	unsigned int imm = n * 4 + 8 + rv_below(g, 2); /* the lowest bit does not count */

	rv_put(g, 0x17 | base << 7); /* auipc */
	rv_test(g, op->match | rv_imm((int)imm) | rv_fields(rv_dst(g), base, 0));
	rv_skipped(g, n);
}

static void emit_fence(struct rv_gen *g, const struct rv_op *op)
{
	rv_test(g, op->match | rv_below(g, 256) << 20);
}

static uint32_t order(struct rv_gen *g)
{
	return rv_below(g, 4) << 25;
}

static void emit_amo(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs2 = rv_src(g, P_X), base = rv_base(g);

	rv_far(g, base, rv_spot(g, (unsigned int)op->wide, true));
	g->item->bytes += ARENA;
	rv_test(g, op->match | order(g) | rv_fields(rv_dst(g), base, rs2));
}

static void emit_lr(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int base = rv_base(g);

	rv_far(g, base, rv_spot(g, (unsigned int)op->wide, true));
	rv_test(g, op->match | order(g) | rv_fields(rv_dst(g), base, 0));
}

/* After lr of the same place, of another place, and after another sc. */
static void emit_sc(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs2 = rv_src(g, P_X), base = rv_base(g), how = rv_below(g, 4);
	uint32_t at = rv_spot(g, (unsigned int)op->wide, true);
	uint32_t lr = (op->match & 0x707f) | 2u << 27;

	rv_far(g, SCRATCH, at + (how == 1 ? 8 : 0));
	rv_put(g, lr | rv_fields(0, SCRATCH, 0));
	if (how == 0)
		rv_put(g, op->match | rv_fields(0, SCRATCH, 0));
	rv_far(g, base, at);
	g->item->bytes += ARENA;
	rv_test(g, op->match | order(g) | rv_fields(rv_dst(g), base, rs2));
}

/* qemu 10.0 keeps writes to its upper bits, which do not exist. */
enum { VXRM = 10 };

/* fflags, frm, fcsr; and of vectors vstart, vxsat, vxrm, vcsr, or one of those only read. */
static unsigned int csr(struct rv_gen *g, bool *fixed)
{
	static const uint16_t number[] = {1, 2, 3, 8, 9, VXRM, 15, 0xc20, 0xc21, 0xc22};
	unsigned int at = rv_below(g, g->groups & G_VECTORS ? 10 : 3);

	*fixed = at > 6;
	g->frm_bad |= at == 1 || at == 2;
	return number[at];
}

static void emit_csr(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int rs1 = rv_src(g, rv_chance(g, 2) ? P_X : P_SMALL);
	bool fixed;
	uint32_t bits = op->match | csr(g, &fixed) << 20;

	if (fixed) {
		bits |= 0x2000; /* csrr: writing is illegal */
		rs1 = 0;
	} else if (bits >> 20 == VXRM && rs1) {
		rs1 = SCRATCH;
		rv_li(g, SCRATCH, rv_below(g, 4));
	}
	rv_test(g, bits | rv_fields(rv_dst(g), rs1, 0));
}

static void emit_csri(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int imm = rv_below(g, 32);
	bool fixed;
	uint32_t bits = op->match | csr(g, &fixed) << 20;

	if (fixed) {
		bits |= 0x2000;
		imm = 0;
	} else if (bits >> 20 == VXRM) {
		imm &= 3;
	}
	rv_test(g, bits | rv_fields(rv_dst(g), imm, 0));
}

#define R(name, f7, f3, op, group)                                                                 \
	{                                                                                          \
		name, RV_R(f7, f3, op), group, emit_r, "", 0                                       \
	}
#define I(name, f3, op, group)                                                                     \
	{                                                                                          \
		name, RV_R(0, f3, op), group, emit_i, "", 12                                       \
	}
#define SHIFT(name, top, f3, op, bits, group)                                                      \
	{                                                                                          \
		name, RV_R(top, f3, op), group, emit_i, "", bits                                   \
	}
#define UNARY(name, top, f3, op, group)                                                            \
	{                                                                                          \
		name, (uint32_t)(top) << 20 | (f3) << 12 | (op), group, emit_unary, "", 0          \
	}
#define LOAD(name, f3, bytes)                                                                      \
	{                                                                                          \
		name, RV_R(0, f3, 0x03), G_I, emit_load, "", bytes                                 \
	}
#define STORE(name, f3, bytes)                                                                     \
	{                                                                                          \
		name, RV_R(0, f3, 0x23), G_I, emit_store, "", bytes                                \
	}
#define BRANCH(name, f3)                                                                           \
	{                                                                                          \
		name, RV_R(0, f3, 0x63), G_I, emit_branch, "", 0                                   \
	}
#define AMO(name, f5, emit)                                                                        \
	{name ".w", RV_R((f5) << 2, 2, 0x2f), G_A, emit, "", 4},                                   \
	{                                                                                          \
		name ".d", RV_R((f5) << 2, 3, 0x2f), G_A, emit, "", 8                              \
	}

const struct rv_op rv_ops_base[] = {
	{"lui", 0x37, G_I, emit_u, "", 0},
	{"auipc", 0x17, G_I, emit_u, "", 0},
	{"jal", 0x6f, G_I, emit_jal, "", 0},
	{"jalr", 0x67, G_I, emit_jalr, "", 0},
	{"fence", 0x0f, G_I, emit_fence, "", 0},
	BRANCH("beq", 0),
	BRANCH("bne", 1),
	BRANCH("blt", 4),
	BRANCH("bge", 5),
	BRANCH("bltu", 6),
	BRANCH("bgeu", 7),
	LOAD("lb", 0, 1),
	LOAD("lh", 1, 2),
	LOAD("lw", 2, 4),
	LOAD("ld", 3, 8),
	LOAD("lbu", 4, 1),
	LOAD("lhu", 5, 2),
	LOAD("lwu", 6, 4),
	STORE("sb", 0, 1),
	STORE("sh", 1, 2),
	STORE("sw", 2, 4),
	STORE("sd", 3, 8),
	I("addi", 0, 0x13, G_I),
	I("slti", 2, 0x13, G_I),
	I("sltiu", 3, 0x13, G_I),
	I("xori", 4, 0x13, G_I),
	I("ori", 6, 0x13, G_I),
	I("andi", 7, 0x13, G_I),
	I("addiw", 0, 0x1b, G_I),
	SHIFT("slli", 0, 1, 0x13, 6, G_I),
	SHIFT("srli", 0, 5, 0x13, 6, G_I),
	SHIFT("srai", 0x20, 5, 0x13, 6, G_I),
	SHIFT("slliw", 0, 1, 0x1b, 5, G_I),
	SHIFT("srliw", 0, 5, 0x1b, 5, G_I),
	SHIFT("sraiw", 0x20, 5, 0x1b, 5, G_I),
	R("add", 0, 0, 0x33, G_I),
	R("sub", 0x20, 0, 0x33, G_I),
	R("sll", 0, 1, 0x33, G_I),
	R("slt", 0, 2, 0x33, G_I),
	R("sltu", 0, 3, 0x33, G_I),
	R("xor", 0, 4, 0x33, G_I),
	R("srl", 0, 5, 0x33, G_I),
	R("sra", 0x20, 5, 0x33, G_I),
	R("or", 0, 6, 0x33, G_I),
	R("and", 0, 7, 0x33, G_I),
	R("addw", 0, 0, 0x3b, G_I),
	R("subw", 0x20, 0, 0x3b, G_I),
	R("sllw", 0, 1, 0x3b, G_I),
	R("srlw", 0, 5, 0x3b, G_I),
	R("sraw", 0x20, 5, 0x3b, G_I),
	R("mul", 1, 0, 0x33, G_M),
	R("mulh", 1, 1, 0x33, G_M),
	R("mulhsu", 1, 2, 0x33, G_M),
	R("mulhu", 1, 3, 0x33, G_M),
	R("div", 1, 4, 0x33, G_M),
	R("divu", 1, 5, 0x33, G_M),
	R("rem", 1, 6, 0x33, G_M),
	R("remu", 1, 7, 0x33, G_M),
	R("mulw", 1, 0, 0x3b, G_M),
	R("divw", 1, 4, 0x3b, G_M),
	R("divuw", 1, 5, 0x3b, G_M),
	R("remw", 1, 6, 0x3b, G_M),
	R("remuw", 1, 7, 0x3b, G_M),
	AMO("lr", 0x02, emit_lr),
	AMO("sc", 0x03, emit_sc),
	AMO("amoswap", 0x01, emit_amo),
	AMO("amoadd", 0x00, emit_amo),
	AMO("amoxor", 0x04, emit_amo),
	AMO("amoand", 0x0c, emit_amo),
	AMO("amoor", 0x08, emit_amo),
	AMO("amomin", 0x10, emit_amo),
	AMO("amomax", 0x14, emit_amo),
	AMO("amominu", 0x18, emit_amo),
	AMO("amomaxu", 0x1c, emit_amo),
	{"csrrw", 0x1073, G_CSR, emit_csr, "", 0},
	{"csrrs", 0x2073, G_CSR, emit_csr, "", 0},
	{"csrrc", 0x3073, G_CSR, emit_csr, "", 0},
	{"csrrwi", 0x5073, G_CSR, emit_csri, "", 0},
	{"csrrsi", 0x6073, G_CSR, emit_csri, "", 0},
	{"csrrci", 0x7073, G_CSR, emit_csri, "", 0},
	R("add.uw", 0x04, 0, 0x3b, G_ZBA),
	R("sh1add", 0x10, 2, 0x33, G_ZBA),
	R("sh2add", 0x10, 4, 0x33, G_ZBA),
	R("sh3add", 0x10, 6, 0x33, G_ZBA),
	R("sh1add.uw", 0x10, 2, 0x3b, G_ZBA),
	R("sh2add.uw", 0x10, 4, 0x3b, G_ZBA),
	R("sh3add.uw", 0x10, 6, 0x3b, G_ZBA),
	SHIFT("slli.uw", 0x04, 1, 0x1b, 6, G_ZBA),
	R("andn", 0x20, 7, 0x33, G_ZBB),
	R("orn", 0x20, 6, 0x33, G_ZBB),
	R("xnor", 0x20, 4, 0x33, G_ZBB),
	R("min", 0x05, 4, 0x33, G_ZBB),
	R("minu", 0x05, 5, 0x33, G_ZBB),
	R("max", 0x05, 6, 0x33, G_ZBB),
	R("maxu", 0x05, 7, 0x33, G_ZBB),
	R("rol", 0x30, 1, 0x33, G_ZBB),
	R("ror", 0x30, 5, 0x33, G_ZBB),
	R("rolw", 0x30, 1, 0x3b, G_ZBB),
	R("rorw", 0x30, 5, 0x3b, G_ZBB),
	SHIFT("rori", 0x30, 5, 0x13, 6, G_ZBB),
	SHIFT("roriw", 0x30, 5, 0x1b, 5, G_ZBB),
	UNARY("clz", 0x600, 1, 0x13, G_ZBB),
	UNARY("ctz", 0x601, 1, 0x13, G_ZBB),
	UNARY("cpop", 0x602, 1, 0x13, G_ZBB),
	UNARY("sext.b", 0x604, 1, 0x13, G_ZBB),
	UNARY("sext.h", 0x605, 1, 0x13, G_ZBB),
	UNARY("clzw", 0x600, 1, 0x1b, G_ZBB),
	UNARY("ctzw", 0x601, 1, 0x1b, G_ZBB),
	UNARY("cpopw", 0x602, 1, 0x1b, G_ZBB),
	UNARY("zext.h", 0x080, 4, 0x3b, G_ZBB),
	UNARY("orc.b", 0x287, 5, 0x13, G_ZBB),
	UNARY("rev8", 0x6b8, 5, 0x13, G_ZBB),
	{NULL, 0, 0, NULL, NULL, 0},
};
