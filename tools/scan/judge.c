// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The answer to a query by plain reads, a row at a time, in long double or exact integers.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "query.h"

static long double element(enum column_type type, const void *p)
{
	double d;
	float f;
	int64_t i;
	int32_t s;
	uint64_t u;
	uint32_t w;

	switch (type) {
	case COLUMN_F64:
		memcpy(&d, p, 8);
		return d;
	case COLUMN_F32:
		memcpy(&f, p, 4);
		return f;
	case COLUMN_I64:
		memcpy(&i, p, 8);
		return i;
	case COLUMN_I32:
		memcpy(&s, p, 4);
		return s;
	case COLUMN_U64:
		memcpy(&u, p, 8);
		return u;
	default:
		memcpy(&w, p, 4);
		return w;
	}
}

/* A literal reading of the condition; a floating-point column is compared in its precision. */
static bool passes(const struct filter *f, enum column_type type, long double x)
{
	long double v = type == COLUMN_F64 || type == COLUMN_F32 ? (double)f->value : f->value;

	if (!strcmp(f->op, ">="))
		return x >= v;
	if (!strcmp(f->op, "<="))
		return x <= v;
	if (!strcmp(f->op, ">"))
		return x > v;
	if (!strcmp(f->op, "<"))
		return x < v;
	if (!strcmp(f->op, "!="))
		return !(x == v);
	return x == v;
}

static bool close_to(long double sum, __int128 exact, long double size,
		     const struct query_column *c)
{
	long double have = c->sum_f;

	if (query_exact(c))
		return c->sum_i == exact;
	/* A sum beyond the range of double is infinite. */
	if (have == (double)sum || (isnan(have) && isnan(sum)))
		return true;
	return fabsl(have - sum) <= 1e-9L * size;
}

static int read_all(const struct query *q, FILE **f, long double *sum, __int128 *exact,
		    long double *size, uint64_t *passed)
{
	for (uint64_t row = 0; row < q->rows; row++) {
		bool pass = false;

		for (unsigned int i = 0; i < q->n; i++) {
			char raw[8];
			long double x;

			if (fread(raw, column_size(q->col[i].type), 1, f[i]) != 1)
				return err_set(-EIO, "cannot read %s", q->col[i].path);
			x = element(q->col[i].type, raw);
			if (!i)
				pass = passes(&q->filter, q->col[i].type, x);
			if (!i || !pass)
				continue;
			sum[i] += x;
			if (query_exact(&q->col[i]))
				exact[i] += (__int128)x;
			size[i] += fabsl(x);
		}
		*passed += pass;
		progress_update(row, q->rows, "rows");
	}
	return 0;
}

int query_verify(const struct query *q)
{
	FILE *f[QUERY_COLUMNS] = {NULL};
	long double sum[QUERY_COLUMNS] = {0}, size[QUERY_COLUMNS] = {0};
	__int128 exact[QUERY_COLUMNS] = {0};
	uint64_t passed = 0;
	int err = 0;

	progress_begin("verifying");
	for (unsigned int i = 0; i < q->n && !err; i++) {
		f[i] = fopen(q->col[i].path, "re");
		if (!f[i])
			err = err_sys("cannot open %s", q->col[i].path);
		else if (fseeko(f[i], (off_t)q->col[i].first, SEEK_SET))
			err = err_sys("cannot read %s", q->col[i].path);
	}
	if (!err)
		err = read_all(q, f, sum, exact, size, &passed);
	if (!err && passed != q->passed)
		err = err_set(-EBADMSG, "the result is wrong: %llu rows pass, not %llu",
			      (ull)passed, (ull)q->passed);
	for (unsigned int i = 1; i < q->n && !err; i++)
		if (!close_to(sum[i], exact[i], size[i], &q->col[i]))
			err = err_set(-EBADMSG, "the result is wrong: the sum of %s is %.17Lg%s",
				      q->col[i].name, sum[i],
				      isfinite(q->col[i].sum_f)
					      ? ""
					      : ", but sums of some of its rows overflow a double");
	for (unsigned int i = 0; i < q->n; i++)
		if (f[i])
			fclose(f[i]);
	return err;
}
