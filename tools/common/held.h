/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Elements of an array in ascending order, with their line pinned once for all of them.
 */
#ifndef TOOLS_HELD_H
#define TOOLS_HELD_H

#include <stdbool.h>
#include <annex/array.h>

/* struct held - Set @a, and the rest to zero. */
struct held {
	const struct annex_array *a;
	struct annex_span span;
	uint64_t first; /* element of the span */
	bool pinned;
};

/* held_drop() - Let the line go. */
static inline void held_drop(struct held *h)
{
	if (h->pinned)
		annex_array_span_end(h->a, &h->span);
	h->pinned = false;
}

/*
 * held_get() - Element @i and its neighbours: *@n of them at *@data, until the next call. Returns
 * 0 or the errno of annex_array_span().
 */
static inline int held_get(struct held *h, uint64_t i, const void **data, uint64_t *n)
{
	if (!h->pinned || i < h->first || i - h->first >= h->span.count) {
		int err;

		held_drop(h);
		err = annex_array_span(h->a, i, 0, 0, &h->span);
		if (err)
			return err;
		h->first = i;
		h->pinned = true;
	}
	*data = (const char *)h->span.data + (i - h->first) * h->a->elem;
	*n = h->span.count - (i - h->first);
	return 0;
}

#endif
