/* SPDX-License-Identifier: MIT */
/*
 * Vitality with the ends of lives: bytes of a tensor that is not used again, and not freed yet, can
 * leave as well.
 */
#ifndef ANNEX_PLAN_TRACE_ENDS_H
#define ANNEX_PLAN_TRACE_ENDS_H

#include <annex/vitality.h>

/*
 * As annex_vitality_create(), with one more period of each local tensor that dies later than its
 * last use: from the kernel after that use to the one after its death (n_kernels after the last).
 */
int annex_vitality_with_ends(const struct annex_trace *trace, struct annex_vitality **vitality);

/* Whether a period is such a one: nothing returns at its end. */
static inline bool period_is_end(const struct annex_vitality *v, const struct annex_period *p)
{
	return !v->trace->tensors[p->tensor].global && p->to == v->life[p->tensor].death + 1;
}

#endif
