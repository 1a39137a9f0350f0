/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of which each piece tells where it belongs. A sector of 512 bytes, whatever the device's
 * blocks are, is 64 words of the host's byte order:
 *
 *   0        its number: the byte that it begins at, divided by 512
 *   1        the seed of the run that wrote it
 *   2 to 62  a hash of number, seed and place in the sector
 *   63       a checksum of words 0 and 1
 *
 * Nothing in it is arbitrary, so that every bit can be checked without knowing more.
 */
#ifndef TOOLS_BLOCK_PATTERN_H
#define TOOLS_BLOCK_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_SECTOR 512u
#define PATTERN_WORDS (PATTERN_SECTOR / 8u)

static inline uint64_t pattern_sum(uint64_t sector, uint64_t seed)
{
	uint64_t x = (sector + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull ^ seed;

	x = (x ^ x >> 32) * 0x94d049bb133111ebull;
	return x ^ x >> 29;
}

/*
 * pattern_stamped() - Whether the stamp of a sector is right: first, second and last word. It
 * detects sectors that are misplaced, old, or partly written, but not a flipped bit in other words.
 */
static inline bool pattern_stamped(const void *data, uint64_t sector, uint64_t seed)
{
	const uint64_t *w = data;

	return w[0] == sector && w[1] == seed && w[PATTERN_WORDS - 1] == pattern_sum(sector, seed);
}

/* pattern_fill() - Make @count sectors from number @sector on. @buf is aligned to 8. */
void pattern_fill(void *buf, uint64_t sector, uint32_t count, uint64_t seed);

/* pattern_check() - How many of @count sectors are right, up to the first that is not. */
uint32_t pattern_check(const void *buf, uint64_t sector, uint32_t count, uint64_t seed);

/* pattern_explain() - Write a text on the error of one sector to @text. */
void pattern_explain(char *text, size_t size, const void *data, uint64_t sector, uint64_t seed);

#endif
