// SPDX-License-Identifier: MIT
#include "core/least.h"
#include "place.h"

uint64_t annex_place_resident(const struct place *p)
{
	uint64_t sum = p->dirty;

	for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS; t++)
		sum += p->clean[t];
	return sum;
}

uint64_t annex_place_out(const struct place *p)
{
	uint64_t sum = 0;

	for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS; t++)
		sum += p->out[t];
	return sum;
}

uint64_t annex_place_below(const struct place *p, unsigned int tier)
{
	return p->clean[tier] + p->out[tier];
}

uint64_t annex_place_evict(struct place *p, uint64_t bytes, unsigned int tier)
{
	uint64_t left = bytes, n;

	for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS && left; t++) {
		n = least(p->clean[t], left);
		p->clean[t] -= n;
		p->out[t] += n;
		left -= n;
	}
	n = least(p->dirty, left);
	p->dirty -= n;
	p->out[tier] += n;
	return bytes - (left - n);
}

uint64_t annex_place_save(struct place *p, uint64_t bytes, unsigned int tier)
{
	uint64_t n = least(p->dirty, bytes);

	p->dirty -= n;
	p->clean[tier] += n;
	return n;
}

uint64_t annex_place_prefetch(struct place *p, uint64_t bytes, bool keep)
{
	uint64_t left = bytes;

	for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS && left; t++) {
		uint64_t n = least(p->out[t], left);

		p->out[t] -= n;
		*(keep ? &p->clean[t] : &p->dirty) += n;
		left -= n;
	}
	return bytes - left;
}

void annex_place_write(struct place *p)
{
	for (unsigned int t = ANNEX_TIER_HOST; t < ANNEX_TIERS; t++) {
		p->dirty += p->clean[t];
		p->clean[t] = 0;
	}
}
