/* SPDX-License-Identifier: MIT */
/*
 * The instructions that the kernels of these tests are made of, encoded by hand, so that they need
 * no other compiler. rd and rs are numbers of registers.
 */
#ifndef ANNEX_TESTS_NDP_ASM_H
#define ANNEX_TESTS_NDP_ASM_H

#include <stdint.h>

static inline uint32_t asm_r(unsigned int op, unsigned int rd, unsigned int f3, unsigned int rs1,
			     unsigned int rs2, unsigned int f7)
{
	return op | rd << 7 | f3 << 12 | rs1 << 15 | rs2 << 20 | f7 << 25;
}

static inline uint32_t asm_i(unsigned int op, unsigned int rd, unsigned int f3, unsigned int rs1,
			     int imm)
{
	return op | rd << 7 | f3 << 12 | rs1 << 15 | (uint32_t)imm << 20;
}

static inline uint32_t asm_s(unsigned int f3, unsigned int rs2, unsigned int rs1, int imm)
{
	return 0x23 | ((uint32_t)imm & 31) << 7 | f3 << 12 | rs1 << 15 | rs2 << 20 |
	       ((uint32_t)imm >> 5 & 127) << 25;
}

static inline uint32_t addi(unsigned int rd, unsigned int rs, int imm)
{
	return asm_i(0x13, rd, 0, rs, imm);
}

static inline uint32_t slli(unsigned int rd, unsigned int rs, int by)
{
	return asm_i(0x13, rd, 1, rs, by);
}

static inline uint32_t add(unsigned int rd, unsigned int rs1, unsigned int rs2)
{
	return asm_r(0x33, rd, 0, rs1, rs2, 0);
}

static inline uint32_t sub(unsigned int rd, unsigned int rs1, unsigned int rs2)
{
	return asm_r(0x33, rd, 0, rs1, rs2, 32);
}

static inline uint32_t div_(unsigned int rd, unsigned int rs1, unsigned int rs2)
{
	return asm_r(0x33, rd, 4, rs1, rs2, 1);
}

static inline uint32_t lui(unsigned int rd, uint32_t upper)
{
	return 0x37 | rd << 7 | upper << 12;
}

static inline uint32_t auipc(unsigned int rd, uint32_t upper)
{
	return 0x17 | rd << 7 | upper << 12;
}

static inline uint32_t lw(unsigned int rd, unsigned int rs, int imm)
{
	return asm_i(0x03, rd, 2, rs, imm);
}

static inline uint32_t ld(unsigned int rd, unsigned int rs, int imm)
{
	return asm_i(0x03, rd, 3, rs, imm);
}

static inline uint32_t sw(unsigned int rs2, unsigned int rs1, int imm)
{
	return asm_s(2, rs2, rs1, imm);
}

static inline uint32_t sd(unsigned int rs2, unsigned int rs1, int imm)
{
	return asm_s(3, rs2, rs1, imm);
}

static inline uint32_t bne(unsigned int rs1, unsigned int rs2, int by)
{
	uint32_t b = (uint32_t)by;

	return 0x63 | (b >> 11 & 1) << 7 | (b >> 1 & 15) << 8 | 1 << 12 | rs1 << 15 | rs2 << 20 |
	       (b >> 5 & 63) << 25 | (b >> 12 & 1) << 31;
}

static inline uint32_t beq(unsigned int rs1, unsigned int rs2, int by)
{
	return bne(rs1, rs2, by) & ~(1u << 12);
}

/* jal x0 */
static inline uint32_t jump(int by)
{
	uint32_t b = (uint32_t)by;

	return 0x6f | (b >> 12 & 255) << 12 | (b >> 11 & 1) << 20 | (b >> 1 & 1023) << 21 |
	       (b >> 20 & 1) << 31;
}

static inline uint32_t jalr(unsigned int rs)
{
	return asm_i(0x67, 0, 0, rs, 0);
}

static inline uint32_t amoadd_d(unsigned int rd, unsigned int rs2, unsigned int rs1)
{
	return asm_r(0x2f, rd, 3, rs1, rs2, 0);
}

static inline uint32_t amoswap_d(unsigned int rd, unsigned int rs2, unsigned int rs1)
{
	return asm_r(0x2f, rd, 3, rs1, rs2, 4);
}

/* vsetvli, by the bits of vtype */
static inline uint32_t vsetvli(unsigned int rd, unsigned int rs, unsigned int vtype)
{
	return asm_i(0x57, rd, 7, rs, (int)vtype);
}

static inline uint32_t vmv_v_i(unsigned int vd, unsigned int imm)
{
	return asm_r(0x57, vd, 3, imm, 0, 0x17 << 1 | 1);
}

static inline uint32_t vdiv_vv(unsigned int vd, unsigned int vs2, unsigned int vs1)
{
	return asm_r(0x57, vd, 2, vs1, vs2, 0x21 << 1 | 1);
}

#define ECALL 0x73u
#define EBREAK 0x100073u
#define NONE 0xffffffffu /* no instruction at all */

#endif
