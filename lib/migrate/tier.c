// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <annex/detail/clock.h>
#include "store.h"
#include "tier.h"

/*
 * A failed write is tried again, elsewhere in the tier: an error may concern some blocks, or be
 * temporary. Blocks behind the failed ones are suspected too, REACH times as many after each
 * failure. After TRIES consecutive failures writes are suspended, and there is one attempt after
 * each pause.
 */
#define TRIES 4u
#define REACH 8u
#define REST ANNEX_NSEC_PER_SEC

/* Number of pages from the first of a job's that may have its error. */
static uint32_t suspected(const struct tier *t, const struct job *job)
{
	uint32_t n = job->n;

	/* Writes that were in flight together fail together, and count once. */
	if (job->round != t->round)
		return n;
	for (uint32_t i = 0; i <= t->failed && i < TRIES; i++)
		n *= REACH;
	return n;
}

static void lock(const struct tier *t)
{
	if (t->store)
		pthread_mutex_lock(&t->store->lock);
}

static void unlock(const struct tier *t)
{
	if (t->store)
		pthread_mutex_unlock(&t->store->lock);
}

uint32_t annex_tier_take(struct annex_space *s, unsigned int tier, uint32_t want, uint32_t *loc)
{
	struct tier *t = &s->tiers[tier];
	uint32_t n;

	lock(t);
	n = annex_runs_take(t->runs, want, loc);
	unlock(t);
	t->used += n;
	return n;
}

void annex_tier_give(struct annex_space *s, unsigned int tier, uint32_t loc, uint32_t n)
{
	struct tier *t = &s->tiers[tier];

	lock(t);
	annex_runs_give(t->runs, loc, n);
	unlock(t);
	t->used -= n;
}

void annex_tier_result(struct annex_space *s, const struct job *job, const char *name)
{
	struct tier *t = &s->tiers[job->to.tier];

	lock(t);
	if (!job->err)
		annex_runs_wrote(t->runs, job->to.page, job->n);
	else if (job->err == -ENOSPC)
		t->runs->full = true;
	else
		annex_runs_failed(t->runs, job->to.page, suspected(t, job));
	unlock(t);
	if (!job->err) {
		t->failed = 0;
		return;
	}
	if (job->round != t->round)
		return;
	t->round++;
	t->failed = t->failed < TRIES ? t->failed + 1 : TRIES;
	t->rest = annex_now() + REST;
	t->err = job->err;
	snprintf(t->victim, sizeof(t->victim), "%s", name);
}

bool annex_tier_rests(const struct annex_space *s, unsigned int tier)
{
	const struct tier *t = &s->tiers[tier];

	return t->failed == TRIES && s->now < t->rest;
}

/* Whether a tier has room, and has @failed or not. */
static bool has_room(const struct annex_space *s, unsigned int tier, bool failed)
{
	const struct tier *t = &s->tiers[tier];
	bool fails = t->failed && s->now < t->rest;
	uint32_t n;

	if (!t->present || fails != failed || annex_tier_rests(s, tier))
		return false;
	lock(t);
	n = t->runs->free;
	unlock(t);
	return n;
}

static unsigned int choose(struct annex_space *s, bool failed)
{
	for (unsigned int tier = ANNEX_TIER_HOST; tier < ANNEX_TIER_SSD; tier++)
		if (has_room(s, tier, failed))
			return tier;
	for (unsigned int i = 0; i < s->opts.n_stores; i++) {
		unsigned int tier = ANNEX_TIER_SSD + s->next_store++ % s->opts.n_stores;

		if (has_room(s, tier, failed))
			return tier;
	}
	return NO_TIER;
}

unsigned int annex_tier_choose(struct annex_space *s)
{
	unsigned int tier = choose(s, false);

	return tier == NO_TIER ? choose(s, true) : tier;
}
