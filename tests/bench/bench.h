/* SPDX-License-Identifier: MIT */
/*
 * What every benchmark needs: figures with targets, a clock, verified data.
 *
 * A benchmark compares with a yardstick in the same run, in alternating rounds, and reports the
 * ratio of the medians: the machine is shared and noisy, and drifts.
 */
#ifndef ANNEX_TESTS_BENCH_H
#define ANNEX_TESTS_BENCH_H

#include <stdint.h>
#include <annex/device.h>

#define BENCH_ROUNDS 5

/**
 * struct bench_ctx - Where a benchmark works.
 * @dir: folder for its files.
 * @tool: path of the annex tool.
 * @command: how to repeat this run.
 */
struct bench_ctx {
	const char *dir;
	const char *tool;
	const char *command;
};

/* A measured value. @target 0: reported only. @at_most: the target is an upper bound. */
void bench_figure(const char *name, double value, const char *unit, double target, int at_most);
void bench_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
double bench_seconds(void);
double bench_median(double *values, unsigned int n);
uint64_t bench_random(uint64_t *state);

struct annex_dev *bench_open(const char *uri, const struct annex_dev_opts *opts);
void *bench_map(struct annex_dev *dev, size_t len, uint64_t *addr);
void bench_unmap(struct annex_dev *dev, void *buf, size_t len, uint64_t addr);

/* One file a group of figures. */
void bench_queue(const struct bench_ctx *ctx);
void bench_file(const struct bench_ctx *ctx);
void bench_array(const struct bench_ctx *ctx);
void bench_bfs(const struct bench_ctx *ctx);

#endif
