/* SPDX-License-Identifier: MIT */
/*
 * Arrays on storage: typed elements behind a cache (BaM section 3.5).
 *
 * An array is a view: element size, count, and the offset of its first byte in the cache's backing
 * data. Views take no memory; several may share a cache. Every access checks its bounds, in every
 * build. In a child of fork() accesses return -ECHILD: see annex/cache.h.
 *
 * Elements have any size and begin at any offset, for example rows of 400 bytes behind a header of
 * 128: such elements may span lines. Accesses cost least if the size is a power of two, at most a
 * line, and the offset a multiple of it.
 *
 * docs/examples/cache.c and, for rows of a .npy file, rows.c are complete programs.
 */
#ifndef ANNEX_ARRAY_H
#define ANNEX_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <annex/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_array - A view of @count elements of @elem bytes each. Read only for callers.
 * @cache: the cache.
 * @base: byte offset of element 0 in the backing data.
 * @count: number of elements.
 * @elem: bytes of an element.
 * @per_line: elements in a line; 0 if elements may span lines.
 * @dir: state words of the cache's lines, copied from @cache for fast access; NULL if its directory
 *	is not flat, or elements may span lines.
 * @mem: slots of the cache, likewise.
 * @elem_shift: log2 of @elem; 0 if elements may span lines.
 * @line_shift: log2 of the bytes of a line.
 */
struct annex_array {
	struct annex_cache *cache;
	uint64_t base;
	uint64_t count;
	uint32_t elem;
	uint32_t per_line;
	uint64_t *dir;
	char *mem;
	uint8_t elem_shift;
	uint8_t line_shift;
};

/**
 * annex_array_init() - Make a view.
 * @a: the view to fill.
 * @cache: the cache; it must outlive the view.
 * @base: byte offset of element 0.
 * @elem: element size in bytes, at least 1.
 * @count: number of elements.
 *
 * Return: 0; -EINVAL (@elem is 0); -ERANGE (the view exceeds the backing data).
 */
int annex_array_init(struct annex_array *a, struct annex_cache *cache, uint64_t base, uint32_t elem,
		     uint64_t count);

/**
 * annex_array_get() - Copy an element out.
 * @a: the array.
 * @i: index of the element.
 * @out: receives its bytes.
 *
 * Elements of 1, 2, 4 and 8 bytes whose array begins at a multiple of their size are read and
 * written atomically: concurrent readers see the old or the new value. Other elements may be seen
 * half written.
 *
 * Return: 0, -ERANGE (no such element), or an error as annex_cache_pin().
 */
int annex_array_get(const struct annex_array *a, uint64_t i, void *out);

/**
 * annex_array_set() - Set an element.
 * @a: the array.
 * @i: index of the element.
 * @val: its new bytes.
 *
 * Atomic as annex_array_get(). After an error an unspecified part of an element that spans lines is
 * written.
 *
 * Return: as annex_array_get().
 */
int annex_array_set(const struct annex_array *a, uint64_t i, const void *val);

/**
 * annex_array_gather() - out[k] = array[idx[k]] for k < @n; all misses are read at once.
 * @a: the array.
 * @idx: @n indices, in any order.
 * @n: number of elements; large vectors are split into groups.
 * @out: room for @n elements.
 *
 * Return: 0; -ERANGE (an index is out of bounds); other errors as annex_cache_pin(), with an
 * unspecified part of the elements copied.
 */
int annex_array_gather(const struct annex_array *a, const uint64_t *idx, unsigned int n, void *out);

/**
 * annex_array_scatter() - array[idx[k]] = vals[k] for k < @n.
 * @a: the array.
 * @idx: @n indices, in any order; of equal indices the last one wins.
 * @n: number of elements; large vectors are split into groups.
 * @vals: @n elements.
 *
 * Return: as annex_array_gather(), with an unspecified part of the elements written; after -ERANGE
 * nothing was written.
 */
int annex_array_scatter(const struct annex_array *a, const uint64_t *idx, unsigned int n,
			const void *vals);

/**
 * annex_array_add_u32() - Add to an element of 4 bytes atomically.
 * @a: the array.
 * @i: index of the element.
 * @delta: value to add.
 * @old: NULL, or receives the previous value.
 *
 * Return: 0, -EINVAL (the element size is not 4, or the array does not begin at a multiple of 4),
 * -ERANGE, or as annex_cache_pin().
 */
int annex_array_add_u32(const struct annex_array *a, uint64_t i, uint32_t delta, uint32_t *old);

/**
 * annex_array_add_u64() - Add to an element of 8 bytes atomically.
 * @a: the array.
 * @i: index of the element.
 * @delta: value to add.
 * @old: NULL, or receives the previous value.
 *
 * Return: as annex_array_add_u32(), with an element size of 8.
 */
int annex_array_add_u64(const struct annex_array *a, uint64_t i, uint64_t delta, uint64_t *old);

/**
 * struct annex_span - A run of elements in a pinned line, or a copy of one that spans lines. Read
 * only for callers.
 * @data: the first element; the others follow it, up to the end of the line.
 * @count: number of elements in the span.
 * @line: the line's number, for annex_array_span_end().
 * @flags: the flags that the line was pinned with, likewise.
 */
struct annex_span {
	void *data;
	uint64_t count;
	uint64_t line;
	unsigned int flags;
};

/* annex_array_span() for spans that write, lines that are not cached, and rows. */
int annex_array_span_slow(const struct annex_array *a, uint64_t i, uint64_t max, unsigned int flags,
			  struct annex_span *span);

/*
 * Prefetch the beginning of the next line into the second-level cache: processors prefetch within a
 * page only. The directory has a word after the last line, and an absent line names slot 0.
 */
static inline void annex_array_ahead(const struct annex_array *a, uint64_t line)
{
	uint64_t word = annex_atomic_load(&a->dir[line + 1], ANNEX_RELAXED);
	const char *next = a->mem + ((uint64_t)annex_word_slot(word) << a->line_shift);

	for (unsigned int i = 0; i < 512; i += 64)
		__builtin_prefetch(next + i, 0, 2);
}

#define ANNEX_SPAN_HIT (1u << 31) /* flag of struct annex_span: pinned by the inline path */

/**
 * annex_array_span() - Pin the line of element @i for reuse (BaM's reference reuse).
 * @a: the array.
 * @i: index of the first element.
 * @max: take at most this many elements (0: to the end of the line).
 * @flags: ANNEX_PIN_WRITE, or 0. ANNEX_PIN_NEW takes effect only if the span covers its whole line.
 * @span: the span to fill.
 *
 * An element that spans lines is a span of its own, in memory that is allocated for it: a copy. One
 * for reading pins nothing and does not see later changes. One for writing pins all lines of the
 * element, and annex_array_span_end() copies it back, which cannot fail. So this loop is right for
 * all arrays:
 *
 *   for (uint64_t i = 0; i < n; i += span.count) {
 *           if (annex_array_span(&a, i, n - i, 0, &span))
 *                   return -1;
 *           use(span.data, span.count);
 *           annex_array_span_end(&a, &span);
 *   }
 *
 * Inline, because the step from one line to the next is all that a sum over lines of 4 KiB costs
 * more than a sum over a plain array.
 *
 * Return: 0; an error as annex_array_get(); -EBUSY also if an element to be written has more lines
 * than the cache has slots; -ENOMEM. Unpin with annex_array_span_end().
 */
static inline int annex_array_span(const struct annex_array *a, uint64_t i, uint64_t max,
				   unsigned int flags, struct annex_span *span)
{
	const uint64_t usual = ANNEX_LINE_VALID | ANNEX_LINE_REFERENCED;
	uint64_t byte = a->base + (i << a->elem_shift), line = byte >> a->line_shift, word;
	uint64_t off = byte & (((uint64_t)1 << a->line_shift) - 1), left;

	if (__builtin_expect(i >= a->count || flags || !a->dir, 0))
		return annex_array_span_slow(a, i, max, flags, span);
	/* Acquire: a thread that sees VALID sees the line's bytes. */
	word = annex_atomic_add(&a->dir[line], 1, ANNEX_ACQUIRE);
	if (__builtin_expect((word & (usual | ANNEX_LINE_CROWDED)) != usual, 0)) {
		annex_atomic_sub(&a->dir[line], 1, ANNEX_RELEASE);
		return annex_array_span_slow(a, i, max, flags, span);
	}
	annex_array_ahead(a, line);
	left = (((uint64_t)1 << a->line_shift) - off) >> a->elem_shift;
	if (left > a->count - i)
		left = a->count - i;
	span->data = a->mem + ((uint64_t)annex_word_slot(word) << a->line_shift) + off;
	span->count = max && max < left ? max : left;
	span->line = line;
	span->flags = ANNEX_SPAN_HIT;
	return 0;
}

/**
 * annex_array_span_end() - Unpin a span. A second call does nothing. The count stays.
 * @a: the array.
 * @span: the span.
 */
void annex_array_span_end(const struct annex_array *a, struct annex_span *span);

/**
 * annex_array_prefetch() - Start reading elements.
 * @a: the array.
 * @i: index of the first element.
 * @n: number of elements.
 *
 * Return: as annex_cache_prefetch(); -ERANGE also if the array ends before the last element.
 */
int64_t annex_array_prefetch(const struct annex_array *a, uint64_t i, uint64_t n);

#ifdef __cplusplus
}
#endif
#endif
