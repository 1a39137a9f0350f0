/* SPDX-License-Identifier: MIT */
/*
 * When the flash of a CXL-SSD has done its work. A die does one thing at a time, and keeps a page
 * that it has read until the channel has taken the part of it that is wanted; a channel carries one
 * page at a time, and others while that of a busy die is not ready. Where flash can, a read
 * interrupts a program or an erase. Orders are carried out as they come. Times are nanoseconds of
 * any clock that does not go back.
 *
 * One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_CLOCK_H
#define ANNEX_HDM_SSD_CLOCK_H

#include "geometry.h"
#include "media.h"

struct ssd_clock;

/* ssd_clock_create() - Flash that is idle at time 0; NULL: out of memory. */
struct ssd_clock *ssd_clock_create(const struct ssd_geometry *g, const struct ssd_media *media);
void ssd_clock_destroy(struct ssd_clock *c);

/*
 * ssd_clock_read() - A page of a plane, told to at @now, of which @bytes are wanted.
 * Return: when they have come.
 * ssd_clock_program(), ssd_clock_erase() - Likewise; return: when that has been done.
 * ssd_clock_copy() - A page to another place in its plane, which passes no channel.
 */
uint64_t ssd_clock_read(struct ssd_clock *c, uint32_t plane, uint32_t bytes, uint64_t now);
uint64_t ssd_clock_program(struct ssd_clock *c, uint32_t plane, uint64_t now);
uint64_t ssd_clock_erase(struct ssd_clock *c, uint32_t plane, uint64_t now);
uint64_t ssd_clock_copy(struct ssd_clock *c, uint32_t plane, uint64_t now);

/* ssd_clock_idle() - When the plane's die will have done all that it has been told. */
uint64_t ssd_clock_idle(const struct ssd_clock *c, uint32_t plane);

#endif
