/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The algorithms. State by vertex is in memory; edges come from sweeps. Each returns 0 or -errno
 * with the line set; results are to be freed in any case, and are zeroed before.
 */
#ifndef TOOLS_GRAPH_ALGO_H
#define TOOLS_GRAPH_ALGO_H

#include "../gpu/rank.h"
#include "edges.h"

/* struct bfs - Depth and parent of every vertex reached; CSR_NONE for the others. */
struct bfs {
	uint64_t vertices;
	uint32_t *depth;
	uint32_t *parent; /* the source is its own */
	uint64_t reached;
	uint32_t levels;
};

int bfs_run(struct edges *e, uint32_t source, struct bfs *r);
void bfs_free(struct bfs *r);

/* struct cc - The smallest vertex of the weakly connected component of each vertex. */
struct cc {
	uint64_t vertices;
	uint32_t *component;
	uint64_t components;
	uint64_t largest; /* vertices in it */
	uint32_t largest_id;
};

int cc_run(struct edges *e, struct cc *r);
void cc_free(struct cc *r);

/*
 * cc_start() - Memory for the components of @n vertices. cc_summarise() - From components that name
 * any smaller vertex of the same component each, all results.
 */
int cc_start(struct cc *r, uint64_t n);
int cc_summarise(struct cc *r);

/* struct pagerank - Ranks in units of 1 / PAGERANK_ONE. */
struct pagerank {
	uint64_t vertices;
	uint64_t *rank;
	uint32_t iterations;
	double change; /* of the last iteration */
};

int pagerank_run(struct edges *e, uint32_t max_iterations, struct pagerank *r);
void pagerank_free(struct pagerank *r);

/* struct sssp - Distance of every vertex; SSSP_FAR: not reached. Without weights an edge is 1. */
struct sssp {
	uint64_t vertices;
	uint64_t *dist;
	uint64_t reached;
	uint64_t farthest;
	uint32_t rounds;
};

#define SSSP_FAR UINT64_MAX

/* Shortest paths by delta-stepping: a round takes vertices that are up to @delta further away than
 * the nearest one. */
int sssp_run(struct edges *e, uint32_t source, uint64_t delta, struct sssp *r);
void sssp_free(struct sssp *r);

/*
 * Independent serial versions over edges read into memory: 0 if the result agrees, -EBADMSG and the
 * line set if not, other errnos if the check failed.
 */
int verify_bfs(const struct csr *g, uint32_t source, const struct bfs *r);
int verify_cc(const struct csr *g, const struct cc *r);
int verify_pagerank(const struct csr *g, const struct pagerank *r);
int verify_sssp(const struct csr *g, uint32_t source, const struct sssp *r);

#endif
