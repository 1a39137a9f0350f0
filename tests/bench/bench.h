/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the benchmarks of storage: figures with targets, a clock, verified data.
 *
 * A benchmark compares with a yardstick in the same run, in alternating rounds, and reports the
 * ratio of the medians: the machine is shared and noisy, and drifts.
 */
#ifndef ANNEX_TESTS_BENCH_H
#define ANNEX_TESTS_BENCH_H

#include <stdint.h>
#include <annex/device.h>
#include "figure.h"

struct annex_dev *bench_open(const char *uri, const struct annex_dev_opts *opts);
void *bench_map(struct annex_dev *dev, size_t len, uint64_t *addr);
void bench_unmap(struct annex_dev *dev, void *buf, size_t len, uint64_t addr);

/* Scales of graphs. */
#define BENCH_LARGE BENCH_SIZE("22", "13")
#define BENCH_SMALL BENCH_SIZE("14", "12")

/* A Kronecker graph of that scale and 16 edges a vertex, made once; bytes of its edges. */
void bench_kronecker(const struct bench_ctx *ctx, const char *scale, char *path, size_t len);
double bench_edge_bytes(const struct bench_ctx *ctx, char *path);

/* One file a group of figures. */
void bench_queue(const struct bench_ctx *ctx);
void bench_file(const struct bench_ctx *ctx);
void bench_array(const struct bench_ctx *ctx);
void bench_graph(const struct bench_ctx *ctx);
void bench_mechanisms(const struct bench_ctx *ctx);
void bench_range(const struct bench_ctx *ctx);

#endif
