// SPDX-License-Identifier: MIT
/*
 * Integer kernels: products, quotients, sums of products, and widening operations.
 */
#include "vkern.h"

/* Of a product, the upper half: the type that holds all of it, and its size. */
#define HIGH4(name, SA, SB, T8, T32, T64)                                                          \
	KERN(name##_8, v_u32, v_u8, v_##SA##8, v_##SB##8, (T8)a[k] * (T8)b[k] >> 8);               \
	KERN(name##_16, v_u32, v_u16, v_##SA##16, v_##SB##16, (T8)a[k] * (T8)b[k] >> 16);          \
	KERN(name##_32, v_u32, v_u32, v_##SA##32, v_##SB##32, (T32)a[k] * (T32)b[k] >> 32);        \
	KERN(name##_64, v_u64, v_u64, v_##SA##64, v_##SB##64, (T64)a[k] * (T64)b[k] >> 64);        \
	VOP(name, 0, 0, 0, 0, ALL4(name))

OP4(vmul, u, u, 0, (W)a[k] * b[k]);
HIGH4(vmulhu, u, u, uint32_t, uint64_t, v_u128);
HIGH4(vmulh, i, i, int32_t, int64_t, v_i128);
HIGH4(vmulhsu, i, u, int32_t, int64_t, v_i128);

OP4(vmacc, u, u, RV_VOP_ACC, (W)a[k] * b[k] + d[k]);
OP4(vnmsac, u, u, RV_VOP_ACC, d[k] - (W)a[k] * b[k]);
OP4(vmadd, u, u, RV_VOP_ACC, (W)d[k] * b[k] + a[k]);
OP4(vnmsub, u, u, RV_VOP_ACC, a[k] - (W)d[k] * b[k]);

/* The quotient of the least number and -1 is out of range: it wraps. */
#define WRAPS (b[k] == -1)
OP4(vdivu, u, u, RV_VOP_SFU, b[k] ? a[k] / b[k] : UINT64_MAX);
OP4(vremu, u, u, RV_VOP_SFU, b[k] ? a[k] % b[k] : a[k]);
OP4(vdiv, i, i, RV_VOP_SFU, !b[k] ? (W)-1 : WRAPS ? (W)0 - (W)a[k] : (W)(a[k] / b[k]));
OP4(vrem, i, i, RV_VOP_SFU, !b[k] ? (W)a[k] : WRAPS ? (W)0 : (W)(a[k] % b[k]));

OP_WVV(vwaddu, u, u, 0, (W)a[k] + (W)b[k]);
OP_WVV(vwadd, i, i, 0, (W)a[k] + (W)b[k]);
OP_WVV(vwsubu, u, u, 0, (W)a[k] - (W)b[k]);
OP_WVV(vwsub, i, i, 0, (W)a[k] - (W)b[k]);
OP_WWV(vwaddu_w, u, (W)a[k] + (W)b[k]);
OP_WWV(vwadd_w, i, (W)a[k] + (W)b[k]);
OP_WWV(vwsubu_w, u, (W)a[k] - (W)b[k]);
OP_WWV(vwsub_w, i, (W)a[k] - (W)b[k]);
OP_WVV(vwmulu, u, u, 0, (W)a[k] * (W)b[k]);
OP_WVV(vwmulsu, i, u, 0, (W)a[k] * (W)b[k]);
OP_WVV(vwmul, i, i, 0, (W)a[k] * (W)b[k]);
OP_WVV(vwmaccu, u, u, RV_VOP_ACC, (W)a[k] * (W)b[k] + d[k]);
OP_WVV(vwmacc, i, i, RV_VOP_ACC, (W)a[k] * (W)b[k] + d[k]);
/* The first letter is vs1's sign. */
OP_WVV(vwmaccsu, u, i, RV_VOP_ACC, (W)a[k] * (W)b[k] + d[k]);
OP_WVV(vwmaccus, i, u, RV_VOP_ACC, (W)a[k] * (W)b[k] + d[k]);

const rv_vops RV_HOT(rv_vmul_opm) = {
	[0x20] = &vdivu,    [0x21] = &vdiv,     [0x22] = &vremu,    [0x23] = &vrem,
	[0x24] = &vmulhu,   [0x25] = &vmul,     [0x26] = &vmulhsu,  [0x27] = &vmulh,
	[0x29] = &vmadd,    [0x2b] = &vnmsub,   [0x2d] = &vmacc,    [0x2f] = &vnmsac,
	[0x30] = &vwaddu,   [0x31] = &vwadd,    [0x32] = &vwsubu,   [0x33] = &vwsub,
	[0x34] = &vwaddu_w, [0x35] = &vwadd_w,  [0x36] = &vwsubu_w, [0x37] = &vwsub_w,
	[0x38] = &vwmulu,   [0x3a] = &vwmulsu,  [0x3b] = &vwmul,    [0x3c] = &vwmaccu,
	[0x3d] = &vwmacc,   [0x3e] = &vwmaccus, [0x3f] = &vwmaccsu,
};
