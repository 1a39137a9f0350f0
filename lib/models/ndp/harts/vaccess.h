/* SPDX-License-Identifier: MIT */
/*
 * Vector loads and stores element by element: whatever the addresses, masks and faults.
 */
#ifndef ANNEX_NDP_HARTS_VACCESS_H
#define ANNEX_NDP_HARTS_VACCESS_H

#include "vector.h"

#define RV_VELEMS (8 * RV_VLENB) /* of a group, at most */

/**
 * struct rv_vway - How an instruction accesses memory.
 * @eew: bytes of an element, as a power of two.
 * @nf: fields of a segment.
 * @regs: of each field.
 */
struct rv_vway {
	unsigned int eew, nf, regs;
};

/* rv_vway() - Whether vd and @eew of @in fit vtype; and *@way. */
bool rv_vway(const struct rv_batch *b, const struct rv_insn *in, unsigned int eew, bool store,
	     struct rv_vway *way);

/*
 * rv_vget_elems() - Load the active elements of lane @i, of which @va are the addresses; the first
 * that cannot be, after rv_halt(), or vl. rv_vput_elems(): store them.
 */
uint64_t rv_vget_elems(struct rv_batch *b, const struct rv_insn *in, const struct rv_vway *way,
		       unsigned int i, const uint64_t *va);
uint64_t rv_vput_elems(struct rv_batch *b, const struct rv_insn *in, const struct rv_vway *way,
		       unsigned int i, const uint64_t *va);

/*
 * rv_vfault() - Lane @i, for which the batch was halted, goes on at element @e; lower ones are
 * through and stay where they are then, higher ones have not begun.
 */
void rv_vfault(struct rv_batch *b, unsigned int i, uint64_t e);

#endif
