/* SPDX-License-Identifier: MIT */
/*
 * Estimates to seven bits, as vfrec7 and vfrsqrt7 give them. Bits as in soft.h.
 */
#ifndef ANNEX_NDP_HARTS_VRECIP_H
#define ANNEX_NDP_HARTS_VRECIP_H

#include "soft.h"

uint64_t rv_rec7(enum rv_fmt fmt, uint64_t a, enum rv_round rm, uint8_t *flags);
uint64_t rv_rsqrt7(enum rv_fmt fmt, uint64_t a, uint8_t *flags);

#endif
