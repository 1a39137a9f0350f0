// SPDX-License-Identifier: MIT
/*
 * When a simulation has seen enough.
 */
#include <math.h>
#include "simulate.h"

#define AGREE 0.005 /* the share that means may differ by */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

/* A number for where every byte is, and which are under way. */
static uint64_t digest(const struct sim *s)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		const struct sim_gpu *g = &s->gpus[i];

		for (uint32_t j = 0; j < g->trace->n_tensors; j++) {
			const struct sim_tensor *t = &g->tensors[j];

			h = mix(h, t->dirty << 1 | t->born);
			for (unsigned int k = ANNEX_TIER_HOST; k < s->tiers; k++) {
				h = mix(h, sim_clean(t, k)->bytes);
				h = mix(h, sim_out(t, k)->bytes);
			}
			for (const struct sim_request *r = t->requests; r; r = r->sibling)
				h = mix(h, (r->left + r->granted + r->moving) << 8 | r->kind << 5 |
						   r->tier);
		}
		h = mix(h, s->sys->ssds ? g->striped % s->sys->ssds : 0);
		/* The order in which tensors leave, where memory is reclaimed. */
		for (uint32_t j = g->oldest; j != UINT32_MAX; j = g->tensors[j].newer)
			h = mix(h, j);
	}
	return h;
}

/* Bytes that are still to pass, of all chunks under way. */
static double under_way(const struct sim *s)
{
	double sum = 0;

	for (unsigned int i = 0; i < s->n; i++)
		for (unsigned int t = 0; t < s->tiers; t++)
			sum += s->gpus[i].in[t].left + s->gpus[i].out[t].left;
	return sum;
}

static const struct sim_ending *ago(const struct sim_history *h, uint32_t back)
{
	return &h->at[(h->count - 1 - back) % (2 * SIM_WINDOW)];
}

void sim_remember(struct sim_history *h, const struct sim *s, const struct annex_sim_result *r)
{
	h->at[h->count++ % (2 * SIM_WINDOW)] = (struct sim_ending){
		r->iteration,
		r->ideal,
		under_way(s),
		(double)s->ptes.copied,
		(double)s->ptes.updated,
		digest(s),
		s->room[ANNEX_TIER_HOST] + s->room[ANNEX_TIER_CXL],
	};
}

/* The last iteration was as the one before, and so will be all that come. */
static bool repeats(const struct sim_history *h)
{
	const struct sim_ending *a = ago(h, 1), *b = ago(h, 0);

	return !h->collects && h->count > 1 && a->digest == b->digest &&
	       fabs(a->took - b->took) < 1e-6 * b->took && fabs(a->under_way - b->under_way) < 16;
}

/* Iterations differ, but their means do not, and the memories below are not just filling up. */
static bool agrees(const struct sim_history *h)
{
	double before = 0, after = 0;
	bool fills = true;

	if (h->count < 2 * SIM_WINDOW)
		return false;
	for (uint32_t i = 0; i < SIM_WINDOW; i++) {
		after += ago(h, i)->took;
		before += ago(h, i + SIM_WINDOW)->took;
	}
	for (uint32_t i = 0; i < 2 * SIM_WINDOW - 1; i++)
		fills = fills && ago(h, i)->room < ago(h, i + 1)->room;
	return !fills && fabs(after - before) < AGREE * after;
}

void sim_collected(const struct sim_history *h, struct annex_sim_result *r)
{
	uint32_t n = h->count < SIM_WINDOW ? h->count : SIM_WINDOW;
	double copied = 0, updated = 0;

	for (uint32_t i = 0; i < n; i++) {
		copied += ago(h, i)->copied;
		updated += ago(h, i)->updated;
	}
	r->ssd_copied = (uint64_t)(copied / n);
	r->ssd_updated = (uint64_t)(updated / n);
}

bool sim_steady(const struct sim_history *h, struct annex_sim_result *r)
{
	if (repeats(h))
		return true;
	if (!agrees(h))
		return false;
	r->iteration = 0;
	r->ideal = 0;
	for (uint32_t i = 0; i < SIM_WINDOW; i++) {
		r->iteration += ago(h, i)->took / SIM_WINDOW;
		r->ideal += ago(h, i)->ideal / SIM_WINDOW;
	}
	return true;
}
