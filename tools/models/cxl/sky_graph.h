/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random directed graphs. Degrees follow power laws. As in a graph of followers, few vertices have
 * edges that lead to them, the core, and only these can be reached. Vertices are numbered by how
 * often edges lead to them, as for a search; the lists of their edges lie in any order, that of the
 * graph's file.
 */
#ifndef TOOLS_CXL_SKY_GRAPH_H
#define TOOLS_CXL_SKY_GRAPH_H

#include "sky.h"

#define SKY_DEPTHS 64u /* levels that a search has at most */

/* struct sky_shape - A graph at scale 1. @least: smallest out-degree; the mean is almost twice. */
struct sky_shape {
	uint32_t vertices;
	uint32_t least;
	uint32_t core; /* one vertex in so many is in the core */
};

/*
 * struct sky_graph - Where it lies in @data.
 * @lists: u64 of each vertex: its first edge, and in the upper half the one behind its last.
 * @edges: u64 of each edge: the vertex that it leads to.
 * @end: behind the edges, at a line of its own.
 */
struct sky_graph {
	uint32_t n;
	uint32_t core;
	uint64_t m;
	uint64_t lists;
	uint64_t edges;
	uint64_t end;
};

/* sky_graph_plan() - Sets all of @g. */
void sky_graph_plan(struct sky_graph *g, const struct work *w, const struct sky_shape *shape);

/* sky_graph_fill() - Writes the graph to @data. */
void sky_graph_fill(const struct sky_graph *g, const struct work *w, const struct sky_shape *shape);

/* sky_graph_core() - A random vertex of the core. */
uint32_t sky_graph_core(const struct sky_graph *g, uint64_t *state);

#endif
