// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "rv_rig.h"
#include "tests/unit/unit.h"

const struct rv_isa rv_rig_isa = {256, 32, 32, 32};

static int find(void *ctx, uint64_t va, struct rv_span *span)
{
	struct rv_rig *r = ctx;
	uint64_t which = (va - RIG_DATA) / RIG_PIECE;

	if (va < RIG_DATA || which > 1)
		return -EFAULT;
	*span = (struct rv_span){RIG_DATA + which * RIG_PIECE, RIG_PIECE, r->piece[which],
				 which ? r->prot2 : RV_READ | RV_WRITE};
	return 0;
}

void rv_rig_open(struct rv_rig *r, const struct rv_isa *isa, const volatile uint32_t *stop)
{
	struct rv_opts opts = {.isa = *isa, .ecall_ends = true, .stop = stop};
	struct rv_mem mem = {find, r};

	*r = (struct rv_rig){.prot2 = RV_READ | RV_WRITE};
	r->piece[0] = calloc(1, RIG_PIECE);
	r->piece[1] = calloc(1, RIG_PIECE);
	CU_ASSERT_FATAL(r->piece[0] && r->piece[1]);
	CU_ASSERT_EQUAL_FATAL(rv_batch_create(&opts, &mem, &r->b), 0);
}

void rv_rig_close(struct rv_rig *r)
{
	rv_code_destroy(r->code);
	rv_batch_destroy(r->b);
	free(r->piece[0]);
	free(r->piece[1]);
}

void rv_rig_start(struct rv_rig *r, const struct rv_isa *isa, const uint32_t *insn, size_t n,
		  unsigned int lanes)
{
	rv_code_destroy(r->code);
	r->code = NULL;
	CU_ASSERT_EQUAL_FATAL(rv_code_create(insn, n * sizeof(*insn), RIG_CODE, isa, &r->code), 0);
	rv_start(r->b, r->code, lanes, RIG_CODE);
	r->done = 0;
}

struct rv_stop rv_rig_run(struct rv_rig *r)
{
	return rv_run(r->b, 50 * 1000 * 1000, &r->done);
}

uint64_t *rv_rig_word(struct rv_rig *r, uint64_t va)
{
	return (uint64_t *)(void *)(r->piece[0] + (va - RIG_DATA));
}
