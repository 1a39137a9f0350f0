/* SPDX-License-Identifier: MIT */
/*
 * Floating point exactly as IEEE 754-2008 and the F, D and Zfh extensions want it, of half, single
 * and double precision: for what the host's arithmetic does not give (flags, rounding modes,
 * halves).
 *
 * Values are bits in the low end of 64; higher bits are ignored in arguments and zero in results,
 * so callers box results. Flags are or'ed into *@flags. Results that are NaN are the canonical one.
 */
#ifndef ANNEX_NDP_HARTS_SOFT_H
#define ANNEX_NDP_HARTS_SOFT_H

#include <stdbool.h>
#include <stdint.h>

enum rv_fmt { RV_H, RV_S, RV_D };

/* As in frm; RV_ROD: to odd, of vfncvt.rod only. */
enum rv_round { RV_RNE, RV_RTZ, RV_RDN, RV_RUP, RV_RMM, RV_ROD };

/* As in fflags. */
enum rv_flag { RV_NX = 1, RV_UF = 2, RV_OF = 4, RV_DZ = 8, RV_NV = 16 };

/* As fclass answers. */
enum rv_class {
	RV_CLASS_NEG_INF = 1,
	RV_CLASS_NEG_NORMAL = 2,
	RV_CLASS_NEG_SUBNORMAL = 4,
	RV_CLASS_NEG_ZERO = 8,
	RV_CLASS_ZERO = 16,
	RV_CLASS_SUBNORMAL = 32,
	RV_CLASS_NORMAL = 64,
	RV_CLASS_INF = 128,
	RV_CLASS_SNAN = 256,
	RV_CLASS_QNAN = 512,
};

static inline unsigned int rv_fmt_bits(enum rv_fmt fmt)
{
	return 16u << fmt;
}

static inline uint64_t rv_fmt_nan(enum rv_fmt fmt)
{
	return fmt == RV_D ? 0x7ff8000000000000 : fmt == RV_S ? 0x7fc00000 : 0x7e00;
}

uint64_t rv_soft_add(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags);
uint64_t rv_soft_sub(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags);
uint64_t rv_soft_mul(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags);
uint64_t rv_soft_div(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags);
uint64_t rv_soft_sqrt(enum rv_fmt fmt, uint64_t a, enum rv_round rm, uint8_t *flags);

/* rv_soft_fma() - @a * @b + @c, rounded once; for the other three, flip signs of @a and @c. */
uint64_t rv_soft_fma(enum rv_fmt fmt, uint64_t a, uint64_t b, uint64_t c, enum rv_round rm,
		     uint8_t *flags);

/* Comparisons: of quiet NaNs too, le and lt are invalid; eq only of signaling ones. */
bool rv_soft_eq(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags);
bool rv_soft_lt(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags);
bool rv_soft_le(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags);

/* IEEE 754-2019's minimumNumber and maximumNumber. */
uint64_t rv_soft_min(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags);
uint64_t rv_soft_max(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags);

enum rv_class rv_soft_class(enum rv_fmt fmt, uint64_t a);

/* rv_soft_convert() - From one precision to another. */
uint64_t rv_soft_convert(enum rv_fmt from, enum rv_fmt to, uint64_t a, enum rv_round rm,
			 uint8_t *flags);

/*
 * rv_soft_to_int() - An integer of @bits (8 to 64), extended to 64 by its sign, or by zeros if it
 * is not @is_signed. NaN, and a value that does not fit, becomes the nearest end, and is invalid.
 */
uint64_t rv_soft_to_int(enum rv_fmt fmt, uint64_t a, unsigned int bits, bool is_signed,
			enum rv_round rm, uint8_t *flags);

/* rv_soft_from_int() - Of all 64 bits of @value. */
uint64_t rv_soft_from_int(enum rv_fmt fmt, uint64_t value, bool is_signed, enum rv_round rm,
			  uint8_t *flags);

/* vrecip.c: estimates to seven bits, as vfrec7 and vfrsqrt7 give them. */
uint64_t rv_rec7(enum rv_fmt fmt, uint64_t a, enum rv_round rm, uint8_t *flags);
uint64_t rv_rsqrt7(enum rv_fmt fmt, uint64_t a, uint8_t *flags);

#endif
