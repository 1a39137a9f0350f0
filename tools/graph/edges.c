// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "edges.h"

#define BLOCK_BYTES (64u << 10)
#define WINDOW_MAX 256u /* lines of 4 KiB */

void edges_block(const struct edges *e, uint64_t b, uint64_t *first, uint64_t *end)
{
	uint64_t base = e->g->h.section[CSR_EDGES].offset;
	uint64_t from = e->origin + b * e->block_bytes, to = from + e->block_bytes;

	*first = from > base ? (from - base) / e->g->h.id_bytes : 0;
	*end = to > base ? (to - base) / e->g->h.id_bytes : 0;
	if (*end > e->g->h.edges)
		*end = e->g->h.edges;
}

/* Small blocks if the window is small, so that several of them fit in it. */
static void size_blocks(struct edges *e, const struct storage_opts *so)
{
	uint64_t lines = so->cache / e->line;
	uint64_t most = (uint64_t)WINDOW_MAX * 4096 / e->line;
	uint64_t block = BLOCK_BYTES / e->line;

	e->window = lines / 4 / pool_threads(e->pool);
	if (e->window > most && most >= 4)
		e->window = most;
	if (e->window > EDGES_RING / 2)
		e->window = EDGES_RING / 2;
	if (e->access == EDGES_ARRAY && block > e->window / 4)
		block = e->window / 4;
	if (e->mechanisms != EDGES_AHEAD)
		e->window = 0;
	e->block_bytes = (block ? block : 1) * e->line;
}

static int cut_blocks(struct edges *e, const struct storage_opts *so)
{
	const struct csr_header *h = &e->g->h;
	uint64_t base = h->section[CSR_EDGES].offset, v = 0;

	e->line = so->line;
	size_blocks(e, so);
	e->origin = base - base % e->line;
	if (h->edges)
		e->blocks = (base + h->section[CSR_EDGES].len - e->origin + e->block_bytes - 1) /
			    e->block_bytes;
	e->block_vertex = mem_alloc(e->blocks, sizeof(*e->block_vertex), "blocks");
	if (!e->block_vertex)
		return -ENOMEM;
	for (uint64_t b = 0; b < e->blocks; b++) {
		uint64_t first, end;

		edges_block(e, b, &first, &end);
		while (v < h->vertices && e->g->offsets[v + 1] <= first)
			v++;
		e->block_vertex[b] = (uint32_t)v;
	}
	return 0;
}

/* Load all of it into the cache; the counters begin afterwards. */
static int warm(struct edges *e)
{
	uint64_t lines = (e->g->size + e->line - 1) / e->line;
	void *data;
	int err = 0;

	if (e->store.bytes / e->line < lines)
		return err_set(-EINVAL,
			       "--warm: the cache holds %llu of %llu lines: give a larger --cache",
			       (ull)(e->store.bytes / e->line), (ull)lines);
	for (uint64_t i = 0; i < lines && !err; i++) {
		err = annex_cache_pin(e->store.cache, i, 0, &data);
		if (!err)
			annex_cache_unpin(e->store.cache, i, 0);
	}
	if (err)
		return err_lib(err, "cannot read the edges");
	annex_cache_get_stats(e->store.cache, &e->store.base);
	return 0;
}

static int open_array(struct edges *e, const struct storage_opts *so)
{
	const struct csr *g = e->g;
	uint64_t need = 4ull * pool_threads(e->pool);
	int err;

	if (so->cache / so->line < need)
		return err_set(-EINVAL,
			       "--cache holds %llu lines of %u bytes, %u threads need %llu: give "
			       "a larger cache, shorter lines or fewer threads",
			       (ull)(so->cache / so->line), so->line, pool_threads(e->pool),
			       (ull)need);
	err = storage_open_image(&e->store, so, g->path, g->fd, g->size);
	if (err)
		return err;
	err = annex_dev_ns(e->store.devs[0], 1, &e->ns);
	if (err)
		return err_lib(err, "%s", g->path);
	if (e->mechanisms == EDGES_NONE && e->store.ndevs > 1)
		return err_set(-EINVAL, "--mechanisms none works with one --device only");
	err = annex_array_init(&e->ids, e->store.cache, g->h.section[CSR_EDGES].offset,
			       g->h.id_bytes, g->h.edges);
	if (!err && (g->h.flags & CSR_WEIGHTED))
		err = annex_array_init(&e->weights, e->store.cache,
				       g->h.section[CSR_WEIGHTS].offset, 4, g->h.edges);
	return err ? err_lib(err, "cannot make an array of the edges of %s", g->path) : 0;
}

static int open_mmap(struct edges *e, bool random)
{
	void *p = mmap(NULL, e->g->size, PROT_READ, MAP_SHARED, e->g->fd, 0);
	int err;

	if (p == MAP_FAILED)
		return err_sys("cannot map %s", e->g->path);
	e->flat = p;
	err = annex_mapping_watch(e->g->path, e->g->fd, p, e->g->size, &e->mapping);
	if (err)
		return err_lib(err, "cannot map %s", e->g->path);
	if (madvise(p, e->g->size, random ? MADV_RANDOM : MADV_NORMAL))
		return err_sys("cannot advise on the mapping of %s", e->g->path);
	return 0;
}

static int open_memory(struct edges *e)
{
	char *p = mem_alloc(e->g->size, 1, "the graph in memory");
	uint64_t at = 0;

	if (!p)
		return -ENOMEM;
	e->flat = p;
	progress_begin("loading");
	while (at < e->g->size) {
		uint64_t left = e->g->size - at;
		ssize_t n = pread(e->g->fd, p + at, left < 1u << 26 ? left : 1u << 26, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys("cannot read %s", e->g->path);
		if (!n)
			return err_set(-EIO, "%s was truncated while it was read", e->g->path);
		at += (uint64_t)n;
		progress_update(at >> 20, e->g->size >> 20, "MiB");
	}
	return 0;
}

/* Dirty pages cannot be dropped, so they are written first. */
static int drop_cached(const struct csr *g)
{
	int err;

	if (fdatasync(g->fd))
		return err_sys("cannot flush %s", g->path);
	err = posix_fadvise(g->fd, 0, 0, POSIX_FADV_DONTNEED);
	return err ? err_set(-err, "cannot drop %s from the page cache", g->path) : 0;
}

int edges_open(struct edges *e, const struct csr *g, struct pool *pool,
	       const struct edges_opts *opts, const struct storage_opts *so)
{
	int err = 0;

	memset(e, 0, sizeof(*e));
	e->g = g;
	e->pool = pool;
	e->access = (enum edges_access)opts->access;
	e->mechanisms = (enum edges_mechanisms)opts->mechanisms;
	e->lanes = aligned_alloc(64, pool_threads(pool) * sizeof(*e->lanes));
	if (!e->lanes)
		return err_set(-ENOMEM, "out of memory");
	memset(e->lanes, 0, pool_threads(pool) * sizeof(*e->lanes));
	if (opts->cold)
		err = drop_cached(g);
	if (!err && e->access == EDGES_ARRAY)
		err = open_array(e, so);
	else if (!err && e->access == EDGES_MMAP)
		err = open_mmap(e, opts->random);
	else if (!err)
		err = open_memory(e);
	if (!err)
		err = cut_blocks(e, so);
	if (!err && opts->warm)
		err = warm(e);
	if (err)
		edges_close(e);
	return err;
}

int edges_close(struct edges *e)
{
	int err = 0;

	if (e->access == EDGES_ARRAY)
		err = storage_close(&e->store);
	annex_mapping_end(e->mapping);
	if (e->access == EDGES_MMAP && e->flat)
		munmap((void *)e->flat, e->g->size);
	else if (e->access == EDGES_MEMORY)
		mem_free((void *)e->flat, e->g->size, 1);
	mem_free(e->block_vertex, e->blocks, sizeof(*e->block_vertex));
	free(e->lanes);
	memset(e, 0, sizeof(*e));
	return err;
}

uint64_t edges_count(const struct edges *e)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < pool_threads(e->pool); i++)
		n += e->lanes[i].count;
	return n;
}

uint64_t edges_asked(const struct edges *e)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < pool_threads(e->pool); i++)
		n += e->lanes[i].asked;
	return n;
}
