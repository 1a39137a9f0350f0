/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the benchmarks of the migration engine: a store on a file, tensors, moves of many
 * of them, and data that is looked at.
 */
#ifndef ANNEX_TESTS_BENCH_MIGRATE_H
#define ANNEX_TESTS_BENCH_MIGRATE_H

#include <annex/mem.h>
#include "figure.h"

#define MIB (1ull << 20)

/**
 * struct migrate_tensor - Every page of it has its number in its first and its last word: @seed and
 * up.
 */
struct migrate_tensor {
	char *p;
	uint64_t bytes, seed;
};

/* An error ends the program. The file is made, or made larger: @bytes. */
struct annex_store *migrate_store(const char *path, uint64_t bytes);
struct annex_space *migrate_space(const struct annex_space_opts *opts);
void migrate_alloc(struct annex_space *s, struct migrate_tensor *t, uint64_t bytes, uint64_t seed);
void migrate_fill(const struct migrate_tensor *t);
void migrate_verify(const struct migrate_tensor *t);

/* All of them to @tier, as a plan does it: asked for at once, waited for at the end. Seconds. */
double migrate_all(struct annex_space *s, const struct migrate_tensor *tensors, unsigned int n,
		   unsigned int tier);

/*
 * Each page of all tensors is in the device tier, or none is. The space's sum does not show it: a
 * fault also brings pages around it, perhaps of tensors that are fetched later.
 */
void migrate_are(struct annex_space *s, const struct migrate_tensor *tensors, unsigned int n,
		 bool device);

/* struct migrate_job - Words of docs/examples/train.c. @rate: bytes a second, or 0. */
struct migrate_job {
	const char *layers, *width, *batch, *steps, *policy;
	double device, rate;
};

/* migrate_run() - Its report. migrate_forget() - Remove the file that it leaves. */
json_t *migrate_run(const struct bench_ctx *ctx, const struct migrate_job *job);
void migrate_forget(const struct bench_ctx *ctx);

/* One file a group of figures. */
void migrate_rates(const struct bench_ctx *ctx);
void migrate_faults(const struct bench_ctx *ctx);
void migrate_small(const struct bench_ctx *ctx);
void migrate_train(const struct bench_ctx *ctx);
void migrate_policy(const struct bench_ctx *ctx);

#endif
