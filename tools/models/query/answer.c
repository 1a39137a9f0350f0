// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "tools/common/error.h"
#include "answer.h"

/*
 * struct columns - Columns that a sum reads.
 * @price: l_extendedprice.
 * @discount: l_discount, or NULL.
 * @lo_discount: lo_discount, or NULL.
 * @part: l_partkey, or NULL.
 * @promoted: keys of promoted parts, a bit each.
 * @known: keys of parts, a bit each.
 * @keys: the highest key and one.
 */
struct columns {
	const int64_t *price, *discount;
	const int32_t *lo_discount, *part;
	uint8_t *promoted, *known;
	uint64_t keys;
};

static bool bit(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* Return: a column of lineitem, or NULL after an error. */
static const void *line_column(const struct eval *e, struct store *s, unsigned int i, int *err)
{
	const void *data = NULL;

	if (!*err)
		*err = store_column(s, &tpch_lineitem, i, e->lines, &data);
	return data;
}

/* Join lineitem with part, for q14. Other processes may write to the columns: trust no key. */
static int join_parts(const struct eval *e, struct store *s, struct columns *c)
{
	const uint8_t *passed = e->near.bits[e->q->n - 1];
	uint64_t parts = e->rows[e->q->n - 1];
	const int32_t *key;
	const void *data;
	int err = store_column(s, &tpch_part, P_PARTKEY, parts, &data);

	if (err)
		return err;
	key = data;
	for (uint64_t i = 0; i < parts; i++)
		if (key[i] > 0 && (uint64_t)key[i] >= c->keys)
			c->keys = (uint64_t)key[i] + 1;
	c->promoted = calloc(2, c->keys / 8 + 1);
	if (!c->promoted)
		return err_set(-ENOMEM, "no memory for the keys of %llu parts", (ull)parts);
	c->known = c->promoted + c->keys / 8 + 1;
	for (uint64_t i = 0; i < parts; i++) {
		uint32_t k = (uint32_t)key[i];

		if (k >= c->keys)
			continue;
		c->known[k / 8] |= (uint8_t)(1u << k % 8);
		c->promoted[k / 8] |= (uint8_t)(bit(passed, i) << k % 8);
	}
	return 0;
}

static bool add_row(const struct columns *c, enum question_sum sum, uint64_t row, struct answer *a)
{
	uint32_t part = c->part ? (uint32_t)c->part[row] : 0;
	__int128 x = c->price[row];

	if (sum == SUM_DISCOUNTS)
		x *= c->discount[row];
	else if (sum == SUM_LO_DISCOUNTS)
		x *= c->lo_discount[row];
	else if (part < c->keys && bit(c->known, part))
		x *= 100 - (__int128)c->discount[row];
	else
		return false;
	a->rows++;
	if (c->promoted && bit(c->promoted, part))
		return __builtin_add_overflow(a->promo, x, &a->promo) ||
		       __builtin_add_overflow(a->revenue, x, &a->revenue);
	return __builtin_add_overflow(a->revenue, x, &a->revenue);
}

static int add_rows(const struct eval *e, const struct columns *c, struct answer *a)
{
	const uint8_t *all = e->near.all;
	bool over = false;

	for (uint64_t i = 0; i < ANNEX_NDP_BITMAP(e->lines) && !over; i++)
		for (unsigned int left = all[i]; left && !over; left &= left - 1)
			over = add_row(c, e->q->sum, i * 8 + (unsigned int)__builtin_ctz(left), a);
	return over ? err_set(-EOVERFLOW, "the sum has more than 128 bits: the columns are damaged")
		    : 0;
}

static int sum_up(const struct eval *e, struct store *s, struct answer *a)
{
	struct columns c = {.price = NULL};
	int err = 0;

	*a = (struct answer){.rows = 0};
	c.price = line_column(e, s, L_EXTENDEDPRICE, &err);
	if (e->q->sum == SUM_LO_DISCOUNTS)
		c.lo_discount = line_column(e, s, LO_DISCOUNT, &err);
	else
		c.discount = line_column(e, s, L_DISCOUNT, &err);
	if (e->q->sum == SUM_PROMO) {
		c.part = line_column(e, s, L_PARTKEY, &err);
		if (!err)
			err = join_parts(e, s, &c);
	}
	if (!err)
		err = add_rows(e, &c, a);
	free(c.promoted);
	return err;
}

int answer_make(const struct eval *e, struct store *s, struct answer *a)
{
	double *seconds = malloc(e->runs * sizeof(*seconds));
	int err = seconds ? 0 : err_set(-ENOMEM, "out of memory");

	for (uint32_t i = 0; i < e->runs && !err; i++) {
		uint64_t start = annex_now();

		err = sum_up(e, s, a);
		seconds[i] = (double)(annex_now() - start) / 1e9;
	}
	if (!err)
		a->seconds = eval_median(seconds, e->runs);
	free(seconds);
	return err;
}

void answer_text(__int128 sum, bool units, char text[ANSWER_TEXT])
{
	unsigned __int128 left = sum < 0 ? -(unsigned __int128)sum : (unsigned __int128)sum;
	size_t at = ANSWER_TEXT - 1, digits = 0;
	char buf[ANSWER_TEXT];

	buf[at] = '\0';
	do {
		buf[--at] = (char)('0' + (int)(left % 10));
		left /= 10;
		if (++digits == 4 && !units)
			buf[--at] = '.';
	} while (left || (!units && digits < 5));
	snprintf(text, ANSWER_TEXT, "%s%s", sum < 0 ? "-" : "", buf + at);
}
