/* SPDX-License-Identifier: MIT */
/*
 * Pieces: an element that spans lines has one for each of its lines.
 */
#ifndef ANNEX_CACHE_PIECE_H
#define ANNEX_CACHE_PIECE_H

#include <annex/array.h>

/**
 * struct annex_piece - Bytes of an element that are in one line.
 * @byte: offset of the first in the backing data.
 * @mem: its place in the caller's memory.
 * @len: number of bytes.
 */
struct annex_piece {
	uint64_t byte;
	char *mem;
	uint32_t len;
};

/**
 * struct annex_walk - A walk over a vector of elements.
 * @a: the array.
 * @idx: @n indices.
 * @mem: the caller's memory for the @n elements.
 * @n: number of elements.
 * @at: the next element.
 * @done: bytes of it that the walk has passed.
 */
struct annex_walk {
	const struct annex_array *a;
	const uint64_t *idx;
	char *mem;
	unsigned int n;
	unsigned int at;
	uint32_t done;
};

/**
 * annex_walk_pieces() - The next pieces of a walk.
 * @w: the walk.
 * @out: receives at most @max pieces.
 *
 * Return: how many, 0 at the end of the vector; or -ERANGE (an index is out of bounds).
 */
int annex_walk_pieces(struct annex_walk *w, struct annex_piece *out, unsigned int max);

/**
 * annex_array_out() - Report an element that is out of bounds. Return: -ERANGE.
 */
int annex_array_out(const struct annex_array *a, uint64_t i);

#endif
