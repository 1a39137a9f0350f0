// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Edge lists as the SNAP collection has them: two ids a line, comments behind #. The ids may be
 * any 64-bit numbers; vertices are numbered in their order, and where the ids are not 0, 1, 2, ...
 * already, they stay as names.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/input.h"
#include "tools/common/progress.h"
#include "csr.h"
#include "list.h"

int list_add(struct list *l, uint32_t from, uint32_t to, uint32_t weight)
{
	if (l->edges == l->room) {
		uint64_t room = l->room ? l->room * 2 : 1024;
		struct list_edge *e = realloc(l->edge, room * sizeof(*e));

		if (!e)
			return err_set(-ENOMEM, "no memory for %llu edges", (ull)room);
		l->edge = e;
		l->room = room;
	}
	l->edge[l->edges++] = (struct list_edge){from, to, weight};
	return 0;
}

void list_free(struct list *l)
{
	free(l->edge);
	free(l->names);
	memset(l, 0, sizeof(*l));
}

/* struct idmap - A map from the 64-bit ids of a file to dense vertex numbers. */
struct idmap {
	uint64_t *ids; /* in the order of first appearance; idmap_sort() makes it ascending */
	uint64_t count;
	uint64_t room;
	uint32_t *slot; /* 1 + index into ids, 0: empty */
	uint64_t slots;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* Where @id is, or where it would be put: linear probing in a table at most half full. */
static uint64_t probe(const struct idmap *m, uint64_t id)
{
	uint64_t s = mix(id) & (m->slots - 1);

	while (m->slot[s] && m->ids[m->slot[s] - 1] != id)
		s = (s + 1) & (m->slots - 1);
	return s;
}

static int grow(struct idmap *m)
{
	uint64_t room = m->room ? m->room * 2 : 512;
	uint64_t *ids = realloc(m->ids, room * sizeof(*ids));
	uint32_t *slot;

	if (ids)
		m->ids = ids;
	slot = calloc(room * 2, sizeof(*slot));
	if (!ids || !slot) {
		free(slot);
		return err_set(-ENOMEM, "no memory for %llu vertices", (ull)room);
	}
	free(m->slot);
	m->slot = slot;
	m->room = room;
	m->slots = room * 2;
	for (uint64_t i = 0; i < m->count; i++)
		m->slot[probe(m, m->ids[i])] = (uint32_t)i + 1;
	return 0;
}

/* The number of @id, a new one if need be. 0, -ENOMEM or -E2BIG. */
static int idmap_add(struct idmap *m, uint64_t id, uint32_t *number)
{
	uint64_t s;
	int err;

	if (m->count == m->room) {
		err = grow(m);
		if (err)
			return err;
	}
	s = probe(m, id);
	if (!m->slot[s]) {
		if (m->count == CSR_MAX_VERTICES)
			return err_set(-E2BIG, "more vertices than 32-bit ids can name");
		m->ids[m->count++] = id;
		m->slot[s] = (uint32_t)m->count;
	}
	*number = m->slot[s] - 1;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Renumber in ascending order of ids; @rank[old number] = new number, for the caller to free. */
static int idmap_sort(struct idmap *m, uint32_t **rank)
{
	uint64_t *sorted = malloc((m->count + 1) * sizeof(*sorted));
	uint32_t *r = malloc((m->count + 1) * sizeof(*r));

	if (!sorted || !r) {
		free(sorted);
		free(r);
		return err_set(-ENOMEM, "no memory for %llu vertices", (ull)m->count);
	}
	if (m->count) {
		memcpy(sorted, m->ids, m->count * sizeof(*sorted));
		qsort(sorted, m->count, sizeof(*sorted), ascending);
	}
	for (uint64_t i = 0; i < m->count; i++)
		r[m->slot[probe(m, sorted[i])] - 1] = (uint32_t)i;
	free(m->ids);
	m->ids = sorted;
	/* The slots have the old numbers, so they end here. */
	free(m->slot);
	m->slot = NULL;
	m->room = m->slots = 0;
	*rank = r;
	return 0;
}

static void idmap_free(struct idmap *m)
{
	free(m->ids);
	free(m->slot);
	memset(m, 0, sizeof(*m));
}

/* The number @v of line @line as a weight, rounded. */
static int take_weight(const char *path, uint64_t line, double v, uint32_t *weight)
{
	if (!(v >= 0 && v <= 4294967295.0))
		return err_set(-EINVAL, "%s, line %llu: weight %g is not from 0 to 4294967295",
			       path, (ull)line, v);
	*weight = (uint32_t)(v + 0.5 > 4294967295.0 ? v : v + 0.5);
	return 0;
}

/* Read the next word of *@p as a number and move *@p behind it. */
static bool take_number(char **p, uint64_t *v)
{
	char *end;

	while (isspace((unsigned char)**p))
		++*p;
	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*v = strtoull(*p, &end, 10);
	*p = end;
	return !errno;
}

static int read_line(const char *path, uint64_t line, char *p, bool weights, struct idmap *ids,
		     struct list *l)
{
	uint32_t from, to, w = 0;
	uint64_t a, b;
	char *end;
	int err;

	while (isspace((unsigned char)*p))
		p++;
	if (!*p || *p == '#')
		return 0;
	if (!take_number(&p, &a) || !take_number(&p, &b))
		return err_set(-EINVAL, "%s, line %" PRIu64 ": an edge needs two vertex ids", path,
			       line);
	if (weights) {
		double v = strtod(p, &end);

		if (end == p)
			return err_set(-EINVAL,
				       "%s, line %" PRIu64 ": no third column for the weight", path,
				       line);
		err = take_weight(path, line, v, &w);
		if (err)
			return err;
	}
	err = idmap_add(ids, a, &from);
	if (!err)
		err = idmap_add(ids, b, &to);
	return err ? err : list_add(l, from, to, w);
}

static int name_vertices(const struct idmap *ids, struct list *l)
{
	char *p;

	if (!ids->count || ids->ids[ids->count - 1] == ids->count - 1)
		return 0;
	l->names = malloc(ids->count * 21);
	if (!l->names)
		return err_set(-ENOMEM, "no memory for names");
	p = l->names;
	for (uint64_t i = 0; i < ids->count; i++)
		p += sprintf(p, "%" PRIu64, ids->ids[i]) + 1;
	l->names_len = (uint64_t)(p - l->names);
	return 0;
}

static int number_vertices(struct idmap *ids, struct list *l)
{
	uint32_t *rank = NULL;
	int err = idmap_sort(ids, &rank);

	if (err)
		return err;
	for (uint64_t i = 0; i < l->edges; i++) {
		l->edge[i].from = rank[l->edge[i].from];
		l->edge[i].to = rank[l->edge[i].to];
	}
	free(rank);
	l->vertices = ids->count;
	return name_vertices(ids, l);
}

int snap_read(FILE *f, const char *path, bool weights, struct list *l)
{
	struct idmap ids = {0};
	uint64_t line = 0;
	char *text = NULL;
	size_t room = 0;
	int err = 0, got = 1;

	while (!err && (got = input_line(f, path, &text, &room)) > 0) {
		err = read_line(path, ++line, text, weights, &ids, l);
		if (line % 65536 == 0)
			progress_update(line, 0, "lines");
	}
	err = err ? err : got;
	if (!err && !l->edges)
		err = err_set(-EINVAL, "%s has no edges", path);
	if (!err)
		err = number_vertices(&ids, l);
	l->weighted = weights;
	free(text);
	idmap_free(&ids);
	return err;
}
