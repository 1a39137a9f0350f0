// SPDX-License-Identifier: MIT
/*
 * CRC-32C: by the instruction of SSE4.2 where there is one, else by a table.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif
#include "crc32c.h"

#define POLYNOMIAL 0x82f63b78u /* bits reversed */

static uint32_t table[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static inline uint64_t word_at(const uint64_t *words, unsigned int i)
{
	uint64_t word;

	memcpy(&word, (const char *)words + 8 * (size_t)i, sizeof(word));
	return word;
}

static void fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
		table[i] = c;
	}
}

static uint32_t take_bytes(uint32_t c, uint64_t bytes, unsigned int n)
{
	for (; n; n--, bytes >>= 8)
		c = table[(c ^ bytes) & 0xff] ^ c >> 8;
	return c;
}

uint32_t crc32c_by_table(const uint64_t *words, unsigned int n, uint32_t last)
{
	uint32_t c = ~0u;

	pthread_once(&once, fill);
	for (unsigned int i = 0; i < n; i++)
		c = take_bytes(c, word_at(words, i), 8);
	return ~take_bytes(c, last, 4);
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(const uint64_t *words,
								 unsigned int n, uint32_t last)
{
	uint64_t c = ~0u;

	for (unsigned int i = 0; i < n; i++)
		c = _mm_crc32_u64(c, word_at(words, i));
	return ~_mm_crc32_u32((uint32_t)c, last);
}

uint32_t annex_crc32c(const uint64_t *words, unsigned int n, uint32_t last)
{
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(words, n, last);
	return crc32c_by_table(words, n, last);
}
#else
uint32_t annex_crc32c(const uint64_t *words, unsigned int n, uint32_t last)
{
	return crc32c_by_table(words, n, last);
}
#endif
