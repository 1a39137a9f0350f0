// SPDX-License-Identifier: MIT
/*
 * Integer kernels: sums, logic, shifts, comparisons, carries, merges and extensions.
 */
#include "vkern.h"

/* Shift amounts: their low bits count. */
#define AMOUNT (b[k] & (8 * sizeof(*a) - 1))

OP4(vadd, u, u, 0, a[k] + b[k]);
OP4(vsub, u, u, 0, a[k] - b[k]);
OP4(vrsub, u, u, 0, b[k] - a[k]);
OP4(vminu, u, u, 0, a[k] < b[k] ? a[k] : b[k]);
OP4(vmin, i, i, 0, a[k] < b[k] ? a[k] : b[k]);
OP4(vmaxu, u, u, 0, a[k] > b[k] ? a[k] : b[k]);
OP4(vmax, i, i, 0, a[k] > b[k] ? a[k] : b[k]);
OP4(vand, u, u, 0, a[k] & b[k]);
OP4(vor, u, u, 0, a[k] | b[k]);
OP4(vxor, u, u, 0, a[k] ^ b[k]);
OP4(vsll, u, u, RV_VOP_UIMM, (W)a[k] << AMOUNT);
OP4(vsrl, u, u, RV_VOP_UIMM, a[k] >> AMOUNT);
OP4(vsra, i, u, RV_VOP_UIMM, a[k] >> AMOUNT);
OP_NWV(vnsrl, u, RV_VOP_UIMM, a[k] >> AMOUNT);
OP_NWV(vnsra, i, RV_VOP_UIMM, a[k] >> AMOUNT);

OP_COMPARE(vmseq, u, a[k] == b[k]);
OP_COMPARE(vmsne, u, a[k] != b[k]);
OP_COMPARE(vmsltu, u, a[k] < b[k]);
OP_COMPARE(vmslt, i, a[k] < b[k]);
OP_COMPARE(vmsleu, u, a[k] <= b[k]);
OP_COMPARE(vmsle, i, a[k] <= b[k]);
OP_COMPARE(vmsgtu, u, a[k] > b[k]);
OP_COMPARE(vmsgt, i, a[k] > b[k]);

/* The sum wrapped, if it is below an addend, or equals it with a carry. */
#define SUM (W)(a[k] + b[k])
OP4(vadc, u, u, RV_VOP_BITS, (W)a[k] + b[k] + c->m[k]);
OP4(vsbc, u, u, RV_VOP_BITS, (W)a[k] - b[k] - c->m[k]);
KERN(vmadc_8, v_u32, v_u8, v_u8, v_u8, a[k] + b[k] > UINT8_MAX);
KERN(vmadc_16, v_u32, v_u8, v_u16, v_u16, a[k] + b[k] > UINT16_MAX);
KERN(vmadc_32, v_u32, v_u8, v_u32, v_u32, SUM < a[k]);
KERN(vmadc_64, v_u64, v_u8, v_u64, v_u64, SUM < a[k]);
VOP(vmadc, 0, 0, 0, RV_VOP_MASK, ALL4(vmadc));
KERN(vmadcm_8, v_u32, v_u8, v_u8, v_u8, a[k] + b[k] + c->m[k] > UINT8_MAX);
KERN(vmadcm_16, v_u32, v_u8, v_u16, v_u16, a[k] + b[k] + c->m[k] > UINT16_MAX);
KERN(vmadcm_32, v_u32, v_u8, v_u32, v_u32, SUM < a[k] || (SUM == UINT32_MAX && c->m[k]));
KERN(vmadcm_64, v_u64, v_u8, v_u64, v_u64, SUM < a[k] || (SUM == UINT64_MAX && c->m[k]));
VOP(vmadcm, 0, 0, 0, RV_VOP_MASK | RV_VOP_BITS, ALL4(vmadcm));
OP_COMPARE(vmsbc, u, a[k] < b[k]);
OP_MASK(vmsbcm, u, RV_VOP_BITS, a[k] < b[k] || (a[k] == b[k] && c->m[k]));

OP4(vmerge, u, u, RV_VOP_BITS | RV_VOP_MERGE, c->m[k] ? b[k] : a[k]);
KERN4(vmv, u, u, b[k]);
VOP(vmv, 0, RV_VNONE, 0, 0, ALL4(vmv));

#define EXT2(name, S)                                                                              \
	KERN(name##_16, v_u32, v_u16, v_##S##8, v_u8, a[k]);                                       \
	KERN(name##_32, v_u32, v_u32, v_##S##16, v_u8, a[k]);                                      \
	KERN(name##_64, v_u64, v_u64, v_##S##32, v_u8, a[k]);                                      \
	VOP(name, 0, -1, RV_VNONE, 0, {NULL, name##_16, name##_32, name##_64})
#define EXT4(name, S)                                                                              \
	KERN(name##_32, v_u32, v_u32, v_##S##8, v_u8, a[k]);                                       \
	KERN(name##_64, v_u64, v_u64, v_##S##16, v_u8, a[k]);                                      \
	VOP(name, 0, -2, RV_VNONE, 0, {NULL, NULL, name##_32, name##_64})
#define EXT8(name, S)                                                                              \
	KERN(name##_64, v_u64, v_u64, v_##S##8, v_u8, a[k]);                                       \
	VOP(name, 0, -3, RV_VNONE, 0, {NULL, NULL, NULL, name##_64})

EXT2(vzext_vf2, u);
EXT2(vsext_vf2, i);
EXT4(vzext_vf4, u);
EXT4(vsext_vf4, i);
EXT8(vzext_vf8, u);
EXT8(vsext_vf8, i);

const rv_vops RV_HOT(rv_vint_opi) = {
	[0x00] = &vadd,   [0x02] = &vsub,  [0x03] = &vrsub,  [0x04] = &vminu, [0x05] = &vmin,
	[0x06] = &vmaxu,  [0x07] = &vmax,  [0x09] = &vand,   [0x0a] = &vor,   [0x0b] = &vxor,
	[0x11] = &vmadc,  [0x13] = &vmsbc, [0x17] = &vmv,    [0x18] = &vmseq, [0x19] = &vmsne,
	[0x1a] = &vmsltu, [0x1b] = &vmslt, [0x1c] = &vmsleu, [0x1d] = &vmsle, [0x1e] = &vmsgtu,
	[0x1f] = &vmsgt,  [0x25] = &vsll,  [0x28] = &vsrl,   [0x29] = &vsra,  [0x2c] = &vnsrl,
	[0x2d] = &vnsra,
};

/* Instructions with v0 as an operand. */
const rv_vops RV_HOT(rv_vint_bits) = {
	[0x10] = &vadc, [0x11] = &vmadcm, [0x12] = &vsbc, [0x13] = &vmsbcm, [0x17] = &vmerge,
};

/* By the field of vs1. */
const rv_vops RV_HOT(rv_vint_ext) = {
	[2] = &vzext_vf8, [3] = &vsext_vf8, [4] = &vzext_vf4,
	[5] = &vsext_vf4, [6] = &vzext_vf2, [7] = &vsext_vf2,
};
