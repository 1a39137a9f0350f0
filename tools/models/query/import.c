// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "tools/common/records.h"
#include "import.h"

static int dates_add(struct dates *d, int32_t key, int32_t date)
{
	if (d->n == d->room) {
		uint64_t room = d->room * 2 + 4096;
		struct dates_one *one = realloc(d->one, room * sizeof(*one));

		if (!one)
			return err_set(-ENOMEM, "no memory for the dates of %llu orders",
				       (ull)d->n);
		d->one = one;
		d->room = room;
	}
	d->one[d->n++] = (struct dates_one){key, date};
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct dates_one *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static int dates_sort(struct dates *d, const char *path)
{
	uint64_t i = 1;

	while (i < d->n && d->one[i - 1].key < d->one[i].key)
		i++;
	if (i >= d->n)
		return 0;
	qsort(d->one, d->n, sizeof(*d->one), by_key);
	for (i = 1; i < d->n; i++)
		if (d->one[i - 1].key == d->one[i].key)
			return err_set(-EINVAL, "%s: o_orderkey %d occurs twice", path,
				       d->one[i].key);
	return 0;
}

/* Sequential lookups in ascending order of keys take constant time. */
static const int32_t *dates_find(struct dates *d, int32_t key)
{
	struct dates_one want = {key, 0}, *found;

	if (d->at + 1 < d->n && d->one[d->at].key < key)
		d->at++;
	if (d->at < d->n && d->one[d->at].key == key)
		return &d->one[d->at].date;
	found = d->n ? bsearch(&want, d->one, d->n, sizeof(want), by_key) : NULL;
	if (!found)
		return NULL;
	d->at = (uint64_t)(found - d->one);
	return &found->date;
}

void dates_free(struct dates *d)
{
	free(d->one);
}

#define SHOWN 40 /* bytes of a bad value that a message shows */

/* The value of one column of the current row. */
union cell {
	int32_t i;
	int64_t d;
	char s[32];
};

/*
 * struct import - A file that is read.
 * @field: index of the column of each field; -1: not kept.
 * @names: number of fields in the first line.
 * @cell: values of the current row.
 * @data: memory of the columns; NULL during the check.
 * @most: rows that @data has room for.
 * @keys: keys of parts found by the check, a bit each.
 * @key_bytes: bytes of @keys.
 * @wrong: message about the first bad value of a record. It is reported at the end of the record,
 *	since a missing field is the better message.
 */
struct import {
	struct records r;
	const struct tpch_table *t;
	struct dates *d;
	int field[RECORDS_FIELDS];
	unsigned int names;
	union cell cell[TPCH_COLUMNS];
	void *const *data;
	uint64_t rows, most;
	uint8_t *keys;
	uint64_t key_bytes;
	char wrong[160];
};

static int on_name(struct import *im, unsigned int i, const char *s, size_t n)
{
	im->field[i] = tpch_index(im->t, s, n);
	if (im->field[i] >= 0 && im->t->column[im->field[i]].origin == TPCH_MADE)
		im->field[i] = -1;
	for (unsigned int k = 0; k < i && im->field[i] >= 0; k++)
		if (im->field[k] == im->field[i])
			return records_bad(&im->r, "two columns are called \"%.*s\"", (int)n, s);
	return 0;
}

static int on_names_end(struct import *im, unsigned int fields)
{
	bool have[TPCH_COLUMNS] = {false};

	im->names = fields;
	for (unsigned int i = 0; i < fields; i++)
		if (im->field[i] >= 0)
			have[im->field[i]] = true;
	for (unsigned int i = 0; im->t->column[i].name; i++)
		if (!have[i] && im->t->column[i].origin != TPCH_MADE)
			return records_bad(&im->r, "no column %s, which table %s needs",
					   im->t->column[i].name, im->t->name);
	return 0;
}

static int on_field(void *ctx, unsigned int i, const char *s, size_t n)
{
	struct import *im = ctx;
	const struct tpch_column *c;
	const char *why = NULL;
	union cell *cell;

	if (!im->r.record)
		return on_name(im, i, s, n);
	if (i >= im->names || im->field[i] < 0)
		return 0;
	c = &im->t->column[im->field[i]];
	cell = &im->cell[im->field[i]];
	switch (c->type) {
	case VALUE_I32:
		why = value_i32(s, n, &cell->i);
		break;
	case VALUE_DATE:
		why = value_date(s, n, &cell->i);
		break;
	case VALUE_DECIMAL:
		why = value_decimal(s, n, &cell->d);
		break;
	case VALUE_CHARS:
		why = value_chars(s, n, cell->s, c->width);
		break;
	}
	if (why && !im->wrong[0])
		snprintf(im->wrong, sizeof(im->wrong), "%s \"%.*s%s\" %s", c->name,
			 (int)(n < SHOWN ? n : SHOWN), s, n < SHOWN ? "" : "...", why);
	return 0;
}

/* SSB's lineorder and date of a line (O'Neil et al., Star Schema Benchmark, revision 3). */
static int make_columns(struct import *im)
{
	const int32_t *date = dates_find(im->d, im->cell[L_ORDERKEY].i);
	int64_t quantity = im->cell[L_QUANTITY].d, discount = im->cell[L_DISCOUNT].d;
	int year, month, yday;

	if (!date)
		return records_bad(&im->r, "l_orderkey %d is not in orders",
				   im->cell[L_ORDERKEY].i);
	if (quantity % 100 || quantity / 100 > INT32_MAX || quantity / 100 < INT32_MIN)
		return records_bad(&im->r, "l_quantity is not a whole number of 32 bits, as "
					   "lo_quantity must be");
	if (discount < 0 || discount > 100)
		return records_bad(&im->r, "l_discount is not from 0 to 1, as lo_discount must "
					   "be");
	date_split(*date, &year, &month, &yday);
	im->cell[LO_QUANTITY].i = (int32_t)(quantity / 100);
	im->cell[LO_DISCOUNT].i = (int32_t)discount;
	im->cell[D_YEAR].i = year;
	im->cell[D_YEARMONTHNUM].i = year * 100 + month;
	im->cell[D_WEEKNUMINYEAR].i = yday / 7 + 1;
	return 0;
}

/* Make room for the bit of a key. */
static int room_for(struct import *im, uint32_t key)
{
	uint64_t bytes = (uint64_t)key / 4 + 4096;
	uint8_t *keys;

	if (key / 8 < im->key_bytes)
		return 0;
	keys = realloc(im->keys, bytes);
	if (!keys)
		return err_set(-ENOMEM, "no memory for the keys of parts");
	memset(keys + im->key_bytes, 0, bytes - im->key_bytes);
	im->keys = keys;
	im->key_bytes = bytes;
	return 0;
}

/* A repeated key would join lines twice. */
static int check_part(struct import *im)
{
	int32_t key = im->cell[P_PARTKEY].i;
	uint8_t bit;
	int err;

	if (key < 1)
		return records_bad(&im->r, "p_partkey %d is not above 0", key);
	err = room_for(im, (uint32_t)key);
	if (err)
		return err;
	bit = (uint8_t)(1u << key % 8);
	if (im->keys[key / 8] & bit)
		return records_bad(&im->r, "p_partkey %d occurs twice", key);
	im->keys[key / 8] |= bit;
	return 0;
}

static int on_end(void *ctx, unsigned int fields)
{
	struct import *im = ctx;
	int err = 0;

	if (!im->r.record)
		return on_names_end(im, fields);
	if (fields != im->names)
		return records_bad(&im->r, "%u fields, the first line has %u", fields, im->names);
	if (im->wrong[0])
		return records_bad(&im->r, "%s", im->wrong);
	if (im->t == &tpch_orders)
		err = dates_add(im->d, im->cell[O_ORDERKEY].i, im->cell[O_ORDERDATE].i);
	else if (im->t == &tpch_lineitem && im->d)
		err = make_columns(im);
	else if (im->t == &tpch_part && !im->data)
		err = check_part(im);
	if (im->data && im->rows == im->most)
		return err_set(-EIO, "%s changed during the import", im->r.path);
	for (unsigned int i = 0; im->data && im->t->column[i].name; i++) {
		uint32_t width = im->t->column[i].width;

		if (im->data[i])
			memcpy((char *)im->data[i] + im->rows * width, &im->cell[i], width);
	}
	if (!err && ++im->rows > STORE_ROWS)
		err = records_bad(&im->r, "more rows than a table can have");
	return err;
}

/* struct which - The table that a first line names. */
struct which {
	struct records r;
	const struct tpch_table *t;
};

static int which_field(void *ctx, unsigned int i, const char *s, size_t n)
{
	struct which *w = ctx;

	(void)i;
	for (unsigned int k = 0; !w->t && tpch_tables[k]; k++)
		if (tpch_index(tpch_tables[k], s, n) >= 0)
			w->t = tpch_tables[k];
	return 0;
}

/* Return 1 to stop after the first line. */
static int which_end(void *ctx, unsigned int fields)
{
	(void)ctx;
	(void)fields;
	return 1;
}

int import_table(const char *path, const struct tpch_table **t)
{
	struct which w = {.r = {.field = which_field, .end = which_end, .path = path}};
	int got;

	w.r.ctx = &w;
	got = records_read(&w.r);
	if (got < 0)
		return got;
	if (!got)
		return err_set(-EINVAL, "%s is empty: its first line should name the columns",
			       path);
	if (!w.t)
		return records_bad(&w.r, "no name of a column of lineitem, part or orders");
	*t = w.t;
	return 0;
}

static void import_init(struct import *im, const char *path, const struct tpch_table *t,
			struct dates *d)
{
	memset(im, 0, sizeof(*im));
	im->r = (struct records){.field = on_field, .end = on_end, .ctx = im, .path = path};
	im->t = t;
	im->d = d;
}

static int read_all(struct import *im)
{
	int err = records_read(&im->r);

	if (!err && !im->rows)
		err = err_set(-EINVAL, "%s has no rows", im->r.path);
	return err;
}

int import_orders(const char *path, struct dates *d)
{
	struct import *im = malloc(sizeof(*im));
	int err;

	if (!im)
		return err_set(-ENOMEM, "out of memory");
	import_init(im, path, &tpch_orders, d);
	progress_begin("reading orders");
	err = read_all(im);
	free(im);
	return err ? err : dates_sort(d, path);
}

static int check(struct import *im)
{
	int err;

	progress_begin("checking");
	err = read_all(im);
	free(im->keys);
	return err;
}

static int fill(struct import *im, uint64_t rows, void *const data[TPCH_COLUMNS])
{
	int err;

	im->data = data;
	im->most = rows;
	progress_begin("loading");
	err = read_all(im);
	if (!err && im->rows != rows)
		err = err_set(-EIO, "%s changed during the import", im->r.path);
	return err;
}

int import_columns(const char *path, const struct tpch_table *t, struct dates *d, struct store *s,
		   bool overwrite, struct store_table *out, uint64_t *rows, uint64_t *bytes)
{
	struct import *im = malloc(sizeof(*im));
	int err;

	if (!im)
		return err_set(-ENOMEM, "out of memory");
	import_init(im, path, t, d);
	err = check(im);
	*rows = im->rows;
	if (!err)
		err = store_create(s, t, *rows, d != NULL, overwrite, out);
	if (!err) {
		import_init(im, path, t, d);
		err = fill(im, *rows, out->data);
	}
	*bytes = 0;
	for (unsigned int i = 0; !err && t->column[i].name; i++)
		*bytes += out->data[i] ? *rows * t->column[i].width : 0;
	free(im);
	return err;
}
