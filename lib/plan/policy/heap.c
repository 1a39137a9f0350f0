// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "heap.h"

int heap_init(struct heap *h, uint64_t bytes, size_t most)
{
	/* Each block taken splits one free block at most. */
	h->free = malloc((most + 2) * sizeof(*h->free));
	if (!h->free)
		return -ENOMEM;
	h->most = most + 2;
	h->n = 1;
	h->free[0] = (struct heap_block){0, bytes};
	return 0;
}

void heap_free(struct heap *h)
{
	free(h->free);
	h->free = NULL;
}

static void drop_empty(struct heap *h, size_t i)
{
	if (h->free[i].bytes)
		return;
	memmove(&h->free[i], &h->free[i + 1], (h->n - i - 1) * sizeof(*h->free));
	h->n--;
}

bool heap_take_low(struct heap *h, uint64_t bytes, uint64_t *at)
{
	for (size_t i = 0; i < h->n; i++) {
		if (h->free[i].bytes < bytes)
			continue;
		*at = h->free[i].at;
		h->free[i].at += bytes;
		h->free[i].bytes -= bytes;
		drop_empty(h, i);
		return true;
	}
	return false;
}

bool heap_take_high(struct heap *h, uint64_t bytes, uint64_t *at)
{
	for (size_t i = h->n; i--;) {
		if (h->free[i].bytes < bytes)
			continue;
		h->free[i].bytes -= bytes;
		*at = h->free[i].at + h->free[i].bytes;
		drop_empty(h, i);
		return true;
	}
	return false;
}

void heap_give(struct heap *h, uint64_t at, uint64_t bytes)
{
	size_t i = 0;

	while (i < h->n && h->free[i].at < at)
		i++;
	if (i && h->free[i - 1].at + h->free[i - 1].bytes == at) {
		h->free[--i].bytes += bytes;
	} else {
		memmove(&h->free[i + 1], &h->free[i], (h->n - i) * sizeof(*h->free));
		h->free[i] = (struct heap_block){at, bytes};
		h->n++;
	}
	if (i + 1 < h->n && h->free[i].at + h->free[i].bytes == h->free[i + 1].at) {
		h->free[i].bytes += h->free[i + 1].bytes;
		h->free[i + 1].bytes = 0;
		drop_empty(h, i + 1);
	}
}

uint64_t heap_largest(const struct heap *h)
{
	uint64_t most = 0;

	for (size_t i = 0; i < h->n; i++)
		if (h->free[i].bytes > most)
			most = h->free[i].bytes;
	return most;
}
