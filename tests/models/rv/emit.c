// SPDX-License-Identifier: MIT
/*
 * Instructions of the harness, and random operands.
 */
#include <stdlib.h>
#include "fuzz.h"

void rv_put(struct rv_gen *g, uint32_t bits)
{
	unsigned int bytes = (bits & 3) == 3 ? 4 : 2;

	if (g->bytes + bytes > g->room)
		abort(); /* rv_build() leaves room for the longest item */
	for (unsigned int i = 0; i < bytes; i++)
		g->text[g->bytes++] = (uint8_t)(bits >> i * 8);
}

void rv_test(struct rv_gen *g, uint32_t bits)
{
	g->item->test = (uint32_t)g->bytes;
	rv_put(g, bits);
}

/* The part of @value that lui takes, when an instruction adds the low 12 bits with sign. */
static uint32_t upper(uint32_t value)
{
	return (value + 0x800) & 0xfffff000;
}

static int lower(uint32_t value)
{
	return (int)(value - upper(value));
}

void rv_li(struct rv_gen *g, unsigned int rd, uint32_t value)
{
	if (upper(value)) {
		rv_put(g, upper(value) | rd << 7 | 0x37);                      /* lui */
		rv_put(g, 0x1b | rv_imm(lower(value)) | rv_fields(rd, rd, 0)); /* addiw */
	} else {
		rv_put(g, 0x13 | rv_imm(lower(value)) | rd << 7); /* addi rd, x0 */
	}
}

void rv_far(struct rv_gen *g, unsigned int rd, uint32_t at)
{
	rv_put(g, upper(at) | rd << 7 | 0x37);
	rv_put(g, 0x33 | rv_fields(rd, rd, BLOCK)); /* add */
	rv_put(g, 0x13 | rv_imm(lower(at)) | rv_fields(rd, rd, 0));
}

static uint32_t pool_value(struct rv_gen *g, unsigned int pool, unsigned int bytes)
{
	unsigned int step = bytes < 64 ? bytes : 64;

	return rv_pool_at(g, pool) + rv_below(g, (POOL_BYTES - bytes) / step + 1) * step;
}

static void note(struct rv_gen *g, char kind, unsigned int reg, unsigned int count, int at)
{
	struct rv_item *item = g->item;

	if (item && item->notes < sizeof(item->note) / sizeof(item->note[0]))
		item->note[item->notes++] = (struct rv_note){kind, (uint8_t)reg, (uint8_t)count,
							     at};
}

static bool reserved(unsigned int reg)
{
	return reg == SCRATCH || reg == LINK || reg == BLOCK;
}

void rv_load_x(struct rv_gen *g, unsigned int reg, unsigned int pool)
{
	uint32_t at = pool_value(g, pool, 8);

	note(g, 'x', reg, 1, (int)at);
	rv_put(g, upper(at) | SCRATCH << 7 | 0x37);
	rv_put(g, 0x33 | rv_fields(SCRATCH, SCRATCH, BLOCK));
	rv_put(g, 0x3003 | rv_imm(lower(at)) | rv_fields(reg, SCRATCH, 0)); /* ld */
}

static void load_f(struct rv_gen *g, unsigned int reg, unsigned int pool)
{
	uint32_t at = pool_value(g, pool, 8);

	note(g, 'f', reg, 1, (int)at);
	rv_put(g, upper(at) | SCRATCH << 7 | 0x37);
	rv_put(g, 0x33 | rv_fields(SCRATCH, SCRATCH, BLOCK));
	rv_put(g, 0x3007 | rv_imm(lower(at)) | rv_fields(reg, SCRATCH, 0)); /* fld */
}

void rv_load_v(struct rv_gen *g, unsigned int reg, unsigned int count, unsigned int pool)
{
	uint32_t at = pool_value(g, pool, count * g->vlenb);

	note(g, 'v', reg, count, (int)at);
	rv_far(g, SCRATCH, at);
	/* vl1re8.v, vl2re8.v, ... */
	rv_put(g, (count - 1) << 29 | 0x02800007 | rv_fields(reg, SCRATCH, 0));
}

unsigned int rv_dst(struct rv_gen *g)
{
	unsigned int reg;

	do {
		reg = rv_below(g, 32);
	} while (reserved(reg));
	return reg;
}

unsigned int rv_src(struct rv_gen *g, unsigned int pool)
{
	unsigned int reg = rv_below(g, 32);

	if (!reg || reserved(reg) || rv_chance(g, 3))
		note(g, 'x', reg, 1, -1);
	else
		rv_load_x(g, reg, pool);
	return reg;
}

unsigned int rv_fsrc(struct rv_gen *g, unsigned int pool)
{
	unsigned int reg = rv_below(g, 32);

	if (rv_chance(g, 4))
		note(g, 'f', reg, 1, -1);
	else
		load_f(g, reg, pool);
	return reg;
}

void rv_vsrc(struct rv_gen *g, unsigned int reg, unsigned int count, unsigned int pool)
{
	if (rv_chance(g, 4))
		note(g, 'v', reg, count, -1);
	else
		rv_load_v(g, reg, count, pool);
}

/* A register that an address can be put in. */
unsigned int rv_base(struct rv_gen *g)
{
	unsigned int reg;

	do {
		reg = rv_dst(g);
	} while (!reg);
	return reg;
}

/* Rounding is dynamic at times, and flags are only seen when they were clear. */
void rv_rounding(struct rv_gen *g)
{
	if (g->frm_bad || rv_chance(g, g->flags ? 3 : 40)) {
		rv_put(g, 0x00205073 | rv_below(g, 5) << 15); /* csrwi frm */
		g->frm_bad = false;
	} else if (!g->flags && rv_chance(g, 4)) {
		rv_put(g, 0x00205073);
	}
	if (g->flags && rv_chance(g, 2))
		rv_put(g, 0x00105073); /* csrwi fflags, 0 */
}

/* Somewhere in the arena, with room on both sides. */
uint32_t rv_spot(struct rv_gen *g, unsigned int bytes, bool aligned)
{
	uint32_t at = 512 + rv_below(g, ARENA - 1024);

	return rv_arena(g) + (aligned ? at & ~(bytes - 1) : at);
}

/* Instructions that a branch before them goes over, or not. */
void rv_skipped(struct rv_gen *g, unsigned int n)
{
	while (n--) {
		unsigned int reg = rv_dst(g);

		rv_put(g, 0x13 | rv_imm((int)rv_below(g, 2048)) | rv_fields(reg, reg, 0));
	}
}
