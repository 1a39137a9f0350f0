// SPDX-License-Identifier: MIT
/*
 * What devices say of their health: answers as the specifications have them, and any other.
 */
#include <string.h>
#include "tools/pci/health.h"
#include "tools/pci/smart.h"
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

static void smart(void)
{
	uint8_t page[SMART_BYTES] = {0x05, 0x43, 0x01, 90, 10, 101};
	struct smart s;

	page[32] = 3;         /* units read */
	page[48 + 8] = 1;     /* units written: 1 << 64 */
	page[160 + 7] = 0x80; /* media errors: 1 << 63 */
	page[176] = 0xff;     /* entries of the error log: 511 */
	page[177] = 1;
	page[196 + 3] = 1;    /* minutes at the critical temperature: 1 << 24 */
	page[200 + 2] = 0x11; /* the second sensor: 273 K */
	page[200 + 3] = 1;
	smart_parse(page, &s);
	CU_ASSERT_EQUAL_FATAL(s.n, 2);
	CU_ASSERT_STRING_EQUAL(s.warning[0], "few spare blocks left");
	CU_ASSERT_STRING_EQUAL(s.warning[1], "less reliable");
	CU_ASSERT(s.degrees == 50 && s.spare == 90 && s.spare_least == 10 && s.used == 101);
	CU_ASSERT_EQUAL(s.read, 3);
	CU_ASSERT_EQUAL(s.written, UINT64_MAX);
	CU_ASSERT_EQUAL(s.media, 1ull << 63);
	CU_ASSERT_EQUAL(s.errors, 511);
	CU_ASSERT_EQUAL(s.hot, 1u << 24);
	CU_ASSERT(s.sensor[0] == SMART_NO_DEGREES && s.sensor[1] == 0);
	memset(page, 0xff, sizeof(page));
	smart_parse(page, &s);
	CU_ASSERT_EQUAL(s.n, SMART_WARNINGS);
}

UNIT_SUITE(health, {"good", good}, {"bad", bad}, {"anything", anything}, {"SMART", smart})
