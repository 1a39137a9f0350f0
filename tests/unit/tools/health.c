// SPDX-License-Identifier: MIT
/*
 * What a CXL memory device says of its health: answers as the specification has them, and any
 * other.
 */
#include <string.h>
#include "tools/pci/health.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static void good(void)
{
	const uint8_t answer[HEALTH_BYTES] = {0, 0, 0, 7, 0xd8, 0xff, 1, 0, 0,
					      0, 2, 1, 0, 0,    3,    0, 0, 1};
	struct health h;

	health_parse(answer, &h);
	CU_ASSERT(h.known);
	CU_ASSERT_EQUAL(h.n, 0);
	CU_ASSERT_EQUAL(h.life, 7);
	CU_ASSERT_EQUAL(h.degrees, -40);
	CU_ASSERT_EQUAL(h.dirty_shutdowns, 1);
	CU_ASSERT_EQUAL(h.corrected_volatile, 258);
	CU_ASSERT_EQUAL(h.corrected_persistent, 0x01000003);
}

static void bad(void)
{
	const uint8_t answer[HEALTH_BYTES] = {0x05, 0x03, 0x06, 0xff, 0xff, 0x7f};
	static const char *const words[] = {"maintenance needed", "hardware replacement needed",
					    "all data lost", "no life left", "hot or cold"};
	struct health h;

	health_parse(answer, &h);
	CU_ASSERT_EQUAL_FATAL(h.n, sizeof(words) / sizeof(*words));
	for (unsigned int i = 0; i < h.n; i++)
		CU_ASSERT_STRING_EQUAL(h.word[i], words[i]);
	CU_ASSERT(h.life < 0);
	CU_ASSERT_EQUAL(h.degrees, HEALTH_NO_DEGREES);
}

/* A device may say anything: as many words as there is room for, and each is one. */
static void anything(void)
{
	uint64_t state = random_seed("answers");
	uint8_t answer[HEALTH_BYTES];
	unsigned int most = 0;
	struct health h;

	for (unsigned int i = 0; i < 100000; i++) {
		random_fill(&state, answer, sizeof(answer));
		health_parse(answer, &h);
		CU_ASSERT_FATAL(h.n <= HEALTH_WORDS);
		for (unsigned int w = 0; w < h.n; w++)
			CU_ASSERT_FATAL(*h.word[w]);
		most = h.n > most ? h.n : most;
	}
	memset(answer, 0xff, sizeof(answer));
	health_parse(answer, &h);
	CU_ASSERT_EQUAL(h.n, 9);
	CU_ASSERT_EQUAL(most, 9);
}

UNIT_SUITE(health, {"good", good}, {"bad", bad}, {"anything", anything})
