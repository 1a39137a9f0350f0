/* SPDX-License-Identifier: MIT */
/*
 * RISC-V harts: RV64IMAFDC, Zicsr, Zba, Zbb, Zfh and V 1.0, user level. Up to 64 of them, the
 * lanes of a batch, run the same code: an instruction is fetched and dispatched once for all lanes
 * that are at it. Lanes that part at a branch meet again where their ways do.
 *
 * Code is decoded once, when it is given (rv_code), and never changes. Data is reached through the
 * spans of an rv_mem, and nothing else. A batch belongs to one thread.
 */
#ifndef ANNEX_NDP_HARTS_RV_H
#define ANNEX_NDP_HARTS_RV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RV_LANES 64u

enum rv_prot { RV_READ = 1, RV_WRITE = 2 };

/**
 * struct rv_span - Bytes that lie one after the other for the harts and in the host's memory.
 * @va: the harts' address of the first.
 * @bytes: their number.
 * @host: the host's address of the first, equal to @va modulo 8.
 * @prot: bits of enum rv_prot.
 */
struct rv_span {
	uint64_t va;
	uint64_t bytes;
	char *host;
	unsigned int prot;
};

/**
 * struct rv_mem - The memory of harts.
 * @find: the span that @va lies in; -EFAULT: none. Spans are kept by a batch until rv_forget().
 */
struct rv_mem {
	int (*find)(void *ctx, uint64_t va, struct rv_span *span);
	void *ctx;
};

/**
 * struct rv_isa - The registers that code may use.
 * @vlen: bits of a vector register, a power of two from 128 to 1024.
 * @nx: integer registers; instructions that name others are illegal. 32: all.
 * @nf: likewise, floating-point registers.
 * @nv: likewise, vector registers.
 */
struct rv_isa {
	unsigned int vlen;
	unsigned int nx;
	unsigned int nf;
	unsigned int nv;
};

/*
 * rv_code_create() - Decode @bytes of code, which harts see at @va. Instructions that are none are
 * illegal when they are reached. @text is not kept. -EINVAL: an odd address, or a wrong @isa.
 */
struct rv_code;
int rv_code_create(const void *text, size_t bytes, uint64_t va, const struct rv_isa *isa,
		   struct rv_code **out);
void rv_code_destroy(struct rv_code *code);

enum rv_why {
	RV_ENDED,      /* no lane runs any more */
	RV_ECALL,      /* only when ecall does not end a lane; the pc is at it */
	RV_COUNTER,    /* a read of cycle, time or instret, likewise; @value: the instruction */
	RV_EBREAK,     /* the pc is at it, as with all that follow */
	RV_ILLEGAL,    /* @value: the instruction */
	RV_FETCH,      /* @value: the address */
	RV_LOAD,       /* likewise */
	RV_STORE,      /* likewise */
	RV_MISALIGNED, /* likewise: atomics that are not on a multiple of their size */
	RV_BUDGET,     /* so many instructions have been executed */
	RV_STOPPED,    /* stopped by another thread */
};

/**
 * struct rv_stop - Why lanes stopped, and the first of them that met it.
 */
struct rv_stop {
	enum rv_why why;
	unsigned int lane;
	uint64_t pc;
	uint64_t value;
};

struct rv_batch;

/**
 * struct rv_opts - Options of a batch.
 * @ecall_ends: ecall ends a lane, and counters are illegal; otherwise both stop the batch, and its
 *	user carries them out.
 * @stop: rv_run() returns soon after another thread stores a value other than zero there.
 */
struct rv_opts {
	struct rv_isa isa;
	bool ecall_ends;
	const volatile uint32_t *stop;
};

int rv_batch_create(const struct rv_opts *opts, const struct rv_mem *mem, struct rv_batch **out);
void rv_batch_destroy(struct rv_batch *b);

/*
 * rv_start() - Lanes [0, @n) are at @pc, with all registers that @code names, vl, vtype and CSRs
 * zero (vill set). They are given other values with the functions below, before rv_run(). Registers
 * of lanes that have ended mean nothing while others run on.
 */
void rv_start(struct rv_batch *b, const struct rv_code *code, unsigned int n, uint64_t pc);
uint64_t *rv_x(struct rv_batch *b, unsigned int reg); /* [RV_LANES]; not of x0 */
uint64_t *rv_f(struct rv_batch *b, unsigned int reg); /* [RV_LANES], boxed */
void *rv_v(struct rv_batch *b, unsigned int reg);     /* [RV_LANES][vlen / 8] */
uint64_t *rv_pc(struct rv_batch *b);                  /* [RV_LANES] */

/*
 * rv_run() - Run until all lanes have ended, a lane cannot continue, or @budget instructions of all
 * lanes together have been executed; add their number to *@done. Memory accesses of an instruction
 * are made lane by lane. To continue after a stop, change pcs or the cause, and call again. When a
 * lane cannot execute an instruction, the pcs of all lanes of its group are at that instruction,
 * which lower lanes may have executed already.
 */
struct rv_stop rv_run(struct rv_batch *b, uint64_t budget, uint64_t *done);

/* rv_forget() - Look spans up anew: the memory has changed. Not while rv_run() is under way. */
void rv_forget(struct rv_batch *b);

/**
 * struct rv_touch - An access to memory. struct rv_step - An instruction. Both are for timing.
 */
struct rv_touch {
	uint64_t va;
	uint32_t bytes;
	bool write;
};

enum rv_unit { RV_ALU, RV_SFU, RV_LSU, RV_BRANCH, RV_VALU, RV_VSFU, RV_VLSU };

#define RV_TOUCHES 1024u /* of one instruction, at most: segments of bytes, LMUL 8, VLEN 1024 */

struct rv_step {
	enum rv_unit unit;
	bool atomic;
	uint64_t pc;
	unsigned int uops; /* of vectors: registers it writes or reads in each of its groups */
	unsigned int ntouch;
	struct rv_touch touch[RV_TOUCHES];
};

/*
 * rv_step() - Execute one instruction of lane 0, the only one, and describe it in @out. RV_BUDGET:
 * the lane can continue.
 */
struct rv_stop rv_step(struct rv_batch *b, struct rv_step *out);

#endif
