// SPDX-License-Identifier: MIT
/*
 * Any bytes as a graph file: what the reader accepts is sound as far as the algorithms rely on it,
 * and a search over it ends without touching anything outside, whatever its edges say.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "tools/graph/algo.h"
#include "tools/graph/csr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void check_accepted(const struct csr *g)
{
	uint32_t v;

	require(g->h.vertices && g->h.vertices <= CSR_MAX_VERTICES);
	require(g->offsets[0] == 0 && g->offsets[g->h.vertices] == g->h.edges);
	for (uint64_t i = 0; i < g->h.vertices; i++) {
		require(g->offsets[i] <= g->offsets[i + 1]);
		require(!g->names || strlen(g->names[i]) < g->h.section[CSR_NAMES].len);
	}
	if (g->names && *g->names[0])
		require(!csr_find(g, g->names[0], &v) && v < g->h.vertices);
	require(csr_find(g, "no vertex is called so", &v));
}

/* Edges are looked at when they are read: either all of them lead somewhere, or it fails. */
static void search(const struct csr *g, struct pool *pool)
{
	struct edges_opts opts = {.access = EDGES_MEMORY};
	struct storage_opts so = {.cache = 1 << 20, .line = 512, .threads = 1};
	struct edges e;
	struct bfs r;

	if (edges_open(&e, g, pool, &opts, &so))
		return;
	if (!bfs_run(&e, 0, &r))
		require(r.reached && r.reached <= g->h.vertices && r.levels < g->h.vertices);
	else
		require(*err_text());
	bfs_free(&r);
	edges_close(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pool *pool;
	struct csr g;
	int fd = memfd_create("graph", MFD_CLOEXEC);

	require(fd >= 0 && (pool || !pool_create(1, &pool)));
	require(write(fd, data, size) == (ssize_t)size);
	err_clear();
	if (csr_open_fd(fd, "input", &g)) {
		require(*err_text());
		return 0;
	}
	check_accepted(&g);
	err_clear();
	search(&g, pool);
	csr_close(&g);
	return 0;
}
