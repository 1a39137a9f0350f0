/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The edges of an open graph, wherever they are: on storage behind a cache, mapped, or in memory.
 *
 * Algorithms see them through one function, edges_sweep(). It goes through the edge lists of a set
 * of vertices in the order of the file, on all threads: the file is cut into blocks of whole
 * lines, a thread takes the next block that holds a wanted list, and it has the lines of the
 * blocks that it took read ahead while it works on the first of them. A block belongs to one
 * thread, so no line is read twice in a sweep.
 */
#ifndef TOOLS_GRAPH_EDGES_H
#define TOOLS_GRAPH_EDGES_H

#include <annex/array.h>
#include <annex/mapping.h>
#include "tools/common/device.h"
#include "tools/common/pool.h"
#include "csr.h"

enum edges_access { EDGES_ARRAY, EDGES_MMAP, EDGES_MEMORY };

/*
 * enum edges_mechanisms - With an array: how its elements come, each with those before it.
 * @EDGES_NONE: each element is a read of its block from the device; 32 at a time.
 * @EDGES_CACHE: each element probes the cache.
 * @EDGES_COALESCE: of 32 elements, those in one line make one probe.
 * @EDGES_REUSE: a line is held for all of its elements.
 * @EDGES_AHEAD: and lines are read ahead.
 */
enum edges_mechanisms { EDGES_NONE, EDGES_CACHE, EDGES_COALESCE, EDGES_REUSE, EDGES_AHEAD };

struct edges_opts {
	int access;     /* enum edges_access */
	bool random;    /* tell the kernel that a mapping is accessed at random */
	bool cold;      /* drop the file from the page cache first */
	bool warm;      /* have all in the cache first */
	int mechanisms; /* enum edges_mechanisms */
};

struct edges_lane;

struct edges {
	const struct csr *g;
	struct pool *pool;
	enum edges_access access;
	enum edges_mechanisms mechanisms;
	struct storage store;
	struct annex_ns ns; /* of its first device, without a cache */
	struct annex_array ids, weights;
	struct annex_mapping *mapping;
	const char *flat;       /* the whole file, unless it is an array */
	uint32_t *block_vertex; /* the vertex that each block begins in */
	uint64_t blocks;
	uint64_t block_bytes;
	uint64_t origin; /* where in the file block 0 begins */
	uint32_t line;
	uint64_t window; /* lines that a thread reads ahead */
	struct edges_lane *lanes;
};

/*
 * edges_visit - Gets @n neighbours of @v, all of them vertices of the graph, and their weights
 * (NULL if the graph has none or they were not asked for). A long list comes in pieces, to several
 * threads at once.
 */
typedef void (*edges_visit)(void *ctx, unsigned int thread, uint32_t v, const uint32_t *ids,
			    const uint32_t *weights, uint64_t n);

/* edges_open() - Open the edges of @g. edges_close() - Close them. */
int edges_open(struct edges *e, const struct csr *g, struct pool *pool,
	       const struct edges_opts *opts, const struct storage_opts *so);
int edges_close(struct edges *e);

/*
 * edges_sweep() - Visit the lists of all vertices whose bit in @set is set (NULL: of all).
 *
 * Returns 0 or -errno with the line set: an error of the storage, or an id out of range.
 */
int edges_sweep(struct edges *e, const uint64_t *set, bool weights, edges_visit visit, void *ctx);

/* edges_count() - Edges visited so far. edges_asked() - Their bytes, weights included. */
uint64_t edges_count(const struct edges *e);
uint64_t edges_asked(const struct edges *e);

/* For the sweep: the edges of block @b are [*@first, *@end). */
void edges_block(const struct edges *e, uint64_t b, uint64_t *first, uint64_t *end);

#define EDGES_RING 1024u /* blocks that a thread may have taken and not worked on */
#define EDGES_RANGES 128u

/* State that a thread keeps between sweeps. */
struct edges_lane {
	uint64_t count, asked;
	uint64_t ahead; /* lines of the blocks in the ring */
	unsigned int head, tail;
	struct {
		uint64_t block;
		uint64_t lines;
	} ring[EDGES_RING];
	unsigned int ranges, last_ids, last_weights;
	struct annex_range range[EDGES_RANGES];
} __attribute__((aligned(64)));

#endif
