// SPDX-License-Identifier: MIT
/*
 * Instructions of many lanes at once against the same of one lane, memory in pieces, and what code
 * may not do.
 */
#include <errno.h>
#include <string.h>
#include "tests/models/unit/ndp_asm.h"
#include "tests/unit/random.h"
#include "rv_rig.h"
#include "tests/unit/unit.h"

enum { D = 5, X = 6, Y = 7, A = 10 };

#define COUNT(insn) (sizeof(insn) / sizeof((insn)[0]))
#define UNTOUCHED 0x1122334455667788ull

static uint64_t seed;

/* Numbers that are near an end of something, as integers or as floating point. */
static uint64_t odd_number(void)
{
	static const uint64_t ends[] = {0,
					1,
					UINT64_MAX,
					1ull << 63,
					INT64_MAX,
					0x7fffffff,
					0xffffffff80000000,
					0x3ff0000000000000,
					0x7ff0000000000000,
					0x7ff0000000000001,
					0xffffffff7fc00000,
					0xffffffff7f800001,
					0xffffffff80000000,
					0xffffffffffff7c01};
	uint64_t r = random_next(&seed), n = random_next(&seed);

	switch (r % 6) {
	case 0:
		return ends[n % COUNT(ends)];
	case 1:
		return n % 64;
	case 2:
		return 0xffffffff00000000 | n;
	case 3:
		return 0xffffffffffff0000 | n;
	case 4:
		return (n & 0x800fffffffffffff) | (1000 + r / 6 % 60) << 52;
	default:
		return n;
	}
}

struct operands {
	uint64_t x[RV_LANES], y[RV_LANES], z[RV_LANES];
};

/* The instruction's operands are in x6 and x7, or in f6, f7 and f8. */
static void give(struct rv_batch *b, const struct operands *o, unsigned int from, unsigned int n)
{
	size_t bytes = n * sizeof(uint64_t);

	memcpy(rv_x(b, X), o->x + from, bytes);
	memcpy(rv_x(b, Y), o->y + from, bytes);
	memcpy(rv_f(b, X), o->x + from, bytes);
	memcpy(rv_f(b, Y), o->y + from, bytes);
	memcpy(rv_f(b, 8), o->z + from, bytes);
	for (unsigned int i = 0; i < n; i++)
		rv_x(b, D)[i] = rv_f(b, D)[i] = UNTOUCHED;
}

/* All lanes, most of them, and one: every lane must have the same in x5 and f5. */
static void compare(struct rv_rig *r, uint32_t insn, unsigned int *legal)
{
	const uint32_t plain[] = {insn, ECALL}, some[] = {beq(A, 0, 8), insn, ECALL};
	uint64_t x[RV_LANES], f[RV_LANES];
	struct operands o;

	rv_rig_start(r, &rv_rig_isa, plain, COUNT(plain), RV_LANES);
	for (unsigned int i = 0; i < RV_LANES; i++) {
		o.x[i] = odd_number();
		o.y[i] = random_next(&seed) % 8 ? odd_number() : o.x[i];
		o.z[i] = odd_number();
	}
	give(r->b, &o, 0, RV_LANES);
	if (rv_rig_run(r).why == RV_ILLEGAL)
		return;
	(*legal)++;
	memcpy(x, rv_x(r->b, D), sizeof(x));
	memcpy(f, rv_f(r->b, D), sizeof(f));
	for (unsigned int i = 0; i < RV_LANES; i += 9) {
		rv_rig_start(r, &rv_rig_isa, plain, COUNT(plain), 1);
		give(r->b, &o, i, 1);
		CU_ASSERT_EQUAL(rv_rig_run(r).why, RV_ENDED);
		if (rv_x(r->b, D)[0] != x[i] || rv_f(r->b, D)[0] != f[i])
			CU_FAIL("all lanes and one differ");
	}
	rv_rig_start(r, &rv_rig_isa, some, COUNT(some), RV_LANES);
	give(r->b, &o, 0, RV_LANES);
	for (unsigned int i = 0; i < RV_LANES; i++)
		rv_x(r->b, A)[i] = i % 3;
	CU_ASSERT_EQUAL(rv_rig_run(r).why, RV_ENDED);
	for (unsigned int i = 0; i < RV_LANES; i++)
		if (rv_x(r->b, D)[i] != (i % 3 ? x[i] : UNTOUCHED) ||
		    rv_f(r->b, D)[i] != (i % 3 ? f[i] : UNTOUCHED))
			CU_FAIL("all lanes and most of them differ");
}

static void lanes_compute_alike(void)
{
	static const struct {
		unsigned int opcode, n;
	} kinds[] = {{0x13, 777}, {0x1b, 134}, {0x33, 30}, {0x3b, 16}, {0x53, 687}};
	struct rv_rig r;

	seed = 6;
	rv_rig_open(&r, &rv_rig_isa, NULL);
	for (unsigned int k = 0; k < COUNT(kinds); k++) {
		unsigned int legal = 0;

		for (unsigned int i = 0; i < 8 * 128; i++) {
			uint32_t insn = asm_r(kinds[k].opcode, D, i % 8, X, Y, i / 8);

			compare(&r, insn, &legal);
			/* The field of the second operand tells some apart. */
			for (unsigned int rs2 = 0; rs2 < 4 && kinds[k].opcode == 0x53; rs2++)
				compare(&r, (insn & ~(31u << 20)) | rs2 << 20, &legal);
		}
		CU_ASSERT_EQUAL(legal, kinds[k].n);
	}
	for (unsigned int i = 0; i < 4 * 4; i++) {
		unsigned int legal = 0;

		compare(&r, asm_r(0x43 + i % 4 * 4, D, 0, X, Y, 8 << 2 | i / 4), &legal);
		CU_ASSERT_EQUAL(legal, i / 4 < 3);
	}
	rv_rig_close(&r);
}

/* Addresses of lanes: side by side, the same, in disorder, not aligned, across both pieces. */
static uint64_t address(unsigned int how, unsigned int i, unsigned int bytes)
{
	switch (how) {
	case 0:
		return RIG_DATA + 64 + (uint64_t)i * bytes;
	case 1:
		return RIG_DATA + 128;
	case 2:
		return RIG_DATA + i * 23 % 64 * bytes;
	case 3:
		return RIG_DATA + i * 23 % 64 * (bytes + 1) + 1;
	case 4:
		return RIG_DATA + RIG_PIECE - 32ull * bytes + (uint64_t)i * bytes;
	default:
		return RIG_DATA + RIG_PIECE - 64ull + i + (bytes > 1);
	}
}

static void read_bytes(struct rv_rig *r, uint64_t va, void *to, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++, va++)
		((char *)to)[i] =
			r->piece[(va - RIG_DATA) / RIG_PIECE][(va - RIG_DATA) % RIG_PIECE];
}

static void check_load(struct rv_rig *r, unsigned int f3, unsigned int how, unsigned int lanes)
{
	const uint32_t insn[] = {asm_i(0x03, D, f3, X, -8), ECALL};
	unsigned int bytes = 1u << f3 % 4;

	rv_rig_start(r, &rv_rig_isa, insn, COUNT(insn), lanes);
	for (unsigned int i = 0; i < lanes; i++)
		rv_x(r->b, X)[i] = address(how, i, bytes) + 8;
	CU_ASSERT_EQUAL(rv_rig_run(r).why, RV_ENDED);
	for (unsigned int i = 0; i < lanes; i++) {
		uint64_t want = 0;

		read_bytes(r, address(how, i, bytes), &want, bytes);
		if (f3 < 3)
			want = (uint64_t)((int64_t)(want << (64 - 8 * bytes)) >> (64 - 8 * bytes));
		CU_ASSERT_EQUAL(rv_x(r->b, D)[i], want);
	}
}

static void check_store(struct rv_rig *r, unsigned int f3, unsigned int how, unsigned int lanes)
{
	const uint32_t insn[] = {asm_s(f3, D, X, 8), ECALL};
	unsigned int bytes = 1u << f3;

	rv_rig_start(r, &rv_rig_isa, insn, COUNT(insn), lanes);
	for (unsigned int i = 0; i < lanes; i++) {
		rv_x(r->b, X)[i] = address(how, i, bytes) - 8;
		rv_x(r->b, D)[i] = random_next(&seed);
	}
	CU_ASSERT_EQUAL(rv_rig_run(r).why, RV_ENDED);
	/* The last lane stores last. Overlapping lanes may overwrite the others. */
	for (unsigned int i = 0; i < lanes; i++) {
		uint64_t got = 0;

		if (how % 2 && i != lanes - 1)
			continue;
		read_bytes(r, address(how, i, bytes), &got, bytes);
		CU_ASSERT(!memcmp(&got, &rv_x(r->b, D)[i], bytes));
	}
}

static void lanes_reach_memory_anyhow(void)
{
	static const unsigned int lanes[] = {64, 37, 3, 1};
	struct rv_rig r;

	seed = 7;
	rv_rig_open(&r, &rv_rig_isa, NULL);
	for (unsigned int i = 0; i < RIG_PIECE; i++) {
		r.piece[0][i] = (char)random_next(&seed);
		r.piece[1][i] = (char)random_next(&seed);
	}
	for (unsigned int how = 0; how < 6; how++)
		for (unsigned int k = 0; k < COUNT(lanes); k++) {
			for (unsigned int f3 = 0; f3 < 7; f3++)
				check_load(&r, f3, how, lanes[k]);
			for (unsigned int f3 = 0; f3 < 4; f3++)
				check_store(&r, f3, how, lanes[k]);
		}
	rv_rig_close(&r);
}

/* The store crosses the end of writable memory, and must not begin. */
static void a_store_is_whole_or_not_at_all(void)
{
	const uint32_t insn[] = {sd(Y, X, 0), ECALL};
	uint64_t edge = RIG_DATA + RIG_PIECE;
	struct rv_rig r;
	struct rv_stop s;

	rv_rig_open(&r, &rv_rig_isa, NULL);
	r.prot2 = RV_READ;
	rv_rig_start(&r, &rv_rig_isa, insn, COUNT(insn), 1);
	rv_x(r.b, X)[0] = edge - 4;
	rv_x(r.b, Y)[0] = UINT64_MAX;
	s = rv_rig_run(&r);
	CU_ASSERT(s.why == RV_STORE && s.value == edge && s.pc == RIG_CODE && !s.lane);
	CU_ASSERT_EQUAL(*rv_rig_word(&r, edge - 8), 0);
	CU_ASSERT_EQUAL(r.done, 0);
	/* Make the memory writable after all. */
	r.prot2 = RV_READ | RV_WRITE;
	rv_forget(r.b);
	CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ENDED);
	CU_ASSERT_EQUAL(*rv_rig_word(&r, edge - 8), 0xffffffff00000000);
	rv_rig_close(&r);
}

/* The first lane that cannot is told. */
static void one_lane_of_many_faults(void)
{
	const uint32_t insn[] = {ld(D, X, 0), ECALL};
	struct rv_rig r;
	struct rv_stop s;

	rv_rig_open(&r, &rv_rig_isa, NULL);
	rv_rig_start(&r, &rv_rig_isa, insn, COUNT(insn), RV_LANES);
	for (unsigned int i = 0; i < RV_LANES; i++)
		rv_x(r.b, X)[i] = RIG_DATA + i * 8;
	rv_x(r.b, X)[40] = 64;
	rv_x(r.b, X)[50] = 72;
	s = rv_rig_run(&r);
	CU_ASSERT(s.why == RV_LOAD && s.lane == 40 && s.value == 64 && s.pc == RIG_CODE);
	CU_ASSERT(rv_pc(r.b)[0] == RIG_CODE && rv_pc(r.b)[63] == RIG_CODE);
	rv_x(r.b, X)[40] = rv_x(r.b, X)[50] = RIG_DATA;
	CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ENDED);
	rv_rig_close(&r);
}

/* Registers that the code was not given are none; x0 is always there if any is. */
static void registers_are_limited(void)
{
	static const struct rv_isa few = {256, 8, 4, 32};
	const struct {
		uint32_t insn;
		bool legal;
	} c[] = {{addi(7, 0, 1), true},
		 {addi(8, 0, 1), false},
		 {add(1, 8, 1), false},
		 {add(1, 1, 31), false},
		 {asm_r(0x53, 3, 0, 3, 3, 1), true}, /* fadd.d */
		 {asm_r(0x53, 4, 0, 3, 3, 1), false},
		 {asm_r(0x53, 3, 0, 3, 4, 1), false},
		 {asm_r(0x43, 3, 0, 3, 3, 4 << 2 | 1), false}, /* fmadd.d */
		 {asm_r(0x53, 8, 2, 3, 3, 0x51), false},       /* feq.d */
		 {0x00018c22u, false},                         /* c.mv s8, s0; then a nop */
		 {0x000181a2u, false},
		 {0x00018186u, true}}; /* c.mv gp, ra */
	struct rv_rig r;

	rv_rig_open(&r, &few, NULL);
	for (unsigned int i = 0; i < COUNT(c); i++) {
		const uint32_t insn[] = {c[i].insn, ECALL};
		struct rv_stop s;

		rv_rig_start(&r, &few, insn, COUNT(insn), 1);
		s = rv_rig_run(&r);
		CU_ASSERT_EQUAL(s.why, c[i].legal ? RV_ENDED : RV_ILLEGAL);
		CU_ASSERT_EQUAL(s.pc, RIG_CODE + (c[i].legal ? 4 : 0));
	}
	rv_rig_close(&r);
}

static void code_is_refused(void)
{
	static const struct rv_isa wrong[] = {{100, 32, 32, 32},  {64, 32, 32, 32},
					      {2048, 32, 32, 32}, {256, 33, 32, 32},
					      {256, 32, 33, 32},  {256, 32, 32, 33}};
	const struct rv_mem mem = {0};
	struct rv_opts opts = {0};
	uint32_t nop = addi(0, 0, 0);
	struct rv_code *code;
	struct rv_batch *b;

	CU_ASSERT_EQUAL(rv_code_create(&nop, 4, 1, &rv_rig_isa, &code), -EINVAL);
	for (unsigned int i = 0; i < COUNT(wrong); i++) {
		CU_ASSERT_EQUAL(rv_code_create(&nop, 4, 0, &wrong[i], &code), -EINVAL);
		opts.isa = wrong[i];
		CU_ASSERT_EQUAL(rv_batch_create(&opts, &mem, &b), -EINVAL);
	}
}

/* Half of an instruction at the end, and pcs that are nowhere. */
static void code_ends(void)
{
	const uint32_t insn[] = {addi(D, D, 1), jalr(X)};
	const uint16_t cut[] = {0x0285, 0x8293}; /* c.addi t0, 1; half of an addi */
	struct rv_rig r;
	struct rv_stop s;

	rv_rig_open(&r, &rv_rig_isa, NULL);
	rv_rig_start(&r, &rv_rig_isa, insn, COUNT(insn), 1);
	rv_x(r.b, X)[0] = UINT64_MAX;
	s = rv_rig_run(&r);
	CU_ASSERT(s.why == RV_FETCH && s.pc == UINT64_MAX - 1 && s.value == s.pc && r.done == 2);
	rv_rig_start(&r, &rv_rig_isa, insn, 1, 1);
	s = rv_rig_run(&r);
	CU_ASSERT(s.why == RV_FETCH && s.pc == RIG_CODE + 4 && s.value == s.pc);
	rv_pc(r.b)[0] = RIG_CODE + 1;
	s = rv_rig_run(&r);
	CU_ASSERT(s.why == RV_FETCH && s.value == RIG_CODE + 1);
	rv_rig_start(&r, &rv_rig_isa, (const uint32_t *)(const void *)cut, 1, 1);
	s = rv_rig_run(&r);
	CU_ASSERT(s.why == RV_FETCH && s.pc == RIG_CODE + 2 && s.value == RIG_CODE + 4);
	CU_ASSERT_EQUAL(rv_x(r.b, D)[0], 1);
	rv_rig_close(&r);
}

static void a_step_tells_what_it_did(void)
{
	static struct rv_step step;
	const uint32_t insn[] = {ld(D, X, 4), amoadd_d(D, Y, X), addi(D, 0, 1), ECALL};
	uint64_t edge = RIG_DATA + RIG_PIECE;
	struct rv_rig r;

	rv_rig_open(&r, &rv_rig_isa, NULL);
	rv_rig_start(&r, &rv_rig_isa, insn, COUNT(insn), 1);
	rv_x(r.b, X)[0] = edge - 8;
	CU_ASSERT_EQUAL(rv_step(r.b, &step).why, RV_BUDGET);
	CU_ASSERT(step.unit == RV_LSU && step.pc == RIG_CODE && step.ntouch == 2);
	CU_ASSERT(step.touch[0].va == edge - 4 && step.touch[0].bytes == 4);
	CU_ASSERT(step.touch[1].va == edge && step.touch[1].bytes == 4 && !step.touch[1].write);
	CU_ASSERT_EQUAL(rv_step(r.b, &step).why, RV_BUDGET);
	CU_ASSERT(step.atomic && step.ntouch == 1 && step.touch[0].write);
	CU_ASSERT(step.touch[0].bytes == 8);
	CU_ASSERT_EQUAL(rv_step(r.b, &step).why, RV_BUDGET);
	CU_ASSERT(step.unit == RV_ALU && !step.atomic && !step.ntouch);
	CU_ASSERT_EQUAL(rv_step(r.b, &step).why, RV_ENDED);
	rv_rig_close(&r);
}

/* Only a program's user can read counters and decode anew; kernels have neither. */
static void kernels_have_no_counters(void)
{
	const uint32_t fence[] = {0x0000100f, ECALL};
	struct rv_rig r;

	rv_rig_open(&r, &rv_rig_isa, NULL);
	for (uint32_t csr = 0; csr < 3; csr++) {
		const uint32_t insn[] = {0xc0002273 | csr << 20, ECALL};

		rv_rig_start(&r, &rv_rig_isa, insn, COUNT(insn), 3);
		CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ILLEGAL);
	}
	rv_rig_start(&r, &rv_rig_isa, fence, COUNT(fence), 3);
	CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ENDED);
	rv_rig_close(&r);
}

/* The next kernel must read nothing of a previous kernel of another client. */
static void nothing_is_left_of_what_ran(void)
{
	const uint32_t fsd = 0x27 | 3 << 12 | X << 15 | 31 << 20 | 8 << 7;
	const uint32_t e8m8 = 0x003072d7, e32m1 = 0x0d0072d7;  /* vsetvli t0, zero */
	const uint32_t vse8 = 0x02030c27;                      /* v24 to v31 */
	const uint32_t vs2r = 0x22830827, vs4r = 0x62830827;   /* v16 and so on */
	const uint32_t vwadd = 0xc684a857, vmv4r = 0x9e81b857; /* to v16, from v8 */
	const uint32_t insn[][4] = {{sd(31, X, 0), fsd, ECALL},
				    {e8m8, vse8, ECALL},
				    {vs2r, ECALL},
				    {e32m1, vwadd, vs2r, ECALL},
				    {e32m1, vmv4r, vs4r, ECALL}};
	struct rv_rig r;

	rv_rig_open(&r, &rv_rig_isa, NULL);
	for (unsigned int k = 0; k < COUNT(insn); k++) {
		for (unsigned int i = 1; i < 32; i++) {
			memset(rv_x(r.b, i), 0xa5, RV_LANES * sizeof(uint64_t));
			memset(rv_f(r.b, i), 0xa5, RV_LANES * sizeof(uint64_t));
		}
		for (unsigned int i = 0; i < 32; i++)
			memset(rv_v(r.b, i), 0xa5, (size_t)RV_LANES * 32);
		memset(r.piece[0], 1, 2048);
		rv_rig_start(&r, &rv_rig_isa, insn[k], COUNT(insn[k]), 1);
		rv_x(r.b, X)[0] = RIG_DATA;
		CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ENDED);
		for (unsigned int i = 0; i < 2048; i++)
			if (r.piece[0][i] && r.piece[0][i] != 1)
				CU_FAIL("a byte of before");
		CU_ASSERT(memchr(r.piece[0], 0, 2048) != NULL);
	}
	rv_rig_close(&r);
}

UNIT_SUITE(rv_core, {"lanes compute alike", lanes_compute_alike},
	   {"lanes reach memory anyhow", lanes_reach_memory_anyhow},
	   {"a store is whole or not at all", a_store_is_whole_or_not_at_all},
	   {"one lane of many faults", one_lane_of_many_faults},
	   {"registers are limited", registers_are_limited}, {"code is refused", code_is_refused},
	   {"code ends", code_ends}, {"nothing is left of what ran", nothing_is_left_of_what_ran},
	   {"kernels have no counters", kernels_have_no_counters},
	   {"a step describes its instruction", a_step_tells_what_it_did})
