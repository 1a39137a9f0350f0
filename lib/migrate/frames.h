/* SPDX-License-Identifier: MIT */
/*
 * The device tier of a space in a GPU's memory. A frame is mapped at addresses of which a page is
 * in the tier, or being brought in, and is charged as a whole.
 *
 * A frame without pages stays mapped and idle, until other addresses need its memory: mapping is
 * slow, so threads of links map several frames at once, without a lock. Used and idle frames
 * together never exceed the tier's size.
 */
#ifndef ANNEX_MIGRATE_FRAMES_H
#define ANNEX_MIGRATE_FRAMES_H

#include "space.h"

/* Most pages of a transfer for a device tier of this size; and most bytes that a transfer may need
 * at once: in a smaller tier it would wait for ever. */
uint32_t annex_frames_job(uint64_t device);
uint64_t annex_frames_least(const struct annex_frames *f, uint32_t job_pages);

int annex_frames_start(struct annex_space *s);
/* The space has no jobs. */
void annex_frames_stop(struct annex_space *s);

/*
 * Number of pages by which the tier grows with these; charge them; discharge them. Set the limit of
 * the tier. The space's lock is held.
 */
uint32_t annex_frames_cost(const struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_charge(struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_discharge(struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_limit(struct annex_space *s, uint32_t pages);

/*
 * Map frames for charged pages, with undefined contents or zeroes; or copy between pages and memory
 * of the host, @in to frames, which are mapped first. The pages are busy, and no lock is held.
 * Return: 0, -ENOMEM, an error of the GPU.
 */
int annex_frames_make(struct annex_space *s, uint32_t first, uint32_t n, bool zeroes);
int annex_frames_copy(struct annex_space *s, uint32_t first, uint32_t n, void *memory, bool in);

/* Whether idle frames exceed the tier's limit. The space's lock is held. */
bool annex_frames_exceed(struct annex_space *s);

/* Free idle frames beyond the tier's limit, or @all of them. No lock is held. */
void annex_frames_trim(struct annex_space *s, bool all);

#endif
