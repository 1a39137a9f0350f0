/* SPDX-License-Identifier: MIT */
/*
 * Tensors that are computed again, and the trace in which they are.
 */
#ifndef ANNEX_PLAN_RECOMPUTE_RECOMPUTE_H
#define ANNEX_PLAN_RECOMPUTE_RECOMPUTE_H

#include <annex/recompute.h>

/**
 * struct again - A tensor that is freed in an inactive period and computed again.
 * @tensor: the tensor.
 * @kernel: the only kernel that writes it.
 * @from: the kernel after its last use before the period.
 * @to: the kernel before which @kernel runs again.
 */
struct again {
	uint32_t tensor, kernel, from, to;
};

#define NONE UINT32_MAX /* no place in a list */

static inline const struct annex_use *uses_of(const struct annex_trace *t, uint32_t kernel,
					      uint32_t *n)
{
	*n = t->kernels[kernel + 1].first - t->kernels[kernel].first;
	return &t->uses[t->kernels[kernel].first];
}

/*
 * recompute_choose() - Tensors of which any number, from the first on, can be computed again. The
 * caller frees *@list. 0 or -ENOMEM.
 */
int recompute_choose(const struct annex_vitality *v, const struct annex_system *sys,
		     struct again **list, uint32_t *n);

/*
 * recompute_trace() - The trace in which the first @n of @list are computed again. A tensor has a
 * second id after that, and so have other results of its kernel, which are not used. 0, -ENOMEM, or
 * -E2BIG.
 */
int recompute_trace(const struct annex_vitality *v, const struct again *list, uint32_t n,
		    struct annex_trace **trace);

#endif
