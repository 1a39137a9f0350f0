// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <annex/detail/atomic.h>
#include "tools/common/error.h"
#include "edges.h"
#include "elements.h"

#define NARROW 512u /* ids of 8 bytes that are made 4 bytes at a time */

/*
 * Wanted lines this close to each other are read as one: a disk takes less time to read the bytes
 * between them than to carry out another command. But never more than was wanted before it, so
 * that lines far and few are read alone.
 */
#define GAP_MAX (8u << 10)

struct sweep {
	struct edges *e;
	const uint64_t *set;
	bool weights;
	edges_visit visit;
	void *ctx;
	uint64_t next; /* block */
	int err;       /* the first error of any thread, so that the others stop */
};

/*
 * The wanted lists of a block, one after the other, or their part in the block: edges [@from, @to)
 * of vertex @v.
 */
struct part {
	uint64_t first, end; /* edges of the block */
	uint64_t last;       /* vertex that the block ends in */
	uint64_t base, bits; /* of the 64 vertices from @base: wanted and yet to come */
	uint64_t v, from, to;
};

static void first_part(const struct sweep *s, uint64_t b, struct part *p)
{
	const struct edges *e = s->e;
	uint64_t v = e->block_vertex[b];

	edges_block(e, b, &p->first, &p->end);
	p->last = b + 1 < e->blocks ? e->block_vertex[b + 1] : e->g->h.vertices - 1;
	p->base = v / 64 * 64;
	p->bits = (s->set ? s->set[v / 64] : ~0ull) & ~0ull << v % 64;
}

/* Return: whether there is one more. */
static bool next_part(const struct sweep *s, struct part *p)
{
	const uint64_t *offsets = s->e->g->offsets;

	do {
		while (!p->bits) {
			p->base += 64;
			if (p->base > p->last)
				return false;
			p->bits = s->set ? s->set[p->base / 64] : ~0ull;
		}
		p->v = p->base + (uint64_t)__builtin_ctzll(p->bits);
		p->bits &= p->bits - 1;
		if (p->v > p->last)
			return false;
		p->from = offsets[p->v] > p->first ? offsets[p->v] : p->first;
		p->to = offsets[p->v + 1] < p->end ? offsets[p->v + 1] : p->end;
	} while (p->from >= p->to);
	return true;
}

static void send_ahead(struct sweep *s, struct edges_lane *lane)
{
	/* A hint: the span brings lines that it does not bring. */
	if (lane->ranges && s->e->window)
		annex_cache_prefetch(s->e->store.cache, lane->range, lane->ranges);
	lane->ranges = 0;
	lane->last_ids = lane->last_weights = EDGES_RANGES;
}

/*
 * Add bytes of the file to the ranges to be read ahead. @last: the range that was added to before,
 * of the same section. Return: number of lines added.
 */
static uint64_t add_range(struct sweep *s, struct edges_lane *lane, unsigned int *last,
			  uint64_t from, uint64_t to)
{
	uint64_t line = s->e->line, start = from / line * line, end = (to + line - 1) / line * line;

	if (*last < lane->ranges) {
		struct annex_range *r = &lane->range[*last];
		uint64_t gap = r->len < GAP_MAX ? r->len : GAP_MAX;

		if (start >= r->offset && start <= r->offset + r->len + gap) {
			uint64_t had = r->len;

			if (end > r->offset + r->len)
				r->len = end - r->offset;
			return (r->len - had) / line;
		}
	}
	if (lane->ranges == EDGES_RANGES)
		send_ahead(s, lane);
	*last = lane->ranges++;
	lane->range[*last] = (struct annex_range){start, end - start};
	return (end - start) / line;
}

/* Queue the lines that block @b needs for reading; 0 if it has no wanted list. */
static uint64_t look_ahead(struct sweep *s, struct edges_lane *lane, uint64_t b)
{
	const struct csr_header *h = &s->e->g->h;
	uint64_t lines = 0;
	bool found = false;
	struct part p;

	for (first_part(s, b, &p); next_part(s, &p);) {
		uint64_t ids = h->section[CSR_EDGES].offset, w = h->section[CSR_WEIGHTS].offset;

		if (s->e->access != EDGES_ARRAY)
			return 1;
		found = true;
		lines += add_range(s, lane, &lane->last_ids, ids + p.from * h->id_bytes,
				   ids + p.to * h->id_bytes);
		if (s->weights)
			lines += add_range(s, lane, &lane->last_weights, w + p.from * 4,
					   w + p.to * 4);
	}
	/* A block that adds no lines was read with other blocks. */
	return lines ? lines : found;
}

/* Take blocks until the window is full; not before half of it has been worked off. */
static void refill(struct sweep *s, struct edges_lane *lane)
{
	uint64_t window = s->e->access == EDGES_ARRAY ? s->e->window : 0;

	if (lane->head != lane->tail && lane->ahead > window / 2)
		return;
	while (lane->head == lane->tail ||
	       (lane->ahead < window && lane->tail - lane->head < EDGES_RING)) {
		uint64_t b = annex_atomic_add(&s->next, 1, ANNEX_RELAXED), lines;

		if (b >= s->e->blocks)
			break;
		lines = look_ahead(s, lane, b);
		if (!lines)
			continue;
		lane->ring[lane->tail % EDGES_RING].block = b;
		lane->ring[lane->tail % EDGES_RING].lines = lines;
		lane->tail++;
		lane->ahead += lines;
	}
	send_ahead(s, lane);
}

static int bad_id(const struct sweep *s, uint64_t v, uint64_t id)
{
	return err_set(-EINVAL,
		       "%s is not a valid graph file: vertex %llu has the neighbour %llu, of %llu "
		       "vertices",
		       s->e->g->path, (ull)v, (ull)id, (ull)s->e->g->h.vertices);
}

/* Four ids at once; gcc makes whatever the machine has of it. */
typedef uint32_t ids4 __attribute__((vector_size(16), aligned(4), may_alias));

static bool all_at_most(const uint32_t *ids, uint64_t n, uint32_t last)
{
	const ids4 limit = {last, last, last, last};
	ids4 over = {0};
	uint64_t i = 0;

	for (; i + 4 <= n; i += 4)
		over |= (ids4)(*(const ids4 *)(ids + i) > limit);
	for (; i < n; i++)
		over[0] |= ids[i] > last;
	return !(over[0] | over[1] | over[2] | over[3]);
}

static int visit_narrow(const struct sweep *s, unsigned int thread, uint64_t v, const uint32_t *ids,
			const uint32_t *weights, uint64_t n)
{
	uint32_t last = (uint32_t)s->e->g->h.vertices - 1;

	if (!all_at_most(ids, n, last)) {
		while (*ids <= last)
			ids++;
		return bad_id(s, v, *ids);
	}
	s->visit(s->ctx, thread, (uint32_t)v, ids, weights, n);
	return 0;
}

static int visit_ids(const struct sweep *s, unsigned int thread, uint64_t v, const void *ids,
		     const uint32_t *weights, uint64_t n)
{
	const uint64_t *wide = ids;
	int err = 0;

	if (s->e->g->h.id_bytes == 4)
		return visit_narrow(s, thread, v, ids, weights, n);
	for (uint64_t i = 0; i < n && !err; i += NARROW) {
		uint64_t m = n - i < NARROW ? n - i : NARROW;
		uint32_t narrow[NARROW];

		for (uint64_t k = 0; k < m; k++) {
			if (wide[i + k] >= s->e->g->h.vertices)
				return bad_id(s, v, wide[i + k]);
			narrow[k] = (uint32_t)wide[i + k];
		}
		err = visit_narrow(s, thread, v, narrow, weights ? weights + i : NULL, m);
	}
	return err;
}

static int work_part(const struct sweep *s, unsigned int thread, const struct part *p,
		     struct elements *ids, struct elements *weights)
{
	struct edges *e = s->e;
	const struct csr_header *h = &e->g->h;
	int err = 0;

	for (uint64_t i = p->from; i < p->to && !err;) {
		uint64_t n = p->to - i, have;
		const void *id, *w = NULL;

		if (e->access == EDGES_ARRAY) {
			err = elements_get(ids, e, i, n, &id, &have);
			n = !err && have < n ? have : n;
			if (!err && s->weights)
				err = elements_get(weights, e, i, n, &w, &have);
			n = !err && have < n ? have : n;
			if (err)
				return err_lib(err, "cannot read the edges");
		} else {
			id = e->flat + h->section[CSR_EDGES].offset + i * h->id_bytes;
			if (s->weights)
				w = e->flat + h->section[CSR_WEIGHTS].offset + i * 4;
		}
		if (!err)
			err = visit_ids(s, thread, p->v, id, w, n);
		i += n;
	}
	return err;
}

static int work_block(struct sweep *s, unsigned int thread, uint64_t b, struct elements *ids,
		      struct elements *weights)
{
	struct edges_lane *lane = &s->e->lanes[thread];
	uint64_t count = 0;
	struct part p;
	int err = 0;

	for (first_part(s, b, &p); !err && next_part(s, &p);) {
		err = work_part(s, thread, &p, ids, weights);
		count += p.to - p.from;
	}
	held_drop(&ids->held);
	held_drop(&weights->held);
	lane->count += count;
	lane->asked += count * (s->e->g->h.id_bytes + (s->weights ? 4 : 0));
	return err;
}

static int sweep_lane(void *ctx, unsigned int thread, unsigned int threads)
{
	struct sweep *s = ctx;
	struct edges_lane *lane = &s->e->lanes[thread];
	struct elements ids, weights;
	int err = elements_open(&ids, s->e, &s->e->ids);
	bool opened = !err;

	(void)threads;
	if (!err)
		err = elements_open(&weights, s->e, &s->e->weights);
	if (err && opened)
		elements_close(&ids, s->e);
	opened = !err;
	lane->head = lane->tail = 0;
	lane->ahead = 0;
	while (!err && !annex_atomic_load(&s->err, ANNEX_RELAXED)) {
		refill(s, lane);
		if (lane->head == lane->tail)
			break;
		err = work_block(s, thread, lane->ring[lane->head % EDGES_RING].block, &ids,
				 &weights);
		lane->ahead -= lane->ring[lane->head % EDGES_RING].lines;
		lane->head++;
	}
	if (opened) {
		elements_close(&ids, s->e);
		elements_close(&weights, s->e);
	}
	if (err)
		annex_atomic_store(&s->err, err, ANNEX_RELAXED);
	return err;
}

int edges_sweep(struct edges *e, const uint64_t *set, bool weights, edges_visit visit, void *ctx)
{
	struct sweep s = {
		.e = e,
		.set = set,
		.weights = weights && (e->g->h.flags & CSR_WEIGHTED),
		.visit = visit,
		.ctx = ctx,
	};

	int err = pool_run(e->pool, sweep_lane, &s);

	if (!err && annex_mapping_check(e->mapping))
		err = err_mappings();
	return err;
}
