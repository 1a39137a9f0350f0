/* SPDX-License-Identifier: MIT */
/*
 * Decoders of scalar instructions, one for each file of handlers. rv_decode() has put the fields
 * of @bits in *@in, and picks by opcode; they add the handler, the unit and the immediate.
 */
#ifndef ANNEX_NDP_HARTS_DECODE_H
#define ANNEX_NDP_HARTS_DECODE_H

#include "hart.h"

/* Which fields name registers, and of what kind; 0: no such instruction. */
enum rv_use {
	RV_XD = 1,
	RV_X1 = 2,
	RV_X2 = 4,
	RV_FD = 8,
	RV_F1 = 16,
	RV_F2 = 32,
	RV_F3 = 64,
	RV_NONE = 128,
};

typedef unsigned int rv_decoder(uint32_t bits, struct rv_insn *in);

rv_decoder rv_decode_alu, rv_decode_alu_avx2;
rv_decoder rv_decode_bits, rv_decode_bits_avx2;
rv_decoder rv_decode_mul, rv_decode_mul_avx2;
rv_decoder rv_decode_load, rv_decode_load_avx2;
rv_decoder rv_decode_branch, rv_decode_branch_avx2;
rv_decoder rv_decode_fp, rv_decode_fp_avx2;
rv_decoder rv_decode_convert, rv_decode_convert_avx2;
rv_decoder rv_decode_amo;
rv_decoder rv_decode_csr;

#endif
