/* SPDX-License-Identifier: MIT */
/*
 * Arrays on storage for GPU threads (BaM section 3.5): the same elements in the same layout as in
 * annex/array.h, through a cache in GPU memory. Here elements do not span lines: their size is a
 * power of two, and a kernel reads a row of another size as several elements.
 *
 * This is device code, which any number of threads may call at once. Lanes of a warp that need the
 * same line share one read of it. Calls fail with a negative errno in bounded time: no wait is
 * longer than twice the context's timeout, and one timeout more for each further replica. After the
 * first error, which is recorded in the context for the host, all calls that need a device return
 * it at once.
 *
 * A read that fails on one replica goes on to the next, and is an error only if it fails on all of
 * them. A replica that loses a read is not read again before annex_gpu_recover(), and its other
 * commands end: reads go to other replicas, and writes, which all replicas need, fail.
 *
 * This header also compiles for a host, where tests run it.
 */
#ifndef ANNEX_GPU_H
#define ANNEX_GPU_H

#include <annex/detail/gpu_flush.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_gpu_array - A view of @count elements. Made on the host, passed to kernels by value.
 * @cache: the context, in GPU memory.
 * @dir: state words of the context's lines, copied from @cache for fast access.
 * @mem: slots of the context, likewise.
 * @base: byte offset of element 0 in the backing data, a multiple of the element.
 * @count: number of elements. base + (count << elem_shift) is at most the context's size.
 * @elem_shift: log2 of an element's bytes, at most @line_shift.
 * @line_shift: log2 of the bytes of a line, copied from @cache too.
 */
struct annex_gpu_array {
	struct annex_gpu_cache *cache;
	uint64_t *dir;
	char *mem;
	uint64_t base;
	uint64_t count;
	uint32_t elem_shift;
	uint32_t line_shift;
};

/* Byte offset of element @i in the backing data. */
static inline ANNEX_HD uint64_t annex_gpu_byte(const struct annex_gpu_array *a, uint64_t i)
{
	return a->base + (i << a->elem_shift);
}

/* Address of a byte of the backing data whose line is in @slot. */
static inline ANNEX_HD char *annex_gpu_where(const struct annex_gpu_array *a, uint32_t slot,
					     uint64_t byte)
{
	uint64_t off = byte & (((uint64_t)1 << a->line_shift) - 1);

	return a->mem + ((uint64_t)slot << a->line_shift) + off;
}

/*
 * Load an element from a slot: up to 8 bytes in one access, longer elements word by word. Acquire:
 * the load of the line's word that follows is not reordered before.
 */
ANNEX_RACY static inline ANNEX_HD void annex_gpu_load(void *to, char *from, uint32_t elem_shift)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;
	uint8_t v1;

	if (elem_shift == 0) {
		v1 = annex_local_load((uint8_t *)from, ANNEX_ACQUIRE);
		__builtin_memcpy(to, &v1, 1);
	} else if (elem_shift == 1) {
		v2 = annex_local_load((uint16_t *)(void *)from, ANNEX_ACQUIRE);
		__builtin_memcpy(to, &v2, 2);
	} else if (elem_shift == 2) {
		v4 = annex_local_load((uint32_t *)(void *)from, ANNEX_ACQUIRE);
		__builtin_memcpy(to, &v4, 4);
	} else {
		for (uint32_t at = 0; at < 1u << elem_shift; at += 8) {
			v8 = annex_local_load((uint64_t *)(void *)(from + at), ANNEX_ACQUIRE);
			__builtin_memcpy((char *)to + at, &v8, 8);
		}
	}
}

/* Store an element to a slot. Relaxed: the release of the line's reference publishes it. */
static inline ANNEX_HD void annex_gpu_store(char *to, const void *from, uint32_t elem_shift)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;
	uint8_t v1;

	if (elem_shift == 0) {
		__builtin_memcpy(&v1, from, 1);
		annex_local_store((uint8_t *)to, v1, ANNEX_RELAXED);
	} else if (elem_shift == 1) {
		__builtin_memcpy(&v2, from, 2);
		annex_local_store((uint16_t *)(void *)to, v2, ANNEX_RELAXED);
	} else if (elem_shift == 2) {
		__builtin_memcpy(&v4, from, 4);
		annex_local_store((uint32_t *)(void *)to, v4, ANNEX_RELAXED);
	} else {
		for (uint32_t at = 0; at < 1u << elem_shift; at += 8) {
			__builtin_memcpy(&v8, (const char *)from + at, 8);
			annex_local_store((uint64_t *)(void *)(to + at), v8, ANNEX_RELAXED);
		}
	}
}

/*
 * Read an element of a cached line without a reference, which would cost two atomic operations:
 * load the line's word, the element, and the word again. Lanes need no communication for that,
 * since the GPU coalesces their loads of one word. Return: whether the read is valid.
 */
ANNEX_RACY static inline ANNEX_HD bool annex_gpu_read_hot(const struct annex_gpu_array *a,
							  uint64_t byte, void *out)
{
	uint64_t *state = &a->dir[byte >> a->line_shift];
	/* Acquire: pairs with annex_line_filled(). */
	uint64_t word = annex_local_load(state, ANNEX_ACQUIRE), now;

	if (!(word & ANNEX_LINE_VALID))
		return false;
	annex_gpu_load(out, annex_gpu_where(a, annex_word_slot(word), byte), a->elem_shift);
	/* Relaxed: ordered after the element by the acquire of its load. */
	now = annex_local_load(state, ANNEX_RELAXED);
	if ((now ^ word) & ANNEX_LINE_RESIDENCE)
		return false;
	if (!(now & ANNEX_LINE_REFERENCED))
		annex_local_or(state, ANNEX_LINE_REFERENCED, ANNEX_RELAXED);
	return true;
}

/* Operation on an element while its line is referenced. */
enum annex_gpu_op {
	ANNEX_GPU_OP_GET,
	ANNEX_GPU_OP_SET,
	ANNEX_GPU_OP_ADD32,
	ANNEX_GPU_OP_ADD64,
};

/* @val: destination or source of the element; for additions the summand, then the old value. */
static inline ANNEX_HD void annex_gpu_do(const struct annex_gpu_array *a, enum annex_gpu_op op,
					 char *at, void *val)
{
	uint64_t *sum64 = (uint64_t *)val;
	uint32_t *sum32 = (uint32_t *)val;

	if (op == ANNEX_GPU_OP_GET)
		annex_gpu_load(val, at, a->elem_shift);
	else if (op == ANNEX_GPU_OP_SET)
		annex_gpu_store(at, val, a->elem_shift);
	else if (op == ANNEX_GPU_OP_ADD32)
		*sum32 = annex_local_add((uint32_t *)(void *)at, *sum32, ANNEX_RELAXED);
	else
		*sum64 = annex_local_add((uint64_t *)(void *)at, *sum64, ANNEX_RELAXED);
}

/* The active lanes with the same cache. Lanes with another cache run other jobs. */
static inline ANNEX_HD uint32_t annex_gpu_together(const struct annex_gpu_cache *c)
{
	return annex_warp_match(annex_warp_active(), (uint64_t)(uintptr_t)c);
}

/*
 * Carry out an operation on an element of each lane, as their lines arrive. A lane releases its
 * line before it leaves the loop: a GPU may make lanes wait for each other after the loop, and
 * lanes that are still inside may need the slot.
 */
ANNEX_GPU_COLD static ANNEX_HD int annex_gpu_access(const struct annex_gpu_array *a, uint64_t byte,
						    enum annex_gpu_op op, void *val)
{
	uint32_t mask = annex_gpu_together(a->cache);
	struct annex_gpu_want w;
	bool done = false;

	annex_gpu_want_begin(mask, byte >> a->line_shift,
			     op == ANNEX_GPU_OP_GET ? 0 : ANNEX_PIN_WRITE, &w);
	while (!done) {
		done = annex_gpu_want_round(a->cache, mask, &w);
		if (done && !w.err) {
			annex_gpu_do(a, op, annex_gpu_where(a, w.slot, byte), val);
			annex_gpu_want_end(a->cache, &w);
		}
		mask = annex_warp_ballot(mask, !done);
	}
	return w.err;
}

/**
 * annex_gpu_get() - Copy an element out.
 * @a: the array.
 * @i: index of the element.
 * @out: receives its bytes.
 *
 * Elements of 1, 2, 4 and 8 bytes are read and written atomically.
 *
 * Return: 0; -ERANGE (no such element; not recorded in the context); the context's first error:
 * -EIO and other errnos of a command; -ETIMEDOUT; -EBUSY (no slot was freed in time); -ENODEV.
 */
static inline ANNEX_HD int annex_gpu_get(const struct annex_gpu_array *a, uint64_t i, void *out)
{
	uint64_t byte = annex_gpu_byte(a, i);

	if (i >= a->count)
		return -ERANGE;
	if (annex_gpu_read_hot(a, byte, out))
		return 0;
	return annex_gpu_access(a, byte, ANNEX_GPU_OP_GET, out);
}

/**
 * annex_gpu_set() - Set an element. If several lanes set it at once, any of them wins.
 * @a: the array.
 * @i: index of the element.
 * @val: its new bytes.
 *
 * Return: as annex_gpu_get().
 */
static inline ANNEX_HD int annex_gpu_set(const struct annex_gpu_array *a, uint64_t i,
					 const void *val)
{
	if (i >= a->count)
		return -ERANGE;
	return annex_gpu_access(a, annex_gpu_byte(a, i), ANNEX_GPU_OP_SET, (void *)val);
}

/**
 * annex_gpu_add32() - Add to an element of 4 bytes atomically.
 * @a: the array.
 * @i: index of the element.
 * @delta: value to add.
 * @old: NULL, or receives the previous value.
 *
 * Return: as annex_gpu_get(); -EINVAL (the element size is not 4).
 */
static inline ANNEX_HD int annex_gpu_add32(const struct annex_gpu_array *a, uint64_t i,
					   uint32_t delta, uint32_t *old)
{
	int err;

	if (a->elem_shift != 2)
		return -EINVAL;
	if (i >= a->count)
		return -ERANGE;
	err = annex_gpu_access(a, annex_gpu_byte(a, i), ANNEX_GPU_OP_ADD32, &delta);
	if (!err && old)
		*old = delta;
	return err;
}

/**
 * annex_gpu_add64() - Add to an element of 8 bytes atomically.
 * @a: the array.
 * @i: index of the element.
 * @delta: value to add.
 * @old: NULL, or receives the previous value.
 *
 * Return: as annex_gpu_add32(), with an element size of 8.
 */
static inline ANNEX_HD int annex_gpu_add64(const struct annex_gpu_array *a, uint64_t i,
					   uint64_t delta, uint64_t *old)
{
	int err;

	if (a->elem_shift != 3)
		return -EINVAL;
	if (i >= a->count)
		return -ERANGE;
	err = annex_gpu_access(a, annex_gpu_byte(a, i), ANNEX_GPU_OP_ADD64, &delta);
	if (!err && old)
		*old = delta;
	return err;
}

/**
 * struct annex_gpu_span - A run of elements in a pinned line in GPU memory.
 * @data: the first element; the others follow it, up to the end of the line.
 * @count: number of elements in the span.
 * @want: the line, and the lanes that pin it.
 */
struct annex_gpu_span {
	void *data;
	uint64_t count;
	struct annex_gpu_want want;
};

/**
 * annex_gpu_span() - Pin the line of element @i for reuse (BaM's reference reuse).
 * @a: the array.
 * @lanes: mask of the lanes that make this call together, for example annex_warp_active().
 * @i: index of the first element.
 * @max: take at most this many elements (0: to the end of the line).
 * @flags: ANNEX_PIN_WRITE, or 0. ANNEX_PIN_NEW: the lanes that request this line overwrite all of
 *	it; takes effect only if the span covers its whole line.
 * @span: the span to fill.
 *
 * Lanes that request the same line in one call pin it together, get the same result, and must end
 * the span together. A warp should pin few lines at once: if all slots are pinned, a lane that
 * needs another line waits. Lanes with different lines may all have to wait until each of them has
 * its line, so a warp should call this for one line after the other, each time with all lanes that
 * need it.
 *
 * Return: as annex_gpu_get(). Unpin with annex_gpu_span_end().
 */
ANNEX_GPU_COLD static ANNEX_HD int annex_gpu_span(const struct annex_gpu_array *a, uint32_t lanes,
						  uint64_t i, uint64_t max, uint32_t flags,
						  struct annex_gpu_span *span)
{
	uint64_t byte = annex_gpu_byte(a, i), line = byte >> a->line_shift, left;
	bool done = false;

	span->data = NULL;
	span->count = 0;
	lanes = annex_warp_ballot(lanes, i < a->count);
	if (i >= a->count)
		return -ERANGE;
	left = (((line + 1) << a->line_shift) - byte) >> a->elem_shift;
	if (left > a->count - i)
		left = a->count - i;
	if (max && max < left)
		left = max;
	if (flags & ANNEX_PIN_NEW && left << a->elem_shift == annex_gpu_line_bytes(a->cache, line))
		flags = ANNEX_PIN_NEW;
	else
		flags = flags ? ANNEX_PIN_WRITE : 0;
	annex_gpu_want_begin(lanes, line, flags, &span->want);
	while (!done) {
		done = annex_gpu_want_round(a->cache, lanes, &span->want);
		lanes = annex_warp_ballot(lanes, !done);
	}
	if (span->want.err)
		return span->want.err;
	span->data = annex_gpu_where(a, span->want.slot, byte);
	span->count = left;
	return 0;
}

/**
 * annex_gpu_span_end() - Unpin a span. A second call does nothing.
 * @a: the array.
 * @span: the span.
 */
static inline ANNEX_HD void annex_gpu_span_end(const struct annex_gpu_array *a,
					       struct annex_gpu_span *span)
{
	if (!span->data)
		return;
	span->data = NULL;
	annex_gpu_want_end(a->cache, &span->want);
}

/**
 * annex_gpu_prefetch() - Start reading the line of an element if it is not cached; does not wait.
 * @a: the array.
 * @i: index of the element.
 *
 * A hint: nothing happens if no slot or no queue entry is free.
 *
 * Return: 0; -ERANGE; the context's first error.
 */
ANNEX_GPU_COLD static ANNEX_HD int annex_gpu_prefetch(const struct annex_gpu_array *a, uint64_t i)
{
	uint64_t line = annex_gpu_byte(a, i) >> a->line_shift, word;
	struct annex_gpu_want w;
	uint32_t mask;

	if (i >= a->count)
		return -ERANGE;
	word = annex_local_load(&a->dir[line], ANNEX_RELAXED);
	if ((word & (ANNEX_LINE_VALID | ANNEX_LINE_REFERENCED)) == ANNEX_LINE_VALID)
		annex_local_or(&a->dir[line], ANNEX_LINE_REFERENCED, ANNEX_RELAXED);
	if (!(word & (ANNEX_LINE_VALID | ANNEX_LINE_BUSY))) {
		mask = annex_gpu_together(a->cache);
		annex_gpu_want_begin(mask, line, 0, &w);
		annex_gpu_want_ahead(a->cache, mask, &w);
	}
	return annex_gpu_failed(a->cache);
}

/**
 * struct annex_gpu_ticket - An asynchronous read.
 * @i: index of the element.
 * @value: its bytes, if @there.
 * @there: the element's line was cached at the start, and the element was read then.
 */
struct annex_gpu_ticket {
	uint64_t i;
	uint64_t value;
	bool there;
};

/**
 * annex_gpu_start() - Begin to read an element, without waiting (as AGILE does).
 * @a: the array.
 * @i: index of the element.
 * @ticket: the read, for annex_gpu_finish().
 *
 * An element of at most 8 bytes in a cached line is read at once. A ticket pins no line and no
 * slot, so any number may be open, and a ticket need not be finished. A line that is evicted before
 * annex_gpu_finish() is read again.
 *
 * Return: as annex_gpu_get().
 */
static inline ANNEX_HD int annex_gpu_start(const struct annex_gpu_array *a, uint64_t i,
					   struct annex_gpu_ticket *ticket)
{
	ticket->i = i;
	ticket->there = i < a->count && a->elem_shift <= 3 &&
			annex_gpu_read_hot(a, annex_gpu_byte(a, i), &ticket->value);
	return ticket->there ? 0 : annex_gpu_prefetch(a, i);
}

/**
 * annex_gpu_finish() - Wait for a read, and copy its element out.
 * @a: the array.
 * @ticket: from annex_gpu_start().
 * @out: receives the element's bytes.
 *
 * Return: as annex_gpu_get().
 */
static inline ANNEX_HD int annex_gpu_finish(const struct annex_gpu_array *a,
					    const struct annex_gpu_ticket *ticket, void *out)
{
	if (!ticket->there)
		return annex_gpu_get(a, ticket->i, out);
	__builtin_memcpy(out, &ticket->value, (size_t)1 << a->elem_shift);
	return 0;
}

#ifdef __cplusplus
}
#endif
#endif
