// SPDX-License-Identifier: MIT
/*
 * A program: a routine that writes the record, random registers to begin with, then the items.
 */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

static const struct rv_op *const tables[] = {
	rv_ops_base,   rv_ops_float,  rv_ops_short, rv_ops_vint,
	rv_ops_vfloat, rv_ops_vother, rv_ops_vmem,
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))
#define MOST_OPS 2048 /* more than all tables have */

static const char *const names[GROUPS] = {
	"i",   "m",     "a",     "csr",   "f",    "d",     "zfh",    "c",      "zba",
	"zbb", "v-cfg", "v-int", "v-fix", "v-fp", "v-red", "v-mask", "v-perm", "v-mem",
};

const char *rv_group_name(unsigned int group)
{
	return group < GROUPS ? names[group] : NULL;
}

const struct rv_op *rv_op_next(const struct rv_op *op)
{
	if (!op)
		return tables[0];
	op++;
	for (unsigned int t = 0; t + 1 < TABLES && !op->name; t++) {
		const struct rv_op *end = tables[t];

		while (end->name)
			end++;
		if (op == end)
			op = tables[t + 1];
	}
	return op->name ? op : NULL;
}

#define STORE(rs2, at) rv_put(g, 0x3023 | rv_simm(at) | rv_fields(0, BLOCK, rs2))
#define FSTORE(rs2, at) rv_put(g, 0x3027 | rv_simm(at) | rv_fields(0, BLOCK, rs2))
#define LOAD(rd, at) rv_put(g, 0x3003 | rv_imm(at) | rv_fields(rd, BLOCK, 0))

static void store_csr(struct rv_gen *g, unsigned int csr, int at)
{
	rv_put(g, csr << 20 | 0x2073 | SCRATCH << 7);
	STORE(SCRATCH, at);
}

static void put_dump(struct rv_gen *g)
{
	enum { A0 = 10, A1 = 11, A2 = 12, A7 = 17 };

	for (unsigned int i = 1; i < BLOCK; i++)
		STORE(i, REC_X + (int)i * 8);
	rv_put(g, 0x13 | rv_fields(A2, SCRATCH, 0));
	for (unsigned int i = 0; i < 32; i++)
		FSTORE(i, REC_F + (int)i * 8);
	store_csr(g, g->flags ? 3 : 2, REC_FCSR);
	if (g->groups & G_VECTORS) {
		store_csr(g, 8, REC_VSTART);
		rv_put(g, 0x00805073); /* csrwi vstart, 0: it would hold for the stores */
		store_csr(g, 0xc20, REC_VL);
		store_csr(g, 0xc21, REC_VTYPE);
		store_csr(g, g->flags ? 15 : 10, REC_VCSR);
		for (unsigned int i = 0; i < 32; i += 8) {
			rv_far(g, SCRATCH, REC_V + i * g->vlenb);
			rv_put(g, 0xe2800027 | rv_fields(i, SCRATCH, 0)); /* vs8r.v */
		}
	}
	/* write(1, x31, a2) */
	rv_li(g, A7, 64);
	rv_li(g, A0, 1);
	rv_put(g, 0x13 | rv_fields(A1, BLOCK, 0));
	rv_put(g, 0x73);
	rv_put(g, 0x1063 | 24 << 7 | rv_fields(0, A0, A2)); /* bne: a short write */
	LOAD(A0, A0 * 8);
	LOAD(A1, A1 * 8);
	LOAD(A2, A2 * 8);
	LOAD(A7, A7 * 8);
	rv_put(g, 0x67 | rv_fields(0, LINK, 0)); /* jr */
	rv_li(g, A7, 93);
	rv_put(g, 0x73); /* exit(a0): bytes written */
}

static void put_start(struct rv_gen *g)
{
	rv_put(g, RV_DATA | BLOCK << 7 | 0x37); /* lanes begin after it: each has its own block */
	for (unsigned int i = 1; i < BLOCK; i++)
		if (i != SCRATCH && i != LINK)
			rv_load_x(g, i, P_X);
	for (unsigned int i = 0; i < 32; i++) {
		uint32_t at = rv_pool_at(g, P_D) + i * 8;

		rv_far(g, SCRATCH, at);
		rv_put(g, 0x3007 | rv_fields(i, SCRATCH, 0)); /* fld */
	}
	if (g->groups & G_VECTORS)
		for (unsigned int i = 0; i < 32; i += 8)
			rv_load_v(g, i, 8, P_I);
	rv_put(g, 0x00301073); /* csrw fcsr, x0 */
}

static void put_end(struct rv_gen *g)
{
	g->last = (uint32_t)g->bytes;
	rv_put(g, 0x13 | 10 << 7);
	rv_li(g, 17, 93);
	rv_put(g, 0x73);
}

/* Make room for the longest item and the code around items. */
static int make_room(struct rv_gen *g)
{
	uint8_t *text;

	if (g->room - g->bytes >= 2048)
		return 0;
	text = realloc(g->text, g->room + (1u << 20));
	if (!text)
		return -1;
	g->text = text;
	g->room += 1u << 20;
	return 0;
}

static int put_item(struct rv_gen *g, const struct rv_op *op)
{
	struct rv_item *item = &g->items[g->n];

	if (make_room(g))
		return -1;
	*item = (struct rv_item){.op = op, .begin = (uint32_t)g->bytes, .bytes = rv_arena(g)};
	g->item = item;
	op->emit(g, op);
	g->item = NULL;
	item->vl = g->vl;
	item->end = (uint32_t)g->bytes;
	rv_li(g, SCRATCH, item->bytes);
	rv_put(g, 0x17 | LINK << 7);
	rv_put(g, 0x67 | rv_imm(0) | rv_fields(LINK, LINK, 0));
	/* auipc and jalr back to the routine: patched, since the distance takes both. */
	{
		uint32_t at = (uint32_t)g->bytes - 8, away = g->dump - at;
		uint32_t high = (away + 0x800) & 0xfffff000;
		uint32_t pair[2] = {high | LINK << 7 | 0x17,
				    0x67 | rv_imm((int)(away - high)) | rv_fields(LINK, LINK, 0)};

		memcpy(g->text + at, pair, 8);
	}
	g->n++;
	return 0;
}

int rv_build(struct rv_gen *g, unsigned int n)
{
	const struct rv_op *ops[MOST_OPS];
	unsigned int count = 0;

	g->random = g->seed * 0x2545f4914f6cdd1dull + 1;
	g->items = calloc(n, sizeof(*g->items));
	if (!g->items || make_room(g))
		return -1;
	for (const struct rv_op *op = rv_op_next(NULL); op && count < MOST_OPS; op = rv_op_next(op))
		if (g->groups >> op->group & 1 && (g->flags || op->group != G_CSR))
			ops[count++] = op;
	put_dump(g);
	g->start = (uint32_t)g->bytes;
	put_start(g);
	while (count && g->n < n)
		if (put_item(g, ops[rv_below(g, count)]))
			break;
	if (!count || g->n < n || make_room(g))
		return -1;
	put_end(g);
	return 0;
}

void rv_free(struct rv_gen *g)
{
	free(g->items);
	free(g->text);
}
