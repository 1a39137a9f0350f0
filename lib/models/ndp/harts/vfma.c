// SPDX-License-Identifier: MIT
/*
 * Floating-point kernels of sums of products, and of results that are twice as wide.
 */
#include "vfloat.h"

#define SIGN (1ull << (rv_fmt_bits(fmt) - 1))

/* A product and a sum of x, y and z, which is vd as a number. */
#define FMA_FAST(name, T, F, put, of, p, q, r)                                                     \
	static void name(void *d_, const void *a_, const void *b_, size_t n, struct rv_vctx *c)    \
	{                                                                                          \
		T *d = d_;                                                                         \
		const T *a = a_;                                                                   \
		const T *b = b_;                                                                   \
		(void)c;                                                                           \
		RV_APART                                                                           \
		for (size_t k = 0; k < n; k++) {                                                   \
			F x = of(a[k]), y = of(b[k]), z = of(d[k]);                                \
			d[k] = to_##put(fma_##put(p, q, r));                                       \
		}                                                                                  \
	}                                                                                          \
	_Static_assert(1, "")
#define FMA(name, p, q, r, soft_p, soft_q, soft_r)                                                 \
	FMA_FAST(name##_16, v_u16, float, h, of_h, p, q, r);                                       \
	FMA_FAST(name##_32, v_f32, float, s, of_s, p, q, r);                                       \
	FMA_FAST(name##_64, v_f64, double, d, of_d, p, q, r);                                      \
	SOFT3(name, rv_soft_fma(fmt, soft_p, soft_q, soft_r, RM_FLAGS));                           \
	VOP_FLOAT(name, 0, 0, 0, RV_VOP_ACC, FLOAT3(name, ), FLOAT3(name, x))

FMA(vfmacc, x, y, z, a[k], b[k], d[k]);
FMA(vfnmacc, -x, y, -z, a[k] ^ SIGN, b[k], d[k] ^ SIGN);
FMA(vfmsac, x, y, -z, a[k], b[k], d[k] ^ SIGN);
FMA(vfnmsac, -x, y, z, a[k] ^ SIGN, b[k], d[k]);
FMA(vfmadd, z, y, x, d[k], b[k], a[k]);
FMA(vfnmadd, -z, y, -x, d[k] ^ SIGN, b[k], a[k] ^ SIGN);
FMA(vfmsub, z, y, -x, d[k], b[k], a[k] ^ SIGN);
FMA(vfnmsub, -z, y, x, d[k] ^ SIGN, b[k], a[k]);

/* Operands widened to @fmt, without loss. */
#define WIDE(bits) rv_soft_convert(fmt - 1, fmt, bits, RM_FLAGS)

#define WVV(name, flags, expr_h, expr_s, soft)                                                     \
	FAST(name##_16, v_f32, v_u16, v_u16, float, to_s, of_h, of_h, expr_h);                     \
	FAST(name##_32, v_f64, v_f32, v_f32, double, to_d, of_s, of_s, expr_s);                    \
	SOFT(name##_16x, v_u32, v_u16, v_u16, RV_S, soft);                                         \
	SOFT(name##_32x, v_u64, v_u32, v_u32, RV_D, soft);                                         \
	VOP_FLOAT(name, 1, 0, 0, flags, FLOAT2(name, ), FLOAT2(name, x))
#define WWV(name, expr, soft)                                                                      \
	FAST(name##_16, v_f32, v_f32, v_u16, float, to_s, of_s, of_h, expr);                       \
	FAST(name##_32, v_f64, v_f64, v_f32, double, to_d, of_d, of_s, expr);                      \
	SOFT(name##_16x, v_u32, v_u32, v_u16, RV_S, soft);                                         \
	SOFT(name##_32x, v_u64, v_u64, v_u32, RV_D, soft);                                         \
	VOP_FLOAT(name, 1, 1, 0, 0, FLOAT2(name, ), FLOAT2(name, x))
#define WFMA(name, p, q, r, sp, sr)                                                                \
	WVV(name, RV_VOP_ACC, fma_s(p, q, r), fma_d(p, q, r),                                      \
	    rv_soft_fma(fmt, WIDE(a[k]) ^ (sp), WIDE(b[k]), d[k] ^ (sr), RM_FLAGS))

WVV(vfwadd, 0, x + y, x + y, rv_soft_add(fmt, WIDE(a[k]), WIDE(b[k]), RM_FLAGS));
WVV(vfwsub, 0, x - y, x - y, rv_soft_sub(fmt, WIDE(a[k]), WIDE(b[k]), RM_FLAGS));
WVV(vfwmul, 0, x *y, x *y, rv_soft_mul(fmt, WIDE(a[k]), WIDE(b[k]), RM_FLAGS));
WWV(vfwadd_w, x + y, rv_soft_add(fmt, a[k], WIDE(b[k]), RM_FLAGS));
WWV(vfwsub_w, x - y, rv_soft_sub(fmt, a[k], WIDE(b[k]), RM_FLAGS));
WFMA(vfwmacc, x, y, d[k], 0, 0);
WFMA(vfwnmacc, -x, y, -d[k], SIGN, SIGN);
WFMA(vfwmsac, x, y, -d[k], 0, SIGN);
WFMA(vfwnmsac, -x, y, d[k], SIGN, 0);

const rv_vops RV_HOT(rv_vfma_opf) = {
	[0x28] = &vfmadd,   [0x29] = &vfnmadd, [0x2a] = &vfmsub,   [0x2b] = &vfnmsub,
	[0x2c] = &vfmacc,   [0x2d] = &vfnmacc, [0x2e] = &vfmsac,   [0x2f] = &vfnmsac,
	[0x30] = &vfwadd,   [0x32] = &vfwsub,  [0x34] = &vfwadd_w, [0x36] = &vfwsub_w,
	[0x38] = &vfwmul,   [0x3c] = &vfwmacc, [0x3d] = &vfwnmacc, [0x3e] = &vfwmsac,
	[0x3f] = &vfwnmsac,
};
