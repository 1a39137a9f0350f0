// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "tools/common/records.h"
#include "table.h"

enum kind { KIND_INT, KIND_FLOAT, KIND_TEXT };

/* struct csv - @t: NULL while the types are determined. */
struct csv {
	struct records r;
	struct table_writer *t;
	uint64_t rows;
	unsigned int columns;
	char *names[RECORDS_FIELDS];
	enum kind kind[RECORDS_FIELDS];
	int column[RECORDS_FIELDS]; /* number in the table, -1: left out */
};

static int take_name(struct csv *c, unsigned int i, const char *s)
{
	const char *end;

	s += strspn(s, " \t");
	for (end = s + strlen(s); end > s && isspace((unsigned char)end[-1]); end--)
		;
	c->names[i] = strndup(s, (size_t)(end - s));
	return c->names[i] ? 0 : err_set(-ENOMEM, "out of memory");
}

static enum kind kind_of(const char *s)
{
	char *end;

	if (!s[strspn(s, " \t")])
		return KIND_FLOAT; /* missing: NaN */
	errno = 0;
	(void)strtoll(s, &end, 10);
	if (!errno && !end[strspn(end, " \t")])
		return KIND_INT;
	(void)strtod(s, &end);
	return end != s && !end[strspn(end, " \t")] ? KIND_FLOAT : KIND_TEXT;
}

static int take_value(struct csv *c, unsigned int i, const char *s)
{
	int64_t n;
	double d;

	if (c->column[i] < 0)
		return 0;
	if (c->kind[i] == KIND_INT) {
		n = strtoll(s, NULL, 10);
		return column_put(&c->t->file[c->column[i]], &n, sizeof(n));
	}
	d = s[strspn(s, " \t")] ? strtod(s, NULL) : NAN;
	return column_put(&c->t->file[c->column[i]], &d, sizeof(d));
}

static int on_field(void *ctx, unsigned int i, const char *s, size_t n)
{
	struct csv *c = ctx;
	enum kind kind;

	if (!c->r.record)
		return c->t ? 0 : take_name(c, i, s);
	if (i >= c->columns)
		return 0; /* told of at the record's end */
	if (c->t)
		return take_value(c, i, s);
	kind = strlen(s) == n ? kind_of(s) : KIND_TEXT;
	if (kind > c->kind[i])
		c->kind[i] = kind;
	return 0;
}

static int on_end(void *ctx, unsigned int fields)
{
	struct csv *c = ctx;

	if (!c->r.record) {
		c->columns = fields;
		return 0;
	}
	c->rows++;
	if (fields == c->columns)
		return 0;
	return records_bad(&c->r, "%u fields, the first line has %u", fields, c->columns);
}

/* Of the columns written: columns that are left out may have any name. */
static int check_name(const struct csv *c, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++)
		if (c->column[k] >= 0 && !strcmp(c->names[k], c->names[i]))
			return err_set(-EINVAL, "%s: two columns are called \"%s\"", c->r.path,
				       c->names[i]);
	return 0;
}

static void list_name(const char *name, struct csv_summary *sum)
{
	size_t len = strlen(sum->names), room = sizeof(sum->names) - len;

	if (strlen(name) + sizeof(", , ...") < room)
		snprintf(sum->names + len, room, "%s%s", len ? ", " : "", name);
	else if (strcmp(sum->names + (len < 3 ? 0 : len - 3), "...") != 0)
		strcpy(sum->names + len, len ? ", ..." : "...");
}

static int open_columns(struct csv *c, struct table_writer *t, struct csv_summary *sum)
{
	int err = 0;

	for (unsigned int i = 0; i < c->columns && !err; i++) {
		c->column[i] = -1;
		if (c->kind[i] == KIND_TEXT) {
			sum->texts++;
			continue;
		}
		err = check_name(c, i);
		if (err)
			break;
		list_name(c->names[i], sum);
		c->column[i] = (int)t->n;
		err = table_add(t, c->names[i], c->kind[i] == KIND_INT ? COLUMN_I64 : COLUMN_F64);
	}
	if (!err && !t->n)
		err = err_set(-EINVAL, "%s has no column of numbers", c->r.path);
	sum->columns = t->n;
	return err;
}

static int convert(struct csv *c, struct table_writer *t, struct csv_summary *sum)
{
	int err = open_columns(c, t, sum);

	if (err)
		return err;
	progress_begin("converting");
	c->t = t;
	c->rows = 0;
	err = records_read(&c->r);
	t->rows = c->rows;
	if (!err && t->rows != sum->rows)
		err = err_set(-EIO, "%s has changed while it was read", c->r.path);
	return err;
}

static int look(struct csv *c)
{
	int err;

	progress_begin("looking at the columns");
	err = records_read(&c->r);
	if (!err && !c->columns)
		err = err_set(-EINVAL, "%s is empty: its first line should name the columns",
			      c->r.path);
	if (!err && !c->rows)
		err = err_set(-EINVAL, "%s has no rows", c->r.path);
	return err;
}

int csv_import(const char *path, const char *dir, bool temporary, struct csv_summary *sum)
{
	struct csv *c = calloc(1, sizeof(*c));
	struct table_writer *t = calloc(1, sizeof(*t));
	int err;

	memset(sum, 0, sizeof(*sum));
	if (!c || !t) {
		err = err_set(-ENOMEM, "out of memory");
	} else {
		c->r = (struct records){.field = on_field, .end = on_end, .ctx = c, .path = path};
		err = look(c);
		sum->rows = c->rows;
		if (!err)
			err = table_create(t, dir, temporary);
		if (!err)
			err = convert(c, t, sum);
		err = table_close(t, err);
		for (unsigned int i = 0; i < RECORDS_FIELDS; i++)
			free(c->names[i]);
	}
	free(t);
	free(c);
	return err;
}
