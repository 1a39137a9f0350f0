// SPDX-License-Identifier: MIT
/*
 * Strided and indexed vector loads and stores. Ordered or not, elements go one after the other.
 */
#include "vaccess.h"

static bool is_indexed(const struct rv_insn *in)
{
	return in->bits >> 26 & 1;
}

/* An index group of EEW @eew, at @index, that is read while fields of vd are written. */
static bool index_ok(const struct rv_batch *b, const struct rv_insn *in, unsigned int eew,
		     const struct rv_vway *way, bool store)
{
	unsigned int sew = rv_sew(b), nf = way->nf;
	int lmul = rv_lmul(b), emul = lmul + (int)eew - (int)sew;

	if (emul < -3 || !rv_valign(b, in->rs2, emul) || (!in->vm && !in->rs2))
		return false;
	/* A register must be read with one EEW only. */
	if (store)
		return (in->vm || in->rd) && (eew == sew || rv_vapart(in->rd, lmul, in->rs2, emul));
	for (unsigned int f = 0; f < nf; f++) {
		unsigned int d = in->rd + f * way->regs;

		if (eew > sew && d != in->rs2 && !rv_voverlap_ok(d, lmul, in->rs2, emul))
			return false;
		if (eew < sew && !rv_voverlap_ok(d, lmul, in->rs2, emul))
			return false;
		if (nf > 1 && !rv_vapart(d, lmul, in->rs2, emul))
			return false;
	}
	return true;
}

#define INDICES(T)                                                                                 \
	for (uint64_t e = b->vstart; e < b->vl; e++)                                               \
	va[e] = base + ((const T *)index)[e]

static void indexed(struct rv_batch *b, const struct rv_insn *in, unsigned int i, uint64_t *va)
{
	char index[8 * RV_VLENB] __attribute__((aligned(64)));
	unsigned int eew = in->aux & 15;
	uint64_t base = b->x[in->rs1][i];

	rv_vget(b, in->rs2, rv_vregs(rv_lmul(b) + (int)eew - (int)rv_sew(b)), i, index);
	switch (eew) {
	case 0:
		INDICES(v_u8);
		break;
	case 1:
		INDICES(v_u16);
		break;
	case 2:
		INDICES(v_u32);
		break;
	default:
		INDICES(v_u64);
	}
}

static void strided(struct rv_batch *b, const struct rv_insn *in, unsigned int i, uint64_t *va)
{
	uint64_t base = b->x[in->rs1][i], stride = b->x[in->rs2][i];

	for (uint64_t e = b->vstart; e < b->vl; e++)
		va[e] = base + e * stride;
}

static void access_apart(struct rv_batch *b, const struct rv_insn *in, bool store)
{
	unsigned int eew = in->aux & 15, i;
	uint64_t va[RV_VELEMS], e;
	struct rv_vway way;

	/* The width in the encoding is the indices', or else that of data. */
	if (!rv_vway(b, in, is_indexed(in) ? rv_sew(b) : eew, store, &way) ||
	    (is_indexed(in) && !index_ok(b, in, eew, &way, store))) {
		rv_illegal(b, in);
		return;
	}
	rv_each(b, i) {
		if (is_indexed(in))
			indexed(b, in, i, va);
		else
			strided(b, in, i, va);
		e = store ? rv_vput_elems(b, in, &way, i, va) : rv_vget_elems(b, in, &way, i, va);
		if (e < b->vl) {
			rv_vfault(b, i, e);
			return;
		}
	}
	rv_vdone(b, way.nf * way.regs);
}

void rv_vload_apart(struct rv_batch *b, const struct rv_insn *in)
{
	access_apart(b, in, false);
}

void rv_vstore_apart(struct rv_batch *b, const struct rv_insn *in)
{
	access_apart(b, in, true);
}
