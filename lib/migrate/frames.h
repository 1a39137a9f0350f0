/* SPDX-License-Identifier: MIT */
/*
 * The device tier of a space that is in a GPU's memory: a frame is behind those addresses of which
 * a page is in the tier, or on its way there, and counts as a whole. The space's lock is held, but
 * for copies.
 */
#ifndef ANNEX_MIGRATE_FRAMES_H
#define ANNEX_MIGRATE_FRAMES_H

#include "space.h"

/* As many as one job may need at once; less would have it wait for ever. */
uint64_t annex_frames_least(const struct annex_frames *f);

int annex_frames_start(struct annex_space *s);
/* Nothing moves any more. */
void annex_frames_stop(struct annex_space *s);

/* By how many pages the tier grows when these come; and count them, and no longer. */
uint32_t annex_frames_cost(const struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_charge(struct annex_space *s, uint32_t first, uint32_t n);
void annex_frames_discharge(struct annex_space *s, uint32_t first, uint32_t n);

/* Frames for pages that are charged; and zeroes there. Return: 0, -ENOMEM, an error of the GPU. */
int annex_frames_back(struct annex_space *s, uint32_t first, uint32_t n);
int annex_frames_zero(struct annex_space *s, uint32_t first, uint32_t n);

/* Between pages that have frames and memory of the host, @in to the frames. */
int annex_frames_copy(const struct annex_space *s, uint32_t first, uint32_t n, void *memory,
		      bool in);

#endif
