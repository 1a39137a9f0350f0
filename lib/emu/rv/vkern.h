/* SPDX-License-Identifier: MIT */
/*
 * Kernels, written once for all widths. An expression names its operands d[k], a[k] and b[k]; W is
 * an unsigned type that holds a result and is never promoted to int, so arithmetic wraps.
 */
#ifndef ANNEX_EMU_RV_VKERN_H
#define ANNEX_EMU_RV_VKERN_H

#include "vector.h"

#define KERN(name, WIDE, TD, TA, TB, expr)                                                         \
	static void name(void *d_, const void *a_, const void *b_, size_t n, struct rv_vctx *c)    \
	{                                                                                          \
		typedef WIDE W __attribute__((unused));                                            \
		TD *d = d_;                                                                        \
		const TA *a = a_;                                                                  \
		const TB *b = b_;                                                                  \
		(void)a;                                                                           \
		(void)b;                                                                           \
		(void)c;                                                                           \
		RV_APART                                                                           \
		for (size_t k = 0; k < n; k++)                                                     \
			d[k] = (TD)(expr);                                                         \
	}                                                                                          \
	_Static_assert(sizeof(TD) <= sizeof(WIDE), "W holds it")

/* All operands of one width; signs (u or i) of vs2 and vs1. */
#define KERN4(name, SA, SB, expr)                                                                  \
	KERN(name##_8, v_u32, v_u8, v_##SA##8, v_##SB##8, expr);                                   \
	KERN(name##_16, v_u32, v_u16, v_##SA##16, v_##SB##16, expr);                               \
	KERN(name##_32, v_u32, v_u32, v_##SA##32, v_##SB##32, expr);                               \
	KERN(name##_64, v_u64, v_u64, v_##SA##64, v_##SB##64, expr)

/* A wide result; of narrow ones, and of a wide and a narrow one. */
#define KERN_WVV(name, SA, SB, expr)                                                               \
	KERN(name##_8, v_u32, v_u16, v_##SA##8, v_##SB##8, expr);                                  \
	KERN(name##_16, v_u32, v_u32, v_##SA##16, v_##SB##16, expr);                               \
	KERN(name##_32, v_u64, v_u64, v_##SA##32, v_##SB##32, expr)

#define KERN_WWV(name, SB, expr)                                                                   \
	KERN(name##_8, v_u32, v_u16, v_u16, v_##SB##8, expr);                                      \
	KERN(name##_16, v_u32, v_u32, v_u32, v_##SB##16, expr);                                    \
	KERN(name##_32, v_u64, v_u64, v_u64, v_##SB##32, expr)

/* A narrow result of a wide and a narrow one. */
#define KERN_NWV(name, SA, expr)                                                                   \
	KERN(name##_8, v_u32, v_u8, v_##SA##16, v_u8, expr);                                       \
	KERN(name##_16, v_u32, v_u16, v_##SA##32, v_u16, expr);                                    \
	KERN(name##_32, v_u32, v_u32, v_##SA##64, v_u32, expr)

/* Bytes of 0 and 1, of comparisons. */
#define KERN_MASK(name, S, expr)                                                                   \
	KERN(name##_8, v_u32, v_u8, v_##S##8, v_##S##8, expr);                                     \
	KERN(name##_16, v_u32, v_u8, v_##S##16, v_##S##16, expr);                                  \
	KERN(name##_32, v_u32, v_u8, v_##S##32, v_##S##32, expr);                                  \
	KERN(name##_64, v_u64, v_u8, v_##S##64, v_##S##64, expr)

#define ALL4(name)                                                                                 \
	{                                                                                          \
		name##_8, name##_16, name##_32, name##_64                                          \
	}
#define ALL3(name)                                                                                 \
	{                                                                                          \
		name##_8, name##_16, name##_32, NULL                                               \
	}

#define VOP(name, wd, wa, wb, bits, ...)                                                           \
	static const struct rv_vop name = {                                                        \
		.d = (wd),                                                                         \
		.a = (wa),                                                                         \
		.b = (wb),                                                                         \
		.flags = (bits),                                                                   \
		.kern = __VA_ARGS__,                                                               \
	}

#define OP4(name, SA, SB, bits, expr)                                                              \
	KERN4(name, SA, SB, expr);                                                                 \
	VOP(name, 0, 0, 0, bits, ALL4(name))
#define OP_MASK(name, S, bits, expr)                                                               \
	KERN_MASK(name, S, expr);                                                                  \
	VOP(name, 0, 0, 0, RV_VOP_MASK | (bits), ALL4(name))
#define OP_WVV(name, SA, SB, bits, expr)                                                           \
	KERN_WVV(name, SA, SB, expr);                                                              \
	VOP(name, 1, 0, 0, bits, ALL3(name))
#define OP_WWV(name, SB, expr)                                                                     \
	KERN_WWV(name, SB, expr);                                                                  \
	VOP(name, 1, 1, 0, 0, ALL3(name))
#define OP_NWV(name, SA, bits, expr)                                                               \
	KERN_NWV(name, SA, expr);                                                                  \
	VOP(name, 0, 1, 0, bits, ALL3(name))

#endif
