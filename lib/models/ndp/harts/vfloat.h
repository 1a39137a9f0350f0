/* SPDX-License-Identifier: MIT */
/*
 * Kernels of floating point: with the host's arithmetic for round to nearest when flags are not
 * read (results are the same), and exact ones through soft.h. Results that are NaN are canonical.
 *
 * Halves are computed in single precision and rounded once more: with 24 bits, that gives the same
 * as rounding once for all but fused operations.
 */
#ifndef ANNEX_NDP_HARTS_VFLOAT_H
#define ANNEX_NDP_HARTS_VFLOAT_H

#include <math.h>
#include "soft.h"
#include "vkern.h"

static inline uint32_t bits_s(float x)
{
	union {
		float f;
		uint32_t u;
	} as = {.f = x};

	return as.u;
}

static inline float from_bits_s(uint32_t x)
{
	union {
		uint32_t u;
		float f;
	} as = {.u = x};

	return as.f;
}

static inline double from_bits_d(uint64_t x)
{
	union {
		uint64_t u;
		double f;
	} as = {.u = x};

	return as.f;
}

/* Canonical NaN for any. */
static inline float to_s(float x)
{
	return x == x ? x : from_bits_s(0x7fc00000);
}

static inline double to_d(double x)
{
	return x == x ? x : from_bits_d(0x7ff8000000000000);
}

/* The exponent is moved; that of a subnormal by a difference, in which it becomes normal. */
static inline float of_h(uint16_t x)
{
	uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13;
	uint32_t normal = magnitude + 0x38000000;
	uint32_t small = bits_s(from_bits_s(magnitude + 0x38800000) - from_bits_s(0x38800000));
	uint32_t bits = magnitude >= 0x0f800000 ? normal + 0x38000000 : normal;

	bits = magnitude < 0x00800000 ? small : bits;
	return from_bits_s(bits | (uint32_t)(x & 0x8000) << 16);
}

/* Subnormals are rounded by a sum whose last bit is theirs, others by hand. */
static inline uint16_t to_h(float x)
{
	uint32_t bits = bits_s(x), magnitude = bits & 0x7fffffff;
	uint32_t small = bits_s(from_bits_s(magnitude) + 0.5f) - bits_s(0.5f);
	uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
	uint32_t h = magnitude < 0x38800000 ? small : normal;

	h = magnitude >= 0x477ff000 ? 0x7c00 : h;
	h |= bits >> 16 & 0x8000;
	return (uint16_t)(magnitude > 0x7f800000 ? 0x7e00 : h);
}

static inline float of_s(float x)
{
	return x;
}

static inline double of_d(double x)
{
	return x;
}

/* x * y + z for halves in single precision: the product is exact, the sum rounded to odd. */
static inline float fma_h(float x, float y, float z)
{
	float p = x * y, sum = p + z, t = sum - p;
	float error = (p - (sum - t)) + (z - t);
	uint32_t bits = bits_s(sum), error_bits = bits_s(error);
	bool inexact = error != 0 && error == error && !(bits & 1);
	uint32_t odd = (bits ^ error_bits) >> 31 ? bits - 1 : bits + 1;

	return from_bits_s(inexact ? odd : bits);
}

/* A number rather than NaN, and the zeros are ordered. */
#define NEGATIVE(x) (copysignf(1, (float)(x)) < 0)
#define LEAST(x, y) ((x) < (y) || (y) != (y) || ((x) == (y) && NEGATIVE(x)) ? (x) : (y))
#define MOST(x, y) ((x) > (y) || (y) != (y) || ((x) == (y) && !NEGATIVE(x)) ? (x) : (y))

#define fma_s fmaf
#define fma_d fma

/* @expr is of x, y and z: vs2, vs1 and vd as numbers. */
#define FAST(name, TD, TA, TB, F, put, of_a, of_b, expr)                                           \
	static void name(void *d_, const void *a_, const void *b_, size_t n, struct rv_vctx *c)    \
	{                                                                                          \
		TD *d = d_;                                                                        \
		const TA *a = a_;                                                                  \
		const TB *b = b_;                                                                  \
		(void)c;                                                                           \
		RV_APART                                                                           \
		for (size_t k = 0; k < n; k++) {                                                   \
			F x = of_a(a[k]), y = of_b(b[k]);                                          \
			(void)x;                                                                   \
			d[k] = (TD)put(expr);                                                      \
		}                                                                                  \
	}                                                                                          \
	_Static_assert(1, "")
#define FAST_ONE(name, TD, TA, F, put, of_a, expr)                                                 \
	static void name(void *d_, const void *a_, const void *b_, size_t n, struct rv_vctx *c)    \
	{                                                                                          \
		TD *d = d_;                                                                        \
		const TA *a = a_;                                                                  \
		(void)b_;                                                                          \
		(void)c;                                                                           \
		RV_APART                                                                           \
		for (size_t k = 0; k < n; k++) {                                                   \
			F x = of_a(a[k]);                                                          \
			d[k] = (TD)put(expr);                                                      \
		}                                                                                  \
	}                                                                                          \
	_Static_assert(1, "")

/* Exact kernels work on bits a[k], b[k], d[k], and pass RM_FLAGS last. */
#define RM_FLAGS (enum rv_round) c->rm, &c->flags
#define SOFT(name, TD, TA, TB, FMT, expr)                                                          \
	static void name(void *d_, const void *a_, const void *b_, size_t n, struct rv_vctx *c)    \
	{                                                                                          \
		const enum rv_fmt fmt __attribute__((unused)) = FMT;                               \
		TD *d = d_;                                                                        \
		const TA *a = a_;                                                                  \
		const TB *b = b_;                                                                  \
		(void)b;                                                                           \
		(void)c;                                                                           \
		for (size_t k = 0; k < n; k++)                                                     \
			d[k] = (TD)(expr);                                                         \
	}                                                                                          \
	_Static_assert(1, "")

#define SOFT3(name, expr)                                                                          \
	SOFT(name##_16x, v_u16, v_u16, v_u16, RV_H, expr);                                         \
	SOFT(name##_32x, v_u32, v_u32, v_u32, RV_S, expr);                                         \
	SOFT(name##_64x, v_u64, v_u64, v_u64, RV_D, expr)

#define FLOAT3(name, suffix)                                                                       \
	{                                                                                          \
		NULL, name##_16##suffix, name##_32##suffix, name##_64##suffix                      \
	}
#define FLOAT2(name, suffix)                                                                       \
	{                                                                                          \
		NULL, name##_16##suffix, name##_32##suffix, NULL                                   \
	}

#define VOP_FLOAT(name, wd, wa, wb, bits, fast, soft)                                              \
	static const struct rv_vop name = {                                                        \
		.d = (wd),                                                                         \
		.a = (wa),                                                                         \
		.b = (wb),                                                                         \
		.flags = RV_VOP_FLOAT | (bits),                                                    \
		.kern = fast,                                                                      \
		.exact = soft,                                                                     \
	}

#endif
