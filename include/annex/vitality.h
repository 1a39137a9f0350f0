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
 * @from: the first kernel without it: the one after its last use (n_kernels after the last one).
 * @to: the kernel that uses it again; @to <= @from when the period wraps into the next iteration.
 * @ns: how long it lasts without stalls.
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
 * struct annex_life - When a tensor lives: from kernel @birth to kernel @death, both included; a
 * global tensor, always (0 and n_kernels - 1). Its periods are @period to @period + @n_periods.
 * @used: false when no kernel uses it.
 */
struct annex_life {
	uint32_t birth, death;
	uint32_t period, n_periods;
	bool used;
};

/**
 * struct annex_vitality - What is known of a trace. Read it, do not write it.
 * @start: when each kernel starts when nothing stalls; @start[n_kernels] is the ideal iteration.
 * @live: bytes that live while each kernel runs: the memory pressure with nothing evicted.
 * @active: bytes that each kernel uses.
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
 * annex_vitality_create() - Analyse a trace, which must outlive the result.
 * annex_vitality_destroy() - Free; NULL is allowed.
 *
 * Return: 0 or -ENOMEM.
 */
int annex_vitality_create(const struct annex_trace *trace, struct annex_vitality **vitality);
void annex_vitality_destroy(struct annex_vitality *vitality);

#ifdef __cplusplus
}
#endif

#endif
