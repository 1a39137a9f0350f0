/* SPDX-License-Identifier: MIT */
/*
 * Recent access counts: a count in a word of 31 bits, halved at each epoch. A word has the epoch of
 * its last write, so the end of an epoch changes no words.
 */
#ifndef ANNEX_HDM_HOST_HEAT_H
#define ANNEX_HDM_HOST_HEAT_H

#include <stdint.h>

#define HEAT_BITS 16u
#define HEAT_MOST 0xffffu   /* counts saturate here */
#define HEAT_EPOCHS 0x7fffu /* mask of epoch numbers, which wrap around */

/* struct heat - An epoch. @period: accesses of an epoch. @left: accesses until its end. */
struct heat {
	uint32_t epoch;
	uint64_t period, left;
};

/* heat_tick() - Count an access. */
static inline void heat_tick(struct heat *h)
{
	if (--h->left)
		return;
	h->left = h->period;
	h->epoch = (h->epoch + 1) & HEAT_EPOCHS;
}

static inline uint32_t heat_count(const struct heat *h, uint32_t word)
{
	const uint32_t past = (h->epoch - (word >> HEAT_BITS)) & HEAT_EPOCHS;

	return past < HEAT_BITS ? (word & HEAT_MOST) >> past : 0;
}

/* heat_more() - The word after one more access. */
static inline uint32_t heat_more(const struct heat *h, uint32_t word)
{
	const uint32_t count = heat_count(h, word);

	return h->epoch << HEAT_BITS | (count + (count < HEAT_MOST));
}

#endif
