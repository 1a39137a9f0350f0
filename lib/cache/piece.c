// SPDX-License-Identifier: MIT
#include <errno.h>
#include "core/log.h"
#include "element.h"
#include "piece.h"

int annex_array_out(const struct annex_array *a, uint64_t i)
{
	return annex_fail(-ERANGE, "array: element %llu of %llu", (ull)i, (ull)a->count);
}

int annex_walk_pieces(struct annex_walk *w, struct annex_piece *out, unsigned int max)
{
	const struct annex_array *a = w->a;
	uint32_t line = 1u << a->line_shift;
	unsigned int k = 0;

	for (; k < max && w->at < w->n; k++) {
		uint64_t i = w->idx[w->at], byte = annex_array_byte(a, i) + w->done;
		uint32_t left = a->elem - w->done, room = line - ((uint32_t)byte & (line - 1));

		if (i >= a->count)
			return annex_array_out(a, i);
		out[k].byte = byte;
		out[k].mem = w->mem + (size_t)w->at * a->elem + w->done;
		out[k].len = left < room ? left : room;
		w->done = left <= room ? 0 : w->done + room;
		w->at += left <= room;
	}
	return (int)k;
}
