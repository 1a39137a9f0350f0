/* SPDX-License-Identifier: MIT */
/*
 * Frames of host memory with copies of pages, and their dirty lines.
 */
#ifndef ANNEX_HDM_HOST_FRAMES_H
#define ANNEX_HDM_HOST_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <annex/models/cxlssd.h>
#include "heat.h"

#define FRAMES_NONE 0x7fffffffu /* no frame; also the maximum number of frames */

/*
 * struct frame - A frame.
 * @ready: time of arrival of the copy; 0: it has arrived.
 * @page: number of the page; in a free frame, the next free frame.
 * @heat: accesses (heat.h).
 * @used: it has a page.
 * @listed: in the list of frames that may be dirty.
 */
struct frame {
	uint64_t ready;
	uint32_t page, heat;
	bool used, listed;
};

/*
 * struct frames - All frames.
 * @v: the frames.
 * @data: bytes of the frames.
 * @dirty: dirty lines of the frames, a bit each.
 * @soiled: list of frames that may be dirty.
 * @n: number of frames.
 * @n_used: number of frames with a page.
 * @n_soiled: number of frames in @soiled.
 * @shift: binary logarithm of the page size.
 * @words: words of @dirty for each frame.
 * @free: first free frame.
 * @hand: start of the next search for a cold frame.
 */
struct frames {
	struct frame *v;
	char *data;
	uint64_t *dirty;
	uint32_t *soiled;
	uint32_t n, n_used, n_soiled;
	uint32_t shift, words;
	uint32_t free, hand;
};

/* frames_init() - Allocate @n frames for pages of @page bytes, a power of two; false: no memory. */
bool frames_init(struct frames *f, uint32_t n, uint32_t page);
void frames_free(struct frames *f);

static inline char *frames_data(const struct frames *f, uint32_t i)
{
	return f->data + ((size_t)i << f->shift);
}

/* frames_take() - Allocate a frame, or FRAMES_NONE. frames_give() - Free it. */
uint32_t frames_take(struct frames *f, uint32_t page);
void frames_give(struct frames *f, uint32_t i);

/*
 * frames_coldest() - Of a few frames from the hand on, find the one with the smallest count, if
 * that is at most @count; else FRAMES_NONE. Skip copies that have not arrived at @now.
 */
uint32_t frames_coldest(struct frames *f, const struct heat *h, uint32_t count, uint64_t now);

/* frames_mark_dirty() - Mark lines of [@from, @from + @bytes) as dirty; @bytes is not 0. */
void frames_mark_dirty(struct frames *f, uint32_t i, uint32_t from, uint32_t bytes);
/* frames_run() - Find the first run [*@first, *@end) of dirty lines from *@end on; false: none. */
bool frames_run(const struct frames *f, uint32_t i, uint32_t *first, uint32_t *end);
/* frames_mark_clean() - Mark lines [@first, @end) as clean. */
void frames_mark_clean(struct frames *f, uint32_t i, uint32_t first, uint32_t end);

#endif
