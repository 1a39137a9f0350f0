// SPDX-License-Identifier: MIT
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "core/crc32c.h"
#include "m2cell.h"

/* Sanitizers do not know that a vector store is atomic for the other side. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define M2_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define M2_SANITIZED 1
#endif

bool annex_m2_layout_right(const struct m2_layout *l)
{
	return l->stride >= ANNEX_M2_STRIDE_MIN && l->stride <= ANNEX_M2_STRIDE_MAX &&
	       !(l->stride & (l->stride - 1)) && l->slots && l->slots <= ANNEX_M2_SLOTS_MAX;
}

uint64_t annex_m2_word(const uint64_t *payload, unsigned int n, uint32_t seq, bool answer)
{
	uint64_t check = annex_crc32c(payload, n, seq) & 0x7fffffffu;

	return (answer ? ANNEX_M2_ANSWER : 0) | check << 32 | seq;
}

unsigned int annex_m2_rest(uint32_t function, const uint64_t *payload, uint32_t stride)
{
	struct annex_m2_launch launch;
	uint32_t room = stride - 8 - (uint32_t)sizeof(launch);

	if (function != ANNEX_M2_LAUNCH)
		return 0;
	memcpy(&launch, payload, sizeof(launch));
	return launch.args > room && launch.args <= room + stride ? stride / 8 : 0;
}

/* Store word by word, relaxed: the word of the cell, which is stored last, orders them. */
static void store_words(char *cell, const uint64_t *words, unsigned int n)
{
	uint64_t *to = (uint64_t *)(void *)cell;

	for (unsigned int i = 0; i < n; i++)
		annex_atomic_store(&to[i], words[i], ANNEX_RELAXED);
}

static void load_words(const char *cell, uint64_t *words, unsigned int n)
{
	const uint64_t *from = (const uint64_t *)(const void *)cell;

	/* Relaxed: ordered by the word, which was acquired before. */
	for (unsigned int i = 0; i < n; i++)
		words[i] = annex_atomic_load(&from[i], ANNEX_RELAXED);
}

/*
 * Release: the payload before the word. Sequentially consistent where annex_m2_fence() is empty:
 * the storing side then checks whether the other side sleeps, which announces that before it checks
 * the word for the last time. So at least one of them sees the other's store.
 */
static void store_by_words(char *cell, uint32_t stride, const uint64_t *payload, uint64_t word)
{
	store_words(cell, payload, stride / 8 - 1);
	annex_atomic_store(m2_word_of(cell, stride), word, ANNEX_SEQ_CST);
}

static uint64_t load_by_words(const char *cell, uint32_t stride, uint64_t *all)
{
	const char *at = cell + stride - sizeof(uint64_t);
	/* Acquire: the payload was stored before the word. Sequentially consistent, since this may
	 * be the last check before sleeping. */
	uint64_t word = annex_atomic_load((const uint64_t *)(const void *)at, ANNEX_SEQ_CST);

	load_words(cell, all, stride / 8 - 1);
	all[stride / 8 - 1] = word;
	return word;
}

#if defined(__x86_64__) && !defined(M2_SANITIZED)
/* x86 keeps the order of stores and of loads; this keeps the compiler from changing it. */
#define IN_ORDER() __asm__ volatile("" ::: "memory")

__attribute__((target("avx"))) static void store32(char *cell, const uint64_t *all, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 32) {
		IN_ORDER();
		_mm256_store_si256((__m256i *)(void *)(cell + at),
				   _mm256_loadu_si256((const void *)(all + at / 8)));
	}
	IN_ORDER();
}

__attribute__((target("avx512f"))) static void store64(char *cell, const uint64_t *all,
						       uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 64) {
		IN_ORDER();
		_mm512_store_si512(cell + at, _mm512_loadu_si512(all + at / 8));
	}
	IN_ORDER();
}

/* Load from the end on, so that the word is first. */
__attribute__((target("avx"))) static void load32(const char *cell, uint64_t *all, uint32_t bytes)
{
	for (uint32_t at = bytes; at; at -= 32) {
		IN_ORDER();
		_mm256_storeu_si256((void *)(all + at / 8 - 4),
				    _mm256_load_si256((const void *)(cell + at - 32)));
	}
	IN_ORDER();
}

__attribute__((target("avx512f"))) static void load64(const char *cell, uint64_t *all,
						      uint32_t bytes)
{
	for (uint32_t at = bytes; at; at -= 64) {
		IN_ORDER();
		_mm512_storeu_si512(all + at / 8 - 8, _mm512_load_si512(cell + at - 64));
	}
	IN_ORDER();
}

static bool store_vectors(char *cell, const uint64_t *all, uint32_t bytes)
{
	if (bytes >= 64 && __builtin_cpu_supports("avx512f"))
		store64(cell, all, bytes);
	else if (__builtin_cpu_supports("avx"))
		store32(cell, all, bytes);
	else
		return false;
	return true;
}

static bool load_vectors(const char *cell, uint64_t *all, uint32_t bytes)
{
	if (bytes >= 64 && __builtin_cpu_supports("avx512f"))
		load64(cell, all, bytes);
	else if (__builtin_cpu_supports("avx"))
		load32(cell, all, bytes);
	else
		return false;
	return true;
}

void annex_m2_fence(void)
{
	__atomic_thread_fence(ANNEX_SEQ_CST);
}
#else
static bool store_vectors(char *cell, const uint64_t *all, uint32_t bytes)
{
	(void)cell;
	(void)all;
	(void)bytes;
	return false;
}

static bool load_vectors(const char *cell, uint64_t *all, uint32_t bytes)
{
	(void)cell;
	(void)all;
	(void)bytes;
	return false;
}

void annex_m2_fence(void)
{
	/* The word's store is sequentially consistent: see store_by_words(). */
}
#endif

void annex_m2_store_cell(char *cell, uint32_t stride, const uint64_t *payload, uint64_t word)
{
	uint64_t all[M2_WORDS];

	memcpy(all, payload, stride - sizeof(word));
	all[stride / 8 - 1] = word;
	if (!store_vectors(cell, all, stride))
		store_by_words(cell, stride, payload, word);
}

void annex_m2_store_rest(char *cell, uint32_t stride, const uint64_t *words)
{
	if (!store_vectors(cell, words, stride))
		store_words(cell, words, stride / 8);
}

uint64_t annex_m2_load_cell(const char *cell, uint32_t stride, uint64_t *all)
{
	if (!load_vectors(cell, all, stride))
		return load_by_words(cell, stride, all);
	return all[stride / 8 - 1];
}

void annex_m2_load_rest(const char *cell, uint32_t stride, uint64_t *words)
{
	if (!load_vectors(cell, words, stride))
		load_words(cell, words, stride / 8);
}
