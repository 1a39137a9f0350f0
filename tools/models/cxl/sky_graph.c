// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs of the breadth-first search and of betweenness centrality.
 */
#include <math.h>
#include "sky_graph.h"

#define HEAVIEST 32u /* largest out-degree divided by the smallest */

/* Pareto's law with exponent 2. */
static uint32_t degree(uint64_t *state, uint32_t least)
{
	double u = (double)((annex_random(state) >> 11) + 1) * 0x1p-53;
	double d = least / sqrt(u);

	return d < least * HEAVIEST ? (uint32_t)d : least * HEAVIEST;
}

uint32_t sky_graph_core(const struct sky_graph *g, uint64_t *state)
{
	return sky_below(state, g->core);
}

/* The probability of vertex r of the core is proportional to 1 / sqrt(r). */
static uint32_t target(const struct sky_graph *g, uint64_t *state)
{
	uint64_t x = annex_random(state) >> 32;

	return (uint32_t)((x * x >> 32) * g->core >> 32);
}

void sky_graph_plan(struct sky_graph *g, const struct work *w, const struct sky_shape *shape)
{
	uint64_t state = w->seed;

	g->n = sky_scaled(w, shape->vertices, 64);
	g->core = g->n / shape->core > 4 ? g->n / shape->core : 4;
	g->m = 0;
	for (uint32_t v = 0; v < g->n; v++)
		g->m += degree(&state, shape->least);
	g->lists = 0;
	g->edges = (g->n + 7) / 8 * SKY_LINE;
	g->end = g->edges + (g->m + 7) / 8 * SKY_LINE;
}

void sky_graph_fill(const struct sky_graph *g, const struct work *w, const struct sky_shape *shape)
{
	uint64_t *list = (uint64_t *)(w->data + g->lists);
	uint64_t *edge = (uint64_t *)(w->data + g->edges);
	uint64_t degrees = w->seed, targets = ~w->seed;
	uint32_t first = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t end = first + degree(&degrees, shape->least);

		list[sky_place(i, g->n)] = (uint64_t)end << 32 | first;
		first = end;
	}
	for (uint64_t e = 0; e < g->m; e++)
		edge[e] = target(g, &targets);
}
