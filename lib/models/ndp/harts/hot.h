/* SPDX-License-Identifier: MIT */
/*
 * Files of handlers that are compiled twice: for any processor, and for those with AVX2, FMA and
 * F16C (RV_AVX2 is defined). The Makefile lists them (HOT_SRC), and says whether there are such
 * copies (RV_HOT_COPIES). Functions that such a file defines for others are named with RV_HOT(),
 * and callers choose with rv_hot().
 */
#ifndef ANNEX_NDP_HARTS_HOT_H
#define ANNEX_NDP_HARTS_HOT_H

#include <stdbool.h>

#ifdef RV_AVX2
#define RV_HOT(name) name##_avx2
#else
#define RV_HOT(name) name
#endif

#ifdef RV_HOT_COPIES
/* Processors with AVX2 have F16C, which clang 14 cannot ask for. */
static inline bool rv_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#define rv_hot(name) (rv_has_avx2() ? name##_avx2 : name)
#else
#define rv_hot(name) name
#endif

#endif
