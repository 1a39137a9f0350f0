// SPDX-License-Identifier: MIT
/*
 * What two implementations wrote, record by record; the first difference is told in full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

static void print_bytes(const uint8_t *bytes, size_t n, unsigned int group)
{
	for (size_t i = n; i--;)
		printf("%02x%s", bytes[i], i && i % group == 0 ? " " : "");
}

static void word(const char *name, unsigned int i, const uint8_t *want, const uint8_t *got)
{
	uint64_t a, b;

	memcpy(&a, want, 8);
	memcpy(&b, got, 8);
	if (a != b)
		printf("  %s%u: expected %016llx, got %016llx\n", name, i, (unsigned long long)a,
		       (unsigned long long)b);
}

static void differences(const struct rv_gen *g, const struct rv_item *item, const uint8_t *want,
			const uint8_t *got)
{
	static const char *const csr[] = {"fcsr", "vstart", "vl", "vtype", "vcsr"};
	unsigned int shown = 0;

	for (unsigned int i = 0; i < 32; i++)
		word("x", i, want + REC_X + i * 8, got + REC_X + i * 8);
	for (unsigned int i = 0; i < 32; i++)
		word("f", i, want + REC_F + i * 8, got + REC_F + i * 8);
	for (unsigned int i = 0; i < 5; i++) {
		unsigned int at = REC_FCSR + i * 8;

		if (memcmp(want + at, got + at, 8))
			printf("  %s", csr[i]);
		word(" ", i, want + at, got + at);
	}
	for (unsigned int i = 0; i < 32; i++) {
		unsigned int at = REC_V + i * g->vlenb;

		if (!memcmp(want + at, got + at, g->vlenb))
			continue;
		printf("  v%u expected ", i);
		print_bytes(want + at, g->vlenb, 1u << g->sew);
		printf("\n  v%u got      ", i);
		print_bytes(got + at, g->vlenb, 1u << g->sew);
		printf("\n");
	}
	for (unsigned int i = rv_arena(g); i < item->bytes && shown < 8; i++)
		if (want[i] != got[i] && ++shown)
			printf("  arena+%u: expected %02x, got %02x\n", i - rv_arena(g), want[i],
			       got[i]);
}

/* Registers that the instruction reads, as they were before it. */
static void inputs(const struct rv_gen *g, const struct rv_item *item, const uint8_t *before)
{
	uint8_t *block = malloc(rv_block_bytes(g));
	struct rv_gen copy = *g;

	if (!block)
		return;
	rv_pools(&copy, block);
	for (unsigned int i = 0; i < item->notes; i++) {
		const struct rv_note *n = &item->note[i];
		size_t bytes = n->kind == 'v' ? (size_t)n->count * g->vlenb : 8;
		size_t at = n->kind == 'x'   ? REC_X + n->reg * 8u
			    : n->kind == 'f' ? REC_F + n->reg * 8u
					     : REC_V + n->reg * g->vlenb;

		printf("  with %c%u = ", n->kind, n->reg);
		print_bytes(n->at < 0 ? before + at : block + n->at, bytes, 1u << g->sew);
		printf("\n");
	}
	free(block);
}

static void tell(struct rv_gen *g, unsigned int i, const uint8_t *before, const char *bits)
{
	const struct rv_item *item = &g->items[i];
	FILE *f = fopen(bits, "w");

	memcpy(&g->sew, before + REC_VTYPE, sizeof(g->sew));
	g->sew = g->sew >> 3 & 3;
	printf("seed %llu, instruction %u: %s at %#x; %#x\n", (unsigned long long)g->seed, i,
	       item->op->name, RV_TEXT + item->test, RV_TEXT + item->begin);
	inputs(g, item, before);
	for (uint32_t at = item->begin; f && at < item->end;) {
		uint32_t word = (uint32_t)(g->text[at] | g->text[at + 1] << 8);

		at += 2;
		if ((word & 3) == 3) {
			word |= (uint32_t)(g->text[at] | g->text[at + 1] << 8) << 16;
			at += 2;
		}
		fprintf(f, ".insn %#x\n", word);
	}
	if (f)
		fclose(f);
}

static bool records(struct rv_gen *g, FILE *want, FILE *got, const char *bits)
{
	uint32_t room = rv_arena(g) + ARENA;
	uint8_t *a = calloc(3, room), *b = a + room, *before = b + room;
	bool same = a;

	for (unsigned int i = 0; i < g->n && same; i++) {
		const struct rv_item *item = &g->items[i];
		size_t n = fread(a, 1, item->bytes, want), m = fread(b, 1, item->bytes, got);

		same = n == item->bytes && m == n && !memcmp(a, b, n);
		if (!same) {
			tell(g, i, before, bits);
			if (n < item->bytes)
				printf("  the reference ended there\n");
			if (m < item->bytes)
				printf("  ended there\n");
			if (n == item->bytes && m == n)
				differences(g, item, a, b);
		}
		memcpy(before, a, rv_arena(g));
	}
	free(a);
	return same;
}

int rv_compare(struct rv_gen *g, const char *want, const char *got, const char *bits)
{
	FILE *a = fopen(want, "rb"), *b = fopen(got, "rb");
	bool same = a && b && records(g, a, b, bits);

	/* Nothing may follow; read to the end so that no writer gets SIGPIPE. */
	if (same && (fgetc(a) != EOF || fgetc(b) != EOF)) {
		printf("more records than instructions\n");
		same = false;
	}
	for (; a && fgetc(a) != EOF;)
		;
	for (; b && fgetc(b) != EOF;)
		;
	if (a)
		fclose(a);
	if (b)
		fclose(b);
	return same ? 0 : 1;
}
