/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A graph as importers read it: a growing list of edges, and perhaps names.
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
	bool undirected; /* every edge holds both ways */
	bool weighted;
	char *names;
	uint64_t names_len;
	uint64_t unresolved; /* references to vertices that do not exist, left out */
};

/* list_add() - Append an edge. 0 or -ENOMEM. */
int list_add(struct list *l, uint32_t from, uint32_t to, uint32_t weight);
void list_free(struct list *l);

/*
 * The importers: read @f, called @path in messages, into the zeroed list @l, to be freed in any
 * case. With @weights the values in the file become weights.
 */
int mtx_read(FILE *f, const char *path, bool weights, struct list *l);
int snap_read(FILE *f, const char *path, bool weights, struct list *l);
int debian_read(FILE *f, const char *path, struct list *l);

/* debian_import() - The same from the package lists of this machine. */
int debian_import(struct list *l);

/* list_number() - Read the next word of *@p as a number and move *@p behind it. */
bool list_number(char **p, uint64_t *v);

/* list_weight() - The number @v of line @line as a weight. 0 or -EINVAL with the line set. */
int list_weight(const char *path, uint64_t line, double v, uint32_t *weight);

#endif
