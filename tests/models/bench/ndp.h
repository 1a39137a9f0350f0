/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the benchmarks of near-data processing: a range, a device in this process, a
 * client.
 */
#ifndef ANNEX_TESTS_BENCH_NDP_H
#define ANNEX_TESTS_BENCH_NDP_H

#include <annex/hdm.h>
#include <annex/m2func.h>
#include <annex/models/ndp.h>
#include "../../bench/figure.h"

/**
 * struct ndp_bench - They are made and released together.
 * @null: a kernel of one instruction, which ends. @piece: a pool region for one micro-thread.
 */
struct ndp_bench {
	struct annex_hdm *hdm;
	struct annex_ndp *ndp;
	struct annex_m2 *m2;
	uint32_t null;
	void *piece;
};

/* Ends the program if something fails. @bytes: of the range. */
void ndp_bench_open(uint64_t bytes, const struct annex_ndp_opts *ndp,
		    const struct annex_m2_opts *m2, struct ndp_bench *out);
void ndp_bench_close(struct ndp_bench *b);
void *ndp_bench_alloc(struct ndp_bench *b, size_t bytes);

/* One file a group of figures. */
void ndp_calls(const struct bench_ctx *ctx);
void ndp_launches(const struct bench_ctx *ctx);
void ndp_filter(const struct bench_ctx *ctx);
void ndp_kernels(const struct bench_ctx *ctx);
void ndp_timing(const struct bench_ctx *ctx);

#endif
