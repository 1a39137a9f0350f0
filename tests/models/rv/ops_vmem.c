// SPDX-License-Identifier: MIT
/*
 * Loads and stores of vectors. Fault-only-first loads meet no fault here: qemu 10.0 is wrong
 * about faults of segment loads.
 *
 * sig: l or s, a load or a store; f: a load that ends at a fault. wide: log2 of the bytes of an
 * element or index, and 16 times the fields of a segment.
 */
#include <string.h>
#include "fuzz.h"

#define PAGE 4096u

static int log_of(const struct rv_op *op)
{
	return op->wide & 15;
}

static unsigned int fields_of(const struct rv_op *op)
{
	return (unsigned int)op->wide >> 4;
}

/* A shape in which @n fields of elements of 1 << @eew bytes take eight registers at most. */
static int shape_for(struct rv_gen *g, int eew, unsigned int n, bool of_sew)
{
	int emul, most;

	for (most = 3; (n << most) > 8; most--)
		;
	do {
		rv_shape(g, 0, 3, -3, 3);
		emul = eew - g->sew + g->lmul;
	} while (emul < -3 || emul > 3 || (of_sew ? g->lmul : emul) > most);
	return emul;
}

/* The first of a group for each field, so that none is behind v31. */
static void pick_fields(struct rv_gen *g, struct rv_vreg *v, unsigned int n, bool masked)
{
	unsigned int count = rv_count(v->emul);

	do {
		rv_random_reg(g, v);
	} while (v->reg + n * count > 32 || (masked && v->reg == 0));
}

static void load_fields(struct rv_gen *g, const struct rv_vreg *v, unsigned int n)
{
	for (unsigned int i = 0; i < n * rv_count(v->emul); i++)
		rv_vsrc(g, v->reg + i, 1, P_I);
}

/* Store the rest: the base register, of elements most often aligned. */
static unsigned int put_base(struct rv_gen *g, uint32_t at, int eew)
{
	unsigned int base = rv_base(g);

	rv_far(g, base, rv_arena(g) + (rv_chance(g, 4) ? at : at >> eew << eew));
	return base;
}

/* Where @bytes are on one page: qemu 10.0 aborts when a segment is on two. */
static uint32_t on_a_page(const struct rv_gen *g, uint32_t at, uint32_t bytes)
{
	uint32_t behind = (RV_DATA + rv_arena(g) + at) % PAGE + bytes;

	return behind > PAGE ? at - (behind - PAGE + 7) / 8 * 8 : at;
}

static void emit_unit(struct rv_gen *g, const struct rv_op *op)
{
	bool store = *op->sig == 's';
	unsigned int n = fields_of(op);
	struct rv_vreg v = {log_of(op), 0, 0};
	uint32_t vm, at;

	v.emul = shape_for(g, v.eew, n, false);
	vm = rv_mask(g);
	pick_fields(g, &v, n, !vm);
	if (store) {
		load_fields(g, &v, n);
		g->item->bytes += ARENA;
	}
	at = 512 + rv_below(g, ARENA - 4096);
	if (strchr(op->sig, 'f'))
		at &= ~7u; /* qemu 10.0 aborts when an element is on two pages */
	if (strchr(op->sig, 'f') && n > 1)
		at = on_a_page(g, at, (g->vl * n) << v.eew);
	vm |= put_base(g, at, v.eew) << 15;
	rv_use_shape(g);
	if (!strchr(op->sig, 'f'))
		rv_vstart(g); /* likewise */
	rv_test(g, op->match | vm | (n - 1) << 29 | v.reg << 7);
}

static void emit_strided(struct rv_gen *g, const struct rv_op *op)
{
	bool store = *op->sig == 's';
	unsigned int n = fields_of(op), stride, base;
	struct rv_vreg v = {log_of(op), 0, 0};
	uint32_t vm, most;
	int step;

	v.emul = shape_for(g, v.eew, n, false);
	vm = rv_mask(g);
	pick_fields(g, &v, n, !vm);
	if (store) {
		load_fields(g, &v, n);
		g->item->bytes += ARENA;
	}
	most = 3000 / (g->vl + 1);
	step = (int)rv_below(g, 2 * most + 1) - (int)most;
	if (!rv_chance(g, 4))
		step = step / 8 * 8;
	base = put_base(g, ARENA / 2, v.eew);
	do {
		stride = rv_base(g);
	} while (stride == base);
	if (rv_chance(g, 8))
		stride = 0;
	else
		rv_put(g, 0x13 | rv_imm(step > -2048 && step < 2048 ? step : 0) | stride << 7);
	rv_use_shape(g);
	rv_vstart(g);
	rv_test(g, op->match | vm | (n - 1) << 29 | stride << 20 | base << 15 | v.reg << 7);
}

static void emit_indexed(struct rv_gen *g, const struct rv_op *op)
{
	bool store = *op->sig == 's', apart;
	unsigned int n = fields_of(op);
	struct rv_vreg v, index = {log_of(op), 0, 0};
	uint32_t vm;

	index.emul = shape_for(g, index.eew, n, true);
	vm = rv_mask(g);
	v = (struct rv_vreg){g->sew, g->lmul, 0};
	do {
		struct rv_vreg all = v;

		rv_pick(g, NULL, &index, 1, vm ? 0 : RV_WITH_V0);
		pick_fields(g, &v, n, !vm);
		all = v;
		apart = true;
		for (unsigned int i = 0; i < n; i++, all.reg += rv_count(v.emul))
			apart = apart && !rv_overlap(&all, &index);
		/* A load may write over its indices like any other instruction over a source. */
		if (!store && n == 1)
			rv_pick(g, &v, &index, 1, vm ? 0 : RV_WITH_V0);
	} while (!apart && (store || n > 1));
	if (store) {
		load_fields(g, &v, n);
		g->item->bytes += ARENA;
	}
	rv_load_v(g, index.reg, rv_count(index.emul), P_INDEX + (unsigned int)index.eew);
	vm |= put_base(g, ARENA / 2, g->sew) << 15;
	rv_use_shape(g);
	rv_vstart(g);
	rv_test(g, op->match | vm | (n - 1) << 29 | index.reg << 20 | v.reg << 7);
}

static void emit_mask(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int v = rv_below(g, 32), base;

	rv_shape(g, 0, 3, -3, 3);
	if (*op->sig == 's') {
		rv_vsrc(g, v, 1, P_MASK);
		g->item->bytes += ARENA;
	}
	base = put_base(g, 512 + rv_below(g, ARENA - 4096), 0);
	rv_use_shape(g);
	if (rv_chance(g, 8)) {
		unsigned int vstart = rv_below(g, (g->vl + 7) / 8 + 1);

		rv_li(g, SCRATCH, vstart);
		rv_put(g, 0x00801073 | SCRATCH << 15);
	}
	rv_test(g, op->match | 1u << 25 | base << 15 | v << 7);
}

/* Whole registers; the shape does not matter. */
static void emit_whole(struct rv_gen *g, const struct rv_op *op)
{
	unsigned int n = fields_of(op), v = rv_below(g, 32 / n) * n, base;

	if (*op->sig == 's') {
		rv_vsrc(g, v, n, P_I);
		g->item->bytes += ARENA;
	}
	base = put_base(g, 512 + rv_below(g, ARENA - 4096), log_of(op));
	if (rv_chance(g, 8))
		rv_put(g, 0x00805073 | rv_below(g, g->vlenb >> log_of(op)) % 32 << 15);
	rv_test(g, op->match | 1u << 25 | (n - 1) << 29 | base << 15 | v << 7);
}

/* The width of an element in instructions. */
#define WIDTH(log) ((log) ? (log) + 4 : 0)
#define MEM(op, mop, log, sub)                                                                     \
	((op) | (uint32_t)(mop) << 26 | (uint32_t)(sub) << 20 | WIDTH(log) << 12)
#define UNIT(name, op, log, sub, n, sig)                                                           \
	{                                                                                          \
		name, MEM(op, 0, log, sub), G_VMEM, emit_unit, sig, (log) | (n) << 4               \
	}
#define STRIDED(name, op, log, n, sig)                                                             \
	{                                                                                          \
		name, MEM(op, 2, log, 0), G_VMEM, emit_strided, sig, (log) | (n) << 4              \
	}
#define INDEXED(name, op, mop, log, n, sig)                                                        \
	{                                                                                          \
		name, MEM(op, mop, log, 0), G_VMEM, emit_indexed, sig, (log) | (n) << 4            \
	}
#define WHOLE(name, op, log, n, sig)                                                               \
	{                                                                                          \
		name, MEM(op, 0, log, 8), G_VMEM, emit_whole, sig, (log) | (n) << 4                \
	}

#define PLAIN(bits, log)                                                                           \
	UNIT("vle" bits ".v", 7, log, 0, 1, "l"), UNIT("vse" bits ".v", 0x27, log, 0, 1, "s"),     \
		UNIT("vle" bits "ff.v", 7, log, 16, 1, "lf"),                                      \
		STRIDED("vlse" bits ".v", 7, log, 1, "l"),                                         \
		STRIDED("vsse" bits ".v", 0x27, log, 1, "s"),                                      \
		INDEXED("vluxei" bits ".v", 7, 1, log, 1, "l"),                                    \
		INDEXED("vloxei" bits ".v", 7, 3, log, 1, "l"),                                    \
		INDEXED("vsuxei" bits ".v", 0x27, 1, log, 1, "s"),                                 \
		INDEXED("vsoxei" bits ".v", 0x27, 3, log, 1, "s"),                                 \
		WHOLE("vl1re" bits ".v", 7, log, 1, "l"),                                          \
		WHOLE("vl2re" bits ".v", 7, log, 2, "l"),                                          \
		WHOLE("vl4re" bits ".v", 7, log, 4, "l"), WHOLE("vl8re" bits ".v", 7, log, 8, "l")
#define SEGMENT(fields, n, bits, log)                                                              \
	UNIT("vlseg" fields "e" bits ".v", 7, log, 0, n, "l"),                                     \
		UNIT("vsseg" fields "e" bits ".v", 0x27, log, 0, n, "s"),                          \
		UNIT("vlseg" fields "e" bits "ff.v", 7, log, 16, n, "lf"),                         \
		STRIDED("vlsseg" fields "e" bits ".v", 7, log, n, "l"),                            \
		STRIDED("vssseg" fields "e" bits ".v", 0x27, log, n, "s"),                         \
		INDEXED("vluxseg" fields "ei" bits ".v", 7, 1, log, n, "l"),                       \
		INDEXED("vloxseg" fields "ei" bits ".v", 7, 3, log, n, "l"),                       \
		INDEXED("vsuxseg" fields "ei" bits ".v", 0x27, 1, log, n, "s"),                    \
		INDEXED("vsoxseg" fields "ei" bits ".v", 0x27, 3, log, n, "s")
#define SEGMENTS(bits, log)                                                                        \
	SEGMENT("2", 2, bits, log), SEGMENT("3", 3, bits, log), SEGMENT("4", 4, bits, log),        \
		SEGMENT("5", 5, bits, log), SEGMENT("6", 6, bits, log),                            \
		SEGMENT("7", 7, bits, log), SEGMENT("8", 8, bits, log)

const struct rv_op rv_ops_vmem[] = {
	PLAIN("8", 0),
	PLAIN("16", 1),
	PLAIN("32", 2),
	PLAIN("64", 3),
	SEGMENTS("8", 0),
	SEGMENTS("16", 1),
	SEGMENTS("32", 2),
	SEGMENTS("64", 3),
	{"vlm.v", MEM(7, 0, 0, 11), G_VMEM, emit_mask, "l", 0},
	{"vsm.v", MEM(0x27, 0, 0, 11), G_VMEM, emit_mask, "s", 0},
	WHOLE("vs1r.v", 0x27, 0, 1, "s"),
	WHOLE("vs2r.v", 0x27, 0, 2, "s"),
	WHOLE("vs4r.v", 0x27, 0, 4, "s"),
	WHOLE("vs8r.v", 0x27, 0, 8, "s"),
	{NULL, 0, 0, NULL, NULL, 0},
};
