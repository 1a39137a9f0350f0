// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "pattern.h"

#define FIRST 2u                 /* of the hashed words */
#define LAST (PATTERN_WORDS - 1) /* word, the checksum */

static uint64_t hashed(uint64_t sum, unsigned int i)
{
	uint64_t x = (sum + i * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;

	return x ^ x >> 32;
}

static uint64_t word_at(unsigned int i, uint64_t sector, uint64_t seed)
{
	uint64_t sum = pattern_sum(sector, seed);

	return i == 0 ? sector : i == 1 ? seed : i == LAST ? sum : hashed(sum, i);
}

void pattern_fill(void *buf, uint64_t sector, uint32_t count, uint64_t seed)
{
	uint64_t *w = buf;

	for (; count--; sector++, w += PATTERN_WORDS) {
		uint64_t sum = pattern_sum(sector, seed);

		w[0] = sector;
		w[1] = seed;
		for (unsigned int i = FIRST; i < LAST; i++)
			w[i] = hashed(sum, i);
		w[LAST] = sum;
	}
}

static bool right(const uint64_t *w, uint64_t sector, uint64_t seed)
{
	uint64_t sum = pattern_sum(sector, seed), wrong = 0;

	/* No way out in the middle, so that the compiler can do several words at once. */
	for (unsigned int i = FIRST; i < LAST; i++)
		wrong |= w[i] ^ hashed(sum, i);
	return !wrong && w[0] == sector && w[1] == seed && w[LAST] == sum;
}

uint32_t pattern_check(const void *buf, uint64_t sector, uint32_t count, uint64_t seed)
{
	const uint64_t *w = buf;

	for (uint32_t i = 0; i < count; i++)
		if (!right(w + i * PATTERN_WORDS, sector + i, seed))
			return i;
	return count;
}

/* Correct words of @w: from the front, from the back, and all of them. */
struct match {
	unsigned int front, back, all;
};

static struct match match(const uint64_t *w, uint64_t sector, uint64_t seed)
{
	struct match m = {0, 0, 0};

	for (unsigned int i = 0; i < PATTERN_WORDS; i++) {
		bool same = w[i] == word_at(i, sector, seed);

		m.all += same;
		m.front += same && m.front == i;
		m.back = same ? m.back + 1 : 0;
	}
	return m;
}

/* Some bits are wrong: how many bytes, and the first of them. */
static void explain_bytes(char *text, size_t size, const uint64_t *w, uint64_t sector,
			  uint64_t seed)
{
	const unsigned char *is = (const unsigned char *)w;
	unsigned int n = 0, first = 0;
	uint64_t words[PATTERN_WORDS];
	const unsigned char *want = (const unsigned char *)words;

	pattern_fill(words, sector, 1, seed);
	for (unsigned int i = PATTERN_SECTOR; i--;) {
		if (is[i] == want[i])
			continue;
		first = i;
		n++;
	}
	snprintf(text, size, "corrupt: %u of %u bytes differ, byte %u is 0x%02x and not 0x%02x", n,
		 PATTERN_SECTOR, first, is[first], want[first]);
}

static bool all_zero(const uint64_t *w)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < PATTERN_WORDS; i++)
		bits |= w[i];
	return !bits;
}

void pattern_explain(char *text, size_t size, const void *data, uint64_t sector, uint64_t seed)
{
	const uint64_t *w = data;
	struct match m = match(w, sector, seed);

	if (right(w, w[0], w[1])) {
		/* Whole, but it belongs elsewhere. */
		if (w[1] == seed)
			snprintf(text, size, "misplaced: this data belongs at byte %" PRIu64,
				 (w[0] * PATTERN_SECTOR));
		else if (w[0] == sector)
			snprintf(text, size, "stale: a run with seed %" PRIu64 " wrote it", w[1]);
		else
			snprintf(text, size,
				 "misplaced and stale: a run with seed %" PRIu64
				 " wrote it for byte %" PRIu64,
				 w[1], (w[0] * PATTERN_SECTOR));
	} else if (all_zero(w)) {
		snprintf(text, size, "zeroes: it has not been written");
	} else if (m.all < 2) {
		snprintf(text, size, "no pattern: written by something else");
	} else if (m.front == m.all && PATTERN_WORDS - m.all > 1) {
		snprintf(text, size, "torn: correct up to byte %u, other data after it",
			 m.front * 8);
	} else if (m.back == m.all && PATTERN_WORDS - m.all > 1) {
		snprintf(text, size, "torn: correct from byte %u on, other data before it",
			 (PATTERN_WORDS - m.back) * 8);
	} else {
		explain_bytes(text, size, w, sector, seed);
	}
}
