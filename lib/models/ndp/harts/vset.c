// SPDX-License-Identifier: MIT
/*
 * The state of vector instructions beside vector registers: vl and vtype (vsetvli, vsetivli and
 * vsetvl), checks before an instruction, and the end of one.
 */
#include "soft.h"
#include "vector.h"

/* Elements of a group as @vtype has it; 0: there is none such. */
static uint64_t most(const struct rv_batch *b, uint64_t vtype)
{
	int lmul = (int)((vtype & 7) ^ 4) - 4, sew = (int)(vtype >> 3 & 7);
	int shift = lmul - sew;

	/* A fraction of a register that has room for an element has one. */
	if (vtype >> 8 || sew > 3 || lmul == -4)
		return 0;
	return shift >= 0 ? (uint64_t)b->vlenb << shift : b->vlenb >> -shift;
}

/* vtype is in the instruction, or in a register of each lane. */
static bool is_fixed(const struct rv_insn *in)
{
	return !(in->bits >> 31) || in->bits >> 30 == 3;
}

static uint64_t fixed_type(const struct rv_insn *in)
{
	return in->bits >> 20 & (in->bits >> 31 ? 0x3ff : 0x7ff);
}

/* Lanes of the group that have another vl or vtype than @first? */
static bool differ(const struct rv_batch *b, unsigned int first)
{
	uint64_t other = 0;
	unsigned int i;

	rv_each(b, i)
		other |= (b->lane_vl[i] ^ b->lane_vl[first]) |
			 (b->lane_vtype[i] ^ b->lane_vtype[first]);
	return other;
}

/* A vtype for all: they differ in lengths alone, and mostly not even there. */
static void set_fixed(struct rv_batch *b, const struct rv_insn *in)
{
	uint64_t vtype = fixed_type(in), n = most(b, vtype), vl = n, other = 0;
	const uint64_t *asked = b->x[in->rs1];
	unsigned int i;

	vtype = n ? vtype : RV_VILL;
	if (in->bits >> 30 == 3)
		vl = in->rs1 < n ? in->rs1 : n;
	else if (!in->rs1 && in->rd == RV_DUMP)
		vl = b->vl < n ? b->vl : n;
	else if (in->rs1) {
		i = (unsigned int)__builtin_ctzll(b->group);
		vl = asked[i] < n ? asked[i] : n;
		rv_each(b, i)
			other |= (asked[i] < n ? asked[i] : n) ^ vl;
	}
	if (other) {
		rv_each(b, i) {
			b->lane_vtype[i] = vtype;
			b->lane_vl[i] = asked[i] < n ? asked[i] : n;
			b->x[in->rd][i] = b->lane_vl[i];
		}
		b->pause = true;
		return;
	}
	b->vl = vl;
	b->vtype = vtype;
	rv_lanes(b, l, b->x[in->rd][l] = vl);
}

static void set_variable(struct rv_batch *b, const struct rv_insn *in)
{
	unsigned int first = (unsigned int)__builtin_ctzll(b->group), i;

	rv_each(b, i) {
		uint64_t vtype = b->x[in->rs2][i], n = most(b, vtype);
		uint64_t vl = in->rs1 ? b->x[in->rs1][i] : in->rd != RV_DUMP ? UINT64_MAX : b->vl;

		b->lane_vtype[i] = n ? vtype : RV_VILL;
		b->lane_vl[i] = vl < n ? vl : n;
	}
	rv_each(b, i)
		b->x[in->rd][i] = b->lane_vl[i];
	if (differ(b, first)) {
		b->pause = true;
		return;
	}
	b->vl = b->lane_vl[first];
	b->vtype = b->lane_vtype[first];
}

void rv_vset(struct rv_batch *b, const struct rv_insn *in)
{
	if (is_fixed(in))
		set_fixed(b, in);
	else
		set_variable(b, in);
	rv_vdone(b, 0);
}

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
