// SPDX-License-Identifier: MIT
/*
 * Two devices (M2NDP section III-I): the caller parts the data and launches on each, and a unit of
 * one reads the memory of the other.
 */
#include <unistd.h>
#include "m2_rig.h"

#define WORDS 8192u /* 64 KiB: a rig's pool */
#define SCRATCHPAD_UPPER (ANNEX_M2_SCRATCHPAD >> 12)

/* Each is a client of its own device, and has both ranges mapped. */
static void open_two(struct m2_rig r[2])
{
	for (unsigned int i = 0; i < 2; i++)
		m2_rig_open(&r[i], NULL);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(annex_m2_map(r[i].m2, r[1 - i].hdm, NULL, 0, ANNEX_M2_READ),
				      0);
}

static void close_two(struct m2_rig r[2])
{
	/* A range may go when no device has it mapped any more. */
	for (unsigned int i = 0; i < 2; i++)
		annex_m2_close(r[i].m2);
	for (unsigned int i = 0; i < 2; i++) {
		r[i].m2 = NULL;
		m2_rig_close(&r[i]);
	}
}

/* Half of the numbers on each device, both launched before either is waited for. */
static void half_on_each(void)
{
	uint64_t instance[2], add = 5;
	struct m2_rig r[2];
	uint32_t id[2];

	open_two(r);
	for (unsigned int i = 0; i < 2; i++) {
		id[i] = m2_rig_register(r[i].m2, m2_rig_counter(&r[i]), sizeof(add));
		for (unsigned int k = 0; k < WORDS; k++)
			r[i].pool[k] = (uint64_t)i * WORDS + k;
	}
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(annex_m2_launch(r[i].m2, id[i], r[i].pool, 8ull * WORDS, &add,
						sizeof(add), &instance[i]),
				0);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(annex_m2_wait(r[i].m2, instance[i], M2_RIG_LONG_MS, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int k = 0; k < WORDS; k++)
			CU_ASSERT_EQUAL(r[i].pool[k], (uint64_t)i * WORDS + k + (k % 4 ? 0 : add));
	close_two(r);
}

/* A unit adds numbers at the same place of both devices. */
static void one_reads_the_other(void)
{
	struct m2_rig r[2];

	open_two(r);
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int k = 0; k < WORDS; k++)
			r[i].pool[k] = (i + 1) * 1000000ull + k;
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t other = (uintptr_t)r[1 - i].pool;
		void *image = M2_IMAGE(&r[i], lui(3, SCRATCHPAD_UPPER), ld(3, 3, 0), add(3, 3, 2),
				       ld(3, 3, 0), ld(4, 1, 0), add(4, 4, 3), sd(4, 1, 0), ECALL);
		uint32_t id = m2_rig_register(r[i].m2, image, 8);

		CU_ASSERT_EQUAL(annex_m2_run(r[i].m2, id, r[i].pool, 8ull * WORDS, &other, 8, NULL),
				0);
	}
	for (unsigned int k = 0; k < WORDS; k += 4) {
		CU_ASSERT_EQUAL(r[0].pool[k], 3000000ull + 2 * k);
		CU_ASSERT_EQUAL(r[1].pool[k], 5000000ull + 3 * k);
	}
	close_two(r);
}

/* The other side cannot write to memory that is mapped readonly there. */
static void the_other_is_not_written(void)
{
	struct annex_m2_end end;
	struct m2_rig r[2];
	uint64_t one = 1;
	uint32_t id;

	open_two(r);
	id = m2_rig_register(r[0].m2, m2_rig_counter(&r[0]), sizeof(one));
	CU_ASSERT_EQUAL(annex_m2_run(r[0].m2, id, r[1].pool, 32, &one, sizeof(one), &end), -EFAULT);
	CU_ASSERT_EQUAL(end.addr, (uintptr_t)r[1].pool);
	CU_ASSERT_EQUAL(r[1].pool[0], 0);
	/* A kernel of one device is none of the other's. */
	CU_ASSERT_EQUAL(annex_m2_run(r[1].m2, id, r[1].pool, 32, &one, sizeof(one), NULL), -ENOENT);
	/* And when the other's memory is not mapped any more, it is not reached. */
	CU_ASSERT_EQUAL(annex_m2_unmap(r[0].m2, annex_hdm_at(r[1].hdm, 0), M2_RIG_BYTES), 0);
	CU_ASSERT_EQUAL(annex_m2_run(r[0].m2, id, r[1].pool, 32, &one, sizeof(one), NULL), -EFAULT);
	close_two(r);
}

UNIT_SUITE(ndp_two, {"half on each", half_on_each}, {"one reads the other", one_reads_the_other},
	   {"the other is not written", the_other_is_not_written})
