/* SPDX-License-Identifier: MIT */
/*
 * Copies of elements. Aligned elements of 1, 2, 4 and 8 bytes are copied in one access, so readers
 * see the old or the new value. Others may be seen half written.
 */
#ifndef ANNEX_CACHE_ELEMENT_H
#define ANNEX_CACHE_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <annex/array.h>
#include <annex/detail/atomic.h>
#include "core/racy.h"

#define ELEMENT_INLINE static inline __attribute__((always_inline))

/*
 * Bytes at any address, from a slot or to one, racing with copies by other threads. The copy has no
 * order: a reader without a reference needs a fence before it looks at the line's word again.
 */
ELEMENT_INLINE ANNEX_RACY void annex_bytes_copy(void *to, const void *from, uint32_t len)
{
	annex_racy_begin();
	annex_racy_writes_begin();
	memcpy(to, from, len);
	annex_racy_writes_end();
	annex_racy_end();
}

/*
 * From shared memory, racing with the next fill of the slot where no reference is held; the line's
 * word is then looked at again. Acquire: later reads see data that is at least as new.
 */
ELEMENT_INLINE ANNEX_RACY void annex_element_load(void *to, const void *from, uint32_t elem)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;
	uint8_t v1;

	switch (elem) {
	case 1:
		v1 = annex_atomic_load((const uint8_t *)from, ANNEX_ACQUIRE);
		memcpy(to, &v1, 1);
		return;
	case 2:
		v2 = annex_atomic_load((const uint16_t *)from, ANNEX_ACQUIRE);
		memcpy(to, &v2, 2);
		return;
	case 4:
		v4 = annex_atomic_load((const uint32_t *)from, ANNEX_ACQUIRE);
		memcpy(to, &v4, 4);
		return;
	case 8:
		v8 = annex_atomic_load((const uint64_t *)from, ANNEX_ACQUIRE);
		memcpy(to, &v8, 8);
		return;
	case 16:
	case 32:
		for (uint32_t at = 0; at < elem; at += 8) {
			v8 = annex_atomic_load((const uint64_t *)((const char *)from + at),
					       ANNEX_ACQUIRE);
			memcpy((char *)to + at, &v8, 8);
		}
		return;
	default:
		annex_bytes_copy(to, from, elem);
	}
}

/* To shared memory. Relaxed: the unpin that follows publishes it. */
ELEMENT_INLINE ANNEX_RACY void annex_element_store(void *to, const void *from, uint32_t elem)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;
	uint8_t v1;

	switch (elem) {
	case 1:
		memcpy(&v1, from, 1);
		annex_atomic_store((uint8_t *)to, v1, ANNEX_RELAXED);
		return;
	case 2:
		memcpy(&v2, from, 2);
		annex_atomic_store((uint16_t *)to, v2, ANNEX_RELAXED);
		return;
	case 4:
		memcpy(&v4, from, 4);
		annex_atomic_store((uint32_t *)to, v4, ANNEX_RELAXED);
		return;
	case 8:
		memcpy(&v8, from, 8);
		annex_atomic_store((uint64_t *)to, v8, ANNEX_RELAXED);
		return;
	default:
		annex_bytes_copy(to, from, elem);
	}
}

/* Whether each element is in one line, at a multiple of its size, a power of two. */
static inline bool annex_array_even(const struct annex_array *a)
{
	return __builtin_expect(a->per_line != 0, 1);
}

/* Byte offset of element @i in the backing data. */
static inline uint64_t annex_array_byte(const struct annex_array *a, uint64_t i)
{
	return a->base + i * a->elem;
}

#endif
