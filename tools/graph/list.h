/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A graph as it is imported: a growing list of edges, and perhaps names.
 */
#ifndef TOOLS_GRAPH_LIST_H
#define TOOLS_GRAPH_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct list_edge {
	uint32_t from, to, weight;
};

struct list {
	uint64_t vertices;
	uint64_t edges;
	uint64_t room;
	struct list_edge *edge;
	bool weighted;
	char *names;
	uint64_t names_len;
};

/* list_add() - Append an edge. 0 or -ENOMEM. */
int list_add(struct list *l, uint32_t from, uint32_t to, uint32_t weight);
void list_free(struct list *l);

/*
 * snap_read() - Read @f, called @path in messages, into the zeroed list @l, to be freed in any
 * case. With @weights the third column becomes weights.
 */
int snap_read(FILE *f, const char *path, bool weights, struct list *l);

#endif
