// SPDX-License-Identifier: MIT
/*
 * Vector instructions of the common form: a destination, a vector, and a vector or a scalar.
 *
 * Letters of sig: the destination, 1, 2 (so many times SEW) or m (a mask); the first source, 1, 2,
 * or 0 (none: the field is zero); the second: v, x, f, i or - (the field is part of the
 * instruction). Then a: the destination is a source too; c: v0 is a carry, always; C: v0 is a
 * carry, if not masked out; n: never masked; o: the destination lies apart from sources.
 */
#include <string.h>
#include "fuzz.h"

static unsigned int pool_of(const struct rv_op *op, int eew, bool first)
{
	bool floats = op->wide & V_FLOAT && !(first && (op->wide & V_FROM_INT));

	return (unsigned int)((floats ? P_FLOAT : P_I) + eew);
}

static int times(char c)
{
	return c == '2';
}

/* The field of the second operand that is no vector. */
static uint32_t scalar(struct rv_gen *g, char kind, bool small)
{
	switch (kind) {
	case 'x':
		return rv_src(g, rv_chance(g, 4) != small ? P_SMALL : P_X) << 15;
	case 'f':
		return rv_fsrc(g, P_H + (unsigned int)g->sew - 1) << 15;
	case 'i':
		return rv_below(g, 32) << 15;
	}
	return 0;
}

void rv_emit_vector(struct rv_gen *g, const struct rv_op *op)
{
	const char *sig = op->sig, *more = sig + 3;
	bool wide = strchr(sig, '2'), carry = strpbrk(more, "cC");
	struct rv_vreg d, s[2];
	unsigned int n = 0, rules = 0;
	uint32_t vm;

	rv_shape(g, (op->wide & V_FLOAT) && !(op->wide & V_FROM_BYTES), wide ? 2 : 3, -3,
		 wide ? 2 : 3);
	vm = strchr(more, 'n') ? 1u << 25 : strchr(more, 'c') ? 0 : rv_mask(g);
	if (strchr(more, 'c'))
		rv_vsrc(g, 0, 1, P_MASK);
	d = (struct rv_vreg){sig[0] == 'm' ? -1 : g->sew + times(sig[0]),
			     sig[0] == 'm' ? 0 : g->lmul + times(sig[0]), 0};
	if (sig[1] != '0')
		s[n++] = (struct rv_vreg){g->sew + times(sig[1]), g->lmul + times(sig[1]), 0};
	if (sig[2] == 'v')
		s[n++] = (struct rv_vreg){g->sew, g->lmul, 0};
	rules |= vm ? 0 : RV_WITH_V0;
	rules |= strchr(more, 'o') ? RV_APART : 0;
	rules |= strchr(more, 'a') ? RV_SUMS : 0;
	rv_pick(g, &d, s, n, rules);
	for (unsigned int i = 0; i < n; i++)
		rv_vsrc(g, s[i].reg, rv_count(s[i].emul), pool_of(op, s[i].eew, i == 0));
	if (strchr(more, 'a'))
		rv_vsrc(g, d.reg, rv_count(d.emul), pool_of(op, d.eew, false));
	/* Loading may have changed a mask that lies in the destination of a carry. */
	if (carry && !vm)
		rv_load_v(g, 0, 1, P_MASK);
	vm |= sig[1] != '0' ? s[0].reg << 20 : 0;
	vm |= sig[2] == 'v' ? s[n - 1].reg << 15 : scalar(g, sig[2], op->wide & V_SMALL);
	rv_use_shape(g);
	if (op->wide & V_FLOAT)
		rv_rounding(g);
	if (op->wide & V_FIXED) {
		rv_put(g, 0x00a05073 | rv_below(g, 4) << 15); /* csrwi vxrm */
		if (g->flags)
			rv_put(g, 0x00905073); /* csrwi vxsat, 0 */
	}
	rv_vstart(g);
	rv_test(g, op->match | vm | d.reg << 7);
}
