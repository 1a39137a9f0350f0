/* SPDX-License-Identifier: MIT */
/*
 * The state of a batch, and an instruction as it is executed. For lib/models/ndp/harts only.
 *
 * Registers lie lane beside lane, so that an instruction of all lanes is one loop over memory.
 * A group is the lanes that are executed together: same pc, same vl, vtype and vstart, so
 * that instructions may take those as one value (b->vl, b->vtype, b->vstart, b->at).
 */
#ifndef ANNEX_NDP_HARTS_HART_H
#define ANNEX_NDP_HARTS_HART_H

#include "rv.h"

#define RV_DUMP 32 /* register for writes to x0 */
#define RV_SPANS 8 /* kept by a batch */
#define RV_STREAMS 16
#define RV_MANY 16 /* lanes in a group that make work on all 64 cheaper than a walk */
#define RV_VILL (1ull << 63)

static inline bool rv_isa_valid(const struct rv_isa *isa)
{
	return isa->vlen >= 128 && isa->vlen <= 1024 && !(isa->vlen & (isa->vlen - 1)) &&
	       isa->nx <= 32 && isa->nf <= 32 && isa->nv <= 32;
}

struct rv_insn;
struct rv_vop;
typedef void rv_op(struct rv_batch *b, const struct rv_insn *in);

/**
 * struct rv_insn - A decoded instruction.
 * @op: executes it for the lanes of the group.
 * @imm: its immediate.
 * @vop: a vector instruction's row; its immediate is in @rs1.
 * @bits: as fetched, expanded if it was a compressed one.
 * @rd: destination register, or vd; RV_DUMP in the place of x0.
 * @rs1: first source register, or vs1.
 * @rs2: second source register, or vs2.
 * @rs3: third source register, or vs3.
 * @bytes: 2 or 4.
 * @unit: functional unit, for rv_step().
 * @rm: rounding mode field, or funct3.
 * @vm: not masked.
 * @aux: extra bits from the handler's decoder (nf, eew, csr flags).
 */
struct rv_insn {
	rv_op *op;
	union {
		int64_t imm;
		const struct rv_vop *vop;
	};
	uint32_t bits;
	uint8_t rd, rs1, rs2, rs3;
	uint8_t bytes, unit, rm, vm;
	uint32_t aux;
};

struct rv_code {
	uint64_t va;
	uint64_t bytes;
	struct rv_isa isa;
	bool flags_seen;       /* it reads fflags or vxsat somewhere: flags must be exact */
	uint32_t xs, fs, vs;   /* registers that it names, a bit each */
	struct rv_insn insn[]; /* one for each two bytes */
};

/* struct rv_stream - Where lane 0 was with the instruction at @pc, and how far on that had been. */
struct rv_stream {
	uint64_t pc, va, step;
};

struct rv_batch {
	/* the group */
	uint64_t group; /* its lanes; member: all ones in those, zero in others */
	uint64_t member[RV_LANES] __attribute__((aligned(64)));
	uint64_t at;   /* the pc of the instruction that is executed */
	uint64_t next; /* the one after it; branches change it */
	uint64_t vl, vtype, vstart;
	bool dense; /* no other lane is alive, and there are many: may be executed on all 64 */
	bool exact; /* flags are read */
	bool quick; /* not exact, and frm is zero in all lanes: the host's arithmetic will do */
	bool pause; /* choose lanes anew after this instruction: pcs, shapes or the stop changed */
	bool left;  /* some have left the group (rv_leave), the others' shape is in vl and vtype */
	unsigned int vlenb;

	uint64_t x[RV_DUMP + 1][RV_LANES] __attribute__((aligned(64)));
	uint64_t f[32][RV_LANES] __attribute__((aligned(64)));
	char *v; /* [32][RV_LANES][vlenb], aligned to 64 */

	uint64_t alive;
	uint64_t pc[RV_LANES]; /* of lanes outside the group; of all of them between runs */
	uint64_t lane_vl[RV_LANES], lane_vtype[RV_LANES], lane_vstart[RV_LANES];
	uint8_t fflags[RV_LANES], frm[RV_LANES];
	uint8_t vxsat[RV_LANES], vxrm[RV_LANES];
	uint64_t lr_va[RV_LANES], lr_value[RV_LANES];
	uint8_t lr_bytes[RV_LANES]; /* 0: no reservation */

	struct rv_stop halt;  /* why is not RV_ENDED: an instruction could not be executed */
	struct rv_step *step; /* not NULL: note accesses there */
	uint64_t done;
	uint64_t limit;                /* the pc where others wait for the group */
	uint64_t ran[RV_LANES], clock; /* when each had its last turn */
	uint64_t alone;                /* instructions since the last look at waiting lanes */
	unsigned int fair;             /* rounds left for them */

	const struct rv_code *code;
	struct rv_mem mem;
	struct rv_opts opts;
	struct rv_span span[RV_SPANS];
	unsigned int nspan, newest;
	struct rv_stream stream[RV_STREAMS]; /* predicted next accesses, by pc */
};

#define RV_ALL (~0ull)

/* Iterations of the loop that follows do not depend on each other. */
#if defined(__clang__)
#define RV_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define RV_APART _Pragma("GCC ivdep")
#endif

/* Of the lanes of the group, one after the other. */
#define rv_each(b, i)                                                                              \
	for (uint64_t left_ = (b)->group;                                                          \
	     left_ && (i = (unsigned int)__builtin_ctzll(left_), true); left_ &= left_ - 1)

/* A statement that only changes registers of lane i: all lanes at once where that does no harm. */
#define rv_lanes(b, i, ...)                                                                        \
	do {                                                                                       \
		unsigned int i;                                                                    \
		if ((b)->dense) {                                                                  \
			RV_APART                                                                   \
			for (i = 0; i < RV_LANES; i++) {                                           \
				__VA_ARGS__;                                                       \
			}                                                                          \
		} else {                                                                           \
			rv_each(b, i) {                                                            \
				__VA_ARGS__;                                                       \
			}                                                                          \
		}                                                                                  \
	} while (0)

/* Row @reg of the vector registers: lane i begins at i * vlenb. */
static inline char *rv_row(struct rv_batch *b, unsigned int reg)
{
	return b->v + (size_t)reg * RV_LANES * b->vlenb;
}

/* Element @e of @bytes each, of the register group that begins at @reg, of lane @i. */
static inline void *rv_elem(struct rv_batch *b, unsigned int reg, unsigned int i, size_t e,
			    unsigned int bytes)
{
	size_t at = e * bytes;

	return rv_row(b, reg + (unsigned int)(at / b->vlenb)) + (size_t)i * b->vlenb +
	       at % b->vlenb;
}

/*
 * rv_halt() - Lane @i cannot execute the instruction at b->at. The first call counts. All lanes of
 * the group then stay at it, though lower ones than @i may have executed it already.
 */
void rv_halt(struct rv_batch *b, enum rv_why why, unsigned int i, uint64_t value);

/* rv_round() - Choose the arithmetic: frm or @exact has changed. */
void rv_round(struct rv_batch *b);

/*
 * rv_leave() - @lanes of the group go on at @pc, the others as the handler says, not together. What
 * the group's shape is now is theirs too, until it is changed in lane_vl and so on.
 */
void rv_leave(struct rv_batch *b, uint64_t lanes, uint64_t pc);

/*
 * A handler after which vl or vtype differ from lane to lane writes lane_vl and lane_vtype of all
 * lanes of the group, and sets pause. Otherwise b->vl and b->vtype are what counts.
 */

/*
 * rv_reach() - Where [@va, @va + @bytes) lies, if one span has it all and may be used so
 * (memory.c). NULL: not so; rv_load() and rv_store() work across spans, and halt with RV_LOAD or
 * RV_STORE.
 */
void *rv_reach_slow(struct rv_batch *b, uint64_t va, uint64_t bytes, unsigned int prot);

static inline void *rv_reach(struct rv_batch *b, uint64_t va, uint64_t bytes, unsigned int prot)
{
	const struct rv_span *s = &b->span[b->newest];
	uint64_t at = va - s->va;

	if (!b->step && at < s->bytes && bytes <= s->bytes - at && (s->prot & prot) == prot)
		return s->host + at;
	return rv_reach_slow(b, va, bytes, prot);
}

bool rv_load(struct rv_batch *b, unsigned int i, uint64_t va, void *to, unsigned int bytes);
bool rv_store(struct rv_batch *b, unsigned int i, uint64_t va, const void *from,
	      unsigned int bytes);

/* Decoders. Return: true with *@in, or false: not an instruction of theirs. */
bool rv_decode(uint32_t bits, const struct rv_isa *isa, struct rv_insn *in);        /* decode.c */
bool rv_decode_vector(uint32_t bits, const struct rv_isa *isa, struct rv_insn *in); /* v*.c */
bool rv_expand(uint16_t half, uint32_t *bits); /* compressed.c */

rv_op rv_illegal;

/* named.c: set xs, fs and vs of code that has been decoded. */
void rv_find_named(struct rv_code *code);

#endif
