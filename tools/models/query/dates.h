/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The date of each order, which SSB's lineorder has in each line.
 */
#ifndef TOOLS_QUERY_DATES_H
#define TOOLS_QUERY_DATES_H

#include <stdint.h>

/*
 * struct dates - Zeroed: empty.
 * @at: where the last one was found.
 */
struct dates {
	struct dates_one {
		int32_t key, date;
	} * one;
	uint64_t n, room, at;
};

/* dates_add() - -ENOMEM with the line. dates_sort() - Before looking; -EINVAL, with the line: a key
 * is there twice.
 */
int dates_add(struct dates *d, int32_t key, int32_t date);
int dates_sort(struct dates *d, const char *path);

/* dates_find() - Quickest for keys in ascending order. NULL: there is none. */
const int32_t *dates_find(struct dates *d, int32_t key);
void dates_free(struct dates *d);

#endif
