// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Results judged by other means: serial, textbook versions over edges that plain reads brought
 * into memory. They share only the row offsets with the code that they check.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "tools/common/progress.h"
#include "algo.h"

struct plain {
	const struct csr *g;
	void *ids;
	uint32_t *weights;
	uint64_t n; /* vertices */
};

static uint64_t id_at(const struct plain *p, uint64_t i)
{
	return p->g->h.id_bytes == 4 ? ((uint32_t *)p->ids)[i] : ((uint64_t *)p->ids)[i];
}

static int load(const struct csr *g, enum csr_section s, void *buf)
{
	uint64_t len = g->h.section[s].len, done = 0;

	while (done < len) {
		ssize_t n = pread(g->fd, (char *)buf + done,
				  len - done < 1u << 30 ? len - done : 1u << 30,
				  (off_t)(g->h.section[s].offset + done));

		if (n < 0 && errno != EINTR)
			return err_sys("cannot read %s", g->path);
		if (!n)
			return err_set(-EIO, "%s was truncated while it was read", g->path);
		done += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

static void unload(struct plain *p)
{
	mem_free(p->ids, p->g->h.edges, p->g->h.id_bytes);
	mem_free(p->weights, p->g->h.edges, 4);
}

static int load_plain(const struct csr *g, bool weights, struct plain *p)
{
	int err = -ENOMEM;

	progress_begin("verifying");
	memset(p, 0, sizeof(*p));
	p->g = g;
	p->n = g->h.vertices;
	p->ids = mem_alloc(g->h.edges, g->h.id_bytes, "edges to verify with");
	weights = weights && (g->h.flags & CSR_WEIGHTED);
	if (p->ids && weights)
		p->weights = mem_alloc(g->h.edges, 4, "weights to verify with");
	if (p->ids && (!weights || p->weights))
		err = load(g, CSR_EDGES, p->ids);
	if (!err && weights)
		err = load(g, CSR_WEIGHTS, p->weights);
	for (uint64_t i = 0; i < g->h.edges && !err; i++)
		if (id_at(p, i) >= p->n)
			err = err_set(-EINVAL, "%s: edge %llu leads outside the graph", g->path,
				      (ull)i);
	if (err)
		unload(p);
	return err;
}

static int differs(const char *what, uint64_t v)
{
	return err_set(-EBADMSG,
		       "the result is wrong: %s of vertex %llu differs from an in-memory run", what,
		       (ull)v);
}

static void plain_bfs(const struct plain *p, uint32_t source, uint32_t *depth, uint32_t *queue)
{
	uint64_t head = 0, tail = 0;

	memset(depth, 0xff, p->n * sizeof(*depth));
	depth[source] = 0;
	queue[tail++] = source;
	while (head < tail) {
		uint32_t v = queue[head++];

		for (uint64_t i = p->g->offsets[v]; i < p->g->offsets[v + 1ull]; i++) {
			uint64_t u = id_at(p, i);

			if (depth[u] != CSR_NONE)
				continue;
			depth[u] = depth[v] + 1;
			queue[tail++] = (uint32_t)u;
		}
	}
}

/* Every parent is one level up, and has an edge to its child; @seen has an entry a vertex. */
static int check_parents(const struct plain *p, uint32_t source, const struct bfs *r,
			 uint32_t *seen)
{
	memset(seen, 0, p->n * sizeof(*seen));
	for (uint32_t v = 0; v < p->n; v++)
		for (uint64_t i = p->g->offsets[v]; i < p->g->offsets[v + 1ull]; i++) {
			uint64_t u = id_at(p, i);

			if (r->parent[u] == v && r->depth[u] == r->depth[v] + 1)
				seen[u] = 1;
		}
	for (uint64_t v = 0; v < p->n; v++)
		if (v == source ? r->parent[v] != source : (r->depth[v] != CSR_NONE) != seen[v])
			return differs("the parent", v);
	return 0;
}

int verify_bfs(const struct csr *g, uint32_t source, const struct bfs *r)
{
	uint64_t n = g->h.vertices;
	struct plain p;
	uint32_t *depth, *queue;
	int err = load_plain(g, false, &p);

	if (err)
		return err;
	depth = mem_alloc(n, sizeof(*depth), "depths");
	queue = mem_alloc(n, sizeof(*queue), "queue");
	err = depth && queue ? 0 : -ENOMEM;
	if (!err)
		plain_bfs(&p, source, depth, queue);
	for (uint64_t v = 0; v < n && !err; v++)
		if (depth[v] != r->depth[v])
			err = differs("the depth", v);
	if (!err)
		err = check_parents(&p, source, r, queue);
	mem_free(depth, n, sizeof(*depth));
	mem_free(queue, n, sizeof(*queue));
	unload(&p);
	return err;
}

static uint32_t root_of(uint32_t *up, uint32_t v)
{
	while (up[v] != v)
		v = up[v] = up[up[v]];
	return v;
}

static void plain_cc(const struct plain *p, uint32_t *up)
{
	for (uint32_t v = 0; v < p->n; v++)
		up[v] = v;
	for (uint32_t v = 0; v < p->n; v++)
		for (uint64_t i = p->g->offsets[v]; i < p->g->offsets[v + 1ull]; i++)
			up[root_of(up, (uint32_t)id_at(p, i))] = root_of(up, v);
}

/* The same partition: each root here has one label there, and as many labels as roots. */
static int same_partition(uint32_t *up, uint32_t *label, const struct cc *r)
{
	uint64_t roots = 0;

	memset(label, 0xff, r->vertices * sizeof(*label));
	for (uint32_t v = 0; v < r->vertices; v++) {
		uint32_t root = root_of(up, v);

		roots += root == v;
		if (label[root] == CSR_NONE)
			label[root] = r->component[v];
		if (label[root] != r->component[v])
			return differs("the component", v);
	}
	return roots == r->components ? 0 : differs("the number of components at the first", 0);
}

int verify_cc(const struct csr *g, const struct cc *r)
{
	uint64_t n = g->h.vertices;
	struct plain p;
	uint32_t *up, *label;
	int err = load_plain(g, false, &p);

	if (err)
		return err;
	up = mem_alloc(n, sizeof(*up), "components");
	label = mem_alloc(n, sizeof(*label), "components");
	err = up && label ? 0 : -ENOMEM;
	if (!err) {
		plain_cc(&p, up);
		err = same_partition(up, label, r);
	}
	mem_free(up, n, sizeof(*up));
	mem_free(label, n, sizeof(*label));
	unload(&p);
	return err;
}

static void plain_iteration(const struct plain *p, const double *rank, double *next)
{
	double loose = 0;

	for (uint64_t v = 0; v < p->n; v++)
		next[v] = 0;
	for (uint64_t v = 0; v < p->n; v++) {
		uint64_t from = p->g->offsets[v], to = p->g->offsets[v + 1];

		if (from == to)
			loose += rank[v];
		for (uint64_t i = from; i < to; i++)
			next[id_at(p, i)] += rank[v] / (double)(to - from);
	}
	for (uint64_t v = 0; v < p->n; v++)
		next[v] = (1 - PAGERANK_DAMPING) / (double)p->n +
			  PAGERANK_DAMPING * (next[v] + loose / (double)p->n);
}

static int compare_ranks(const double *rank, const struct pagerank *r)
{
	double off = 0;

	for (uint64_t v = 0; v < r->vertices; v++)
		off += fabs(rank[v] - (double)r->rank[v] / (double)PAGERANK_ONE);
	return off <= PAGERANK_TOLERANCE
		       ? 0
		       : err_set(-EBADMSG,
				 "the result is wrong: ranks differ by %g from an in-memory run",
				 off);
}

int verify_pagerank(const struct csr *g, const struct pagerank *r)
{
	uint64_t n = g->h.vertices;
	struct plain p;
	double *rank, *next, *swap;
	int err = load_plain(g, false, &p);

	if (err)
		return err;
	rank = mem_alloc(n, sizeof(*rank), "ranks");
	next = mem_alloc(n, sizeof(*next), "ranks");
	err = rank && next ? 0 : -ENOMEM;
	for (uint64_t v = 0; v < n && !err; v++)
		rank[v] = 1 / (double)n;
	for (uint32_t i = 0; i < r->iterations && !err; i++) {
		plain_iteration(&p, rank, next);
		progress_update(i, r->iterations, "iterations");
		swap = rank;
		rank = next;
		next = swap;
	}
	if (!err)
		err = compare_ranks(rank, r);
	mem_free(rank, n, sizeof(*rank));
	mem_free(next, n, sizeof(*next));
	unload(&p);
	return err;
}

struct heap {
	struct {
		uint64_t dist;
		uint32_t v;
	} * item;
	uint64_t n, room;
};

static bool heap_push(struct heap *h, uint64_t dist, uint32_t v)
{
	uint64_t i = h->n++;

	if (i == h->room) {
		uint64_t room = h->room * 2 + 1024;
		void *item = realloc(h->item, room * sizeof(*h->item));

		if (!item)
			return false;
		h->item = item;
		h->room = room;
	}
	for (; i && h->item[(i - 1) / 2].dist > dist; i = (i - 1) / 2)
		h->item[i] = h->item[(i - 1) / 2];
	h->item[i].dist = dist;
	h->item[i].v = v;
	return true;
}

static uint32_t heap_pop(struct heap *h, uint64_t *dist)
{
	uint32_t v = h->item[0].v;
	uint64_t i = 0, last = --h->n;

	*dist = h->item[0].dist;
	for (uint64_t k; (k = 2 * i + 1) < last; i = k) {
		if (k + 1 < last && h->item[k + 1].dist < h->item[k].dist)
			k++;
		if (h->item[last].dist <= h->item[k].dist)
			break;
		h->item[i] = h->item[k];
	}
	h->item[i] = h->item[last];
	return v;
}

static int dijkstra(const struct plain *p, uint32_t source, uint64_t *dist)
{
	struct heap h = {0};
	bool ok;

	memset(dist, 0xff, p->n * sizeof(*dist));
	dist[source] = 0;
	ok = heap_push(&h, 0, source);
	while (ok && h.n) {
		uint64_t d;
		uint32_t v = heap_pop(&h, &d);

		if (d > dist[v])
			continue;
		for (uint64_t i = p->g->offsets[v]; i < p->g->offsets[v + 1ull] && ok; i++) {
			uint64_t u = id_at(p, i), far = d + (p->weights ? p->weights[i] : 1);

			if (far >= dist[u])
				continue;
			dist[u] = far;
			ok = heap_push(&h, far, (uint32_t)u);
		}
	}
	free(h.item);
	return ok ? 0 : err_set(-ENOMEM, "no memory to verify the result");
}

int verify_sssp(const struct csr *g, uint32_t source, const struct sssp *r)
{
	uint64_t n = g->h.vertices, *dist;
	struct plain p;
	int err = load_plain(g, true, &p);

	if (err)
		return err;
	dist = mem_alloc(n, sizeof(*dist), "distances");
	err = dist ? dijkstra(&p, source, dist) : -ENOMEM;
	for (uint64_t v = 0; v < n && !err; v++)
		if (dist[v] != r->dist[v])
			err = differs("the distance", v);
	mem_free(dist, n, sizeof(*dist));
	unload(&p);
	return err;
}
