/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The measurements of annex bench cuda. All data read is verified: -EBADMSG when it is wrong.
 */
#ifndef TOOLS_GPU_BENCH_H
#define TOOLS_GPU_BENCH_H

#include "runner.h"

#define BENCH_FIGURES 48

/*
 * struct figure - A value; @key is its name in JSON.
 * @target: at least so much; 0: just reported.
 */
struct figure {
	const char *key;
	const char *label;
	const char *unit;
	double value;
	double target;
};

/*
 * struct gpu_bench - The options of annex bench gpu, and its figures.
 * @r: the GPU.
 * @bytes: bytes of data that is read hot.
 * @cold: bytes that are read cold, with each line size.
 * @gathers: elements that are gathered.
 * @threads: threads that submit.
 * @each: commands of each thread.
 * @queues: queue pairs.
 * @depth: entries of each.
 */
struct gpu_bench {
	struct runner *r;
	uint64_t bytes, cold, gathers;
	uint32_t threads, each, queues, depth;
	uint64_t seed;
	unsigned int n;
	struct figure figure[BENCH_FIGURES];
};

/* Defaults. */
#define BENCH_SIZES                                                                                \
	.bytes = 4ull << 30, .cold = 512ull << 20, .gathers = 64ull << 20, .threads = 65536,       \
	.each = 16, .queues = 8, .depth = 1024

void bench_add(struct gpu_bench *b, const char *key, const char *label, double value,
	       const char *unit, double target);

/* Each: 0, or -errno with the line set. */
int bench_queues(struct gpu_bench *b); /* against a null controller: the host's, and a kernel's */
int bench_cold(struct gpu_bench *b);   /* misses of 512 bytes, 4 KiB, 8 KiB */
int bench_hot(struct gpu_bench *b);    /* cached lines, and random elements of them */

/* bench_median() - Of three. */
double bench_median(const double v[3]);

/* bench_result() - Take the kernels' result from @there to @found, and zero it for the next;
 * -EBADMSG if it is wrong. */
int bench_result(struct gpu_bench *b, struct gpu_result *there, struct gpu_result *found,
		 const char *what);

#endif
