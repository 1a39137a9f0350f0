/* SPDX-License-Identifier: MIT */
/*
 * Tensor vitality analysis (G10 section 4.2): births, deaths, inactive periods, memory pressure.
 *
 * A tensor is active while a kernel that uses it runs, and inactive between two uses. A global
 * tensor's last inactive period wraps into the next iteration. All of it takes time and memory in
 * proportion to the number of uses.
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
 * struct annex_period - A tensor is not used from kernel @from up to kernel @to.
 * @tensor: the tensor.
 * @from: the first kernel without it: the one after its last use (n_kernels after the last one).
 * @to: the kernel that uses it again; @to <= @from when the period wraps into the next iteration.
 * @ns: nanoseconds that it lasts without stalls.
 * @wraps: the period goes on in the next iteration.
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
 * struct annex_life - When a tensor lives. A global tensor lives always (0 and n_kernels - 1).
 * @birth: first kernel that it lives in.
 * @death: last kernel that it lives in.
 * @period: index of its first period.
 * @n_periods: number of its periods, which follow each other.
 * @used: false when no kernel uses it.
 */
struct annex_life {
	uint32_t birth, death;
	uint32_t period, n_periods;
	bool used;
};

/**
 * struct annex_vitality - Vitality of a trace. Read it, do not write it.
 * @trace: the trace.
 * @life: of each tensor.
 * @periods: of all tensors.
 * @n_periods: number of @periods.
 * @start: nanoseconds at which each kernel starts when nothing stalls; start[n_kernels] is the
 *	ideal iteration.
 * @live: bytes that live while each kernel runs: the memory pressure with nothing evicted.
 * @active: bytes that each kernel uses.
 * @global_bytes: bytes of global tensors.
 * @peak_bytes: the largest of @live.
 * @peak_kernel: the first kernel that has it.
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
 * @vitality: the result, to be given back with annex_vitality_destroy().
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
