// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "../error.h"
#include "../input.h"
#include "../progress.h"
#include "csv.h"
#include "table.h"

#define FIELDS 1024

enum kind { KIND_INT, KIND_FLOAT, KIND_TEXT };

struct csv {
	FILE *f;
	const char *path;
	uint64_t line, size;
	char *buf; /* the fields of a record, with their NULs */
	size_t room, len;
	unsigned int fields, columns;
	size_t at[FIELDS];
	char *names[FIELDS];
	enum kind kind[FIELDS];
	int column[FIELDS]; /* number in the table, -1: left out */
};

static int bad(const struct csv *c, const char *what)
{
	return err_set(-EINVAL, "%s, line %llu: %s", c->path, (unsigned long long)c->line, what);
}

static int put_char(struct csv *c, char ch)
{
	if (c->len == INPUT_LINE)
		return bad(c, "a record of more than 16 MiB");
	if (c->len == c->room) {
		size_t room = c->room * 2 + 4096;
		char *buf = realloc(c->buf, room);

		if (!buf)
			return err_set(-ENOMEM, "no memory for a line of %s", c->path);
		c->buf = buf;
		c->room = room;
	}
	c->buf[c->len++] = ch;
	return 0;
}

/* Inside quotes, of which the first has been read; a quote is written as two of them. */
static int read_quoted(struct csv *c)
{
	for (;;) {
		int ch = getc_unlocked(c->f), err;

		if (ch == EOF)
			return bad(c, "a quoted field does not end");
		if (ch == '"') {
			ch = getc_unlocked(c->f);
			if (ch != '"') {
				ungetc(ch, c->f);
				return 0;
			}
		}
		c->line += ch == '\n';
		err = put_char(c, (char)ch);
		if (err)
			return err;
	}
}

/* One field; *@end is what followed it: ',', '\n' or EOF. */
static int read_field(struct csv *c, int *end)
{
	int err = 0;

	if (c->fields == FIELDS)
		return bad(c, "too many fields");
	c->at[c->fields++] = c->len;
	while (!err) {
		int ch = getc_unlocked(c->f);

		if (ch == ',' || ch == '\n' || ch == EOF) {
			*end = ch;
			break;
		}
		if (ch == '"')
			err = read_quoted(c);
		else if (ch != '\r')
			err = put_char(c, (char)ch);
	}
	return err ? err : put_char(c, '\0');
}

/* The next record that is not empty: 1, 0 at the end of the file, or -errno. */
static int read_record(struct csv *c)
{
	int end = ',', err;

	do {
		c->fields = 0;
		c->len = 0;
		c->line++;
		do {
			err = read_field(c, &end);
			if (err)
				return err;
		} while (end == ',');
		if (ferror(c->f))
			return err_sys("cannot read %s", c->path);
	} while (end != EOF && c->fields == 1 && !c->buf[0]);
	return c->fields > 1 || c->buf[0];
}

static int read_names(struct csv *c)
{
	int got = read_record(c);

	if (got < 0)
		return got;
	if (!got)
		return err_set(-EINVAL, "%s is empty: its first line should name the columns",
			       c->path);
	c->columns = c->fields;
	for (unsigned int i = 0; i < c->fields; i++) {
		char *s = c->buf + c->at[i] + strspn(c->buf + c->at[i], " \t"), *end;

		for (end = s + strlen(s); end > s && isspace((unsigned char)end[-1]); end--)
			;
		c->names[i] = strndup(s, (size_t)(end - s));
		if (!c->names[i])
			return err_set(-ENOMEM, "out of memory");
	}
	return 0;
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

/* Goes over all records; @t: where they are written, NULL: only find out the kinds. */
static int read_rows(struct csv *c, struct table_writer *t, uint64_t *rows)
{
	int got, err = 0;

	for (*rows = 0; !err && (got = read_record(c)) != 0; ++*rows) {
		if (got < 0)
			return got;
		if (c->fields != c->columns)
			return err_set(-EINVAL, "%s, line %llu: %u fields, the first line has %u",
				       c->path, (unsigned long long)c->line, c->fields, c->columns);
		for (unsigned int i = 0; i < c->fields && !err; i++) {
			const char *s = c->buf + c->at[i];
			int64_t n;
			double d;

			if (!t && c->kind[i] != KIND_TEXT && kind_of(s) > c->kind[i])
				c->kind[i] = kind_of(s);
			if (!t || c->column[i] < 0)
				continue;
			if (c->kind[i] == KIND_INT)
				n = strtoll(s, NULL, 10);
			else
				d = s[strspn(s, " \t")] ? strtod(s, NULL) : NAN;
			err = column_put(&t->file[c->column[i]],
					 c->kind[i] == KIND_INT ? (void *)&n : (void *)&d, 8);
		}
		if (*rows % 16384 == 0)
			progress_update((uint64_t)ftello(c->f) >> 20, c->size >> 20, "MiB");
	}
	return err;
}

/* Of those that are written: what is left out may be called as it likes. */
static int check_name(const struct csv *c, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++)
		if (c->column[k] >= 0 && !strcmp(c->names[k], c->names[i]))
			return err_set(-EINVAL, "%s: two columns are called \"%s\"", c->path,
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
		err = err_set(-EINVAL, "%s has no column of numbers", c->path);
	sum->columns = t->n;
	return err;
}

static int convert(struct csv *c, struct table_writer *t, struct csv_summary *sum)
{
	int got, err = open_columns(c, t, sum);

	if (err)
		return err;
	progress_begin("converting");
	rewind(c->f);
	c->line = 0;
	got = read_record(c);
	err = got < 0 ? got : read_rows(c, t, &t->rows);
	if (!err && t->rows != sum->rows)
		err = err_set(-EIO, "%s has changed while it was read", c->path);
	return err;
}

int csv_import(FILE *f, const char *path, const char *dir, bool temporary, struct csv_summary *sum)
{
	struct csv *c = calloc(1, sizeof(*c));
	struct table_writer *t = calloc(1, sizeof(*t));
	int err;

	memset(sum, 0, sizeof(*sum));
	if (!c || !t) {
		err = err_set(-ENOMEM, "out of memory");
	} else {
		c->f = f;
		c->path = path;
		if (fseeko(f, 0, SEEK_END) || ftello(f) < 0)
			err = err_sys("cannot read %s twice", path);
		else
			err = 0;
		c->size = err ? 0 : (uint64_t)ftello(f);
		rewind(f);
		progress_begin("looking at the columns");
		err = err ? err : read_names(c);
		if (!err)
			err = read_rows(c, NULL, &sum->rows);
		if (!err && !sum->rows)
			err = err_set(-EINVAL, "%s has no rows", path);
		if (!err)
			err = table_create(t, dir, temporary);
		if (!err)
			err = convert(c, t, sum);
		err = table_close(t, err);
		for (unsigned int i = 0; i < c->columns; i++)
			free(c->names[i]);
		free(c->buf);
	}
	free(t);
	free(c);
	return err;
}
