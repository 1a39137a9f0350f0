// SPDX-License-Identifier: MIT
/*
 * Code, decoded as a whole: an instruction may begin at any even address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "hart.h"

/* The second half of a long instruction is not there. */
static void cut_off(struct rv_batch *b, const struct rv_insn *in)
{
	(void)in;
	rv_halt(b, RV_FETCH, (unsigned int)__builtin_ctzll(b->group), b->at + 2);
}

/* fflags, fcsr, vxsat and vcsr: whether accrued flags are asked for. */
static bool sees_flags(uint32_t bits)
{
	uint32_t csr = bits >> 20, f3 = bits >> 12 & 7;
	bool reads = f3 % 4 >= 2 || (f3 % 4 == 1 && (bits >> 7 & 31));

	return (bits & 0x7f) == 0x73 && reads &&
	       (csr == 0x001 || csr == 0x003 || csr == 0x009 || csr == 0x00f);
}

static void decode(const char *text, size_t left, const struct rv_isa *isa, struct rv_insn *in)
{
	uint16_t half[2] = {0};
	uint32_t bits;
	bool known;

	memcpy(half, text, left < 4 ? 2 : 4);
	*in = (struct rv_insn){0};
	if ((half[0] & 3) != 3) {
		bits = half[0];
		known = rv_expand(half[0], &bits) && rv_decode(bits, isa, in);
		in->bytes = 2;
	} else {
		bits = half[0] | (uint32_t)half[1] << 16;
		known = left >= 4 && rv_decode(bits, isa, in);
		in->bytes = 4;
	}
	in->bits = bits;
	if (!known) {
		in->op = left < in->bytes ? cut_off : rv_illegal;
		in->unit = RV_ALU;
	}
}

/* A compressed instruction that is none is told as it was fetched. */
static void fill(struct rv_code *code, const char *text)
{
	for (uint64_t at = 0; at < code->bytes; at += 2) {
		struct rv_insn *in = &code->insn[at / 2];

		decode(text + at, code->bytes - at, &code->isa, in);
		if (in->op == rv_illegal || in->op == cut_off)
			continue;
		code->flags_seen = code->flags_seen || sees_flags(in->bits);
	}
}

int rv_code_create(const void *text, size_t bytes, uint64_t va, const struct rv_isa *isa,
		   struct rv_code **out)
{
	struct rv_code *code;

	if (va % 2 || !rv_isa_valid(isa))
		return -EINVAL;
	bytes &= ~(size_t)1;
	if (bytes > SIZE_MAX / sizeof(struct rv_insn))
		return -ENOMEM;
	code = malloc(sizeof(*code) + bytes / 2 * sizeof(code->insn[0]));
	if (!code)
		return -ENOMEM;
	*code = (struct rv_code){.va = va, .bytes = bytes, .isa = *isa};
	fill(code, text);
	rv_find_named(code);
	*out = code;
	return 0;
}

void rv_code_destroy(struct rv_code *code)
{
	free(code);
}
