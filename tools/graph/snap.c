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
#include "idmap.h"
#include "list.h"

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
		return err_set(-EINVAL, "%s, line %" PRIu64 ": an edge is two vertex ids", path,
			       line);
	if (weights) {
		double v = strtod(p, &end);

		if (end == p)
			return err_set(-EINVAL,
				       "%s, line %" PRIu64 ": no third column to be the weight",
				       path, line);
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
	uint32_t *rank;
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
		err = err_set(-EINVAL, "%s holds no edges", path);
	if (!err)
		err = number_vertices(&ids, l);
	l->weighted = weights;
	free(text);
	idmap_free(&ids);
	return err;
}
