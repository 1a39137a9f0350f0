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
 * @image, @null: a kernel of one instruction, which ends. @piece: a pool region for one
 * micro-thread.
 */
struct ndp_bench {
	struct annex_hdm *hdm;
	struct annex_ndp *ndp;
	struct annex_m2 *m2;
	struct annex_m2_image *image;
	uint32_t null;
	void *piece;
};

/* Ends the program if something fails. @bytes: of the range. */
void ndp_bench_open(uint64_t bytes, const struct annex_ndp_opts *ndp,
		    const struct annex_m2_opts *m2, struct ndp_bench *out);
void ndp_bench_close(struct ndp_bench *b);
void *ndp_bench_alloc(struct ndp_bench *b, size_t bytes);

/*
 * ndp_rivals.c: the two ways of section II-C to call a device, for comparison: a command ring with
 * a doorbell and completions, and single-shot registers. One thread calls.
 *
 * struct ndp_rival_opts - @registers: these; else a ring. @sleeps: the host sleeps until a
 * completion's eventfd is readable. @io_ns: to be added: a round trip of CXL.io. @ring_ns: to be
 * added: from the doorbell to the launch.
 */
struct ndp_rival_opts {
	bool registers, sleeps;
	uint32_t io_ns, ring_ns;
};

/* ndp_rival_open() - A client of @b's device with @b's range and null kernel, and the thread of its
 * front end. ndp_rival_run() - Run the null kernel to its end. */
struct ndp_rival;
struct ndp_rival *ndp_rival_open(const struct ndp_bench *b, const struct ndp_rival_opts *opts);
void ndp_rival_run(struct ndp_rival *r);
void ndp_rival_close(struct ndp_rival *r);

/* One file a group of figures. */
void ndp_calls(const struct bench_ctx *ctx);
void ndp_launches(const struct bench_ctx *ctx);
void ndp_filter(const struct bench_ctx *ctx);
void ndp_kernels(const struct bench_ctx *ctx);
void ndp_timing(const struct bench_ctx *ctx);

#endif
