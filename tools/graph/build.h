/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From edges in any order to sorted rows, in parallel, with the result the same for any number of
 * threads.
 */
#ifndef TOOLS_GRAPH_BUILD_H
#define TOOLS_GRAPH_BUILD_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/common/pool.h"
#include "csr.h"
#include "list.h"

#define BUILD_BLOCK 16384u /* edges of a block */

/*
 * struct build_source - Where edges come from: numbered blocks, each of which can be produced at
 * any time by any thread, and more than once.
 * @fill: puts the edges of @block into @buf (room for BUILD_BLOCK) and returns how many.
 */
struct build_source {
	void *ctx;
	uint64_t blocks;
	uint32_t (*fill)(void *ctx, uint64_t block, struct list_edge *buf);
};

/*
 * build_csr() - Make the rows of @d from @src. Self loops are dropped; of duplicates the lightest
 * stays. With @both every edge goes in both directions. @d has its vertices and flags set; free it
 * with build_free().
 */
int build_csr(struct pool *pool, const struct build_source *src, bool both, struct csr_data *d);
void build_free(struct csr_data *d);

/* build_list_source() - The edges of a list as a source. */
void build_list_source(struct list *l, struct build_source *src);

/*
 * struct gen - A synthetic graph with the parameters of the GAP benchmark suite: 2^@scale vertices
 * and @degree times as many edges, a function of @seed alone.
 */
struct gen {
	bool kron; /* or uniform random */
	uint32_t scale;
	uint32_t degree;
	uint64_t seed;
	bool weights;
	uint32_t *place; /* where the permutation puts each vertex */
};

/* gen_init() - Make @g a source of edges. gen_free() - Free its memory. */
int gen_init(struct gen *g, struct build_source *src);
void gen_free(struct gen *g);

#endif
