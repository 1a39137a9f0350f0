// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bitmaps of conditions by the host. Compiled with -O3, to vectorize the loops over rows.
 */
#include <string.h>
#include "eval.h"

#define BLOCK 64u

/* Pack eight bytes of 0 or 1 into one: the product moves byte i to bit 56 + i. */
static void pack(const uint8_t pass[BLOCK], size_t n, uint8_t *bits)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t eight;

		memcpy(&eight, pass + i, 8);
		bits[i / 8] = (uint8_t)(eight * 0x0102040810204080ull >> 56);
	}
}

/* Rows after the last one do not pass. */
static size_t block_at(size_t n, size_t at, uint8_t pass[BLOCK])
{
	size_t have = n - at < BLOCK ? n - at : BLOCK;

	if (have < BLOCK)
		memset(pass, 0, BLOCK);
	return have;
}

/* Whole blocks have a loop of constant count, which the compiler vectorizes. */
#define HOST_RANGE(name, type)                                                                     \
	void name(const type *column, size_t n, type lo, type hi, uint8_t *bits)                   \
	{                                                                                          \
		uint8_t pass[BLOCK];                                                               \
		for (size_t at = 0; at < n; at += BLOCK) {                                         \
			const type *v = column + at;                                               \
			size_t have = block_at(n, at, pass);                                       \
			if (have == BLOCK)                                                         \
				for (size_t i = 0; i < BLOCK; i++)                                 \
					pass[i] = (v[i] >= lo) & (v[i] <= hi);                     \
			else                                                                       \
				for (size_t i = 0; i < have; i++)                                  \
					pass[i] = (v[i] >= lo) & (v[i] <= hi);                     \
			pack(pass, have, bits + at / 8);                                           \
		}                                                                                  \
	}

HOST_RANGE(host_i32, int32_t)
HOST_RANGE(host_i64, int64_t)

void host_prefix(const char *column, size_t width, size_t n, const char *prefix, size_t length,
		 uint8_t *bits)
{
	uint8_t pass[BLOCK];

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t have = block_at(n, at, pass);

		for (size_t i = 0; i < have; i++)
			pass[i] = !memcmp(column + (at + i) * width, prefix, length);
		pack(pass, have, bits + at / 8);
	}
}

void host_and(const uint8_t *a, const uint8_t *b, uint8_t *c, size_t n)
{
	for (size_t i = 0; i < (n + 7) / 8; i++)
		c[i] = a[i] & b[i];
}

uint64_t host_count(const uint8_t *bits, size_t n)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n / 8; i++)
		count += (unsigned int)__builtin_popcount(bits[i]);
	for (size_t i = n / 8 * 8; i < n; i++)
		count += bits[i / 8] >> i % 8 & 1;
	return count;
}
