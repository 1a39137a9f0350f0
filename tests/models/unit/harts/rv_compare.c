// SPDX-License-Identifier: MIT
/*
 * Comparisons of vectors by all lanes together, which the host makes bits of in ways of its own:
 * against the same, element by element.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models/ndp/harts/rv.h"
#include "tests/models/unit/ndp_asm.h"
#include "tests/unit/random.h"
#include "rv_rig.h"
#include "tests/unit/unit.h"

enum { VL = 10, SCALAR = 11, A = 8, B = 16, MASK = 24 }; /* registers */
enum { VECTOR = 0, IMMEDIATE = 3, FROM_X = 4 };          /* funct3 */

#define GROUP (8 * 32u) /* bytes of a lane in eight registers */

/* What all lanes have in the groups at A and B, and what the instruction is. */
struct trial {
	unsigned int funct6, form, sew, lmul, vl, lanes;
	unsigned int vd; /* MASK, or one of the operands */
	int imm;
	char a[RV_LANES][GROUP], b[RV_LANES][GROUP];
	uint64_t x[RV_LANES];
	char mask[RV_LANES][32];
};

static uint64_t element(const char *from, unsigned int sew, unsigned int e)
{
	uint64_t value = 0;

	memcpy(&value, from + ((size_t)e << sew), 1u << sew);
	return value;
}

static bool holds(unsigned int funct6, uint64_t a, uint64_t b, unsigned int sew)
{
	unsigned int shift = 64 - (8u << sew);
	int64_t i, j;

	/* At the top of a word signs are where the host looks for them, and order is the same. */
	a <<= shift;
	b <<= shift;
	memcpy(&i, &a, sizeof(i));
	memcpy(&j, &b, sizeof(j));
	switch (funct6) {
	case 0x18:
		return a == b;
	case 0x19:
		return a != b;
	case 0x13:
	case 0x1a:
		return a < b;
	case 0x1b:
		return i < j;
	case 0x1c:
		return a <= b;
	case 0x1d:
		return i <= j;
	case 0x1e:
		return a > b;
	default:
		return i > j;
	}
}

/* The groups of registers of all lanes. */
static void put(struct rv_rig *r, unsigned int reg, char group[RV_LANES][GROUP])
{
	for (unsigned int n = 0; n < 8; n++)
		for (unsigned int i = 0; i < RV_LANES; i++)
			memcpy((char *)rv_v(r->b, reg + n) + (size_t)i * 32, &group[i][n * 32], 32);
}

static bool is_right(struct trial *t, unsigned int i, const char *got)
{
	const char *old = t->vd == A ? t->a[i] : t->vd == B ? t->b[i] : t->mask[i];
	char want[32];

	memcpy(want, old, sizeof(want));
	for (unsigned int e = 0; e < t->vl; e++) {
		uint64_t a = element(t->a[i], t->sew, e), b = element(t->b[i], t->sew, e);
		char bit = (char)(1 << e % 8);

		if (t->form != VECTOR)
			b = t->form == FROM_X ? t->x[i] : (uint64_t)(int64_t)t->imm;
		want[e / 8] = (char)(want[e / 8] & ~bit);
		if (holds(t->funct6, a, b, t->sew))
			want[e / 8] = (char)(want[e / 8] | bit);
	}
	return !memcmp(got, want, sizeof(want));
}

static bool agrees(struct rv_rig *r, struct trial *t)
{
	unsigned int vs1 = t->form == VECTOR   ? B
			   : t->form == FROM_X ? SCALAR
					       : (unsigned int)t->imm & 31;
	const uint32_t insn[] = {
		0x7057 | VL << 15 | (t->sew << 3 | t->lmul) << 20, /* vsetvli x0, VL */
		0x57 | t->vd << 7 | t->form << 12 | vs1 << 15 | A << 20 | 1u << 25 |
			t->funct6 << 26,
		ECALL,
	};
	bool right = true;

	rv_rig_start(r, &rv_rig_isa, insn, 3, t->lanes);
	put(r, A, t->a);
	put(r, B, t->b);
	memcpy(rv_v(r->b, MASK), t->mask, sizeof(t->mask));
	for (unsigned int i = 0; i < RV_LANES; i++) {
		rv_x(r->b, VL)[i] = t->vl;
		rv_x(r->b, SCALAR)[i] = t->x[i];
	}
	if (rv_rig_run(r).why != RV_ENDED)
		return false;
	for (unsigned int i = 0; i < t->lanes; i++)
		right = right && is_right(t, i, (char *)rv_v(r->b, t->vd) + (size_t)i * 32);
	return right;
}

/* Few values, at either end of the range and around its middle, so that all outcomes are met. */
static char value(uint64_t *seed)
{
	static const unsigned char some[] = {0, 1, 0x7f, 0x80, 0xff};

	return (char)some[random_next(seed) % sizeof(some)];
}

static void choose(struct trial *t, uint64_t *seed)
{
	static const unsigned char functs[] = {0x13, 0x18, 0x19, 0x1a, 0x1b,
					       0x1c, 0x1d, 0x1e, 0x1f};
	/* Which of them there are with vectors, with immediates; all are there with x registers. */
	static const bool vector[] = {1, 1, 1, 1, 1, 1, 1, 0, 0};
	static const bool immediate[] = {0, 1, 1, 0, 0, 1, 1, 1, 1};
	unsigned int which = (unsigned int)(random_next(seed) % 9);
	unsigned int form = (unsigned int)(random_next(seed) % 3), most;

	t->funct6 = functs[which];
	t->form = form == 1 && vector[which] ? VECTOR
		  : form && immediate[which] ? IMMEDIATE
					     : FROM_X;
	t->sew = (unsigned int)(random_next(seed) % 4);
	t->lmul = (unsigned int)(random_next(seed) % 4);
	most = (32u << t->lmul) >> t->sew;
	t->vl = random_next(seed) % 2 ? most : (unsigned int)(random_next(seed) % (most + 1));
	t->vd = random_next(seed) % 2 ? MASK : t->form == VECTOR && random_next(seed) % 2 ? B : A;
	t->lanes = random_next(seed) % 4 ? RV_LANES : 1 + (unsigned int)(random_next(seed) % 63);
	t->imm = (int)(random_next(seed) % 3) - 1;
	for (unsigned int i = 0; i < RV_LANES; i++) {
		t->x[i] = random_next(seed) % 2 ? (uint64_t)value(seed) : random_next(seed);
		for (unsigned int k = 0; k < GROUP; k++) {
			t->a[i][k] = value(seed);
			t->b[i][k] = random_next(seed) % 2 ? t->a[i][k] : value(seed);
		}
		for (unsigned int k = 0; k < 32; k++)
			t->mask[i][k] = (char)random_next(seed);
	}
}

static void comparisons_agree(void)
{
	uint64_t seed = random_seed("rv_compare");
	struct trial *t = malloc(sizeof(*t));
	struct rv_rig r;

	CU_ASSERT_FATAL(t != NULL);
	rv_rig_open(&r, &rv_rig_isa, NULL);
	for (unsigned int n = 0; n < 400; n++) {
		choose(t, &seed);
		if (!agrees(&r, t)) {
			printf("funct6 0x%x, form %u, sew %u, lmul %u, vl %u, vd %u, lanes %u\n",
			       t->funct6, t->form, t->sew, t->lmul, t->vl, t->vd, t->lanes);
			CU_FAIL("a comparison is wrong");
		}
	}
	rv_rig_close(&r);
	free(t);
}

UNIT_SUITE(rv_compare, {"comparisons agree", comparisons_agree})
