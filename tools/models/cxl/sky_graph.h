/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random directed graphs. Degrees follow power laws. As in a graph of followers, few vertices have
 * incoming edges: the core, the only vertices that can be reached. Vertices are numbered by
 * in-degree, as for a search; their lists of edges are in random order, as in a file.
 */
#ifndef TOOLS_CXL_SKY_GRAPH_H
#define TOOLS_CXL_SKY_GRAPH_H

#include "sky.h"

#define SKY_DEPTHS 64u /* levels that a search has at most */

/*
 * struct sky_shape - A graph at scale 1.
 * @vertices: number of vertices.
 * @least: smallest out-degree; the mean is almost twice as large.
 * @core: vertices for each vertex of the core.
 */
struct sky_shape {
	uint32_t vertices;
	uint32_t least;
	uint32_t core;
};

/*
 * struct sky_graph - Layout of a graph in @data.
 * @n: number of vertices.
 * @core: number of vertices of the core.
 * @m: number of edges.
 * @lists: u64 of each vertex: its first edge; in the upper half, the end of its edges.
 * @edges: u64 of each edge: its target.
 * @end: end of the edges, rounded up to a line.
 */
struct sky_graph {
	uint32_t n;
	uint32_t core;
	uint64_t m;
	uint64_t lists;
	uint64_t edges;
	uint64_t end;
};

/* sky_graph_plan() - Set all members of @g. */
void sky_graph_plan(struct sky_graph *g, const struct work *w, const struct sky_shape *shape);

/* sky_graph_fill() - Write the graph to @data. */
void sky_graph_fill(const struct sky_graph *g, const struct work *w, const struct sky_shape *shape);

/* sky_graph_core() - A random vertex of the core. */
uint32_t sky_graph_core(const struct sky_graph *g, uint64_t *state);

#endif
