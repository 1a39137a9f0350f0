/* SPDX-License-Identifier: MIT */
/*
 * Frames of host memory with copies of pages, and which lines of each are dirty.
 */
#ifndef ANNEX_HDM_HOST_FRAMES_H
#define ANNEX_HDM_HOST_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <annex/models/cxlssd.h>
#include "heat.h"

#define FRAMES_NONE 0x7fffffffu /* no frame; there are at most so many */

/*
 * struct frame - A page, or nothing.
 * @ready: when the copy of the page has arrived; 0: it has.
 * @page: its number. Of a free frame: the next free one.
 * @heat: accesses (heat.h).
 * @used: it holds a page.
 * @listed: it is in the list of frames that may be dirty.
 */
struct frame {
	uint64_t ready;
	uint32_t page, heat;
	bool used, listed;
};

/*
 * struct frames - @n: how many, @n_used of them with a page.
 * @shift: the size of a page is 1 << @shift. @words: of 64 lines, for each frame in @dirty.
 * @free: the first free frame. @hand: where the search for a cold one goes on.
 * @soiled: the list of frames that may be dirty, @n_soiled of them.
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

/* frames_init() - @n frames for pages of @page bytes, a power of two; false: out of memory. */
bool frames_init(struct frames *f, uint32_t n, uint32_t page);
void frames_free(struct frames *f);

static inline char *frames_data(const struct frames *f, uint32_t i)
{
	return f->data + ((size_t)i << f->shift);
}

/* frames_take() - A free frame, FRAMES_NONE: there is none. frames_give() - It holds nothing. */
uint32_t frames_take(struct frames *f, uint32_t page);
void frames_give(struct frames *f, uint32_t i);

/* frames_coldest() - Of a few frames ahead of the hand, the one with the smallest count, if that is
 * at most @count; FRAMES_NONE. Copies that have not arrived at @now stay. */
uint32_t frames_coldest(struct frames *f, const struct heat *h, uint32_t count, uint64_t now);

/* frames_soil() - Lines of [@from, @from + @bytes) are dirty; @bytes is not 0. */
void frames_soil(struct frames *f, uint32_t i, uint32_t from, uint32_t bytes);
/* frames_run() - Dirty lines [*@first, *@end) of a frame, the first from *@end on; false: none. */
bool frames_run(const struct frames *f, uint32_t i, uint32_t *first, uint32_t *end);
/* frames_wash() - Lines [@first, @end) are clean. */
void frames_wash(struct frames *f, uint32_t i, uint32_t first, uint32_t end);

#endif
