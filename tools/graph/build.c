// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes over the source, so that no edge is held twice: count the degrees, then scatter the
 * edges into their rows. Then every row is sorted and loses its duplicates, and the rows move
 * together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "build.h"

#define ROWS 4096u /* rows that a thread takes at a time */

struct build {
	const struct build_source *src;
	struct csr_data *d;
	bool both;
	uint64_t next;    /* block or row that the next thread takes */
	uint64_t *degree; /* of each row once it is free of duplicates */
	uint64_t longest; /* row */
	uint64_t loops;
};

typedef void (*edge_fn)(struct build *b, const struct list_edge *e);

static int for_blocks(struct build *b, edge_fn fn)
{
	struct list_edge *buf = malloc(BUILD_BLOCK * sizeof(*buf));
	uint64_t block, loops = 0;

	if (!buf)
		return err_set(-ENOMEM, "out of memory");
	while ((block = annex_atomic_add(&b->next, 1, ANNEX_RELAXED)) < b->src->blocks) {
		uint32_t n = b->src->fill(b->src->ctx, block, buf);

		for (uint32_t i = 0; i < n; i++) {
			if (buf[i].from == buf[i].to)
				loops++;
			else
				fn(b, &buf[i]);
		}
		progress_update(block, b->src->blocks, "blocks of edges");
	}
	annex_atomic_add(&b->loops, loops, ANNEX_RELAXED);
	free(buf);
	return 0;
}

/* Counts go two places up, so that after the sum offsets[v + 1] is where row v begins. */
static void count_edge(struct build *b, const struct list_edge *e)
{
	annex_atomic_add(&b->d->offsets[e->from + 2ull], 1, ANNEX_RELAXED);
	if (b->both)
		annex_atomic_add(&b->d->offsets[e->to + 2ull], 1, ANNEX_RELAXED);
}

static void scatter_edge(struct build *b, const struct list_edge *e)
{
	uint64_t at = annex_atomic_add(&b->d->offsets[e->from + 1ull], 1, ANNEX_RELAXED);

	b->d->adj[at] = (uint64_t)e->to << 32 | e->weight;
	if (!b->both)
		return;
	at = annex_atomic_add(&b->d->offsets[e->to + 1ull], 1, ANNEX_RELAXED);
	b->d->adj[at] = (uint64_t)e->from << 32 | e->weight;
}

static int count_blocks(void *ctx, unsigned int id, unsigned int n)
{
	(void)id;
	(void)n;
	return for_blocks(ctx, count_edge);
}

static int scatter_blocks(void *ctx, unsigned int id, unsigned int n)
{
	(void)id;
	(void)n;
	return for_blocks(ctx, scatter_edge);
}

static void sort_short(uint64_t *a, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++) {
		uint64_t x = a[i], k = i;

		for (; k && a[k - 1] > x; k--)
			a[k] = a[k - 1];
		a[k] = x;
	}
}

/* Sort @n words; @tmp has room for as many. */
static void sort_words(uint64_t *a, uint64_t *tmp, uint64_t n)
{
	uint64_t *from = a, *to = tmp, differ = 0;

	if (n < 48) {
		sort_short(a, n);
		return;
	}
	for (uint64_t i = 1; i < n; i++)
		differ |= a[i] ^ a[0];
	for (unsigned int shift = 0; shift < 64; shift += 8) {
		uint64_t start[256] = {0}, sum = 0, *swap;

		if (!(differ >> shift & 255))
			continue;
		for (uint64_t i = 0; i < n; i++)
			start[from[i] >> shift & 255]++;
		for (unsigned int k = 0; k < 256; k++) {
			uint64_t count = start[k];

			start[k] = sum;
			sum += count;
		}
		for (uint64_t i = 0; i < n; i++)
			to[start[from[i] >> shift & 255]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != a)
		memcpy(a, from, n * sizeof(*a));
}

/* Equal ids lie together, the lightest first. */
static uint64_t drop_duplicates(uint64_t *a, uint64_t n)
{
	uint64_t kept = n ? 1 : 0;

	for (uint64_t i = 1; i < n; i++)
		if (a[i] >> 32 != a[kept - 1] >> 32)
			a[kept++] = a[i];
	return kept;
}

static int sort_rows(void *ctx, unsigned int id, unsigned int n)
{
	struct build *b = ctx;
	uint64_t *tmp = mem_alloc(b->longest, sizeof(*tmp), "sorting");
	uint64_t v, end;

	(void)id;
	(void)n;
	if (!tmp)
		return -ENOMEM;
	while ((v = annex_atomic_add(&b->next, ROWS, ANNEX_RELAXED)) < b->d->vertices) {
		end = b->d->vertices - v < ROWS ? b->d->vertices : v + ROWS;
		for (; v < end; v++) {
			uint64_t *row = b->d->adj + b->d->offsets[v];
			uint64_t len = b->d->offsets[v + 1] - b->d->offsets[v];

			sort_words(row, tmp, len);
			b->degree[v] = drop_duplicates(row, len);
		}
		progress_update(end, b->d->vertices, "rows sorted");
	}
	mem_free(tmp, b->longest, sizeof(*tmp));
	return 0;
}

static void close_gaps(struct build *b)
{
	struct csr_data *d = b->d;
	uint64_t at = 0;

	for (uint64_t v = 0; v < d->vertices; v++) {
		uint64_t from = d->offsets[v];

		if (at != from)
			memmove(d->adj + at, d->adj + from, b->degree[v] * sizeof(*d->adj));
		d->offsets[v] = at;
		at += b->degree[v];
	}
	d->offsets[d->vertices] = at;
	d->duplicates = d->edges - at;
	d->edges = at;
}

static int count(struct build *b, struct pool *pool)
{
	struct csr_data *d = b->d;
	int err;

	d->offsets_room = d->vertices + 2;
	d->offsets = mem_alloc(d->offsets_room, sizeof(*d->offsets), "row offsets");
	if (!d->offsets)
		return -ENOMEM;
	progress_begin("counting");
	err = pool_run(pool, count_blocks, b);
	for (uint64_t v = 2; v < d->offsets_room; v++) {
		if (d->offsets[v] > b->longest)
			b->longest = d->offsets[v];
		d->offsets[v] += d->offsets[v - 1];
	}
	d->loops = b->loops;
	d->edges = d->offsets[d->vertices + 1];
	return err;
}

static int scatter(struct build *b, struct pool *pool)
{
	struct csr_data *d = b->d;

	d->adj_room = d->edges;
	d->adj = mem_alloc(d->adj_room, sizeof(*d->adj), "edges");
	if (!d->adj)
		return -ENOMEM;
	b->next = 0;
	progress_begin("placing");
	return pool_run(pool, scatter_blocks, b);
}

static int sort(struct build *b, struct pool *pool)
{
	struct csr_data *d = b->d;
	int err;

	b->degree = mem_alloc(d->vertices, sizeof(*b->degree), "degrees");
	if (!b->degree)
		return -ENOMEM;
	b->next = 0;
	progress_begin("sorting");
	err = pool_run(pool, sort_rows, b);
	if (!err)
		close_gaps(b);
	mem_free(b->degree, d->vertices, sizeof(*b->degree));
	return err;
}

int build_csr(struct pool *pool, const struct build_source *src, bool both, struct csr_data *d)
{
	struct build b = {.src = src, .d = d, .both = both};
	int err = count(&b, pool);

	if (!err)
		err = scatter(&b, pool);
	if (!err)
		err = sort(&b, pool);
	return err;
}

void build_free(struct csr_data *d)
{
	mem_free(d->offsets, d->offsets_room, sizeof(*d->offsets));
	mem_free(d->adj, d->adj_room, sizeof(*d->adj));
	d->offsets = d->adj = NULL;
}

static uint32_t fill_from_list(void *ctx, uint64_t block, struct list_edge *buf)
{
	struct list *l = ctx;
	uint64_t at = block * BUILD_BLOCK;
	uint64_t n = l->edges - at < BUILD_BLOCK ? l->edges - at : BUILD_BLOCK;

	memcpy(buf, l->edge + at, n * sizeof(*buf));
	return (uint32_t)n;
}

void build_list_source(struct list *l, struct build_source *src)
{
	src->ctx = l;
	src->blocks = (l->edges + BUILD_BLOCK - 1) / BUILD_BLOCK;
	src->fill = fill_from_list;
}
