// SPDX-License-Identifier: MIT
/*
 * BFS and connected components of a Kronecker graph of scale 22, with a cache of 1/8 of its edge
 * bytes, against the same over mmap. Both run in one memory cgroup, which has what the cached run
 * needs at its peak; time is that of the whole process.
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

/* Beside what a process has resident: its page tables and the kernel's own for its files. */
#define KERNEL_BYTES (16ull << 20)

/* struct result - @found: what the algorithm counts, which is the same for all. */
struct result {
	double seconds, found, peak;
};

/* struct searched - An algorithm of annex graph, and the number in its report that is compared. */
struct searched {
	const char *command, *found, *name;
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

static struct result run(const struct bench_ctx *ctx, const struct searched *a, const char *cgroup,
			 char *const args[])
{
	/* The shell joins the cgroup, then becomes the tool. */
	char *argv[32] = {"sh",
			  "-c",
			  "[ -z \"$0\" ] || echo $$ >\"$0/cgroup.procs\"; exec \"$@\"",
			  (char *)cgroup,
			  (char *)ctx->tool,
			  "graph",
			  (char *)a->command};
	struct bench_usage usage;
	unsigned int n = 7;
	struct result r;
	json_t *out;

	while (*args)
		argv[n++] = *args++;
	drop_caches();
	out = bench_run_usage(ctx->dir, argv, &usage);
	r = (struct result){usage.seconds, bench_number(out, a->found), usage.peak};
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

void bench_kronecker(const struct bench_ctx *ctx, const char *scale, char *path, size_t len)
{
	char *argv[] = {(char *)ctx->tool, "graph", "gen",    "kron", "--scale", (char *)scale,
			"--degree",        "16",    "--seed", "1",    "-o",      path,
			"--json",          NULL};

	snprintf(path, len, "%s/kron%s.csr", ctx->dir, scale);
	if (!access(path, R_OK))
		return;
	bench_note("making a Kronecker graph of scale %s ...", scale);
	json_decref(bench_run_json(ctx->dir, argv));
}

double bench_edge_bytes(const struct bench_ctx *ctx, char *path)
{
	char *argv[] = {(char *)ctx->tool, "graph", "info", path, "--json", NULL};
	json_t *out = bench_run_json(ctx->dir, argv);
	double bytes = bench_number(out, "edge_bytes");

	json_decref(out);
	return bytes;
}

static void compare(const struct bench_ctx *ctx, const struct searched *a, char *path, double edges)
{
	double own[BENCH_ROUNDS], normal[BENCH_ROUNDS], random[BENCH_ROUNDS], ratio[BENCH_ROUNDS];
	char cache[32], cgroup[256], name[96];
	char *cached[] = {path, "--cache", cache, "--threads", "2", "--cold", "--json", NULL};
	char *checked[] = {path, "--cache", cache, "--threads", "2", "--verify", "--json", NULL};
	char *mapped[] = {path, "--access", "mmap", "--threads", "2", "--cold", "--json", NULL};
	char *advised[] = {path,        "--access", "mmap",   "--advise", "random",
			   "--threads", "2",        "--cold", "--json",   NULL};
	char *const *sides[] = {cached, mapped, advised};
	double *seconds[] = {own, normal, random};
	struct result first, r;
	uint64_t limit;

	snprintf(cache, sizeof(cache), "%" PRIu64, (uint64_t)(edges / 8) / 4096 * 4096);
	first = run(ctx, a, "", cached);
	limit = ((uint64_t)first.peak + KERNEL_BYTES) / 4096 * 4096;
	if (!make_cgroup(cgroup, sizeof(cgroup), limit)) {
		bench_note("%s: no memory cgroup can be made here (root is needed): left out",
			   a->name);
		return;
	}
	bench_note("%s: edge bytes %.0f MiB, cache %.0f MiB, cgroup %.0f MiB", a->name,
		   edges / 1048576, edges / 8 / 1048576, (double)limit / 1048576);
	run(ctx, a, "", checked); /* against a serial run in memory, untimed */
	for (unsigned int i = 0; i < bench_rounds; i++) {
		for (unsigned int k = 0; k < 3; k++) {
			r = run(ctx, a, cgroup, sides[k]);
			if (r.found != first.found)
				bench_fail("two runs of %s on one graph disagree", a->name);
			seconds[k][i] = r.seconds;
		}
		ratio[i] = (normal[i] < random[i] ? normal[i] : random[i]) / own[i];
	}
	rmdir(cgroup);
	snprintf(name, sizeof(name), "%s, Kronecker 22, cache of 1/8 of the edges", a->name);
	bench_series(name, own, bench_rounds, "s", 0, 0);
	snprintf(name, sizeof(name), "%s over mmap in the same cgroup", a->name);
	bench_series(name, normal, bench_rounds, "s", 0, 0);
	bench_series("the same with MADV_RANDOM", random, bench_rounds, "s", 0, 0);
	snprintf(name, sizeof(name), "better mmap / cached %s", a->name);
	bench_series(name, ratio, bench_rounds, "x", 2, 0);
}

void bench_graph(const struct bench_ctx *ctx)
{
	const struct searched all[] = {{"bfs", "reached", "BFS"},
				       {"cc", "components", "connected components"}};
	char path[4096];
	double edges;

	bench_kronecker(ctx, BENCH_LARGE, path, sizeof(path));
	edges = bench_edge_bytes(ctx, path);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		compare(ctx, &all[i], path, edges);
}
