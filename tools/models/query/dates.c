// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include "tools/common/error.h"
#include "dates.h"

int dates_add(struct dates *d, int32_t key, int32_t date)
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

int dates_sort(struct dates *d, const char *path)
{
	uint64_t i = 1;

	while (i < d->n && d->one[i - 1].key < d->one[i].key)
		i++;
	if (i >= d->n)
		return 0;
	qsort(d->one, d->n, sizeof(*d->one), by_key);
	for (i = 1; i < d->n; i++)
		if (d->one[i - 1].key == d->one[i].key)
			return err_set(-EINVAL, "%s: o_orderkey %d is there twice", path,
				       d->one[i].key);
	return 0;
}

const int32_t *dates_find(struct dates *d, int32_t key)
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
