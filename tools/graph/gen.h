/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Synthetic graphs with the parameters of the GAP benchmark suite.
 */
#ifndef TOOLS_GRAPH_GEN_H
#define TOOLS_GRAPH_GEN_H

#include <stdbool.h>
#include <stdint.h>
#include "build.h"

/*
 * struct gen - 2^@scale vertices and @degree times as many edges, a function of @seed alone.
 */
struct gen {
	bool kron; /* or uniform random */
	uint32_t scale;
	uint32_t degree;
	uint64_t seed;
	bool weights;
	uint32_t *place; /* where the permutation puts each vertex */
};

/* gen_init() - Make @g a source of edges. gen_free() - Free what that took. */
int gen_init(struct gen *g, struct build_source *src);
void gen_free(struct gen *g);

#endif
