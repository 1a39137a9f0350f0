/* SPDX-License-Identifier: MIT */
/*
 * Harts over a memory of two pieces that lie side by side for them, and apart in the host.
 */
#ifndef ANNEX_TESTS_RV_RIG_H
#define ANNEX_TESTS_RV_RIG_H

#include "models/ndp/harts/rv.h"

#define RIG_CODE 0x1000u
#define RIG_DATA 0x10000u
#define RIG_PIECE 4096u /* bytes of each piece */

struct rv_rig {
	struct rv_batch *b;
	struct rv_code *code;
	unsigned int prot2; /* of the second piece */
	uint64_t done;
	char *piece[2];
};

/* rv_rig_open() - @stop as in rv_opts, or NULL. */
void rv_rig_open(struct rv_rig *r, const struct rv_isa *isa, const volatile uint32_t *stop);
void rv_rig_close(struct rv_rig *r);

/* rv_rig_start() - @n instructions, at RIG_CODE, for so many lanes. */
void rv_rig_start(struct rv_rig *r, const struct rv_isa *isa, const uint32_t *insn, size_t n,
		  unsigned int lanes);

/* rv_rig_run() - Run until it stops, with a budget that ends endless loops. */
struct rv_stop rv_rig_run(struct rv_rig *r);

/* The 64-bit word at @va of the first piece. */
uint64_t *rv_rig_word(struct rv_rig *r, uint64_t va);

extern const struct rv_isa rv_rig_isa; /* all registers, VLEN 256 */

#endif
