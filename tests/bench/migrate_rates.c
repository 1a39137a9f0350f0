// SPDX-License-Identifier: MIT
/*
 * Large tensors between storage and the device tier, both ways, against fio's sequential O_DIRECT
 * I/O on the same file, in turns.
 */
#include <stdio.h>
#include <unistd.h>
#include "migrate.h"

#define TENSOR (BENCH_SIZE(64, 1) * MIB)
#define TENSORS 12u
#define BYTES (TENSORS * TENSOR)

static double fio_rate(const struct bench_ctx *ctx, const char *path, const char *way)
{
	char file[4200], size[32], rw[32], key[64];
	char *argv[] = {"fio",
			"--name=sequential",
			file,
			rw,
			size,
			"--bs=512k",
			"--direct=1",
			"--ioengine=io_uring",
			"--iodepth=32",
			"--output-format=json",
			NULL};
	json_t *out;
	double rate;

	snprintf(file, sizeof(file), "--filename=%s", path);
	snprintf(size, sizeof(size), "--size=%llu", BYTES);
	snprintf(rw, sizeof(rw), "--rw=%s", way);
	snprintf(key, sizeof(key), "jobs.%s.bw_bytes", way);
	out = bench_run_json(ctx->dir, argv);
	rate = bench_number(out, key);
	json_decref(out);
	return rate;
}

/* Writes have changed data; reads are compared afterwards. */
static void both_ways(const char *path, uint64_t seed, double *out, double *in)
{
	struct annex_store *store = migrate_store(path, BYTES);
	struct annex_space_opts opts = {
		.device = BYTES + TENSOR, .stores = &store, .n_stores = 1, .size = BYTES + TENSOR};
	struct annex_space *s = migrate_space(&opts);
	struct migrate_tensor tensors[TENSORS];
	struct annex_space_stats st;

	for (unsigned int i = 0; i < TENSORS; i++) {
		migrate_alloc(s, &tensors[i], TENSOR, seed + i * TENSOR / ANNEX_MEM_PAGE);
		migrate_fill(&tensors[i]);
	}
	*out = (double)BYTES / migrate_all(s, tensors, TENSORS, ANNEX_TIER_SSD);
	migrate_are(s, tensors, TENSORS, false);
	*in = (double)BYTES / migrate_all(s, tensors, TENSORS, ANNEX_TIER_GPU);
	migrate_are(s, tensors, TENSORS, true);
	for (unsigned int i = 0; i < TENSORS; i++)
		migrate_verify(&tensors[i]);
	annex_space_get_stats(s, &st);
	if (st.in != BYTES || st.bounced)
		bench_fail("%llu bytes came, %llu by a buffer", (unsigned long long)st.in,
			   (unsigned long long)st.bounced);
	annex_space_destroy(s);
	annex_store_close(store);
}

static void figures(const char *way, const char *words, double *own, double *fio)
{
	double ratios[BENCH_ROUNDS];
	char name[128];

	bench_ratios(ratios, own, fio, bench_rounds);
	for (unsigned int r = 0; r < bench_rounds; r++) {
		fio[r] /= 1e6;
		own[r] /= 1e6;
	}
	snprintf(name, sizeof(name), "fio, sequential O_DIRECT %s, 512 KiB, depth 32", way);
	bench_series(name, fio, bench_rounds, "MB/s", 0, 0);
	snprintf(name, sizeof(name), "large tensors, %s", words);
	bench_series(name, own, bench_rounds, "MB/s", 0, 0);
	snprintf(name, sizeof(name), "large tensors, %s / fio", words);
	bench_series(name, ratios, bench_rounds, "x", 0.95, 0);
}

void migrate_rates(const struct bench_ctx *ctx)
{
	double fio_write[BENCH_ROUNDS], fio_read[BENCH_ROUNDS], out[BENCH_ROUNDS], in[BENCH_ROUNDS];
	char path[4096];

	snprintf(path, sizeof(path), "%s/migrate.data", ctx->dir);
	fio_rate(ctx, path, "write"); /* the file's blocks are there from now on */
	for (unsigned int r = 0; r < bench_rounds; r++) {
		fio_write[r] = fio_rate(ctx, path, "write");
		fio_read[r] = fio_rate(ctx, path, "read");
		both_ways(path, (uint64_t)r << 32, &out[r], &in[r]);
	}
	unlink(path);
	figures("writes", "device tier to storage", out, fio_write);
	figures("reads", "storage to device tier", in, fio_read);
}
