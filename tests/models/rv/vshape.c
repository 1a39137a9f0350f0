// SPDX-License-Identifier: MIT
/*
 * Shapes of vectors, and registers that the specification lets one instruction use together.
 */
#include "fuzz.h"

unsigned int rv_count(int emul)
{
	return emul > 0 ? 1u << emul : 1;
}

bool rv_overlap(const struct rv_vreg *a, const struct rv_vreg *b)
{
	return a->reg < b->reg + rv_count(b->emul) && b->reg < a->reg + rv_count(a->emul);
}

/*
 * A destination may lie over a source of the same element width; over the lowest registers of a
 * wider one; over a narrower one that has the highest registers, and is not a part of a register.
 */
static bool may_write(const struct rv_vreg *dst, const struct rv_vreg *src)
{
	if (dst->eew == src->eew || !rv_overlap(dst, src))
		return true;
	if (dst->eew < src->eew)
		return dst->reg == src->reg;
	return src->emul >= 0 && src->eew >= 0 &&
	       src->reg + rv_count(src->emul) == dst->reg + rv_count(dst->emul);
}

static bool allowed(const struct rv_vreg *dst, const struct rv_vreg *src, unsigned int n,
		    unsigned int rules)
{
	static const struct rv_vreg v0 = {-1, 0, 0};

	/* A register is read with one element width only; v0 as a mask has its own. */
	for (unsigned int i = 0; i < n; i++) {
		if ((rules & RV_WITH_V0) && src[i].eew >= 0 && rv_overlap(&src[i], &v0))
			return false;
		for (unsigned int j = 0; j < i; j++)
			if (src[i].eew != src[j].eew && rv_overlap(&src[i], &src[j]))
				return false;
	}
	if (!dst)
		return true;
	if ((rules & RV_WITH_V0) && dst->eew >= 0 && rv_overlap(dst, &v0))
		return false;
	for (unsigned int i = 0; i < n; i++) {
		bool over = rv_overlap(dst, &src[i]);

		if (over && ((rules & RV_APART) || ((rules & RV_SUMS) && dst->eew != src[i].eew)))
			return false;
		if (!may_write(dst, &src[i]))
			return false;
	}
	return true;
}

void rv_random_reg(struct rv_gen *g, struct rv_vreg *v)
{
	unsigned int count = rv_count(v->emul);

	v->reg = rv_below(g, 32 / count) * count;
}

/* Overlaps are wanted more often than chance has them. */
void rv_pick(struct rv_gen *g, struct rv_vreg *dst, struct rv_vreg *src, unsigned int n,
	     unsigned int rules)
{
	do {
		for (unsigned int i = 0; i < n; i++)
			rv_random_reg(g, &src[i]);
		if (!dst)
			continue;
		rv_random_reg(g, dst);
		if (n && rv_chance(g, 4)) {
			const struct rv_vreg *other = &src[rv_below(g, n)];

			dst->reg = other->reg & ~(rv_count(dst->emul) - 1);
		}
	} while (!allowed(dst, src, n, rules));
}

static unsigned int vlmax(const struct rv_gen *g, int sew, int lmul)
{
	return lmul < sew ? g->vlenb >> (sew - lmul) : g->vlenb << (lmul - sew);
}

void rv_shape(struct rv_gen *g, int sew_min, int sew_max, int lmul_min, int lmul_max)
{
	if (g->vset && g->sew >= sew_min && g->sew <= sew_max && g->lmul >= lmul_min &&
	    g->lmul <= lmul_max && rv_chance(g, 3))
		return;
	do {
		g->sew = sew_min + (int)rv_below(g, (unsigned int)(sew_max - sew_min + 1));
		g->lmul = lmul_min + (int)rv_below(g, (unsigned int)(lmul_max - lmul_min + 1));
	} while (g->lmul < g->sew - 3); /* an element of 64 bits fits in a whole register */
	g->vl = vlmax(g, g->sew, g->lmul);
	if (rv_chance(g, 24))
		g->vl = 0;
	else if (rv_chance(g, 12))
		g->vl = 1;
	else if (!rv_chance(g, 3))
		g->vl = 1 + rv_below(g, g->vl);
	g->vset = false;
}

void rv_use_shape(struct rv_gen *g)
{
	uint32_t vtype = ((uint32_t)g->lmul & 7) | (uint32_t)g->sew << 3 | rv_below(g, 4) << 6;

	if (g->vset)
		return;
	if (g->vl < 32 && rv_chance(g, 2)) {
		rv_put(g, 0xc0007057 | vtype << 20 | g->vl << 15);
	} else {
		rv_li(g, SCRATCH, g->vl);
		rv_put(g, 0x00007057 | vtype << 20 | SCRATCH << 15);
	}
	g->vset = true;
}

/* At times an instruction begins in the middle, or behind the end. */
void rv_vstart(struct rv_gen *g)
{
	unsigned int vstart = rv_below(g, g->vl + 2);

	if (!rv_chance(g, 8) || vstart >= g->vlenb * 8)
		return;
	g->item->vstart = vstart;
	rv_li(g, SCRATCH, vstart);
	rv_put(g, 0x00801073 | SCRATCH << 15); /* csrw vstart */
}

/* The bit of an instruction that says that it is not masked; otherwise v0 has a mask. */
uint32_t rv_mask(struct rv_gen *g)
{
	if (rv_chance(g, 2))
		return 1u << 25;
	rv_vsrc(g, 0, 1, P_MASK);
	return 0;
}
