// SPDX-License-Identifier: MIT
#include <math.h>
#include "pace.h"

#define MEASURED (1u << 20) /* bytes needed for a meaningful rate */
#define STEADY (16u << 20)  /* bytes needed to prefer the rate with several transfers in flight */
#define SEVERAL 4u          /* number of transfers that keep a device busy */

/* Add the time since the last call to the clocks, by the transfers in flight. */
static void tick(struct pace *p, uint64_t now)
{
	bool several = p->active[0] + p->active[1] >= SEVERAL;
	uint64_t ns = now - p->since;

	p->since = now;
	for (unsigned int out = 0; out < 2; out++) {
		if (!p->active[out])
			continue;
		p->clocks[out][PACE_ANY] += ns;
		if (several)
			p->clocks[out][p->active[!out] ? PACE_BOTH : PACE_ALONE] += ns;
	}
}

void annex_pace_begin(struct pace *p, bool out, struct passing *t, uint64_t now)
{
	tick(p, now);
	p->active[out]++;
	for (unsigned int i = 0; i < PACES; i++)
		t->clocks[i] = p->clocks[out][i];
}

/* Assume that its bytes have passed at a constant rate. */
void annex_pace_end(struct pace *p, bool out, const struct passing *t, double bytes, uint64_t now)
{
	uint64_t all;

	tick(p, now);
	p->active[out]--;
	all = p->clocks[out][PACE_ANY] - t->clocks[PACE_ANY];
	for (unsigned int i = 0; i < PACES && all; i++)
		p->bytes[out][i] += bytes * (double)(p->clocks[out][i] - t->clocks[i]) /
				    (double)all;
}

double annex_pace_rate(const struct pace *p, bool out)
{
	unsigned int i = p->bytes[out][PACE_ALONE] < STEADY ? PACE_ANY : PACE_ALONE;

	if (p->bytes[out][i] < MEASURED || !p->clocks[out][i])
		return 0;
	return p->bytes[out][i] * 1e9 / (double)p->clocks[out][i];
}

double annex_pace_duplex(const struct pace *p)
{
	double parts = 0;

	for (unsigned int out = 0; out < 2; out++) {
		double rate = annex_pace_rate(p, out), bytes = p->bytes[out][PACE_BOTH];

		if (bytes < STEADY || rate <= 0)
			return 2;
		parts += bytes * 1e9 / (double)p->clocks[out][PACE_BOTH] / rate;
	}
	return fmin(parts, 2);
}
