/* SPDX-License-Identifier: MIT */
/*
 * Tensor vitality analysis (G10 section 4.2): births, deaths, inactive periods, memory pressure.
 *
 * A tensor is active while a kernel that uses it runs, and inactive between two uses. A global
 * tensor's last inactive period wraps into the next iteration. The analysis takes time and memory
 * in proportion to the number of uses.
 */
#ifndef ANNEX_VITALITY_H
#define ANNEX_VITALITY_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_period - An inactive period of a tensor.
 * @tensor: the tensor.
 * @from: the kernel after the use that precedes the period (n_kernels if that was the last kernel).
 * @to: the kernel that uses it next; @to <= @from if the period wraps into the next iteration.
 * @ns: length in nanoseconds, without stalls.
 * @wraps: the period continues in the next iteration.
 *
 * A global tensor that no kernel uses has one period, from 0 to 0. Periods of a tensor are
 * neighbours, in the order of @from.
 */
struct annex_period {
	uint32_t tensor;
	uint32_t from, to;
	uint64_t ns;
	bool wraps;
};

/**
 * struct annex_life - Lifetime of a tensor; of a global tensor 0 to n_kernels - 1.
 * @birth: first kernel of its lifetime.
 * @death: last kernel of its lifetime.
 * @period: index of its first period.
 * @n_periods: number of its periods, which are consecutive.
 * @used: false if no kernel uses it.
 */
struct annex_life {
	uint32_t birth, death;
	uint32_t period, n_periods;
	bool used;
};

/**
 * struct annex_vitality - Vitality of a trace. Read only for callers.
 * @trace: the trace.
 * @life: lifetime of each tensor.
 * @periods: inactive periods of all tensors.
 * @n_periods: number of @periods.
 * @start: start time of each kernel without stalls, in nanoseconds; start[n_kernels] is the length
 *	of the ideal iteration.
 * @live: bytes of live tensors during each kernel: the memory pressure without evictions.
 * @active: bytes of tensors that each kernel uses.
 * @global_bytes: bytes of global tensors.
 * @peak_bytes: the largest of @live.
 * @peak_kernel: the first kernel with @peak_bytes.
 */
struct annex_vitality {
	const struct annex_trace *trace;
	struct annex_life *life;
	struct annex_period *periods;
	uint32_t n_periods;
	uint64_t *start;
	uint64_t *live;
	uint64_t *active;
	uint64_t global_bytes, peak_bytes;
	uint32_t peak_kernel;
};

/**
 * annex_vitality_create() - Analyse a trace.
 * @trace: the trace, which must outlive the result.
 * @vitality: the result; release it with annex_vitality_destroy().
 *
 * Return: 0 or -ENOMEM.
 */
int annex_vitality_create(const struct annex_trace *trace, struct annex_vitality **vitality);

/**
 * annex_vitality_destroy() - Free the result.
 * @vitality: the result; NULL is allowed.
 */
void annex_vitality_destroy(struct annex_vitality *vitality);

#ifdef __cplusplus
}
#endif

#endif
