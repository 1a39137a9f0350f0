/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow.
 */
#ifndef ANNEX_CORE_ARRAY_H
#define ANNEX_CORE_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* array_resize() - Reallocate the memory that the pointer at @array points to. */
static inline bool array_resize(void *array, size_t bytes)
{
	void *at;

	memcpy(&at, array, sizeof(at));
	at = realloc(at, bytes);
	if (at)
		memcpy(array, &at, sizeof(at));
	return at;
}

/*
 * array_grow() - Make room for element @n of @array, which has memory for @room elements, by twice
 * as much memory. False: there is none, and the array is as it was.
 */
#define array_grow(array, n, room)                                                                 \
	((n) < (room) ||                                                                           \
	 (array_resize(&(array), ((room) ? 2 * (size_t)(room) : 64) * sizeof(*(array))) &&         \
	  ((room) = (room) ? 2 * (room) : 64) > (n)))

#endif
