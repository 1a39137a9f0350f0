// SPDX-License-Identifier: MIT
/*
 * Floating-point kernels of one width: sums, products, quotients, roots, comparisons, signs.
 */
#include "vfloat.h"
#include "soft.h"

#define FP2(name, bits, fast, soft)                                                                \
	FAST(name##_16, v_u16, v_u16, v_u16, float, to_h, of_h, of_h, fast);                       \
	FAST(name##_32, v_f32, v_f32, v_f32, float, to_s, of_s, of_s, fast);                       \
	FAST(name##_64, v_f64, v_f64, v_f64, double, to_d, of_d, of_d, fast);                      \
	SOFT3(name, soft);                                                                         \
	VOP_FLOAT(name, 0, 0, 0, bits, FLOAT3(name, ), FLOAT3(name, x))

FP2(vfadd, 0, x + y, rv_soft_add(fmt, a[k], b[k], RM_FLAGS));
FP2(vfsub, 0, x - y, rv_soft_sub(fmt, a[k], b[k], RM_FLAGS));
FP2(vfrsub, 0, y - x, rv_soft_sub(fmt, b[k], a[k], RM_FLAGS));
FP2(vfmul, 0, x *y, rv_soft_mul(fmt, a[k], b[k], RM_FLAGS));
FP2(vfdiv, RV_VOP_SFU, x / y, rv_soft_div(fmt, a[k], b[k], RM_FLAGS));
FP2(vfrdiv, RV_VOP_SFU, y / x, rv_soft_div(fmt, b[k], a[k], RM_FLAGS));

FP2(vfmin, 0, LEAST(x, y), rv_soft_min(fmt, a[k], b[k], &c->flags));
FP2(vfmax, 0, MOST(x, y), rv_soft_max(fmt, a[k], b[k], &c->flags));

#define FP_MASK(name, fast, soft)                                                                  \
	FAST(name##_16, v_u8, v_u16, v_u16, float, (uint8_t), of_h, of_h, fast);                   \
	FAST(name##_32, v_u8, v_f32, v_f32, float, (uint8_t), of_s, of_s, fast);                   \
	FAST(name##_64, v_u8, v_f64, v_f64, double, (uint8_t), of_d, of_d, fast);                  \
	SOFT(name##_16x, v_u8, v_u16, v_u16, RV_H, soft);                                          \
	SOFT(name##_32x, v_u8, v_u32, v_u32, RV_S, soft);                                          \
	SOFT(name##_64x, v_u8, v_u64, v_u64, RV_D, soft);                                          \
	VOP_FLOAT(name, 0, 0, 0, RV_VOP_MASK, FLOAT3(name, ), FLOAT3(name, x))

FP_MASK(vmfeq, x == y, rv_soft_eq(fmt, a[k], b[k], &c->flags));
FP_MASK(vmfne, x != y, !rv_soft_eq(fmt, a[k], b[k], &c->flags));
FP_MASK(vmflt, x < y, rv_soft_lt(fmt, a[k], b[k], &c->flags));
FP_MASK(vmfle, x <= y, rv_soft_le(fmt, a[k], b[k], &c->flags));
FP_MASK(vmfgt, x > y, rv_soft_lt(fmt, b[k], a[k], &c->flags));
FP_MASK(vmfge, x >= y, rv_soft_le(fmt, b[k], a[k], &c->flags));

#define SIGN ((W)1 << (8 * sizeof(*a) - 1))
#define FP_SIGN(name, expr)                                                                        \
	KERN(name##_16, v_u32, v_u16, v_u16, v_u16, expr);                                         \
	KERN(name##_32, v_u32, v_u32, v_u32, v_u32, expr);                                         \
	KERN(name##_64, v_u64, v_u64, v_u64, v_u64, expr);                                         \
	VOP_FLOAT(name, 0, 0, 0, 0, FLOAT3(name, ), {NULL})

FP_SIGN(vfsgnj, (a[k] & ~SIGN) | (b[k] & SIGN));
FP_SIGN(vfsgnjn, (a[k] & ~SIGN) | (~b[k] & SIGN));
FP_SIGN(vfsgnjx, a[k] ^ (b[k] & SIGN));

FAST_ONE(vfsqrt_16, v_u16, v_u16, float, to_h, of_h, sqrtf(x));
FAST_ONE(vfsqrt_32, v_f32, v_f32, float, to_s, of_s, sqrtf(x));
FAST_ONE(vfsqrt_64, v_f64, v_f64, double, to_d, of_d, sqrt(x));
SOFT3(vfsqrt, rv_soft_sqrt(fmt, a[k], RM_FLAGS));
VOP_FLOAT(vfsqrt, 0, 0, RV_VNONE, RV_VOP_SFU, FLOAT3(vfsqrt, ), FLOAT3(vfsqrt, x));

/* These have tables, not arithmetic: one kernel serves. */
#define FP_TABLE(name, bits, expr)                                                                 \
	SOFT3(name, expr);                                                                         \
	VOP_FLOAT(name, 0, 0, RV_VNONE, bits, FLOAT3(name, x), FLOAT3(name, x))

FP_TABLE(vfrsqrt7, RV_VOP_SFU, rv_rsqrt7(fmt, a[k], &c->flags));
FP_TABLE(vfrec7, RV_VOP_SFU, rv_rec7(fmt, a[k], RM_FLAGS));
FP_TABLE(vfclass, 0, rv_soft_class(fmt, a[k]));

KERN(vfmerge_16, v_u32, v_u16, v_u16, v_u16, c->m[k] ? b[k] : a[k]);
KERN(vfmerge_32, v_u32, v_u32, v_u32, v_u32, c->m[k] ? b[k] : a[k]);
KERN(vfmerge_64, v_u64, v_u64, v_u64, v_u64, c->m[k] ? b[k] : a[k]);
VOP_FLOAT(vfmerge, 0, 0, 0, RV_VOP_BITS | RV_VOP_MERGE, FLOAT3(vfmerge, ), {NULL});
KERN(vfmv_16, v_u32, v_u16, v_u16, v_u16, b[k]);
KERN(vfmv_32, v_u32, v_u32, v_u32, v_u32, b[k]);
KERN(vfmv_64, v_u64, v_u64, v_u64, v_u64, b[k]);
VOP_FLOAT(vfmv, 0, RV_VNONE, 0, 0, FLOAT3(vfmv, ), {NULL});

const rv_vops RV_HOT(rv_vfp_opf) = {
	[0x00] = &vfadd,   [0x02] = &vfsub,   [0x04] = &vfmin,  [0x06] = &vfmax, [0x08] = &vfsgnj,
	[0x09] = &vfsgnjn, [0x0a] = &vfsgnjx, [0x17] = &vfmv,   [0x18] = &vmfeq, [0x19] = &vmfle,
	[0x1b] = &vmflt,   [0x1c] = &vmfne,   [0x1d] = &vmfgt,  [0x1f] = &vmfge, [0x20] = &vfdiv,
	[0x21] = &vfrdiv,  [0x24] = &vfmul,   [0x27] = &vfrsub,
};

/* With v0 as an operand. */
const rv_vops RV_HOT(rv_vfp_bits) = {
	[0x17] = &vfmerge,
};

/* By the field of vs1. */
const rv_vops RV_HOT(rv_vfp_one) = {
	[0x00] = &vfsqrt,
	[0x04] = &vfrsqrt7,
	[0x05] = &vfrec7,
	[0x10] = &vfclass,
};
