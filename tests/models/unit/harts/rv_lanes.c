// SPDX-License-Identifier: MIT
/*
 * Lanes that part and meet again, and lanes that wait for each other.
 */
#include "tests/models/unit/ndp_asm.h"
#include "rv_rig.h"
#include "tests/unit/unit.h"

/* Registers: A is the number of the lane, P the address of a word, ONE is 1. */
enum { T = 5, U = 6, TICKET = 7, P = 8, ONE = 9, A = 10, B = 11 };

#define COUNT(insn) (sizeof(insn) / sizeof((insn)[0]))

static void start(struct rv_rig *r, const uint32_t *insn, size_t n, unsigned int lanes)
{
	rv_rig_open(r, &rv_rig_isa, NULL);
	rv_rig_start(r, &rv_rig_isa, insn, n, lanes);
	for (unsigned int i = 0; i < RV_LANES; i++) {
		rv_x(r->b, A)[i] = i;
		rv_x(r->b, P)[i] = RIG_DATA;
		rv_x(r->b, ONE)[i] = 1;
	}
}

static void ends(struct rv_rig *r, uint64_t instructions)
{
	CU_ASSERT_EQUAL(rv_rig_run(r).why, RV_ENDED);
	CU_ASSERT_EQUAL(r->done, instructions);
}

/* Numbers that lanes have taken: in the order of lanes only if they took them together. */
static bool in_order(struct rv_rig *r)
{
	for (unsigned int i = 0; i < RV_LANES; i++)
		if (rv_x(r->b, TICKET)[i] != i)
			return false;
	return true;
}

static void two_ways_meet(void)
{
	const uint32_t insn[] = {asm_i(0x13, T, 7, A, 1), /* andi */
				 bne(T, 0, 12),           addi(B, B, 200),          jump(8),
				 addi(B, B, 100),         amoadd_d(TICKET, ONE, P), ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), RV_LANES);
	ends(&r, 64 * 4 + 32 * 2 + 32);
	for (unsigned int i = 0; i < RV_LANES; i++)
		CU_ASSERT_EQUAL(rv_x(r.b, B)[i], i % 2 ? 100 : 200);
	CU_ASSERT(in_order(&r));
	rv_rig_close(&r);
}

/* Each lane goes round once more than the one before it. */
static void loops_of_different_length_meet(void)
{
	const uint32_t insn[] = {addi(T, A, 1),
				 add(B, B, T),
				 addi(T, T, -1),
				 bne(T, 0, -8),
				 amoadd_d(TICKET, ONE, P),
				 ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), RV_LANES);
	ends(&r, 64 * 3 + 3 * (64 * 65 / 2));
	for (uint64_t i = 0; i < RV_LANES; i++)
		CU_ASSERT_EQUAL(rv_x(r.b, B)[i], (i + 1) * (i + 2) / 2);
	CU_ASSERT(in_order(&r));
	rv_rig_close(&r);
}

/* Lane by lane to one of four places, each of which adds its own. */
static void jumps_to_many_places(void)
{
	const uint32_t insn[] = {
		asm_i(0x13, T, 7, A, 3), /* andi */
		slli(T, T, 3),
		auipc(U, 0),
		add(U, U, T),
		asm_i(0x67, B, 0, U, 12), /* jalr: 12 behind the auipc is the first */
		addi(T, 0, 1),
		jump(24),
		addi(T, 0, 2),
		jump(16),
		addi(T, 0, 3),
		jump(8),
		addi(T, 0, 4),
		amoadd_d(TICKET, ONE, P),
		ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), RV_LANES);
	CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ENDED);
	for (unsigned int i = 0; i < RV_LANES; i++) {
		CU_ASSERT_EQUAL(rv_x(r.b, T)[i], i % 4 + 1);
		CU_ASSERT_EQUAL(rv_x(r.b, B)[i], RIG_CODE + 20);
	}
	CU_ASSERT(in_order(&r));
	rv_rig_close(&r);
}

/* The holder of the lock is ahead of lanes that spin on it, which must not starve it. */
static void a_lock_goes_round(void)
{
	const uint32_t insn[] = {amoswap_d(T, ONE, P), bne(T, 0, -4), ld(U, P, 8), addi(U, U, 1),
				 sd(U, P, 8),          sd(0, P, 0),   ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), RV_LANES);
	CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ENDED);
	CU_ASSERT_EQUAL(*rv_rig_word(&r, RIG_DATA + 8), RV_LANES);
	CU_ASSERT_EQUAL(*rv_rig_word(&r, RIG_DATA), 0);
	rv_rig_close(&r);
}

/* In slices, as a unit of a device runs it; @insn ends with the lock's release, and counts at 8. */
static void in_slices(const uint32_t *insn, size_t n, uint64_t slice)
{
	struct rv_stop stop = {.why = RV_BUDGET};
	struct rv_rig r;

	start(&r, insn, n, RV_LANES);
	while (stop.why == RV_BUDGET && r.done < 50000000)
		stop = rv_run(r.b, slice, &r.done);
	CU_ASSERT_EQUAL(stop.why, RV_ENDED);
	CU_ASSERT_EQUAL(*rv_rig_word(&r, RIG_DATA + 8), RV_LANES);
	rv_rig_close(&r);
}

static void a_lock_goes_round_in_slices(void)
{
	const uint32_t plain[] = {amoswap_d(T, ONE, P), bne(T, 0, -4), ld(U, P, 8), addi(U, U, 1),
				  sd(U, P, 8),          sd(0, P, 0),   ECALL};
	/* Lanes part within the loop: half of them take a step more. */
	const uint32_t parting[] = {asm_i(0x13, B, 7, A, 1),
				    bne(B, 0, 8),
				    addi(0, 0, 0),
				    amoswap_d(T, ONE, P),
				    bne(T, 0, -12),
				    ld(U, P, 8),
				    addi(U, U, 1),
				    sd(U, P, 8),
				    sd(0, P, 0),
				    ECALL};

	for (uint64_t slice = 2048; slice <= 1u << 20; slice <<= 4) {
		in_slices(plain, COUNT(plain), slice);
		in_slices(parting, COUNT(parting), slice);
	}
}

/* One lane waits for what another one, which is behind it in the code, stores. */
static void a_flag_is_seen(void)
{
	const uint32_t insn[] = {bne(A, 0, 12), ld(T, P, 0),    jump(12), sd(ONE, P, 0),
				 ECALL,         beq(T, 0, -16), ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), 2);
	CU_ASSERT_EQUAL(rv_rig_run(&r).why, RV_ENDED);
	CU_ASSERT_EQUAL(rv_x(r.b, T)[0], 1);
	rv_rig_close(&r);
}

/*
 * vsetvli T, A, e32, m1: as many as the lane asks for, of eight; then the same for all. Results
 * go to memory, since lanes that have ended keep no registers.
 */
static void each_lane_has_its_vl(void)
{
	const uint32_t vsetvli = 0x01007057 | T << 7 | A << 15, vsetivli = 0xc1027057 | U << 7;
	const uint32_t read_vl = 0xc2002073 | B << 7, sh3add = asm_r(0x33, P, 6, A, P, 0x10);
	const uint32_t insn[] = {sh3add,      vsetvli,       read_vl,        vsetivli,
				 sd(T, P, 0), sd(B, P, 512), sd(U, P, 1024), ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), RV_LANES);
	ends(&r, 64 * 8);
	for (unsigned int i = 0; i < RV_LANES; i++) {
		uint64_t *word = rv_rig_word(&r, RIG_DATA + i * 8);

		CU_ASSERT_EQUAL(word[0], i < 8 ? i : 8);
		CU_ASSERT_EQUAL(word[64], i < 8 ? i : 8);
		CU_ASSERT_EQUAL(word[128], 4);
	}
	rv_rig_close(&r);
}

static void each_lane_has_its_vstart(void)
{
	const uint32_t andi = asm_i(0x13, T, 7, A, 7), write = 0x00801073 | T << 15;
	const uint32_t read = 0x00802073 | B << 7, zero = 0x00805073;
	const uint32_t insn[] = {andi,
				 write,
				 read,
				 zero,
				 amoadd_d(TICKET, ONE, P),
				 asm_r(0x33, P, 6, A, P, 0x10), /* sh3add */
				 sd(B, P, 8),
				 ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), RV_LANES);
	ends(&r, 64 * 8);
	for (unsigned int i = 0; i < RV_LANES; i++)
		CU_ASSERT_EQUAL(*rv_rig_word(&r, RIG_DATA + 8 + i * 8), i % 8);
	CU_ASSERT_EQUAL(*rv_rig_word(&r, RIG_DATA), RV_LANES);
	rv_rig_close(&r);
}

/* fsrm, and 1/3 rounded as each lane wants it. */
static void each_lane_rounds_its_way(void)
{
	const uint32_t fsrm = 0x00201073 | A << 15, fdiv = 0x1a207053 | 3 << 7 | 1 << 15;
	const uint32_t insn[] = {fsrm, fdiv, ECALL};
	struct rv_rig r;

	start(&r, insn, COUNT(insn), 5);
	for (unsigned int i = 0; i < 5; i++) {
		rv_f(r.b, 1)[i] = 0x3ff0000000000000;
		rv_f(r.b, 2)[i] = 0x4008000000000000;
	}
	ends(&r, 5 * 3);
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(rv_f(r.b, 3)[i], 0x3fd5555555555555 + (i == 3));
	rv_rig_close(&r);
}

static void a_budget_ends_it_for_now(void)
{
	const uint32_t insn[] = {addi(B, B, 1), jump(-4)};
	struct rv_rig r;
	struct rv_stop s;

	start(&r, insn, COUNT(insn), RV_LANES);
	s = rv_run(r.b, 0, &r.done);
	CU_ASSERT(s.why == RV_BUDGET && r.done == 0);
	s = rv_run(r.b, 64 * 1000, &r.done);
	CU_ASSERT(s.why == RV_BUDGET && r.done == 64 * 1000);
	CU_ASSERT(s.pc == RIG_CODE && rv_x(r.b, B)[63] == 500);
	/* A whole instruction of all lanes is the least. */
	s = rv_run(r.b, 1, &r.done);
	CU_ASSERT(s.why == RV_BUDGET && r.done == 64 * 1001);
	CU_ASSERT(s.pc == RIG_CODE + 4 && rv_x(r.b, B)[63] == 501);
	rv_rig_close(&r);
}

/* A lane stores into the word itself. */
static void somebody_stops_it(void)
{
	static volatile uint32_t word[2];
	const uint32_t insn[] = {sw(ONE, P, 0), jump(0)};
	struct rv_rig r;
	struct rv_stop s;

	rv_rig_open(&r, &rv_rig_isa, (const volatile uint32_t *)word);
	word[0] = 0;
	rv_rig_start(&r, &rv_rig_isa, insn + 1, 1, 3);
	s = rv_run(r.b, 1000, &r.done);
	CU_ASSERT_EQUAL(s.why, RV_BUDGET);
	word[0] = 1;
	s = rv_run(r.b, 1000, &r.done);
	CU_ASSERT_EQUAL(s.why, RV_STOPPED);
	word[0] = 0;
	rv_rig_close(&r);
}

UNIT_SUITE(rv_lanes, {"two ways meet", two_ways_meet},
	   {"loops of different length meet", loops_of_different_length_meet},
	   {"jumps to many places", jumps_to_many_places}, {"a lock goes round", a_lock_goes_round},
	   {"a lock goes round, in slices", a_lock_goes_round_in_slices},
	   {"a flag is seen", a_flag_is_seen}, {"each lane has its vl", each_lane_has_its_vl},
	   {"each lane has its vstart", each_lane_has_its_vstart},
	   {"each lane rounds its way", each_lane_rounds_its_way},
	   {"a budget ends it for now", a_budget_ends_it_for_now},
	   {"another thread stops it", somebody_stops_it})
