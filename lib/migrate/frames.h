/* SPDX-License-Identifier: MIT */
/*
 * The device tier of a space that is in a GPU's memory: a frame is behind those addresses of which
 * a page is in the tier, or on its way there, and counts as a whole.
 *
 * A frame without pages idles where it is, until another address needs its memory: the driver takes
 * long to map one, and so does so for several at once, in threads of links, with no lock. Frames
 * that are used or idle are never more than the tier may have.
 */
#ifndef ANNEX_MIGRATE_FRAMES_H
#define ANNEX_MIGRATE_FRAMES_H

#include "space.h"

/* Pages of a transfer, at most, with so large a device tier; and bytes that one may need at once:
 * less would have it wait for ever. */
uint32_t annex_frames_job(uint64_t device);
uint64_t annex_frames_least(const struct annex_frames *f, uint32_t job_pages);

int annex_frames_start(struct annex_space *s);
/* Nothing moves any more. */
void annex_frames_stop(struct annex_space *s);

/*
 * By how many pages the tier grows when these come; and count them, and no longer. The tier may
 * have so many pages. The space's lock is held.
 */
uint32_t annex_frames_cost(const struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_charge(struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_discharge(struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_limit(struct annex_space *s, uint32_t pages);

/*
 * Memory for pages that are charged, which holds anything or zeroes; or copies between pages and
 * memory of the host, @in to frames, which come into being. The pages are busy, and no lock is
 * held. Return: 0, -ENOMEM, an error of the GPU.
 */
int annex_frames_make(struct annex_space *s, uint32_t first, uint32_t n, bool zeroes);
int annex_frames_copy(struct annex_space *s, uint32_t first, uint32_t n, void *memory, bool in);

/* Whether some that are idle are more than the tier may have. The space's lock is held. */
bool annex_frames_exceed(struct annex_space *s);

/* Idle frames beyond what the tier may have are given back, or @all. No lock is held. */
void annex_frames_trim(struct annex_space *s, bool all);

#endif
