/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exponential function without branches or calls, so that loops of it become vectors.
 */
#ifndef TOOLS_TRAIN_EXP_H
#define TOOLS_TRAIN_EXP_H

#include <stdint.h>
#include <string.h>

#define EXP_MIN -87.0f
#define EXP_MAX 88.0f

/*
 * exp_of() - To about two units in the last place; what is beyond EXP_MIN and EXP_MAX counts as
 * those, and NaN is NaN. e^x = 2^n e^r with |r| at most half of ln 2, and of e^r the series.
 */
static inline float exp_of(float x)
{
	const float round = 12582912.0f; /* 1.5 * 2^23: added, it leaves whole numbers */
	float near, n, r, sum, power;
	int32_t bits;

	/* A number also where x is none, for the conversion below; r is none then. */
	near = x > EXP_MIN ? x : EXP_MIN;
	near = near < EXP_MAX ? near : EXP_MAX;
	n = near * 1.44269504f + round - round;
	/* ln 2 in two parts, of which the first has few bits: its product is exact. */
	r = (x == x ? near : x) - n * 0.693359375f;
	r = r + n * 2.12194440e-4f;
	sum = 1.0f / 720;
	sum = sum * r + 1.0f / 120;
	sum = sum * r + 1.0f / 24;
	sum = sum * r + 1.0f / 6;
	sum = sum * r + 0.5f;
	sum = sum * r + 1.0f;
	sum = sum * r + 1.0f;
	bits = ((int32_t)n + 127) * (1 << 23);
	memcpy(&power, &bits, sizeof(power));
	return sum * power;
}

#endif
