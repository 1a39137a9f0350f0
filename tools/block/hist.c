// SPDX-License-Identifier: GPL-2.0-or-later
#include "hist.h"

void hist_merge(struct hist *to, const struct hist *from)
{
	for (unsigned int i = 0; i < HIST_CLASSES; i++)
		to->n[i] += from->n[i];
	to->count += from->count;
	if (from->most > to->most)
		to->most = from->most;
}

/* The middle of class @i; hist_add() adds 2^HIST_BITS to the place of all but the first. */
static double middle(unsigned int i)
{
	unsigned int shift = i >> HIST_BITS ? (i >> HIST_BITS) - 1 : 0;
	uint64_t low = (uint64_t)(i - (shift << HIST_BITS)) << shift;

	return (double)low + (double)((1ull << shift) - 1) / 2;
}

double hist_at(const struct hist *h, double share)
{
	double want = share * (double)h->count, seen = 0, ns;

	for (unsigned int i = 0; i < HIST_CLASSES; i++) {
		seen += (double)h->n[i];
		if (!h->n[i] || seen < want)
			continue;
		ns = middle(i);
		return (ns < (double)h->most ? ns : (double)h->most) / 1e9;
	}
	return (double)h->most / 1e9;
}
