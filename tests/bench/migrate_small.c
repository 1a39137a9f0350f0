// SPDX-License-Identifier: MIT
/*
 * 10,000 tensors of 1 to 64 KiB to storage and back, as a plan moves them, against one O_DIRECT
 * pwrite() and pread() each, on the same file, in turns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/random.h"
#include "migrate.h"

#define MOST 10000u
#define TENSORS BENCH_SIZE(MOST, 100u)
#define SMALLEST 1024u
#define LARGEST 65536u
#define FILE_BYTES (TENSORS * (uint64_t)LARGEST)

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + ANNEX_MEM_PAGE - 1) / ANNEX_MEM_PAGE * ANNEX_MEM_PAGE;
}

/* One after the other, each where the last one ended: the best case of such a program. */
static double one_by_one(int fd, const struct migrate_tensor *tensors, bool write)
{
	double start = bench_seconds();
	off_t at = 0;

	for (unsigned int i = 0; i < TENSORS; i++) {
		const struct migrate_tensor *t = &tensors[i];
		size_t n = whole_pages(t->bytes);
		ssize_t rc = write ? pwrite(fd, t->p, n, at) : pread(fd, t->p, n, at);

		if (rc != (ssize_t)n)
			bench_fail("one by one: %s", rc < 0 ? strerror(errno) : "a short transfer");
		at += (off_t)n;
	}
	return bench_seconds() - start;
}

/* @bytes: of all of them, in whole pages, or more. */
static double by_calls(const char *path, struct migrate_tensor *tensors, uint64_t bytes)
{
	char *memory = aligned_alloc(ANNEX_MEM_PAGE, bytes), *p = memory;
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	double seconds;

	if (!memory || fd < 0)
		bench_fail("%s: %s", path, strerror(errno));
	for (unsigned int i = 0; i < TENSORS; i++) {
		tensors[i].p = p;
		migrate_fill(&tensors[i]);
		p += whole_pages(tensors[i].bytes);
	}
	seconds = one_by_one(fd, tensors, true);
	memset(memory, 0, (size_t)(p - memory));
	seconds += one_by_one(fd, tensors, false);
	for (unsigned int i = 0; i < TENSORS; i++)
		migrate_verify(&tensors[i]);
	close(fd);
	free(memory);
	return seconds;
}

static double by_plan(const char *path, struct migrate_tensor *tensors, uint64_t bytes)
{
	struct annex_store *store = migrate_store(path, FILE_BYTES);
	struct annex_space_opts opts = {
		.device = bytes, .stores = &store, .n_stores = 1, .size = bytes};
	struct annex_space *s = migrate_space(&opts);
	struct annex_space_stats st;
	uint64_t faults;
	double seconds;

	for (unsigned int i = 0; i < TENSORS; i++) {
		migrate_alloc(s, &tensors[i], tensors[i].bytes, tensors[i].seed);
		migrate_fill(&tensors[i]);
	}
	seconds = migrate_all(s, tensors, TENSORS, ANNEX_TIER_SSD);
	migrate_are(s, tensors, TENSORS, false);
	annex_space_get_stats(s, &st);
	faults = st.faults;
	seconds += migrate_all(s, tensors, TENSORS, ANNEX_TIER_GPU);
	migrate_are(s, tensors, TENSORS, true);
	annex_space_get_stats(s, &st);
	if (st.faults != faults)
		bench_fail("prefetches left %llu faults", (unsigned long long)(st.faults - faults));
	for (unsigned int i = 0; i < TENSORS; i++)
		migrate_verify(&tensors[i]);
	annex_space_destroy(s);
	annex_store_close(store);
	return seconds;
}

void migrate_small(const struct bench_ctx *ctx)
{
	static struct migrate_tensor tensors[MOST];
	double calls[BENCH_ROUNDS], plan[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
	uint64_t state = 1, bytes = MIB;
	char path[4096];

	for (unsigned int i = 0; i < TENSORS; i++) {
		tensors[i].bytes = SMALLEST +
				   random_next(&state) % (LARGEST - SMALLEST + 1) / 8 * 8;
		tensors[i].seed = (uint64_t)i << 32;
		bytes += whole_pages(tensors[i].bytes);
	}
	/* With room for the pages that stay free. */
	bytes = whole_pages(bytes + bytes / 16);
	snprintf(path, sizeof(path), "%s/migrate.data", ctx->dir);
	by_calls(path, tensors, bytes); /* the file's blocks are there from now on */
	for (unsigned int r = 0; r < bench_rounds; r++) {
		calls[r] = by_calls(path, tensors, bytes) * 1e3;
		plan[r] = by_plan(path, tensors, bytes) * 1e3;
	}
	unlink(path);
	bench_ratios(ratios, calls, plan, bench_rounds);
	bench_series("10,000 tensors of 1 to 64 KiB, there and back, one by one", calls,
		     bench_rounds, "ms", 0, 0);
	bench_series("the same by pre-evictions and prefetches", plan, bench_rounds, "ms", 0, 0);
	bench_series("one by one / planned", ratios, bench_rounds, "x", 3, 0);
}
