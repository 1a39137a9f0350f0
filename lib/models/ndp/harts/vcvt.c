// SPDX-License-Identifier: MIT
/*
 * Kernels of conversions between floating point and integers, and between precisions.
 */
#include "vfloat.h"

#define AS_IS(x) (x)
#define ALL3X(name)                                                                                \
	{                                                                                          \
		name##_8x, name##_16x, name##_32x, NULL                                            \
	}
#define SLOW_HALF(name)                                                                            \
	{                                                                                          \
		NULL, name##_16x, name##_32, NULL                                                  \
	}

/* To integers. Ends are powers of two, @low of them fits and @high does not; NaN is the highest. */
#define TO_INT(name, TI, TF, F, of, round, low, high, most)                                        \
	FAST_ONE(name, TI, TF, F, AS_IS, of,                                                       \
		 round(x) < (F)(low)    ? (TI)(low)                                                \
		 : round(x) < (F)(high) ? (TI)round(x)                                             \
					: (TI)(most))
#define TO_SIGNED(name, bits, TF, F, of, round)                                                    \
	TO_INT(name, v_i##bits, TF, F, of, round, -0x1p63 / (1ull << (64 - bits)),                 \
	       0x1p63 / (1ull << (64 - bits)), INT##bits##_MAX)
#define TO_UNSIGNED(name, bits, TF, F, of, round)                                                  \
	TO_INT(name, v_u##bits, TF, F, of, round, 0, 0x1p63 / (1ull << (64 - bits)) * 2,           \
	       UINT##bits##_MAX)

/* Exact ones; RM_FLAGS as asked for, and with RTZ. */
#define RTZ_FLAGS RV_RTZ, &c->flags
#define SOFT_TO(name, bits, S, TF, fmt_, ...)                                                      \
	SOFT(name, v_u##bits, v_u##TF, v_u8, fmt_, rv_soft_to_int(fmt, a[k], bits, S, __VA_ARGS__))

/* @wa is the width of the source relative to SEW: same width, widening, narrowing. */
#define TO_SAME(name, SIGN, S, near_s, near_d, ...)                                                \
	SOFT_TO(name##_16x, 16, S, 16, RV_H, __VA_ARGS__);                                         \
	SOFT_TO(name##_32x, 32, S, 32, RV_S, __VA_ARGS__);                                         \
	SOFT_TO(name##_64x, 64, S, 64, RV_D, __VA_ARGS__);                                         \
	TO_##SIGN(name##_16, 16, v_u16, float, of_h, near_s);                                      \
	TO_##SIGN(name##_32, 32, v_f32, float, of_s, near_s);                                      \
	TO_##SIGN(name##_64, 64, v_f64, double, of_d, near_d);                                     \
	VOP_FLOAT(name, 0, 0, RV_VNONE, 0, FLOAT3(name, ), FLOAT3(name, x))
#define TO_WIDE(name, SIGN, S, near_s, near_d, ...)                                                \
	SOFT_TO(name##_16x, 32, S, 16, RV_H, __VA_ARGS__);                                         \
	SOFT_TO(name##_32x, 64, S, 32, RV_S, __VA_ARGS__);                                         \
	TO_##SIGN(name##_16, 32, v_u16, float, of_h, near_s);                                      \
	TO_##SIGN(name##_32, 64, v_f32, float, of_s, near_s);                                      \
	VOP_FLOAT(name, 1, 0, RV_VNONE, 0, FLOAT2(name, ), FLOAT2(name, x))
#define TO_NARROW(name, SIGN, S, near_s, near_d, ...)                                              \
	SOFT_TO(name##_8x, 8, S, 16, RV_H, __VA_ARGS__);                                           \
	SOFT_TO(name##_16x, 16, S, 32, RV_S, __VA_ARGS__);                                         \
	SOFT_TO(name##_32x, 32, S, 64, RV_D, __VA_ARGS__);                                         \
	TO_##SIGN(name##_8, 8, v_u16, float, of_h, near_s);                                        \
	TO_##SIGN(name##_16, 16, v_f32, float, of_s, near_s);                                      \
	TO_##SIGN(name##_32, 32, v_f64, double, of_d, near_d);                                     \
	VOP_FLOAT(name, 0, 1, RV_VNONE, 0, ALL3(name), ALL3X(name))

#define TO_INTS(kind, prefix)                                                                      \
	TO_##kind(prefix##_xu_f, UNSIGNED, false, rintf, rint, RM_FLAGS);                          \
	TO_##kind(prefix##_x_f, SIGNED, true, rintf, rint, RM_FLAGS);                              \
	TO_##kind(prefix##_rtz_xu_f, UNSIGNED, false, truncf, trunc, RTZ_FLAGS);                   \
	TO_##kind(prefix##_rtz_x_f, SIGNED, true, truncf, trunc, RTZ_FLAGS)

TO_INTS(SAME, vfcvt);
TO_INTS(WIDE, vfwcvt);
TO_INTS(NARROW, vfncvt);

/* From integers. */
#define FROM(name, S, T, TI, fmt_, is_signed)                                                      \
	SOFT(name, T, TI, v_u8, fmt_, rv_soft_from_int(fmt, (uint64_t)a[k], is_signed, RM_FLAGS))
#define FROM_SAME(name, S, is_signed)                                                              \
	FROM(name##_16x, S, v_u16, v_##S##16, RV_H, is_signed);                                    \
	FROM(name##_32x, S, v_u32, v_##S##32, RV_S, is_signed);                                    \
	FROM(name##_64x, S, v_u64, v_##S##64, RV_D, is_signed);                                    \
	FAST_ONE(name##_16, v_u16, v_##S##16, float, to_h, (float), x);                            \
	FAST_ONE(name##_32, v_f32, v_##S##32, float, AS_IS, (float), x);                           \
	FAST_ONE(name##_64, v_f64, v_##S##64, double, AS_IS, (double), x);                         \
	VOP_FLOAT(name, 0, 0, RV_VNONE, 0, FLOAT3(name, ), FLOAT3(name, x))
#define FROM_WIDE(name, S, is_signed)                                                              \
	FROM(name##_8x, S, v_u16, v_##S##8, RV_H, is_signed);                                      \
	FROM(name##_16x, S, v_u32, v_##S##16, RV_S, is_signed);                                    \
	FROM(name##_32x, S, v_u64, v_##S##32, RV_D, is_signed);                                    \
	FAST_ONE(name##_8, v_u16, v_##S##8, float, to_h, (float), x);                              \
	FAST_ONE(name##_16, v_f32, v_##S##16, float, AS_IS, (float), x);                           \
	FAST_ONE(name##_32, v_f64, v_##S##32, double, AS_IS, (double), x);                         \
	VOP_FLOAT(name, 1, 0, RV_VNONE, 0, ALL3(name), ALL3X(name))
#define FROM_NARROW(name, S, is_signed)                                                            \
	FROM(name##_16x, S, v_u16, v_##S##32, RV_H, is_signed);                                    \
	FROM(name##_32x, S, v_u32, v_##S##64, RV_S, is_signed);                                    \
	FAST_ONE(name##_32, v_f32, v_##S##64, float, AS_IS, (float), x);                           \
	VOP_FLOAT(name, 0, 1, RV_VNONE, 0, SLOW_HALF(name), FLOAT2(name, x))

FROM_SAME(vfcvt_f_xu, u, false);
FROM_SAME(vfcvt_f_x, i, true);
FROM_WIDE(vfwcvt_f_xu, u, false);
FROM_WIDE(vfwcvt_f_x, i, true);
FROM_NARROW(vfncvt_f_xu, u, false);
FROM_NARROW(vfncvt_f_x, i, true);

/* Between precisions. */
FAST_ONE(vfwcvt_f_f_16, v_f32, v_u16, float, to_s, of_h, x);
FAST_ONE(vfwcvt_f_f_32, v_f64, v_f32, double, to_d, of_s, x);
SOFT(vfwcvt_f_f_16x, v_u32, v_u16, v_u8, RV_H, rv_soft_convert(fmt, RV_S, a[k], RM_FLAGS));
SOFT(vfwcvt_f_f_32x, v_u64, v_u32, v_u8, RV_S, rv_soft_convert(fmt, RV_D, a[k], RM_FLAGS));
VOP_FLOAT(vfwcvt_f_f, 1, 0, RV_VNONE, 0, FLOAT2(vfwcvt_f_f, ), FLOAT2(vfwcvt_f_f, x));

FAST_ONE(vfncvt_f_f_16, v_u16, v_f32, float, to_h, of_s, x);
FAST_ONE(vfncvt_f_f_32, v_f32, v_f64, float, to_s, (float), x);
SOFT(vfncvt_f_f_16x, v_u16, v_u32, v_u8, RV_H, rv_soft_convert(RV_S, fmt, a[k], RM_FLAGS));
SOFT(vfncvt_f_f_32x, v_u32, v_u64, v_u8, RV_S, rv_soft_convert(RV_D, fmt, a[k], RM_FLAGS));
VOP_FLOAT(vfncvt_f_f, 0, 1, RV_VNONE, 0, FLOAT2(vfncvt_f_f, ), FLOAT2(vfncvt_f_f, x));

#define ROD_FLAGS RV_ROD, &c->flags
SOFT(vfncvt_rod_16x, v_u16, v_u32, v_u8, RV_H, rv_soft_convert(RV_S, fmt, a[k], ROD_FLAGS));
SOFT(vfncvt_rod_32x, v_u32, v_u64, v_u8, RV_S, rv_soft_convert(RV_D, fmt, a[k], ROD_FLAGS));
VOP_FLOAT(vfncvt_rod, 0, 1, RV_VNONE, 0, FLOAT2(vfncvt_rod, x), FLOAT2(vfncvt_rod, x));

/* By the field of vs1. */
const rv_vops RV_HOT(rv_vcvt) = {
	[0x00] = &vfcvt_xu_f,     [0x01] = &vfcvt_x_f,       [0x02] = &vfcvt_f_xu,
	[0x03] = &vfcvt_f_x,      [0x06] = &vfcvt_rtz_xu_f,  [0x07] = &vfcvt_rtz_x_f,
	[0x08] = &vfwcvt_xu_f,    [0x09] = &vfwcvt_x_f,      [0x0a] = &vfwcvt_f_xu,
	[0x0b] = &vfwcvt_f_x,     [0x0c] = &vfwcvt_f_f,      [0x0e] = &vfwcvt_rtz_xu_f,
	[0x0f] = &vfwcvt_rtz_x_f, [0x10] = &vfncvt_xu_f,     [0x11] = &vfncvt_x_f,
	[0x12] = &vfncvt_f_xu,    [0x13] = &vfncvt_f_x,      [0x14] = &vfncvt_f_f,
	[0x15] = &vfncvt_rod,     [0x16] = &vfncvt_rtz_xu_f, [0x17] = &vfncvt_rtz_x_f,
};
