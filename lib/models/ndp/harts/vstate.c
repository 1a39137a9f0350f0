// SPDX-License-Identifier: MIT
/*
 * State of vector instructions beside vector registers: checked before, set after.
 */
#include "soft.h"
#include "vector.h"

uint64_t rv_vfscalar(const struct rv_batch *b, unsigned int reg, unsigned int i, unsigned int sew)
{
	uint64_t f = b->f[reg][i];

	if (sew == 3)
		return f;
	if (sew == 2)
		return f >> 32 == UINT32_MAX ? (uint32_t)f : rv_fmt_nan(RV_S);
	return f >> 16 == UINT64_MAX >> 16 ? (uint16_t)f : rv_fmt_nan(RV_H);
}

bool rv_vframes(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int i;

	if (b->quick)
		return true;
	rv_each(b, i) {
		if (b->frm[i] > RV_RMM) {
			rv_halt(b, RV_ILLEGAL, i, in->bits);
			return false;
		}
	}
	return true;
}

void rv_vdone(struct rv_batch *b, unsigned int uops)
{
	unsigned int i;

	if (b->step)
		b->step->uops = uops;
	if (!b->vstart)
		return;
	b->vstart = 0;
	rv_each(b, i)
		b->lane_vstart[i] = 0;
}
