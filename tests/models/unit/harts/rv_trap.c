// SPDX-License-Identifier: MIT
/*
 * Harts that cannot continue: place and report of the stop, and nothing else changed.
 */
#include <stdlib.h>
#include <string.h>
#include "models/ndp/harts/rv.h"
#include "tests/unit/unit.h"

#define CODE 0x1000u
#define DATA 0x10000u   /* a page to read and write, with nothing after it */
#define CONSTS 0x20000u /* a page to read */
#define PAGE 4096u

/* Instructions. A is x7, the address; x5 and x6 are operand and destination. */
#define LI(rd, imm) ((imm) << 20 | (rd) << 7 | 0x13u)
#define LW_X6_A 0x0003a303u
#define SW_X5_A 0x0053a023u
#define FLD_F6_A 0x0003b307u
#define AMOADD_W 0x0053a32fu
#define LR_D 0x1003b32fu
#define SC_W 0x1853a32fu
#define JR_A 0x00038067u
#define READ_VSTART 0x00802473u /* to x8 */
#define READ_VL 0xc20024f3u     /* to x9 */
#define VSETIVLI_8_E32 0xc1047057u
#define WRITE_VSTART(n) (0x00805073u | (n) << 15)
#define VLE32_V8_A 0x0203e407u
#define VLE32FF_V8_A 0x0303e407u
#define VLSEG2E32FF_V8_A 0x2303e407u
#define VSE32_V8_A 0x0203e427u
#define VADD_V8_V8_V8 0x02840457u
#define VREDSUM_V8_V8_V8 0x02842457u
#define FRM(n) (0x00205073u | (n) << 15)
#define FADD_S_DYN 0x00007053u
#define EBREAK 0x00100073u
#define ECALL 0x00000073u

/* struct rig - A batch, some code, and a memory of two pages; a third one may be added. */
struct rig {
	struct rv_batch *b;
	struct rv_code *code;
	char data[2 * PAGE], consts[PAGE];
	uint64_t mapped; /* bytes of data */
	uint64_t done;
};

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	struct rig *r = ctx;

	if (va - DATA < r->mapped)
		*span = (struct rv_span){DATA, r->mapped, r->data, RV_READ | RV_WRITE};
	else if (va - CONSTS < PAGE)
		*span = (struct rv_span){CONSTS, PAGE, r->consts, RV_READ};
	else
		return -14;
	return 0;
}

static struct rig *setup(unsigned int lanes, const uint32_t *words, size_t n)
{
	struct rv_opts opts = {.isa = {256, 32, 32, 32}};
	struct rig *r = calloc(1, sizeof(*r));
	struct rv_mem mem = {find, r};

	r->mapped = PAGE;
	for (unsigned int i = 0; i < sizeof(r->data); i++)
		r->data[i] = (char)(i * 7 + 1);
	CU_ASSERT_EQUAL_FATAL(rv_batch_create(&opts, &mem, &r->b), 0);
	CU_ASSERT_EQUAL_FATAL(rv_code_create(words, n, CODE, &opts.isa, &r->code), 0);
	rv_start(r->b, r->code, lanes, CODE);
	for (unsigned int i = 0; i < RV_LANES; i++)
		for (unsigned int reg = 1; reg < 32; reg++)
			rv_x(r->b, reg)[i] = 1000 + reg;
	memset(rv_v(r->b, 8), 0xee, 32);
	return r;
}

#define SETUP(lanes, ...)                                                                          \
	setup(lanes, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}))

static struct rv_stop run(struct rig *r)
{
	return rv_run(r->b, 1000000, &r->done);
}

static void done(struct rig *r)
{
	rv_batch_destroy(r->b);
	rv_code_destroy(r->code);
	free(r);
}

/* It stopped at the instruction @at (by words), with @value, and x6 has not changed. */
static void stopped(struct rig *r, enum rv_why why, unsigned int at, uint64_t value)
{
	struct rv_stop s = run(r);

	CU_ASSERT_EQUAL(s.why, why);
	CU_ASSERT_EQUAL(s.lane, 0);
	CU_ASSERT_EQUAL(s.pc, CODE + at * 4);
	CU_ASSERT_EQUAL(s.value, value);
	CU_ASSERT_EQUAL(rv_pc(r->b)[0], CODE + at * 4);
	CU_ASSERT_EQUAL(rv_x(r->b, 6)[0], 1006);
}

/* @word, with @address in x7, cannot reach @value. */
static void at_address(uint32_t word, uint64_t address, enum rv_why why, uint64_t value)
{
	struct rig *r = SETUP(1, LI(5, 77), word, LI(6, 1), EBREAK);

	rv_x(r->b, 7)[0] = address;
	stopped(r, why, 1, value);
	CU_ASSERT_EQUAL(rv_x(r->b, 5)[0], 77);
	CU_ASSERT_EQUAL(rv_x(r->b, 7)[0], address);
	done(r);
}

static void illegal(uint32_t before, uint32_t word)
{
	struct rig *r = SETUP(1, VSETIVLI_8_E32, before, word, LI(6, 1), EBREAK);

	stopped(r, RV_ILLEGAL, 2, word);
	CU_ASSERT_EQUAL(((unsigned char *)rv_v(r->b, 8))[0], 0xee);
	done(r);
}

static void illegal_instructions(void)
{
	illegal(LI(5, 1), 0xffffffffu);
	illegal(LI(5, 1), 0x0000707fu);
	illegal(LI(5, 1), 0xc0101073u);                           /* csrrw of time: read-only */
	illegal(LI(5, 1), 0x30002073u);                           /* mstatus is none of user mode */
	illegal(LI(5, 1), 0x0e055033u);                           /* a funct7 of nothing */
	illegal(FRM(5), FADD_S_DYN);                              /* no such rounding */
	illegal(LI(5, 1), FADD_S_DYN & ~(2u << 12));              /* rm 5 */
	illegal(WRITE_VSTART(1), VREDSUM_V8_V8_V8);               /* begins at the start only */
	illegal(0xc1107057u | 8u << 15, VADD_V8_V8_V8 | 1u << 7); /* e32, m2: an odd register */
	illegal(LI(5, 1), 0x00840057u);                           /* masked, and over its mask */
	illegal(0xcff07057u, VADD_V8_V8_V8);                      /* vill */
}

static void a_half_word_of_zeros_is_illegal(void)
{
	struct rig *r = SETUP(1, LI(5, 77), 0);

	stopped(r, RV_ILLEGAL, 1, 0);
	done(r);
}

static void registers_that_code_does_not_have(void)
{
	static const uint32_t words[] = {LI(15, 1), LI(16, 1)};
	struct rv_isa isa = {256, 16, 4, 8};
	struct rig *r = SETUP(1, EBREAK);

	rv_code_destroy(r->code);
	CU_ASSERT_EQUAL_FATAL(rv_code_create(words, sizeof(words), CODE, &isa, &r->code), 0);
	rv_start(r->b, r->code, 1, CODE);
	rv_x(r->b, 6)[0] = 1006;
	stopped(r, RV_ILLEGAL, 1, LI(16, 1));
	CU_ASSERT_EQUAL(rv_x(r->b, 15)[0], 1);
	done(r);
}

static void loads_and_stores(void)
{
	at_address(LW_X6_A, 0, RV_LOAD, 0);
	at_address(LW_X6_A, DATA + PAGE, RV_LOAD, DATA + PAGE);
	at_address(LW_X6_A, DATA + PAGE - 2, RV_LOAD, DATA + PAGE); /* half of it */
	at_address(LW_X6_A, ~0ull - 1, RV_LOAD, ~0ull - 1);
	at_address(FLD_F6_A, CONSTS - 8, RV_LOAD, CONSTS - 8);
	at_address(SW_X5_A, CONSTS, RV_STORE, CONSTS);
	at_address(SW_X5_A, CONSTS + PAGE, RV_STORE, CONSTS + PAGE);
	at_address(SW_X5_A, DATA + PAGE - 1, RV_STORE, DATA + PAGE);
}

static void a_store_that_fails_stores_nothing(void)
{
	struct rig *r = SETUP(1, SW_X5_A);

	rv_x(r->b, 7)[0] = DATA + PAGE - 2;
	stopped(r, RV_STORE, 0, DATA + PAGE);
	CU_ASSERT_EQUAL(r->data[PAGE - 2], (char)((PAGE - 2) * 7 + 1));
	CU_ASSERT_EQUAL(r->data[PAGE - 1], (char)((PAGE - 1) * 7 + 1));
	done(r);
}

static void atomics(void)
{
	at_address(AMOADD_W, DATA + 2, RV_MISALIGNED, DATA + 2);
	at_address(LR_D, DATA + 4, RV_MISALIGNED, DATA + 4);
	at_address(SC_W, DATA + 1, RV_MISALIGNED, DATA + 1);
	at_address(AMOADD_W, CONSTS, RV_STORE, CONSTS);
	at_address(AMOADD_W, DATA + PAGE, RV_STORE, DATA + PAGE);
	at_address(LR_D, DATA + PAGE, RV_LOAD, DATA + PAGE);
}

static void jumps_out_of_the_code(void)
{
	static const uint64_t places[] = {0, CODE - 4, CODE + 12, 1ull << 63, ~1ull};

	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct rig *r = SETUP(1, LI(5, 77), JR_A, EBREAK);
		struct rv_stop s;

		rv_x(r->b, 7)[0] = places[i];
		s = run(r);
		CU_ASSERT_EQUAL(s.why, RV_FETCH);
		CU_ASSERT_EQUAL(s.value, places[i]);
		CU_ASSERT_EQUAL(rv_pc(r->b)[0], places[i]);
		done(r);
	}
}

static void a_vector_load_ends_in_the_middle(void)
{
	struct rig *r = SETUP(1, VSETIVLI_8_E32, VLE32_V8_A, READ_VSTART, EBREAK);
	uint64_t from = DATA + PAGE - 20; /* five elements are there */
	unsigned char *v = rv_v(r->b, 8);

	rv_x(r->b, 7)[0] = from;
	stopped(r, RV_LOAD, 1, DATA + PAGE);
	CU_ASSERT_EQUAL(memcmp(v, r->data + PAGE - 20, 20), 0);
	for (unsigned int i = 20; i < 32; i++)
		CU_ASSERT_EQUAL(v[i], 0xee);

	/* Memory comes, and the instruction goes on where it stood. */
	r->mapped = 2 * PAGE;
	rv_forget(r->b);
	memset(v, 0xdd, 20);
	CU_ASSERT_EQUAL(run(r).why, RV_EBREAK);
	CU_ASSERT_EQUAL(v[19], 0xdd);
	CU_ASSERT_EQUAL(memcmp(v + 20, r->data + PAGE, 12), 0);
	CU_ASSERT_EQUAL(rv_x(r->b, 8)[0], 0);
	done(r);
}

static void vstart_tells_the_element(void)
{
	struct rig *r = SETUP(1, VSETIVLI_8_E32, VSE32_V8_A, READ_VSTART, EBREAK);

	rv_x(r->b, 7)[0] = DATA + PAGE - 12;
	stopped(r, RV_STORE, 1, DATA + PAGE);
	for (unsigned int i = 1; i <= 12; i++)
		CU_ASSERT_EQUAL((unsigned char)r->data[PAGE - i], 0xee);
	CU_ASSERT_EQUAL(r->data[PAGE - 13], (char)((PAGE - 13) * 7 + 1));
	rv_pc(r->b)[0] += 4;
	CU_ASSERT_EQUAL(run(r).why, RV_EBREAK);
	CU_ASSERT_EQUAL(rv_x(r->b, 8)[0], 3);
	done(r);
}

static void only_the_first_fault_counts(void)
{
	struct rig *r = SETUP(1, VSETIVLI_8_E32, VLE32FF_V8_A, READ_VL, EBREAK);
	unsigned char *v = rv_v(r->b, 8);

	rv_x(r->b, 7)[0] = DATA + PAGE - 12;
	CU_ASSERT_EQUAL(run(r).why, RV_EBREAK);
	CU_ASSERT_EQUAL(rv_x(r->b, 9)[0], 3);
	CU_ASSERT_EQUAL(memcmp(v, r->data + PAGE - 12, 12), 0);
	done(r);

	r = SETUP(1, VSETIVLI_8_E32, VLE32FF_V8_A, READ_VL, EBREAK);
	rv_x(r->b, 7)[0] = DATA + PAGE;
	stopped(r, RV_LOAD, 1, DATA + PAGE);
	CU_ASSERT_EQUAL(rv_x(r->b, 9)[0], 1009);
	done(r);
}

/* A segment counts when all of it was loaded; what qemu 10.0 cannot be asked. */
static void nor_does_half_a_segment(void)
{
	struct rig *r = SETUP(1, VSETIVLI_8_E32, VLSEG2E32FF_V8_A, READ_VL, EBREAK);
	unsigned char *first = rv_v(r->b, 8), *second = rv_v(r->b, 9);

	rv_x(r->b, 7)[0] = DATA + PAGE - 20;
	CU_ASSERT_EQUAL(run(r).why, RV_EBREAK);
	CU_ASSERT_EQUAL(rv_x(r->b, 9)[0], 2);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(memcmp(first + i * 4, r->data + PAGE - 20 + i * 8, 4), 0);
		CU_ASSERT_EQUAL(memcmp(second + i * 4, r->data + PAGE - 16 + i * 8, 4), 0);
	}
	done(r);

	r = SETUP(1, VSETIVLI_8_E32, VLSEG2E32FF_V8_A, READ_VL, EBREAK);
	rv_x(r->b, 7)[0] = DATA + PAGE - 4;
	stopped(r, RV_LOAD, 1, DATA + PAGE);
	done(r);
}

static void one_lane_of_many(void)
{
	struct rig *r = SETUP(RV_LANES, LI(5, 77), LW_X6_A, LI(4, 3), ECALL);
	struct rv_stop s;

	for (unsigned int i = 0; i < RV_LANES; i++)
		rv_x(r->b, 7)[i] = i == 17 ? DATA + PAGE : DATA + i * 4;
	s = run(r);
	CU_ASSERT_EQUAL(s.why, RV_LOAD);
	CU_ASSERT_EQUAL(s.lane, 17);
	CU_ASSERT_EQUAL(s.pc, CODE + 4);
	CU_ASSERT_EQUAL(s.value, DATA + PAGE);
	for (unsigned int i = 0; i < RV_LANES; i++)
		CU_ASSERT_EQUAL(rv_x(r->b, 4)[i], 1004);
	CU_ASSERT_EQUAL(rv_x(r->b, 6)[17], 1006);

	/* With another address for it, all of them get theirs. */
	rv_x(r->b, 7)[17] = DATA + 17 * 4;
	s = run(r);
	CU_ASSERT_EQUAL(s.why, RV_ECALL);
	for (unsigned int i = 0; i < RV_LANES; i++) {
		int32_t want;

		memcpy(&want, r->data + i * 4, 4);
		CU_ASSERT_EQUAL(rv_x(r->b, 6)[i], (uint64_t)want);
		CU_ASSERT_EQUAL(rv_x(r->b, 4)[i], 3);
	}
	done(r);
}

static void endless_loops_end(void)
{
	struct rig *r = SETUP(3, 0x0000006fu); /* to itself */
	struct rv_stop s = rv_run(r->b, 5000, &r->done);

	CU_ASSERT_EQUAL(s.why, RV_BUDGET);
	CU_ASSERT(r->done >= 5000 && r->done < 5000 + RV_LANES);
	done(r);
}

UNIT_SUITE(rv_trap, {"illegal instructions", illegal_instructions},
	   {"zeros are illegal", a_half_word_of_zeros_is_illegal},
	   {"registers that code does not have", registers_that_code_does_not_have},
	   {"loads and stores", loads_and_stores},
	   {"a store that fails stores nothing", a_store_that_fails_stores_nothing},
	   {"atomics", atomics}, {"jumps out of the code", jumps_out_of_the_code},
	   {"a vector load ends in the middle", a_vector_load_ends_in_the_middle},
	   {"vstart tells the element", vstart_tells_the_element},
	   {"only the first fault counts", only_the_first_fault_counts},
	   {"nor does half a segment", nor_does_half_a_segment},
	   {"one lane of many", one_lane_of_many}, {"endless loops end", endless_loops_end})
