// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "../error.h"
#include "store.h"

#define MAGIC 0x3179726575716e61ull /* "anquery1" */

/* What the piece "query/TABLE" holds. It is made last, so that a table with a head is whole. */
struct head {
	uint64_t magic;
	uint64_t rows;
};

int store_open(struct store *s, const char *uri)
{
	int err = annex_hdm_open(uri, NULL, &s->hdm);

	s->uri = uri;
	if (err)
		s->hdm = NULL;
	return err ? err_lib(err, "cannot open the range %s", uri) : 0;
}

void store_close(struct store *s)
{
	annex_hdm_close(s->hdm);
}

static void name_of(const struct tpch_table *t, const char *column, char name[ANNEX_HDM_NAME])
{
	snprintf(name, ANNEX_HDM_NAME, "query/%s%s%s", t->name, column ? "/" : "",
		 column ? column : "");
}

static int fail(const struct store *s, int err)
{
	return err_lib(err, "%s", s->uri);
}

/* 0: there is one, 1: there is none. */
static int look(struct store *s, const struct tpch_table *t, const char *column,
		struct annex_hdm_block *out)
{
	char name[ANNEX_HDM_NAME];
	int err;

	name_of(t, column, name);
	err = annex_hdm_find(s->hdm, name, out);
	if (err == -ENOENT)
		return 1;
	return err ? fail(s, err) : 0;
}

static int drop_one(struct store *s, const struct tpch_table *t, const char *column)
{
	struct annex_hdm_block block;
	int err = look(s, t, column, &block);

	if (err)
		return err < 0 ? err : 0;
	err = annex_hdm_free(s->hdm, annex_hdm_at(s->hdm, block.offset));
	return err ? fail(s, err) : 0;
}

int store_drop(struct store *s, const struct tpch_table *t)
{
	int err = drop_one(s, t, NULL);

	for (unsigned int i = 0; t->column[i].name && !err; i++)
		err = drop_one(s, t, t->column[i].name);
	return err;
}

/* -EEXIST: there is a table, or some of one whose loading was cut short. */
static int must_be_new(struct store *s, const struct tpch_table *t)
{
	struct annex_hdm_block block;
	int err = look(s, t, NULL, &block);

	if (!err)
		return err_set(-EEXIST, "%s has the table %s: give --overwrite if it may go",
			       s->uri, t->name);
	for (unsigned int i = 0; t->column[i].name && err > 0; i++)
		err = look(s, t, t->column[i].name, &block);
	if (!err)
		return err_set(-EEXIST,
			       "%s has columns of a table %s that is being loaded, or never was to "
			       "its end: give --overwrite if they may go",
			       s->uri, t->name);
	return err < 0 ? err : 0;
}

int store_create(struct store *s, const struct tpch_table *t, uint64_t rows, bool made,
		 bool overwrite, void *data[TPCH_COLUMNS])
{
	int err = overwrite ? store_drop(s, t) : must_be_new(s, t);

	for (unsigned int i = 0; i < TPCH_COLUMNS; i++)
		data[i] = NULL;
	for (unsigned int i = 0; t->column[i].name && !err; i++) {
		const struct tpch_column *c = &t->column[i];
		char name[ANNEX_HDM_NAME];

		if (c->origin == TPCH_READ || (c->origin == TPCH_MADE && !made))
			continue;
		name_of(t, c->name, name);
		err = annex_hdm_alloc(s->hdm, rows * c->width, 0, name, &data[i]);
		if (err)
			err = fail(s, err);
	}
	for (unsigned int i = 0; i < TPCH_COLUMNS && err; i++)
		annex_hdm_free(s->hdm, data[i]);
	return err;
}

int store_commit(struct store *s, const struct tpch_table *t, uint64_t rows,
		 void *const data[TPCH_COLUMNS])
{
	char name[ANNEX_HDM_NAME];
	struct head *head;
	void *piece;
	int err = 0;

	for (unsigned int i = 0; t->column[i].name && !err; i++)
		if (data[i])
			err = annex_hdm_persist(s->hdm, data[i], rows * t->column[i].width);
	name_of(t, NULL, name);
	if (!err)
		err = annex_hdm_alloc(s->hdm, sizeof(*head), 0, name, &piece);
	if (err)
		return fail(s, err);
	head = piece;
	head->rows = rows;
	head->magic = MAGIC;
	err = annex_hdm_persist(s->hdm, head, sizeof(*head));
	return err ? fail(s, err) : 0;
}

int store_find(struct store *s, const struct tpch_table *t, uint64_t *rows)
{
	struct annex_hdm_block block;
	struct head head;
	int err = look(s, t, NULL, &block);

	if (err > 0)
		return err_set(-ENOENT, "%s has no table %s: annex query load reads it from CSV",
			       s->uri, t->name);
	if (err)
		return err;
	if (block.bytes >= sizeof(head))
		memcpy(&head, annex_hdm_at(s->hdm, block.offset), sizeof(head));
	if (block.bytes < sizeof(head) || head.magic != MAGIC || !head.rows ||
	    head.rows > STORE_ROWS)
		return err_set(-EILSEQ, "%s: the table %s is damaged: load it anew, --overwrite",
			       s->uri, t->name);
	*rows = head.rows;
	return 0;
}

int store_column(struct store *s, const struct tpch_table *t, unsigned int i, uint64_t rows,
		 const void **data)
{
	const struct tpch_column *c = &t->column[i];
	struct annex_hdm_block block;
	int err = look(s, t, c->name, &block);

	if (err > 0 && c->origin == TPCH_MADE)
		return err_set(
			-ENOENT,
			"%s has no column %s: load lineitem once more, with orders beside it",
			s->uri, c->name);
	if (err < 0)
		return err;
	if (err || block.bytes < rows * c->width)
		return err_set(-EILSEQ, "%s: column %s is damaged: load %s anew, --overwrite",
			       s->uri, c->name, t->name);
	*data = annex_hdm_at(s->hdm, block.offset);
	return 0;
}
