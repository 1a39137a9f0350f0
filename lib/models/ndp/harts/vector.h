/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of vector instructions (v*.c).
 *
 * Most instructions do the same to each element. Such a one is a table entry, struct rv_vop: the
 * shape of its operands and a kernel for each SEW, a plain loop over arrays. velem.c makes the
 * arrays of registers, scalars and masks: a row of all lanes at once where the batch is dense, the
 * part of one lane otherwise. The rest (memory, permutations, reductions, masks) are handlers of
 * their own.
 */
#ifndef ANNEX_NDP_HARTS_VECTOR_H
#define ANNEX_NDP_HARTS_VECTOR_H

#include <string.h>

#include "hart.h"
#include "hot.h"

#define RV_VLENB 128u /* of the longest vector register */

/* Registers are read with whatever type an instruction has. */
typedef uint8_t v_u8;
typedef int8_t v_i8;
typedef uint16_t v_u16 __attribute__((may_alias));
typedef int16_t v_i16 __attribute__((may_alias));
typedef uint32_t v_u32 __attribute__((may_alias));
typedef int32_t v_i32 __attribute__((may_alias));
typedef uint64_t v_u64 __attribute__((may_alias));
typedef int64_t v_i64 __attribute__((may_alias));
typedef float v_f32 __attribute__((may_alias));
typedef double v_f64 __attribute__((may_alias));
__extension__ typedef unsigned __int128 v_u128;
__extension__ typedef __int128 v_i128;

/**
 * struct rv_vctx - Inputs and outputs of a kernel beside its operands.
 * @m: a byte for each element, 0 or 1: v0's bit (carry, merge).
 * @rm: vxrm of fixed-point kernels, the rounding mode of others.
 * @flags: fflags are or'ed here.
 * @sat: set when something was saturated.
 */
struct rv_vctx {
	const uint8_t *m;
	unsigned int rm;
	uint8_t flags;
	bool sat;
};

/* d[k] = f(d[k], a[k], b[k]) for @n elements; @d is @a or @b, or does not overlap them. */
typedef void rv_kern(void *d, const void *a, const void *b, size_t n, struct rv_vctx *c);

/*
 * Comparisons of all lanes, for vlenb 32: bit r * n + k of d[lane] is the result for element k of
 * register r. Registers of @a are in rows; registers of @b are @b_row bytes apart.
 */
typedef void rv_bits(uint64_t *d, const char *a, const char *b, size_t b_row, unsigned int regs);

#define RV_VNONE (-8) /* operand is not there */

enum rv_vop_flags {
	RV_VOP_ACC = 1,    /* reads vd */
	RV_VOP_MASK = 2,   /* vd is a mask: the kernel writes bytes, 0 or 1 */
	RV_VOP_UIMM = 4,   /* the immediate is unsigned */
	RV_VOP_BITS = 8,   /* v0 is an operand (ctx->m), masked or not */
	RV_VOP_FIXED = 16, /* depends on vxrm, or changes vxsat */
	RV_VOP_FLOAT = 32, /* depends on frm: what frm must not be is illegal */
	RV_VOP_SFU = 64,   /* of the special function unit */
	RV_VOP_MERGE = 128 /* v0 is an operand, and cannot be vs2 or vs1 too */
};

/**
 * struct rv_vop - An instruction that does the same to each element.
 * @d: EEW of vd, as a power of two times SEW; RV_VNONE: there is no vd.
 * @a: EEW of vs2, likewise.
 * @b: EEW of vs1 or the scalar, likewise.
 * @kern: for SEW 8, 16, 32 and 64; NULL: reserved.
 * @exact: likewise, for any rounding mode and with flags; NULL: @kern is right always.
 * @bits: the same as @kern, where the result is a mask; NULL: @kern will do.
 */
struct rv_vop {
	int8_t d, a, b;
	uint8_t flags;
	rv_kern *kern[4];
	rv_kern *exact[4];
	rv_bits *bits[4];
};

/* One for each funct6 of OPIVV, OPIVX, OPIVI and so on. */
typedef const struct rv_vop *rv_vops[64];

/* vtype */
static inline unsigned int rv_sew(const struct rv_batch *b)
{
	return b->vtype >> 3 & 7;
}

static inline int rv_lmul(const struct rv_batch *b)
{
	return (int)((b->vtype & 7) ^ 4) - 4;
}

static inline bool rv_vill(const struct rv_batch *b)
{
	return b->vtype >> 63;
}

static inline uint64_t rv_vlmax(const struct rv_batch *b)
{
	int shift = rv_lmul(b) - (int)rv_sew(b);

	return shift >= 0 ? (uint64_t)b->vlenb << shift : b->vlenb >> -shift;
}

static inline unsigned int rv_vregs(int lmul)
{
	return lmul > 0 ? 1u << lmul : 1;
}

/* Whether a group of registers may begin at @reg. */
static inline bool rv_valign(const struct rv_batch *b, unsigned int reg, int lmul)
{
	return lmul <= 3 && !(reg & (rv_vregs(lmul) - 1)) &&
	       reg + rv_vregs(lmul) <= b->code->isa.nv;
}

/* Whether two groups share no register. */
static inline bool rv_vapart(unsigned int x, int xl, unsigned int y, int yl)
{
	return x + rv_vregs(xl) <= y || y + rv_vregs(yl) <= x;
}

/* Whether a destination may lie so to a source of another width (section 5.2). */
static inline bool rv_voverlap_ok(unsigned int d, int dl, unsigned int s, int sl)
{
	unsigned int dn = rv_vregs(dl), sn = rv_vregs(sl);

	if (dn > sn && d < s && sl >= 0 && d + dn == s + sn)
		return true;
	return rv_vapart(d, dl, s, sl);
}

/* v0 of lane @i, as words of 64 elements each. */
static inline const v_u64 *rv_vmask(struct rv_batch *b, unsigned int i)
{
	return (const v_u64 *)(rv_row(b, 0) + (size_t)i * b->vlenb);
}

static inline bool rv_vbit(const v_u64 *mask, uint64_t e)
{
	return mask[e / 64] >> e % 64 & 1;
}

/* 32 bytes, in one go where the host can. */
static inline void rv_copy_32(void *to, const void *from)
{
	typedef uint64_t four __attribute__((vector_size(32), aligned(1), may_alias));

	*(four *)to = *(const four *)from;
}

/* A lane's part of a row; most machines have a VLEN of 256. */
static inline void rv_vcopy(void *to, const void *from, unsigned int vlenb)
{
	if (vlenb == 32)
		rv_copy_32(to, from);
	else
		memcpy(to, from, vlenb);
}

/* The registers of a lane as one array of up to 8 * RV_VLENB bytes, and back. */
static inline void rv_vget(struct rv_batch *b, unsigned int reg, unsigned int n, unsigned int i,
			   void *to)
{
	for (unsigned int r = 0; r < n; r++)
		rv_vcopy((char *)to + r * b->vlenb, rv_row(b, reg + r) + (size_t)i * b->vlenb,
			 b->vlenb);
}

static inline void rv_vput(struct rv_batch *b, unsigned int reg, unsigned int n, unsigned int i,
			   const void *from)
{
	for (unsigned int r = 0; r < n; r++)
		rv_vcopy(rv_row(b, reg + r) + (size_t)i * b->vlenb,
			 (const char *)from + r * b->vlenb, b->vlenb);
}

/* An unsigned element of 1 << @log2 bytes. */
static inline uint64_t rv_vread(const void *from, unsigned int log2)
{
	switch (log2) {
	case 0:
		return *(const v_u8 *)from;
	case 1:
		return *(const v_u16 *)from;
	case 2:
		return *(const v_u32 *)from;
	default:
		return *(const v_u64 *)from;
	}
}

static inline void rv_vwrite(void *to, unsigned int log2, uint64_t value)
{
	switch (log2) {
	case 0:
		*(v_u8 *)to = (uint8_t)value;
		break;
	case 1:
		*(v_u16 *)to = (uint16_t)value;
		break;
	case 2:
		*(v_u32 *)to = (uint32_t)value;
		break;
	default:
		*(v_u64 *)to = value;
	}
}

/* Value of f register @reg of lane @i as an element of 1 << @sew bytes: NaN, if not boxed. */
uint64_t rv_vfscalar(const struct rv_batch *b, unsigned int reg, unsigned int i, unsigned int sew);

/* rv_vframes() - Halts with the first lane whose frm is none. */
bool rv_vframes(struct rv_batch *b, const struct rv_insn *in);

/* An instruction has been executed: vstart is zero. */
void rv_vdone(struct rv_batch *b, unsigned int uops);

/* Kernels by funct6 or, of instructions with one vector operand, by the field of vs1. */
extern const rv_vops rv_vint_opi, rv_vint_opi_avx2, rv_vint_bits, rv_vint_bits_avx2;
extern const rv_vops rv_vint_ext, rv_vint_ext_avx2, rv_vmul_opm, rv_vmul_opm_avx2;
extern const rv_vops rv_vfix_opi, rv_vfix_opi_avx2, rv_vfix_opm, rv_vfix_opm_avx2;
extern const rv_vops rv_vfp_opf, rv_vfp_opf_avx2, rv_vfma_opf, rv_vfma_opf_avx2;
extern const rv_vops rv_vcvt, rv_vcvt_avx2, rv_vfp_one, rv_vfp_one_avx2;
extern const rv_vops rv_vfp_bits, rv_vfp_bits_avx2;

/* Handlers. */
rv_op rv_velem, rv_velem_avx2;                                                /* velem.c */
rv_op rv_vset;                                                                /* vset.c */
rv_op rv_vload_unit, rv_vload_unit_avx2, rv_vstore_unit, rv_vstore_unit_avx2; /* vmem.c */
rv_op rv_vload_first, rv_vload_first_avx2;
rv_op rv_vload_whole, rv_vload_whole_avx2, rv_vstore_whole, rv_vstore_whole_avx2;
rv_op rv_vload_apart, rv_vstore_apart;                                     /* vindex.c */
rv_op rv_vslideup, rv_vslidedown, rv_vslide1up, rv_vslide1down;            /* vperm.c */
rv_op rv_vgather, rv_vgather16, rv_vcompress;                              /* vperm.c */
rv_op rv_vmove_regs, rv_vmv_x_s, rv_vmv_s_x, rv_vfmv_f_s, rv_vfmv_s_f;     /* vmove.c */
rv_op rv_vmask_logic, rv_vcpop, rv_vfirst, rv_vmask_set, rv_viota, rv_vid; /* vmask.c */
rv_op rv_vred, rv_vwred;                                                   /* vred.c */
rv_op rv_vfred, rv_vfwred;                                                 /* vfred.c */

#endif
