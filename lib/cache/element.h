/* SPDX-License-Identifier: MIT */
/*
 * Copies of one element. Elements of 1, 2, 4 and 8 bytes are copied in one access, so readers see
 * the old or the new value; longer ones go in words.
 */
#ifndef ANNEX_CACHE_ELEMENT_H
#define ANNEX_CACHE_ELEMENT_H

#include <stdint.h>
#include <string.h>
#include <annex/array.h>
#include <annex/detail/atomic.h>

#define ELEMENT_INLINE static inline __attribute__((always_inline))

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
	default:
		for (uint32_t at = 0; at < elem; at += 8) {
			v8 = annex_atomic_load((const uint64_t *)((const char *)from + at),
					       ANNEX_ACQUIRE);
			memcpy((char *)to + at, &v8, 8);
		}
	}
}

/* To shared memory. Relaxed: the unpin that follows publishes it. */
ELEMENT_INLINE void annex_element_store(void *to, const void *from, uint32_t elem)
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
	default:
		for (uint32_t at = 0; at < elem; at += 8) {
			memcpy(&v8, (const char *)from + at, 8);
			annex_atomic_store((uint64_t *)((char *)to + at), v8, ANNEX_RELAXED);
		}
	}
}

/* annex_array_out() - The error of an element that is out of bounds: -ERANGE. */
int annex_array_out(const struct annex_array *a, uint64_t i);

/* Byte offset of element @i in the backing data. */
static inline uint64_t annex_array_byte(const struct annex_array *a, uint64_t i)
{
	return a->base + i * a->elem;
}

#endif
