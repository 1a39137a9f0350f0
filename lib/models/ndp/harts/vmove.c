// SPDX-License-Identifier: MIT
/*
 * Moves of whole registers, and between element 0 and scalar registers.
 */
#include "soft.h"
#include "vector.h"

/* vstart counts elements of SEW here too. */
void rv_vmove_regs(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int n = in->rs1 + 1u, lanes = 1, i;
	uint64_t from = b->vstart << rv_sew(b), row = (uint64_t)n * RV_LANES * b->vlenb;

	if (rv_vill(b) || in->rd % n || in->rs2 % n || in->rd + n > b->code->isa.nv ||
	    in->rs2 + n > b->code->isa.nv) {
		rv_illegal(b, in);
		return;
	}
	if (b->dense && !from) {
		memmove(rv_row(b, in->rd), rv_row(b, in->rs2), row);
		rv_vdone(b, n);
		return;
	}
	rv_each(b, i) {
		for (uint64_t at = from; at < (uint64_t)n * b->vlenb; at += lanes) {
			unsigned int r = (unsigned int)at / b->vlenb;
			size_t off = (size_t)i * b->vlenb + at % b->vlenb;

			lanes = b->vlenb - (unsigned int)at % b->vlenb;
			memmove(rv_row(b, in->rd + r) + off, rv_row(b, in->rs2 + r) + off, lanes);
		}
	}
	rv_vdone(b, n);
}

static char *element_0(struct rv_batch *b, unsigned int reg, unsigned int i)
{
	return rv_row(b, reg) + (size_t)i * b->vlenb;
}

void rv_vmv_x_s(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int sew = rv_sew(b), unused = 64 - (8u << (sew & 3)), i;

	if (rv_vill(b)) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i) {
		uint64_t value = rv_vread(element_0(b, in->rs2, i), sew);

		b->x[in->rd][i] = (uint64_t)((int64_t)(value << unused) >> unused);
	}
	rv_vdone(b, 1);
}

void rv_vmv_s_x(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int sew = rv_sew(b), i;

	if (rv_vill(b)) {
		rv_illegal(b, in);
		return;
	}
	if (b->vstart < b->vl) {
		rv_each(b, i)
			rv_vwrite(element_0(b, in->rd, i), sew, b->x[in->rs1][i]);
	}
	rv_vdone(b, 1);
}

void rv_vfmv_f_s(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int sew = rv_sew(b), i;

	if (rv_vill(b) || !sew) {
		rv_illegal(b, in);
		return;
	}
	if (!rv_vframes(b, in))
		return;
	rv_each(b, i) {
		uint64_t box = sew < 3 ? UINT64_MAX << (8 << sew) : 0;

		b->f[in->rd][i] = box | rv_vread(element_0(b, in->rs2, i), sew);
	}
	rv_vdone(b, 1);
}

void rv_vfmv_s_f(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int sew = rv_sew(b), i;

	if (rv_vill(b) || !sew) {
		rv_illegal(b, in);
		return;
	}
	if (!rv_vframes(b, in))
		return;
	if (b->vstart < b->vl) {
		rv_each(b, i)
			rv_vwrite(element_0(b, in->rd, i), sew, rv_vfscalar(b, in->rs1, i, sew));
	}
	rv_vdone(b, 1);
}
