// SPDX-License-Identifier: MIT
/*
 * Estimates of reciprocals and their square roots. The tables of sections 13.9 and 13.10 are what
 * the middle of each interval gives, so they are computed.
 */
#include "soft.h"

struct layout {
	unsigned int fraction, exponent; /* bits */
	uint64_t bias;
};

static struct layout layout_of(enum rv_fmt fmt)
{
	static const struct layout layouts[] = {{10, 5, 15}, {23, 8, 127}, {52, 11, 1023}};

	return layouts[fmt];
}

/* Seven bits of the reciprocal of 1.@index, doubled to lie in [1, 2). */
static uint64_t recip_bits(unsigned int index)
{
	return (uint64_t)(128 * (2 / (1 + (index + 0.5) / 128)) + 0.5) - 128;
}

/* The largest r for which r * r * m <= 1 is not far: rounding is of r + 1/2. */
static uint64_t rsqrt_bits(unsigned int index)
{
	double m = index < 64 ? 2 * (1 + (index + 0.5) / 64) : 1 + (index - 64 + 0.5) / 64;
	double want = 4 / m;
	uint64_t r = 128;

	while (r < 255 && (r + 0.5) / 128 * ((r + 0.5) / 128) < want)
		r++;
	return r - 128;
}

/* A subnormal's leading bit goes to where it is implied; the exponent is below zero then. */
static void normalise(const struct layout *l, int64_t *exponent, uint64_t *fraction)
{
	while (!(*fraction >> (l->fraction - 1) & 1)) {
		*fraction <<= 1;
		--*exponent;
	}
	*fraction = *fraction << 1 & ((1ull << l->fraction) - 1);
}

static uint64_t huge(enum rv_fmt fmt, uint64_t sign, enum rv_round rm, uint8_t *flags)
{
	struct layout l = layout_of(fmt);
	uint64_t infinity = ((1ull << l.exponent) - 1) << l.fraction;
	bool finite = rm == RV_RTZ || (rm == RV_RDN && !sign) || (rm == RV_RUP && sign);

	*flags |= RV_NX | RV_OF;
	return sign | (infinity - finite);
}

uint64_t rv_rec7(enum rv_fmt fmt, uint64_t a, enum rv_round rm, uint8_t *flags)
{
	struct layout l = layout_of(fmt);
	uint64_t sign = a & 1ull << (l.fraction + l.exponent);
	uint64_t fraction = a & ((1ull << l.fraction) - 1), out;
	int64_t exponent = (int64_t)(a >> l.fraction & ((1ull << l.exponent) - 1));
	enum rv_class class = rv_soft_class(fmt, a);

	if (class & (RV_CLASS_SNAN | RV_CLASS_QNAN)) {
		*flags |= class == RV_CLASS_SNAN ? RV_NV : 0;
		return rv_fmt_nan(fmt);
	}
	if (class & (RV_CLASS_INF | RV_CLASS_NEG_INF))
		return sign;
	if (class & (RV_CLASS_ZERO | RV_CLASS_NEG_ZERO)) {
		*flags |= RV_DZ;
		return sign | ((1ull << l.exponent) - 1) << l.fraction;
	}
	if (!exponent) {
		normalise(&l, &exponent, &fraction);
		if (exponent < -1)
			return huge(fmt, sign, rm, flags);
	}
	out = recip_bits((unsigned int)(fraction >> (l.fraction - 7))) << (l.fraction - 7);
	exponent = 2 * (int64_t)l.bias - 1 - exponent;
	if (exponent <= 0) {
		/* Subnormal: zero or minus one. */
		out = (out | 1ull << l.fraction) >> (1 - exponent);
		exponent = 0;
	}
	return sign | (uint64_t)exponent << l.fraction | out;
}

uint64_t rv_rsqrt7(enum rv_fmt fmt, uint64_t a, uint8_t *flags)
{
	struct layout l = layout_of(fmt);
	uint64_t sign = a & 1ull << (l.fraction + l.exponent);
	uint64_t fraction = a & ((1ull << l.fraction) - 1), out;
	int64_t exponent = (int64_t)(a >> l.fraction & ((1ull << l.exponent) - 1));
	enum rv_class class = rv_soft_class(fmt, a);
	unsigned int index;

	if (class & (RV_CLASS_ZERO | RV_CLASS_NEG_ZERO)) {
		*flags |= RV_DZ;
		return sign | ((1ull << l.exponent) - 1) << l.fraction;
	}
	if (class & (RV_CLASS_SNAN | RV_CLASS_QNAN) || sign) {
		*flags |= class == RV_CLASS_QNAN ? 0 : RV_NV;
		return rv_fmt_nan(fmt);
	}
	if (class == RV_CLASS_INF)
		return 0;
	if (!exponent)
		normalise(&l, &exponent, &fraction);
	index = (unsigned int)((exponent & 1) << 6) | (unsigned int)(fraction >> (l.fraction - 6));
	out = rsqrt_bits(index) << (l.fraction - 7);
	exponent = (3 * (int64_t)l.bias - 1 - exponent) / 2;
	return (uint64_t)exponent << l.fraction | out;
}
