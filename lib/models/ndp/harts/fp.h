/* SPDX-License-Identifier: MIT */
/*
 * Registers of floating point: numbers of less than 64 bits are boxed (ones above them), and what
 * is not boxed reads as the canonical NaN.
 */
#ifndef ANNEX_NDP_HARTS_FP_H
#define ANNEX_NDP_HARTS_FP_H

#include <string.h>
#include "decode.h"
#include "soft.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

#define RV_DYN 7

static inline uint64_t rv_box(enum rv_fmt fmt, uint64_t bits)
{
	return fmt == RV_D ? bits : bits | UINT64_MAX << rv_fmt_bits(fmt);
}

static inline uint64_t rv_unbox(enum rv_fmt fmt, uint64_t reg)
{
	uint64_t ones = fmt == RV_D ? 0 : UINT64_MAX << rv_fmt_bits(fmt);

	return (reg & ones) == ones ? reg & ~ones : rv_fmt_nan(fmt);
}

static inline float get_s(uint64_t reg)
{
	uint32_t bits = reg >> 32 == UINT32_MAX ? (uint32_t)reg : 0x7fc00000;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t put_s(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (value == value ? bits : 0x7fc00000) | 0xffffffff00000000;
}

static inline double get_d(uint64_t reg)
{
	double value;

	memcpy(&value, &reg, sizeof(value));
	return value;
}

static inline uint64_t put_d(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return value == value ? bits : 0x7ff8000000000000;
}

#ifdef __F16C__
/* A single that is rounded again to a half is the half: sums, products, quotients and roots. */
static inline float get_h(uint64_t reg)
{
	return _cvtsh_ss((uint16_t)rv_unbox(RV_H, reg));
}

static inline uint64_t put_h(float value)
{
	uint16_t bits = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

	return rv_box(RV_H, value == value ? bits : 0x7e00);
}
#endif

/* Of a rounding mode in an instruction; whether a dynamic one is, shows when it is executed. */
static inline bool rv_is_rm(const struct rv_insn *in)
{
	return in->rm <= RV_RMM || in->rm == RV_DYN;
}

/* The precisions that instructions know: S, D, H. Quadruple is none here. */
static inline enum rv_fmt rv_fmt_of(uint32_t code)
{
	return code == 0 ? RV_S : code == 1 ? RV_D : RV_H;
}

/* Whether the host's arithmetic suffices: rounding to nearest, and flags are not read. */
static inline bool rv_fast(const struct rv_batch *b, const struct rv_insn *in)
{
	return in->rm == RV_DYN ? b->quick : !b->exact && in->rm == RV_RNE;
}

/* The rounding mode of lane @i; false and a halt: it is none. */
static inline bool rv_rounding(struct rv_batch *b, const struct rv_insn *in, unsigned int i,
			       enum rv_round *rm)
{
	unsigned int mode = in->rm == RV_DYN ? b->frm[i] : in->rm;

	if (mode > RV_RMM) {
		rv_halt(b, RV_ILLEGAL, i, in->bits);
		return false;
	}
	*rm = (enum rv_round)mode;
	return true;
}

#endif
