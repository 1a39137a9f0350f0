// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include "tools/common/error.h"
#include "store.h"

#define MAGIC 0x3279726575716e61ull /* "anquery2" */
#define COLUMN_ALIGN 4096u
#define LEAST 8193u /* smallest piece that can have a name, bytes */

/*
 * struct head - The head of the piece "query/TABLE". The last 8 bytes of the piece repeat @id, to
 * detect a range that was truncated and has grown again.
 * @magic: MAGIC.
 * @id: random number of this version of the table.
 * @rows: number of rows.
 * @bytes: bytes of the piece.
 * @at: offset of each column in the piece; 0: none.
 */
struct head {
	uint64_t magic;
	uint64_t id;
	uint64_t rows;
	uint64_t bytes;
	uint64_t at[TPCH_COLUMNS];
};

int store_open(struct store *s, const char *uri)
{
	int err = annex_hdm_open(uri, NULL, &s->hdm);

	s->uri = uri;
	s->nheld = 0;
	if (err)
		s->hdm = NULL;
	return err ? err_lib(err, "cannot open the range %s", uri) : 0;
}

void store_close(struct store *s)
{
	annex_hdm_close(s->hdm);
}

static void name_of(const struct tpch_table *t, char name[ANNEX_HDM_NAME])
{
	snprintf(name, ANNEX_HDM_NAME, "query/%s", t->name);
}

static int exists(const struct store *s, const struct tpch_table *t)
{
	return err_set(-EEXIST, "%s has the table %s: --overwrite replaces it", s->uri, t->name);
}

static int must_be_new(struct store *s, const struct tpch_table *t)
{
	struct annex_hdm_block block;
	char name[ANNEX_HDM_NAME];
	int err;

	name_of(t, name);
	err = annex_hdm_find(s->hdm, name, &block);
	if (!err)
		return exists(s, t);
	return err == -ENOENT ? 0 : err_lib(err, "%s", s->uri);
}

/* Lay out the head, the columns and the mark. */
static void lay_out(const struct tpch_table *t, bool made, struct head *h)
{
	h->bytes = sizeof(*h);
	for (unsigned int i = 0; t->column[i].name; i++) {
		const struct tpch_column *c = &t->column[i];

		if (c->origin == TPCH_READ || (c->origin == TPCH_MADE && !made))
			continue;
		h->at[i] = (h->bytes + COLUMN_ALIGN - 1) / COLUMN_ALIGN * COLUMN_ALIGN;
		h->bytes = h->at[i] + h->rows * c->width;
	}
	h->bytes = (h->bytes + sizeof(h->id) - 1) / sizeof(h->id) * sizeof(h->id);
	h->bytes += sizeof(h->id);
	h->bytes = h->bytes < LEAST ? (LEAST + 7) / 8 * 8 : h->bytes;
}

int store_create(struct store *s, const struct tpch_table *t, uint64_t rows, bool made,
		 bool overwrite, struct store_table *out)
{
	struct head h = {.magic = MAGIC, .rows = rows};
	int err = overwrite ? 0 : must_be_new(s, t);

	*out = (struct store_table){.t = t};
	if (!err && getrandom(&h.id, sizeof(h.id), 0) != sizeof(h.id))
		err = err_sys("no random number for %s", t->name);
	if (err)
		return err;
	lay_out(t, made, &h);
	err = annex_hdm_alloc(s->hdm, h.bytes, 0, NULL, &out->piece);
	if (err)
		return err_lib(err, "%s: no room for the table %s%s", s->uri, t->name,
			       overwrite ? " beside the existing one" : "");
	out->bytes = h.bytes;
	memcpy(out->piece, &h, sizeof(h));
	memcpy((char *)out->piece + h.bytes - sizeof(h.id), &h.id, sizeof(h.id));
	for (unsigned int i = 0; i < TPCH_COLUMNS; i++)
		out->data[i] = h.at[i] ? (char *)out->piece + h.at[i] : NULL;
	return 0;
}

int store_publish(struct store *s, const struct store_table *tables, unsigned int n, bool overwrite)
{
	struct annex_hdm_piece piece[STORE_TABLES];
	char name[STORE_TABLES][ANNEX_HDM_NAME];
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		name_of(tables[i].t, name[i]);
		piece[i] = (struct annex_hdm_piece){tables[i].piece, tables[i].bytes, name[i]};
		err = annex_hdm_persist(s->hdm, tables[i].piece, tables[i].bytes);
	}
	if (!err)
		err = annex_hdm_publish(s->hdm, piece, n, overwrite);
	if (err == -EEXIST)
		return err_set(err,
			       "%s: another process has loaded the same table meanwhile: "
			       "--overwrite replaces it",
			       s->uri);
	return err ? err_lib(err, "%s", s->uri) : 0;
}

static int damaged(const struct store *s, const struct tpch_table *t)
{
	return err_set(-EILSEQ, "%s: the table %s is damaged: load it again with --overwrite",
		       s->uri, t->name);
}

/* Read the head of a table; refuse offsets outside of its piece. */
static int read_head(struct store *s, const struct tpch_table *t, struct head *h, uint64_t *offset)
{
	struct annex_hdm_block block;
	char name[ANNEX_HDM_NAME];
	const char *piece;
	uint64_t mark;
	int err;

	name_of(t, name);
	err = annex_hdm_find(s->hdm, name, &block);
	if (err == -ENOENT)
		return err_set(err, "%s has no table %s: annex query load reads it from CSV",
			       s->uri, t->name);
	if (err)
		return err_lib(err, "%s", s->uri);
	piece = annex_hdm_at(s->hdm, block.offset);
	*offset = block.offset;
	if (block.bytes < sizeof(*h))
		return damaged(s, t);
	memcpy(h, piece, sizeof(*h));
	if (h->magic != MAGIC || !h->rows || h->rows > STORE_ROWS || h->bytes != block.bytes)
		return damaged(s, t);
	memcpy(&mark, piece + block.bytes - sizeof(mark), sizeof(mark));
	for (unsigned int i = 0; t->column[i].name; i++)
		if (h->at[i] > h->bytes || h->at[i] % COLUMN_ALIGN ||
		    (h->at[i] && h->rows * t->column[i].width > h->bytes - h->at[i]))
			return damaged(s, t);
	return mark == h->id ? 0 : damaged(s, t);
}

static struct store_held *find_held(struct store *s, const struct tpch_table *t)
{
	for (unsigned int i = 0; i < s->nheld; i++)
		if (s->held[i].t == t)
			return &s->held[i];
	return NULL;
}

/* An equal number proves that the table was not replaced, not even twice. */
static int read_held(struct store *s, const struct store_held *held, struct head *h)
{
	uint64_t offset;
	int err = read_head(s, held->t, h, &offset);

	if (!err && (offset != held->offset || h->id != held->id))
		err = err_set(-ESTALE, "%s: %s was replaced during the query: run it again", s->uri,
			      held->t->name);
	return err;
}

int store_find(struct store *s, const struct tpch_table *t, uint64_t *rows)
{
	struct store_held *held = find_held(s, t);
	struct head h;
	int err;

	if (held) {
		err = read_held(s, held, &h);
	} else {
		held = &s->held[s->nheld];
		err = read_head(s, t, &h, &held->offset);
		held->t = t;
		held->id = h.id;
		s->nheld += !err;
	}
	*rows = err ? 0 : h.rows;
	return err;
}

int store_column(struct store *s, const struct tpch_table *t, unsigned int i, uint64_t rows,
		 const void **data)
{
	const struct store_held *held = find_held(s, t);
	struct head h;
	int err = held ? read_held(s, held, &h) : damaged(s, t);

	if (err)
		return err;
	if (!h.at[i] && t->column[i].origin == TPCH_MADE)
		return err_set(-ENOENT,
			       "%s has no column %s: load lineitem again, together with orders",
			       s->uri, t->column[i].name);
	if (!h.at[i] || h.rows != rows)
		return damaged(s, t);
	*data = annex_hdm_at(s->hdm, held->offset + h.at[i]);
	return 0;
}

int store_check(struct store *s)
{
	struct head h;
	int err = annex_hdm_check(s->hdm);

	if (err)
		return err_lib(err, "%s", s->uri);
	for (unsigned int i = 0; i < s->nheld && !err; i++)
		err = read_held(s, &s->held[i], &h);
	return err;
}
