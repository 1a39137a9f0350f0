// SPDX-License-Identifier: MIT
/*
 * BFS on a Kronecker graph of scale 22 with a cache of 1/8 of its edge bytes, against the same BFS
 * over mmap in a memory cgroup of the same size: the cache's bytes and what the process needs of
 * anonymous memory anyway.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench.h"
#include "spawn.h"

#define ROUNDS 3

struct result {
	double seconds;
	double reached;
	double levels;
	double anon;
};

/* Everything out of the page cache, so that each run starts cold. */
static void drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	sync();
	if (fd < 0 || write(fd, "3", 1) != 1)
		bench_note("cannot drop the page cache (not root): runs may be warm");
	if (fd >= 0)
		close(fd);
}

static struct result run(const struct bench_ctx *ctx, const char *cgroup, char *const args[])
{
	/* The shell joins the cgroup, then becomes the tool. */
	char *argv[32] = {"sh",
			  "-c",
			  "[ -z \"$0\" ] || echo $$ >\"$0/cgroup.procs\"; exec \"$@\"",
			  (char *)cgroup,
			  (char *)ctx->tool,
			  "graph",
			  "bfs"};
	unsigned int n = 7;
	struct result r;
	json_t *out;

	while (*args)
		argv[n++] = *args++;
	drop_caches();
	out = bench_run_json(ctx->dir, argv);
	r.seconds = bench_number(out, "time_s");
	r.reached = bench_number(out, "reached");
	r.levels = bench_number(out, "levels");
	r.anon = bench_number(out, "anon_bytes");
	json_decref(out);
	return r;
}

static int write_limit(const char *cgroup, const char *file, uint64_t bytes)
{
	char path[512], text[32];
	int fd, len, ok;

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	len = snprintf(text, sizeof(text), "%" PRIu64, bytes);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return 0;
	ok = write(fd, text, (size_t)len) == len;
	close(fd);
	return ok;
}

/* A cgroup of @bytes, version 1 or 2. Return: whether there is one. */
static int make_cgroup(char *path, size_t len, uint64_t bytes)
{
	snprintf(path, len, "/sys/fs/cgroup/memory/annex-bench-%d", getpid());
	if (!mkdir(path, 0755)) {
		if (write_limit(path, "memory.limit_in_bytes", bytes))
			return 1;
		rmdir(path);
	}
	snprintf(path, len, "/sys/fs/cgroup/annex-bench-%d", getpid());
	if (!mkdir(path, 0755)) {
		if (write_limit(path, "memory.max", bytes))
			return 1;
		rmdir(path);
	}
	return 0;
}

static void make_graph(const struct bench_ctx *ctx, char *path, size_t len)
{
	char *argv[] = {(char *)ctx->tool, "graph", "gen",    "kron", "--scale", "22",
			"--degree",        "16",    "--seed", "1",    "-o",      path,
			"--json",          NULL};

	snprintf(path, len, "%s/kron22.csr", ctx->dir);
	if (!access(path, R_OK))
		return;
	bench_note("making a Kronecker graph of scale 22 ...");
	json_decref(bench_run_json(ctx->dir, argv));
}

static double edge_bytes(const struct bench_ctx *ctx, char *path)
{
	char *argv[] = {(char *)ctx->tool, "graph", "info", path, "--json", NULL};
	json_t *out = bench_run_json(ctx->dir, argv);
	double bytes = bench_number(out, "edge_bytes");

	json_decref(out);
	return bytes;
}

static double best_of(struct result *r, const struct result *reference)
{
	double s[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (r[i].reached != reference->reached || r[i].levels != reference->levels)
			bench_fail("two runs of BFS on one graph disagree");
		s[i] = r[i].seconds;
	}
	return bench_median(s, ROUNDS);
}

void bench_bfs(const struct bench_ctx *ctx)
{
	struct result own[ROUNDS], normal[ROUNDS], random[ROUNDS], free_run;
	double a, b, c, edges;
	char path[4096], cache[32], cgroup[256];
	char *cached[] = {path, "--cache", cache, "--threads", "2", "--cold", "--json", NULL};
	char *checked[] = {path, "--cache", cache, "--threads", "2", "--verify", "--json", NULL};
	char *mapped[] = {path, "--access", "mmap", "--threads", "2", "--cold", "--json", NULL};
	char *advised[] = {path,        "--access", "mmap",   "--advise", "random",
			   "--threads", "2",        "--cold", "--json",   NULL};
	uint64_t limit;

	make_graph(ctx, path, sizeof(path));
	edges = edge_bytes(ctx, path);
	snprintf(cache, sizeof(cache), "%" PRIu64, (uint64_t)(edges / 8) / 4096 * 4096);
	free_run = run(ctx, "", mapped);
	limit = (uint64_t)(edges / 8 + free_run.anon) / 4096 * 4096;
	if (!make_cgroup(cgroup, sizeof(cgroup), limit)) {
		bench_note("bfs: no memory cgroup can be made here (root is needed): left out");
		return;
	}
	bench_note("edge bytes %.0f MiB, cache %.0f MiB, anonymous %.0f MiB, cgroup %.0f MiB",
		   edges / 1048576, edges / 8 / 1048576, free_run.anon / 1048576,
		   (double)limit / 1048576);
	run(ctx, "", checked); /* against a serial run in memory, untimed */
	for (unsigned int i = 0; i < ROUNDS; i++) {
		own[i] = run(ctx, "", cached);
		normal[i] = run(ctx, cgroup, mapped);
		random[i] = run(ctx, cgroup, advised);
	}
	rmdir(cgroup);
	a = best_of(own, &free_run);
	b = best_of(normal, &free_run);
	c = best_of(random, &free_run);
	bench_figure("BFS, Kronecker 22, cache of 1/8 of the edges", a, "s", 0, 0);
	bench_figure("BFS over mmap in a cgroup of the same memory", b, "s", 0, 0);
	bench_figure("the same with MADV_RANDOM", c, "s", 0, 0);
	bench_figure("better mmap / cached BFS", (b < c ? b : c) / a, "x", 2, 0);
}
