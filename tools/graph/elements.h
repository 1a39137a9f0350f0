/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Elements of the edges' arrays, read with all of BaM's mechanisms or with some, to measure the
 * effect of each (BaM's figure 8).
 */
#ifndef TOOLS_GRAPH_ELEMENTS_H
#define TOOLS_GRAPH_ELEMENTS_H

#include "tools/common/held.h"
#include "edges.h"

/* Of a warp: as many elements are asked for together. */
#define ELEMENTS_GROUP 32u

/* struct elements - A thread's state for one of the arrays. */
struct elements {
	struct held held;
	uint64_t values[ELEMENTS_GROUP];
	char *blocks;  /* one an element, without a cache */
	uint64_t addr; /* for the device */
};

/*
 * elements_open() - Begin with array @a of @e; elements_close() frees the memory and releases the
 * line. 0 or -errno with the line set.
 */
int elements_open(struct elements *el, struct edges *e, const struct annex_array *a);
void elements_close(struct elements *el, struct edges *e);

/*
 * elements_get() - Element @i and others after it, up to @n in all: *@have of them at *@data, until
 * the next call. 0, or an errno of the cache or of the device, without a line.
 */
int elements_get(struct elements *el, struct edges *e, uint64_t i, uint64_t n, const void **data,
		 uint64_t *have);

#endif
