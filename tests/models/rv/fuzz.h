/* SPDX-License-Identifier: MIT */
/*
 * Random programs of RISC-V instructions, the same for the same seed: two implementations run
 * them and write all registers after every instruction, and the outputs are compared.
 *
 * x31 points to a block of data: the record that is written, the arena that loads and stores go
 * to, and pools of values that registers are loaded from before an instruction. x28 is a scratch
 * register and x30 the link of the harness. Everything else belongs to the instructions.
 */
#ifndef ANNEX_TESTS_RV_FUZZ_H
#define ANNEX_TESTS_RV_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rv_group {
	G_I,
	G_M,
	G_A,
	G_CSR,
	G_F,
	G_D,
	G_ZFH,
	G_C,
	G_ZBA,
	G_ZBB,
	G_VCFG,
	G_VINT,
	G_VFIX,
	G_VFP,
	G_VRED,
	G_VMASK,
	G_VPERM,
	G_VMEM,
	GROUPS
};
#define G_VECTORS (~0u << G_VCFG)

enum { SCRATCH = 28, LINK = 30, BLOCK = 31 };

/* Offsets in the record; 32 vector registers follow at REC_V, and the arena after them. */
enum { REC_X = 0, REC_F = 256, REC_FCSR = 512, REC_VSTART = 520, REC_VL = 528, REC_VTYPE = 536 };
enum { REC_VCSR = 544, REC_V = 1024, ARENA = 8192 };

/* Pools of values: what registers are loaded from. W stands for 8, 16, 32 and 64 bits. */
enum pool {
	P_X,
	P_SMALL,
	P_H, /* for f registers: boxed, or seldom not */
	P_S,
	P_D,
	P_MASK,
	P_I, /* + log2 of the bytes of an element; likewise those below */
	P_FLOAT = P_I + 4,
	P_WHOLE = P_FLOAT + 4, /* floats that are small whole numbers: their sums are exact */
	P_INDEX = P_WHOLE + 4, /* offsets into the arena */
	POOLS = P_INDEX + 4
};
enum { POOL_BYTES = 8192 };

struct rv_op;

/* struct rv_note - A register that an instruction reads, and where its value came from. */
struct rv_note {
	char kind; /* x, f or v */
	uint8_t reg, count;
	int32_t at; /* offset in the block; -1: it was not loaded */
};

/* struct rv_item - One instruction that is tested, with what prepares it. */
struct rv_item {
	const struct rv_op *op;
	uint32_t begin, test, end; /* offsets in the text */
	uint32_t bytes;            /* of its record */
	struct rv_note note[4];
	unsigned int notes;
	unsigned int vl, vstart;
};

/**
 * struct rv_gen - A program in the making.
 * @flags: fcsr and vcsr are observed. Without, an implementation may take faster ways.
 * @vset, @sew (log2 of bytes), @lmul (log2), @vl: the shape of vectors, where it is known.
 */
struct rv_gen {
	uint64_t seed;
	uint64_t random;
	unsigned int vlenb;
	unsigned int groups;
	bool flags;

	uint8_t *text;
	size_t bytes, room;
	uint32_t dump; /* where the routine begins that writes a record */
	uint32_t start, last;

	struct rv_item *items;
	unsigned int n;
	struct rv_item *item;

	bool vset, frm_bad, vxrm_bad;
	int sew, lmul;
	unsigned int vl;
};

/**
 * struct rv_op - An instruction.
 * @match: its bits, where they are always the same.
 * @emit: add one with random operands to the program. @sig, @wide: what that needs to know.
 */
struct rv_op {
	const char *name;
	uint32_t match;
	enum rv_group group;
	void (*emit)(struct rv_gen *g, const struct rv_op *op);
	const char *sig;
	int wide;
};

/* Tables, which end with an entry that has no name. */
extern const struct rv_op rv_ops_base[], rv_ops_float[], rv_ops_short[];
extern const struct rv_op rv_ops_vint[], rv_ops_vfloat[], rv_ops_vother[], rv_ops_vmem[];

/* random.c */
uint64_t rv_random(struct rv_gen *g);
unsigned int rv_below(struct rv_gen *g, unsigned int n);
bool rv_chance(struct rv_gen *g, unsigned int n); /* one of n */
void rv_pools(struct rv_gen *g, uint8_t *block);
uint32_t rv_pool_at(const struct rv_gen *g, unsigned int pool);
uint32_t rv_block_bytes(const struct rv_gen *g);
static inline uint32_t rv_arena(const struct rv_gen *g)
{
	return REC_V + 32 * g->vlenb;
}

/* emit.c: instructions of the harness, and operands. */
void rv_put(struct rv_gen *g, uint32_t bits); /* 2 or 4 bytes, as the low bits say */
void rv_test(struct rv_gen *g, uint32_t bits);
void rv_far(struct rv_gen *g, unsigned int rd, uint32_t at); /* rd = x31 + at */
void rv_li(struct rv_gen *g, unsigned int rd, uint32_t value);
void rv_load_x(struct rv_gen *g, unsigned int reg, unsigned int pool);
void rv_load_v(struct rv_gen *g, unsigned int reg, unsigned int count, unsigned int pool);
unsigned int rv_dst(struct rv_gen *g);
unsigned int rv_src(struct rv_gen *g, unsigned int pool);
unsigned int rv_fsrc(struct rv_gen *g, unsigned int pool);
void rv_vsrc(struct rv_gen *g, unsigned int reg, unsigned int count, unsigned int pool);
unsigned int rv_base(struct rv_gen *g);
void rv_rounding(struct rv_gen *g);
uint32_t rv_spot(struct rv_gen *g, unsigned int bytes, bool aligned);
void rv_skipped(struct rv_gen *g, unsigned int n);

#define RV_R(f7, f3, op) ((uint32_t)(f7) << 25 | (f3) << 12 | (op))
static inline uint32_t rv_fields(unsigned int rd, unsigned int rs1, unsigned int rs2)
{
	return rd << 7 | rs1 << 15 | rs2 << 20;
}
static inline uint32_t rv_imm(int imm)
{
	return (uint32_t)imm << 20;
}
static inline uint32_t rv_simm(int imm)
{
	return ((uint32_t)imm >> 5 & 127) << 25 | ((uint32_t)imm & 31) << 7;
}

/* vshape.c: shapes of vectors, and registers that may be used together. */
struct rv_vreg {
	int eew;  /* log2 of bytes; -1: a mask */
	int emul; /* log2 */
	unsigned int reg;
};
enum { RV_WITH_V0 = 1, RV_APART = 2, RV_SUMS = 4 };
unsigned int rv_count(int emul);
bool rv_overlap(const struct rv_vreg *a, const struct rv_vreg *b);
void rv_shape(struct rv_gen *g, int sew_min, int sew_max, int lmul_min, int lmul_max);
void rv_use_shape(struct rv_gen *g);
void rv_vstart(struct rv_gen *g);
void rv_random_reg(struct rv_gen *g, struct rv_vreg *v);
uint32_t rv_mask(struct rv_gen *g);
void rv_pick(struct rv_gen *g, struct rv_vreg *dst, struct rv_vreg *src, unsigned int n,
	     unsigned int rules);
void rv_emit_vector(struct rv_gen *g, const struct rv_op *op);

/* Bits of an operation's "wide", for rv_emit_vector(). */
enum { V_FLOAT = 1, V_FROM_BYTES = 2, V_FROM_INT = 4, V_FIXED = 8, V_SMALL = 16 };

/* Instructions of vectors by their six bits, and the kind of their operands. */
#define RV_V(f6, f3) ((uint32_t)(f6) << 26 | (uint32_t)(f3) << 12 | 0x57)
enum { OPIVV, OPFVV, OPMVV, OPIVI, OPIVX, OPFVF, OPMVX };

/* program.c, elf.c, compare.c, lanes.c */
int rv_build(struct rv_gen *g, unsigned int n);
void rv_free(struct rv_gen *g);
const char *rv_group_name(unsigned int group);
const struct rv_op *rv_op_next(const struct rv_op *op); /* NULL: the first; all tables */
int rv_write_elf(struct rv_gen *g, const char *path);
int rv_compare(struct rv_gen *g, const char *want, const char *got, const char *bits);
int rv_lanes(struct rv_gen *g);

#define RV_TEXT 0x10000u
#define RV_DATA 0x4000000u

#endif
