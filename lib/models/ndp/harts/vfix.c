// SPDX-License-Identifier: MIT
/*
 * Fixed-point kernels: what saturates (vxsat) and what rounds as vxrm says.
 */
#include "vkern.h"

enum { RNU, RNE, RDN, ROD };

/* v / 2^shift, rounded. */
#define ROUND(name, T)                                                                             \
	static inline T name(T v, unsigned int shift, unsigned int rm)                             \
	{                                                                                          \
		T half, odd, below;                                                                \
		if (!shift)                                                                        \
			return v;                                                                  \
		half = v >> (shift - 1) & 1;                                                       \
		odd = v >> shift & 1;                                                              \
		below = (v & (((T)1 << (shift - 1)) - 1)) != 0;                                    \
		v >>= shift;                                                                       \
		switch (rm) {                                                                      \
		case RNU:                                                                          \
			return v + half;                                                           \
		case RNE:                                                                          \
			return v + (half & (below | odd));                                         \
		case ROD:                                                                          \
			return v | half | below;                                                   \
		default:                                                                           \
			return v;                                                                  \
		}                                                                                  \
	}
ROUND(round_64, int64_t)
ROUND(round_128, v_i128)

/* The nearest of [low, high]. */
#define CLIP(name, T)                                                                              \
	static inline T name(T v, T low, T high, struct rv_vctx *c)                                \
	{                                                                                          \
		c->sat = c->sat || v < low || v > high;                                            \
		return v < low ? low : v > high ? high : v;                                        \
	}
CLIP(clip_64, int64_t)
CLIP(clip_128, v_i128)

/* @expr is of X and Y, operands in a type that holds any result. */
#define X ((N)a[k])
#define Y ((N)b[k])
#define FIX(name, NUMBER, TD, TA, TB, expr)                                                        \
	static void name(void *d_, const void *a_, const void *b_, size_t n, struct rv_vctx *c)    \
	{                                                                                          \
		typedef NUMBER N;                                                                  \
		TD *d = d_;                                                                        \
		const TA *a = a_;                                                                  \
		const TB *b = b_;                                                                  \
		for (size_t k = 0; k < n; k++)                                                     \
			d[k] = (TD)(expr);                                                         \
	}                                                                                          \
	_Static_assert(1, "")

#define SATURATE4(name, S, LOW, HIGH, expr)                                                        \
	FIX(name##_8, int64_t, v_##S##8, v_##S##8, v_##S##8, clip_64(expr, LOW(8), HIGH(8), c));   \
	FIX(name##_16, int64_t, v_##S##16, v_##S##16, v_##S##16,                                   \
	    clip_64(expr, LOW(16), HIGH(16), c));                                                  \
	FIX(name##_32, int64_t, v_##S##32, v_##S##32, v_##S##32,                                   \
	    clip_64(expr, LOW(32), HIGH(32), c));                                                  \
	FIX(name##_64, v_i128, v_##S##64, v_##S##64, v_##S##64,                                    \
	    clip_128(expr, LOW(64), HIGH(64), c));                                                 \
	VOP(name, 0, 0, 0, RV_VOP_FIXED, ALL4(name))

#define ZERO(bits) 0
#define LEAST(bits) INT##bits##_MIN
#define MOST(bits) INT##bits##_MAX
#define UMOST(bits) UINT##bits##_MAX
SATURATE4(vsaddu, u, ZERO, UMOST, X + Y);
SATURATE4(vsadd, i, LEAST, MOST, X + Y);
SATURATE4(vssubu, u, ZERO, UMOST, X - Y);
SATURATE4(vssub, i, LEAST, MOST, X - Y);

#define ROUND4(name, S, SB, bits, expr, shift)                                                     \
	FIX(name##_8, int64_t, v_##S##8, v_##S##8, v_##SB##8, round_64(expr, shift, c->rm));       \
	FIX(name##_16, int64_t, v_##S##16, v_##S##16, v_##SB##16, round_64(expr, shift, c->rm));   \
	FIX(name##_32, int64_t, v_##S##32, v_##S##32, v_##SB##32, round_64(expr, shift, c->rm));   \
	FIX(name##_64, v_i128, v_##S##64, v_##S##64, v_##SB##64, round_128(expr, shift, c->rm));   \
	VOP(name, 0, 0, 0, RV_VOP_FIXED | (bits), ALL4(name))

#define AMOUNT (unsigned int)(b[k] & (8 * sizeof(*a) - 1))
ROUND4(vaaddu, u, u, 0, X + Y, 1);
ROUND4(vaadd, i, i, 0, X + Y, 1);
ROUND4(vasubu, u, u, 0, X - Y, 1);
ROUND4(vasub, i, i, 0, X - Y, 1);
ROUND4(vssrl, u, u, RV_VOP_UIMM, X, AMOUNT);
ROUND4(vssra, i, u, RV_VOP_UIMM, X, AMOUNT);

#define PRODUCT(bits) round_64(X *Y, bits - 1, c->rm), LEAST(bits), MOST(bits), c
FIX(vsmul_8, int64_t, v_i8, v_i8, v_i8, clip_64(PRODUCT(8)));
FIX(vsmul_16, int64_t, v_i16, v_i16, v_i16, clip_64(PRODUCT(16)));
FIX(vsmul_32, int64_t, v_i32, v_i32, v_i32, clip_64(PRODUCT(32)));
FIX(vsmul_64, v_i128, v_i64, v_i64, v_i64,
    clip_128(round_128(X *Y, 63, c->rm), LEAST(64), MOST(64), c));
VOP(vsmul, 0, 0, 0, RV_VOP_FIXED, ALL4(vsmul));

#define NARROW3(name, S, LOW, HIGH)                                                                \
	FIX(name##_8, int64_t, v_##S##8, v_##S##16, v_u8,                                          \
	    clip_64(round_64(X, AMOUNT, c->rm), LOW(8), HIGH(8), c));                              \
	FIX(name##_16, int64_t, v_##S##16, v_##S##32, v_u16,                                       \
	    clip_64(round_64(X, AMOUNT, c->rm), LOW(16), HIGH(16), c));                            \
	FIX(name##_32, v_i128, v_##S##32, v_##S##64, v_u32,                                        \
	    clip_128(round_128(X, AMOUNT, c->rm), LOW(32), HIGH(32), c));                          \
	VOP(name, 0, 1, 0, RV_VOP_FIXED | RV_VOP_UIMM, ALL3(name))

NARROW3(vnclipu, u, ZERO, UMOST);
NARROW3(vnclip, i, LEAST, MOST);

const rv_vops RV_HOT(rv_vfix_opi) = {
	[0x20] = &vsaddu, [0x21] = &vsadd, [0x22] = &vssubu,  [0x23] = &vssub,  [0x27] = &vsmul,
	[0x2a] = &vssrl,  [0x2b] = &vssra, [0x2e] = &vnclipu, [0x2f] = &vnclip,
};

const rv_vops RV_HOT(rv_vfix_opm) = {
	[0x08] = &vaaddu,
	[0x09] = &vaadd,
	[0x0a] = &vasubu,
	[0x0b] = &vasub,
};
