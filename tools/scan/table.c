// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/common/claim.h"
#include "tools/common/cleanup.h"
#include "tools/common/error.h"
#include "table.h"

static char *column_path(const char *dir, const char *name, const char *type)
{
	char *path;

	if (asprintf(&path, "%s/%s.%s", dir, name, type) >= 0)
		return path;
	err_set(-ENOMEM, "out of memory");
	return NULL;
}

/* A file of elements alone. If it ends in one, there are rows for the others. */
static int take_elements(struct table_found *c, enum column_type type)
{
	struct stat st;

	if (stat(c->path, &st))
		return err_sys("cannot open %s", c->path);
	c->elements.type = type;
	c->elements.count = (uint64_t)st.st_size / column_size(type);
	c->rest = (uint64_t)st.st_size % column_size(type);
	return 0;
}

static int take_npy(struct table_found *c)
{
	int err = npy_read(c->path, &c->elements);

	if (!err && c->elements.dims != 1)
		err = err_set(-EINVAL, "%s has %u dimensions: a column has one", c->path,
			      c->elements.dims);
	return err;
}

int table_find(const char *dir, const char *name, struct table_found *c)
{
	struct stat st;

	memset(c, 0, sizeof(*c));
	if (stat(dir, &st))
		return err_sys("cannot open %s", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "%s is not a directory of columns", dir);
	for (int t = 0; column_types[t] && !strchr(name, '/'); t++) {
		c->path = column_path(dir, name, column_types[t]);
		if (!c->path)
			return -ENOMEM;
		if (!access(c->path, F_OK))
			return take_elements(c, (enum column_type)t);
		free(c->path);
	}
	c->path = strchr(name, '/') ? NULL : column_path(dir, name, "npy");
	if (c->path && !access(c->path, F_OK))
		return take_npy(c);
	return err_set(-ENOENT,
		       "%s has no column \"%s\": there is no file %s.f64, .f32, .i64, .i32, .u64, "
		       ".u32 or .npy",
		       dir, name, name);
}

int table_rows(const char *dir, uint64_t *rows)
{
	char *path, extra;
	FILE *f;
	int n;

	*rows = 0;
	if (asprintf(&path, "%s/rows", dir) < 0)
		return err_set(-ENOMEM, "out of memory");
	f = fopen(path, "re");
	free(path);
	if (!f)
		return errno == ENOENT ? 0 : err_sys("cannot open %s/rows", dir);
	n = fscanf(f, "%" SCNu64 " %c", rows, &extra);
	fclose(f);
	if (n != 1 || !*rows)
		return err_set(-EINVAL, "%s/rows must hold the number of rows and nothing else",
			       dir);
	return 0;
}

int table_create(struct table_writer *t, const char *dir, bool temporary)
{
	int err = 0;

	memset(t, 0, sizeof(*t));
	t->temporary = temporary;
	t->dir = strdup(dir);
	if (!t->dir)
		return err_set(-ENOMEM, "out of memory");
	cleanup_hold();
	t->made = !mkdir(dir, 0777);
	if (t->made)
		err = cleanup_add(dir);
	else if (errno != EEXIST)
		err = err_sys("cannot make %s", dir);
	cleanup_release();
	return err;
}

int table_add(struct table_writer *t, const char *name, enum column_type type)
{
	struct table_column *c = &t->col[t->n];
	char *path;
	int err;

	if (t->n == TABLE_COLUMNS)
		return err_set(-E2BIG, "more than %d columns", TABLE_COLUMNS);
	if (!*name || strlen(name) >= sizeof(c->name) || strchr(name, '/') || *name == '.')
		return err_set(-EINVAL, "\"%s\" cannot be the name of a column file", name);
	path = column_path(t->dir, name, column_types[type]);
	if (!path)
		return -ENOMEM;
	err = column_create(&t->file[t->n], path);
	free(path);
	if (err)
		return err;
	t->file[t->n].temporary = t->temporary;
	strcpy(c->name, name);
	c->type = type;
	t->n++;
	return 0;
}

static int write_rows(const struct table_writer *t)
{
	struct column_file f;
	char *path, text[32];
	int err, n = snprintf(text, sizeof(text), "%" PRIu64 "\n", t->rows);

	if (asprintf(&path, "%s/rows", t->dir) < 0)
		return err_set(-ENOMEM, "out of memory");
	err = column_create(&f, path);
	free(path);
	if (err)
		return err;
	f.temporary = t->temporary;
	return column_close(&f, column_put(&f, text, (uint32_t)n));
}

/* The first @n, which are ours. */
static void remove_columns(const struct table_writer *t, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		char *path = column_path(t->dir, t->col[i].name, column_types[t->col[i].type]);

		if (path)
			unlink(path);
		free(path);
	}
}

int table_close(struct table_writer *t, int err)
{
	unsigned int named = 0;
	int dir = -1;

	/* A signal while only some files have their names would leave these behind. */
	cleanup_hold();
	/* Of two that make a table there one has all its names before the other has any. */
	if (!err && t->dir)
		err = claim_dir(t->dir, &dir);
	for (unsigned int i = 0; i < t->n; i++) {
		err = column_close(&t->file[i], err);
		named += !err;
	}
	/* Last, because a directory with it is a whole table. */
	if (!err && t->dir)
		err = write_rows(t);
	if (err)
		remove_columns(t, named);
	if (t->made && err)
		cleanup_remove(t->dir);
	else if (t->made && !t->temporary)
		cleanup_forget(t->dir);
	cleanup_release();
	if (dir >= 0)
		close(dir);
	free(t->dir);
	memset(t, 0, sizeof(*t));
	return err;
}
