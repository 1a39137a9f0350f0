// SPDX-License-Identifier: MIT
/*
 * Timing of flash: overlapping operations, and waits.
 */
#include <string.h>
#include "models/ssd/clock.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* Two channels of two dies of two planes; a page passes a channel in 1,000 ns. */
static const struct ssd_geometry g = {
	.channels = 2, .dies = 2, .planes = 2, .blocks = 8, .pages = 4, .page = 4096};
static const struct ssd_media media = {
	.read = 3000, .program = 100000, .erase = 1000000, .rate = 4096000000};

enum { PLANE = 0, OTHER_CHANNEL = 1, OTHER_DIE = 2, OTHER_PLANE = 4 };

static struct ssd_clock *idle(void)
{
	struct ssd_clock *c = ssd_clock_create(&g, &media);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	return c;
}

static void alone(void)
{
	struct ssd_clock *c = idle();

	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 500), 500 + 3000 + 1000);
	CU_ASSERT_EQUAL(ssd_clock_program(c, PLANE, 10000), 10000 + 1000 + 100000);
	CU_ASSERT_EQUAL(ssd_clock_erase(c, PLANE, 200000), 200000 + 1000000);
	CU_ASSERT_EQUAL(ssd_clock_copy(c, PLANE, 2000000), 2000000 + 3000 + 100000);
	CU_ASSERT_EQUAL(ssd_clock_idle(c, PLANE), 2103000);
	CU_ASSERT_EQUAL(ssd_clock_idle(c, OTHER_CHANNEL), 0);
	ssd_clock_destroy(c);
}

static void one_after_the_other(void)
{
	struct ssd_clock *c = idle();

	/* A die, whatever the plane: the page leaves before the next one is read. */
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 0), 4000);
	CU_ASSERT_EQUAL(ssd_clock_read(c, OTHER_PLANE, g.page, 0), 8000);
	/* An idle die begins when it is told to. */
	CU_ASSERT_EQUAL(ssd_clock_erase(c, PLANE, 7000), 1008000);
	CU_ASSERT_EQUAL(ssd_clock_program(c, PLANE, 7000), 1008000 + 1000 + 100000);
	ssd_clock_destroy(c);
}

static void at_once(void)
{
	struct ssd_clock *c = idle();

	/* Cells of two dies; then one page after the other on their channel. */
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 0), 4000);
	CU_ASSERT_EQUAL(ssd_clock_read(c, OTHER_DIE, g.page, 0), 5000);
	/* Everything, on another channel. */
	CU_ASSERT_EQUAL(ssd_clock_read(c, OTHER_CHANNEL, g.page, 0), 4000);
	/* Programs wait for the channel, and pass nothing while the cells are programmed. */
	CU_ASSERT_EQUAL(ssd_clock_program(c, PLANE, 5000), 106000);
	CU_ASSERT_EQUAL(ssd_clock_program(c, OTHER_DIE, 5000), 107000);
	CU_ASSERT_EQUAL(ssd_clock_copy(c, OTHER_CHANNEL, 5000), 108000);
	ssd_clock_destroy(c);
}

static void a_part_of_a_page(void)
{
	struct ssd_clock *c = idle();

	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, 256, 0), 3000 + 63); /* 62.5 */
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, 2048, 10000), 13500);
	ssd_clock_destroy(c);
}

static void a_busy_die_holds_no_channel(void)
{
	struct ssd_clock *c = idle();

	CU_ASSERT_EQUAL(ssd_clock_program(c, PLANE, 0), 101000);
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 2000), 101000 + 3000 + 1000);
	CU_ASSERT_EQUAL(ssd_clock_read(c, OTHER_DIE, g.page, 3000), 7000);
	/* Programs of the other die fit before that page passes, and behind it. */
	CU_ASSERT_EQUAL(ssd_clock_program(c, OTHER_DIE, 3000), 8000 + 100000);
	CU_ASSERT_EQUAL(ssd_clock_read(c, OTHER_DIE, g.page, 103500), 108000 + 3000 + 1000);
	ssd_clock_destroy(c);
}

/* Beside a plain table of the nanoseconds that the channel is taken. */
static void gaps_of_a_channel(void)
{
	static const struct ssd_geometry many = {
		.channels = 1, .dies = 64, .planes = 1, .blocks = 8, .pages = 4, .page = 4096};
	static uint8_t taken[1000000];
	struct ssd_clock *c = ssd_clock_create(&many, &media);
	uint64_t seed = random_seed("channel"), now = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	memset(taken, 0, sizeof(taken));
	for (unsigned int i = 0; i < 500; i++) {
		const uint32_t die = (uint32_t)(random_next(&seed) % 64),
			       bytes = 64 + die % 4 * 128;
		const uint64_t ns = (bytes * 1000u + 4095) / 4096;
		uint64_t done;

		now += random_next(&seed) % 600;
		done = ssd_clock_read(c, die, bytes, now);
		CU_ASSERT_FATAL(done <= sizeof(taken) && done >= now + 3000 + ns);
		for (uint64_t at = done - ns; at < done; at++)
			CU_ASSERT_FALSE_FATAL(taken[at]++);
	}
	ssd_clock_destroy(c);
}

static void interrupted(void)
{
	static const struct ssd_media polite = {.read = 3000,
						.program = 100000,
						.erase = 1000000,
						.rate = 4096000000,
						.suspend = 500};
	struct ssd_clock *c = ssd_clock_create(&g, &polite);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(ssd_clock_program(c, PLANE, 0), 101000);
	/* Two reads, one after the other; the program is done so much later. */
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 20000), 20000 + 500 + 3000 + 1000);
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 20000), 24500 + 500 + 3000 + 1000);
	CU_ASSERT_EQUAL(ssd_clock_idle(c, PLANE), 101000 + 2 * 3500);
	/* One that is nearly done is not interrupted. */
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 107000), 108000 + 3000 + 1000);
	/* An idle die needs not make way. */
	CU_ASSERT_EQUAL(ssd_clock_read(c, PLANE, g.page, 200000), 204000);
	ssd_clock_destroy(c);
}

UNIT_SUITE(ssd_clock, {"alone", alone}, {"one after the other", one_after_the_other},
	   {"at once", at_once}, {"a part of a page", a_part_of_a_page},
	   {"a busy die holds no channel", a_busy_die_holds_no_channel},
	   {"gaps of a channel", gaps_of_a_channel}, {"interrupted", interrupted})
