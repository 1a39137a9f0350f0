/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map from the 64-bit ids of a file to dense vertex numbers.
 */
#ifndef TOOLS_GRAPH_IDMAP_H
#define TOOLS_GRAPH_IDMAP_H

#include <stdint.h>

struct idmap {
	uint64_t *ids; /* in the order of first appearance; idmap_sort() makes it ascending */
	uint64_t count;
	uint64_t room;
	uint32_t *slot; /* 1 + index into ids, 0: empty */
	uint64_t slots;
};

/* idmap_add() - The number of @id, a new one if need be. 0, -ENOMEM or -E2BIG. */
int idmap_add(struct idmap *m, uint64_t id, uint32_t *number);

/*
 * idmap_sort() - Renumber in ascending order of ids; @rank[old number] = new number, to be freed
 * by the caller.
 */
int idmap_sort(struct idmap *m, uint32_t **rank);
void idmap_free(struct idmap *m);

#endif
