// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Matrix Market coordinate files: row i, column j of a square matrix is the edge i -> j.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "../error.h"
#include "../input.h"
#include "../progress.h"
#include "csr.h"
#include "list.h"

struct mtx {
	FILE *f;
	const char *path;
	char *line;
	size_t room;
	uint64_t number; /* of the line */
	uint64_t vertices, entries;
	bool pattern, symmetric;
};

static int bad(const struct mtx *m, const char *what)
{
	return err_set(-EINVAL, "%s, line %llu: %s", m->path, (ull)m->number, what);
}

/* The next line that is no comment; 1, 0 at the end of the file, or -errno. */
static int next_line(struct mtx *m)
{
	for (;;) {
		int got = input_line(m->f, m->path, &m->line, &m->room);
		char *p;

		if (got <= 0)
			return got;
		m->number++;
		for (p = m->line; isspace((unsigned char)*p); p++)
			;
		if (*p && *p != '%')
			return 1;
	}
}

/* "%%MatrixMarket matrix coordinate pattern|integer|real general|symmetric" */
static int read_banner(struct mtx *m)
{
	char object[32], format[32], field[32], symmetry[32];
	int got = input_line(m->f, m->path, &m->line, &m->room);

	m->number = 1;
	if (got < 0)
		return got;
	if (!got || strncasecmp(m->line, "%%MatrixMarket", 14))
		return bad(m, "a Matrix Market file begins with %%MatrixMarket");
	if (sscanf(m->line + 14, "%31s %31s %31s %31s", object, format, field, symmetry) != 4 ||
	    strcasecmp(object, "matrix"))
		return bad(m, "the banner should read: matrix coordinate FIELD SYMMETRY");
	if (strcasecmp(format, "coordinate"))
		return bad(m, "only coordinate matrices are graphs");
	m->pattern = !strcasecmp(field, "pattern");
	if (!m->pattern && strcasecmp(field, "real") && strcasecmp(field, "integer"))
		return bad(m, "the field has to be pattern, real or integer");
	m->symmetric = !strcasecmp(symmetry, "symmetric");
	if (!m->symmetric && strcasecmp(symmetry, "general"))
		return bad(m, "the symmetry has to be general or symmetric");
	return 0;
}

static int read_size(struct mtx *m)
{
	uint64_t columns;
	int got = next_line(m);
	char *p = m->line;

	if (got < 0)
		return got;
	if (!got || !list_number(&p, &m->vertices) || !list_number(&p, &columns) ||
	    !list_number(&p, &m->entries))
		return bad(m, "rows, columns and entries are missing");
	if (m->vertices != columns)
		return bad(m, "a graph needs a square matrix");
	if (!m->vertices || m->vertices > CSR_MAX_VERTICES)
		return bad(m, "rows have to be from 1 to 4294967294");
	return 0;
}

static int read_entry(struct mtx *m, bool weights, struct list *l)
{
	char *p = m->line, *end;
	uint64_t i, j;
	uint32_t w = 0;
	double v;
	int err;

	if (!list_number(&p, &i) || !list_number(&p, &j))
		return bad(m, "an entry begins with its row and column");
	if (i < 1 || i > m->vertices || j < 1 || j > m->vertices)
		return err_set(-EINVAL, "%s, line %llu: row and column have to be from 1 to %llu",
			       m->path, (ull)m->number, (ull)m->vertices);
	if (!m->pattern) {
		v = strtod(p, &end);
		if (end == p)
			return bad(m, "the entry lacks its value");
		p = end;
		err = weights ? list_weight(m->path, m->number, v, &w) : 0;
		if (err)
			return err;
	}
	while (isspace((unsigned char)*p))
		p++;
	if (*p)
		return bad(m, "something follows the entry");
	return list_add(l, (uint32_t)(i - 1), (uint32_t)(j - 1), w);
}

static int read_entries(struct mtx *m, bool weights, struct list *l)
{
	int err, got;

	while ((got = next_line(m)) > 0) {
		if (l->edges == m->entries)
			return bad(m, "more entries than were announced");
		err = read_entry(m, weights, l);
		if (err)
			return err;
		if (l->edges % 65536 == 0)
			progress_update(l->edges, m->entries, "entries");
	}
	if (got < 0)
		return got;
	if (l->edges != m->entries)
		return err_set(-EINVAL, "%s is truncated: %llu entries of %llu", m->path,
			       (ull)l->edges, (ull)m->entries);
	return 0;
}

int mtx_read(FILE *f, const char *path, bool weights, struct list *l)
{
	struct mtx m = {.f = f, .path = path};
	int err = read_banner(&m);

	if (!err && weights && m.pattern)
		err = err_set(-EINVAL, "%s has no values to be taken as --weights", path);
	if (!err)
		err = read_size(&m);
	if (!err)
		err = read_entries(&m, weights, l);
	l->vertices = m.vertices;
	l->undirected = m.symmetric;
	l->weighted = weights;
	free(m.line);
	return err;
}
