// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "import.h"
#include "tools/common/records.h"

/* More than that of a field is not shown. */
#define SHOWN 40

/* The value of one column of the present row. */
union cell {
	int32_t i;
	int64_t d;
	char s[32];
};

/*
 * struct import - @field: which column a field of the file is, -1: none that is kept. @names: how
 * many fields the first line has. @data: where columns go, NULL while they are only checked.
 * @keys: of parts, a bit each, while they are checked. @wrong: the first value that cannot be,
 * which is told when the record is whole: that a field is missing says more.
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
			return records_bad(&im->r, "no column %s among the names of %s",
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
		return records_bad(&im->r, "l_orderkey %d is of no order in orders",
				   im->cell[L_ORDERKEY].i);
	if (quantity % 100 || quantity / 100 > INT32_MAX || quantity / 100 < INT32_MIN)
		return records_bad(&im->r, "l_quantity is no whole number of 32 bits, as "
					   "lo_quantity has to be");
	if (discount < 0 || discount > 100)
		return records_bad(&im->r, "l_discount is not from 0 to 1, as lo_discount has to "
					   "be");
	date_split(*date, &year, &month, &yday);
	im->cell[LO_QUANTITY].i = (int32_t)(quantity / 100);
	im->cell[LO_DISCOUNT].i = (int32_t)discount;
	im->cell[D_YEAR].i = year;
	im->cell[D_YEARMONTHNUM].i = year * 100 + month;
	im->cell[D_WEEKNUMINYEAR].i = yday / 7 + 1;
	return 0;
}

/* Room for the bit of a key. */
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

/* A key that is there twice would join lines twice. */
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
		return records_bad(&im->r, "p_partkey %d is there twice", key);
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
		return err_set(-EIO, "%s has changed while it was read", im->r.path);
	for (unsigned int i = 0; im->data && im->t->column[i].name; i++) {
		uint32_t width = im->t->column[i].width;

		if (im->data[i])
			memcpy((char *)im->data[i] + im->rows * width, &im->cell[i], width);
	}
	if (!err && ++im->rows > STORE_ROWS)
		err = records_bad(&im->r, "more rows than a table can have");
	return err;
}

/* struct which - The table that a first line tells of. */
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

/* The first line is enough: 1 ends the reading. */
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

static void begin(struct import *im, const char *path, const struct tpch_table *t, struct dates *d)
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
	begin(im, path, &tpch_orders, d);
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
		err = err_set(-EIO, "%s has changed while it was read", im->r.path);
	return err;
}

int import_columns(const char *path, const struct tpch_table *t, struct dates *d, struct store *s,
		   bool overwrite, struct store_table *out, uint64_t *rows, uint64_t *bytes)
{
	struct import *im = malloc(sizeof(*im));
	int err;

	if (!im)
		return err_set(-ENOMEM, "out of memory");
	begin(im, path, t, d);
	err = check(im);
	*rows = im->rows;
	if (!err)
		err = store_create(s, t, *rows, d != NULL, overwrite, out);
	if (!err) {
		begin(im, path, t, d);
		err = fill(im, *rows, out->data);
	}
	*bytes = 0;
	for (unsigned int i = 0; !err && t->column[i].name; i++)
		*bytes += out->data[i] ? *rows * t->column[i].width : 0;
	free(im);
	return err;
}
