/* SPDX-License-Identifier: MIT */
/*
 * Kernels, written once for all widths. An expression names its operands d[k], a[k] and b[k]; W is
 * an unsigned type that holds a result and is never promoted to int, so arithmetic wraps.
 */
#ifndef ANNEX_NDP_HARTS_VKERN_H
#define ANNEX_NDP_HARTS_VKERN_H

#ifdef RV_AVX2
#include <immintrin.h>
#endif
#include "vector.h"

#define KERN(name, WIDE, TD, TA, TB, expr)                                                         \
	static void name(void *d_, const void *a_, const void *b_, size_t n, struct rv_vctx *c)    \
	{                                                                                          \
		typedef WIDE W __attribute__((unused));                                            \
		TD *d = d_;                                                                        \
		const TA *a = a_;                                                                  \
		const TB *b = b_;                                                                  \
		(void)a;                                                                           \
		(void)b;                                                                           \
		(void)c;                                                                           \
		RV_APART                                                                           \
		for (size_t k = 0; k < n; k++)                                                     \
			d[k] = (TD)(expr);                                                         \
	}                                                                                          \
	_Static_assert(sizeof(TD) <= sizeof(WIDE), "W holds it")

/* All operands of one width; signs (u or i) of vs2 and vs1. */
#define KERN4(name, SA, SB, expr)                                                                  \
	KERN(name##_8, v_u32, v_u8, v_##SA##8, v_##SB##8, expr);                                   \
	KERN(name##_16, v_u32, v_u16, v_##SA##16, v_##SB##16, expr);                               \
	KERN(name##_32, v_u32, v_u32, v_##SA##32, v_##SB##32, expr);                               \
	KERN(name##_64, v_u64, v_u64, v_##SA##64, v_##SB##64, expr)

/* A wide result; of narrow ones, and of a wide and a narrow one. */
#define KERN_WVV(name, SA, SB, expr)                                                               \
	KERN(name##_8, v_u32, v_u16, v_##SA##8, v_##SB##8, expr);                                  \
	KERN(name##_16, v_u32, v_u32, v_##SA##16, v_##SB##16, expr);                               \
	KERN(name##_32, v_u64, v_u64, v_##SA##32, v_##SB##32, expr)

#define KERN_WWV(name, SB, expr)                                                                   \
	KERN(name##_8, v_u32, v_u16, v_u16, v_##SB##8, expr);                                      \
	KERN(name##_16, v_u32, v_u32, v_u32, v_##SB##16, expr);                                    \
	KERN(name##_32, v_u64, v_u64, v_u64, v_##SB##32, expr)

/* A narrow result of a wide and a narrow one. */
#define KERN_NWV(name, SA, expr)                                                                   \
	KERN(name##_8, v_u32, v_u8, v_##SA##16, v_u8, expr);                                       \
	KERN(name##_16, v_u32, v_u16, v_##SA##32, v_u16, expr);                                    \
	KERN(name##_32, v_u32, v_u32, v_##SA##64, v_u32, expr)

/* Bytes of 0 and 1, of comparisons. */
#define KERN_MASK(name, S, expr)                                                                   \
	KERN(name##_8, v_u32, v_u8, v_##S##8, v_##S##8, expr);                                     \
	KERN(name##_16, v_u32, v_u8, v_##S##16, v_##S##16, expr);                                  \
	KERN(name##_32, v_u32, v_u8, v_##S##32, v_##S##32, expr);                                  \
	KERN(name##_64, v_u64, v_u8, v_##S##64, v_##S##64, expr)

#define ALL4(name)                                                                                 \
	{                                                                                          \
		name##_8, name##_16, name##_32, name##_64                                          \
	}
#define ALL3(name)                                                                                 \
	{                                                                                          \
		name##_8, name##_16, name##_32, NULL                                               \
	}

#define VOP(name, wd, wa, wb, bits, ...)                                                           \
	static const struct rv_vop name = {                                                        \
		.d = (wd),                                                                         \
		.a = (wa),                                                                         \
		.b = (wb),                                                                         \
		.flags = (bits),                                                                   \
		.kern = __VA_ARGS__,                                                               \
	}

#define OP4(name, SA, SB, bits, expr)                                                              \
	KERN4(name, SA, SB, expr);                                                                 \
	VOP(name, 0, 0, 0, bits, ALL4(name))
#define OP_MASK(name, S, bits, expr)                                                               \
	KERN_MASK(name, S, expr);                                                                  \
	VOP(name, 0, 0, 0, RV_VOP_MASK | (bits), ALL4(name))

/* Comparisons also as bits (rv_bits); their expression is one of vectors of the host then. */
#ifdef RV_AVX2
#define KERN_BITS(name, T, n, pack, expr)                                                          \
	static inline uint64_t name##_of(const char *a_, const char *b_, size_t b_row,             \
					 unsigned int regs)                                        \
	{                                                                                          \
		typedef T V __attribute__((vector_size(32), may_alias));                           \
		uint64_t bits = 0;                                                                 \
		for (unsigned int r = 0, k = 0; r < regs; r++) {                                   \
			const V *a = (const V *)(a_ + r * (size_t)RV_LANES * 32);                  \
			const V *b = (const V *)(b_ + r * b_row);                                  \
			bits |= (uint64_t)pack((__m256i)(expr)) << r * (n);                        \
		}                                                                                  \
		return bits;                                                                       \
	}                                                                                          \
	static void name(uint64_t *d, const char *a, const char *b, size_t b_row,                  \
			 unsigned int regs)                                                        \
	{                                                                                          \
		const unsigned int most = (n) < 8 ? 8 : 64 / (n);                                  \
		for (size_t l = 0; l < 32 * (size_t)RV_LANES; l += 32) {                           \
			if (regs == most) /* without a loop */                                     \
				d[l / 32] = name##_of(a + l, b + l, b_row, most);                  \
			else                                                                       \
				d[l / 32] = name##_of(a + l, b + l, b_row, regs);                  \
		}                                                                                  \
	}                                                                                          \
	_Static_assert(sizeof(T) * (n) == 32, "a bit for each element")

static inline uint32_t rv_pack_8(__m256i m)
{
	return (uint32_t)_mm256_movemask_epi8(m);
}

static inline uint32_t rv_pack_16(__m256i m)
{
	__m128i low = _mm256_castsi256_si128(m), high = _mm256_extracti128_si256(m, 1);

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
}

static inline uint32_t rv_pack_32(__m256i m)
{
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(m));
}

static inline uint32_t rv_pack_64(__m256i m)
{
	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(m));
}

#define OP_COMPARE(name, S, expr)                                                                  \
	KERN_MASK(name, S, expr);                                                                  \
	KERN_BITS(name##_bits_8, v_##S##8, 32, rv_pack_8, expr);                                   \
	KERN_BITS(name##_bits_16, v_##S##16, 16, rv_pack_16, expr);                                \
	KERN_BITS(name##_bits_32, v_##S##32, 8, rv_pack_32, expr);                                 \
	KERN_BITS(name##_bits_64, v_##S##64, 4, rv_pack_64, expr);                                 \
	static const struct rv_vop name = {                                                        \
		.flags = RV_VOP_MASK,                                                              \
		.kern = ALL4(name),                                                                \
		.bits = ALL4(name##_bits),                                                         \
	}
#else
#define OP_COMPARE(name, S, expr) OP_MASK(name, S, 0, expr)
#endif

#define OP_WVV(name, SA, SB, bits, expr)                                                           \
	KERN_WVV(name, SA, SB, expr);                                                              \
	VOP(name, 1, 0, 0, bits, ALL3(name))
#define OP_WWV(name, SB, expr)                                                                     \
	KERN_WWV(name, SB, expr);                                                                  \
	VOP(name, 1, 1, 0, 0, ALL3(name))
#define OP_NWV(name, SA, bits, expr)                                                               \
	KERN_NWV(name, SA, expr);                                                                  \
	VOP(name, 0, 1, 0, bits, ALL3(name))

#endif
