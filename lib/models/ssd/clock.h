/* SPDX-License-Identifier: MIT */
/*
 * Timing of the flash of a CXL-SSD. A die executes one operation at a time, and holds a page that
 * it has read until the channel has transferred the wanted part. A channel transfers one page at a
 * time, and does not wait for busy dies. If the flash supports it, a read suspends a program or an
 * erase. Operations execute in order of arrival. Times are nanoseconds of a monotonic clock.
 *
 * One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_CLOCK_H
#define ANNEX_HDM_SSD_CLOCK_H

#include "geometry.h"
#include "media.h"

struct ssd_clock;

/* ssd_clock_create() - Create flash that is idle at time 0; NULL: out of memory. */
struct ssd_clock *ssd_clock_create(const struct ssd_geometry *g, const struct ssd_media *media);
void ssd_clock_destroy(struct ssd_clock *c);

/*
 * ssd_clock_read() - Read @bytes of a page of a plane.
 * ssd_clock_program() - Program a page.
 * ssd_clock_erase() - Erase a block.
 * ssd_clock_copy() - Copy a page within its plane, without the channel.
 * @now: time of arrival. Return: time of completion.
 */
uint64_t ssd_clock_read(struct ssd_clock *c, uint32_t plane, uint32_t bytes, uint64_t now);
uint64_t ssd_clock_program(struct ssd_clock *c, uint32_t plane, uint64_t now);
uint64_t ssd_clock_erase(struct ssd_clock *c, uint32_t plane, uint64_t now);
uint64_t ssd_clock_copy(struct ssd_clock *c, uint32_t plane, uint64_t now);

/* ssd_clock_idle() - Time at which the die of a plane is idle. */
uint64_t ssd_clock_idle(const struct ssd_clock *c, uint32_t plane);

#endif
