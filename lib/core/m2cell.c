// SPDX-License-Identifier: MIT
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "crc32c.h"
#include "m2cell.h"

/* A sanitizer does not know that what one instruction stores is atomic to the other side. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define M2_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define M2_SANITIZED 1
#endif

bool m2_layout_right(const struct m2_layout *l)
{
	return l->stride >= ANNEX_M2_STRIDE_MIN && l->stride <= ANNEX_M2_STRIDE_MAX &&
	       !(l->stride & (l->stride - 1)) && l->slots && l->slots <= ANNEX_M2_SLOTS_MAX;
}

uint64_t m2_word(const uint64_t *payload, unsigned int n, uint32_t seq, bool answer)
{
	uint64_t check = crc32c(payload, n, seq) & 0x7fffffffu;

	return (answer ? ANNEX_M2_ANSWER : 0) | check << 32 | seq;
}

void m2_store(char *cell, uint32_t stride, const uint64_t *payload, uint64_t word)
{
	uint64_t *to = (uint64_t *)(void *)cell;
	unsigned int n = stride / 8 - 1;

	/* Relaxed: the word, stored last, orders them. */
	for (unsigned int i = 0; i < n; i++)
		annex_atomic_store(&to[i], payload[i], ANNEX_RELAXED);
	/*
	 * Releases the payload to who acquires the word. Sequentially consistent, since the one who
	 * stores then looks whether the other side sleeps, and that side says so before it looks at
	 * the word for the last time: one of them sees the other.
	 */
	annex_atomic_store(&to[n], word, ANNEX_SEQ_CST);
}

void m2_load(const char *cell, uint32_t stride, uint64_t *payload)
{
	const uint64_t *from = (const uint64_t *)(const void *)cell;

	/* Relaxed: ordered by the word, which was acquired before. */
	for (unsigned int i = 0; i < stride / 8 - 1; i++)
		payload[i] = annex_atomic_load(&from[i], ANNEX_RELAXED);
}

#if defined(__x86_64__) && !defined(M2_SANITIZED)
__attribute__((target("avx"))) static void store32(char *cell, const uint64_t *all)
{
	_mm256_store_si256((__m256i *)(void *)cell, _mm256_loadu_si256((const void *)all));
}

__attribute__((target("avx512f"))) static void store64(char *cell, const uint64_t *all)
{
	_mm512_store_si512(cell, _mm512_loadu_si512(all));
}

void m2_store_whole(char *cell, uint32_t stride, const uint64_t *payload, uint64_t word)
{
	uint64_t all[8];

	if ((stride == 32 && __builtin_cpu_supports("avx")) ||
	    (stride == 64 && __builtin_cpu_supports("avx512f"))) {
		memcpy(all, payload, stride - sizeof(word));
		all[stride / 8 - 1] = word;
		if (stride == 32)
			store32(cell, all);
		else
			store64(cell, all);
		/* As m2_store()'s word: before the look whether the other side sleeps. */
		__atomic_thread_fence(ANNEX_SEQ_CST);
		return;
	}
	m2_store(cell, stride, payload, word);
}
#else
void m2_store_whole(char *cell, uint32_t stride, const uint64_t *payload, uint64_t word)
{
	m2_store(cell, stride, payload, word);
}
#endif
