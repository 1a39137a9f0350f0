// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "kind.h"

/* Move entry @i to the front. */
static void log_first(struct kinds *k, unsigned int i)
{
	const struct iteration_log log = k->logs[i];

	memmove(&k->logs[1], &k->logs[0], i * sizeof(k->logs[0]));
	k->logs[0] = log;
}

static void plan_first(struct kinds *k, unsigned int i)
{
	struct planning *plan = k->plans[i];

	memmove(&k->plans[1], &k->plans[0], i * sizeof(struct planning *));
	k->plans[0] = plan;
}

static void discard(struct planning *plan)
{
	annex_planning_clear(plan);
	free(plan);
}

bool annex_kinds_see(struct kinds *k, struct iteration_log *log, double drift)
{
	unsigned int i = 0;
	bool seen;

	while (i < k->n_logs && !annex_log_same(&k->logs[i], log))
		i++;
	seen = i < k->n_logs;
	annex_log_follow(log, seen ? &k->logs[i] : NULL, drift);
	if (i == KINDS)
		i--;
	if (i < k->n_logs)
		annex_log_clear(&k->logs[i]);
	else
		k->n_logs++;
	k->logs[i] = *log;
	memset(log, 0, sizeof(*log));
	log_first(k, i);
	return seen;
}

struct planning *annex_kinds_plan(const struct kinds *k, const struct iteration_log *log)
{
	for (unsigned int i = 0; i < k->n_plans; i++)
		if (annex_log_same(&k->plans[i]->log, log))
			return k->plans[i];
	return NULL;
}

struct planning *annex_kinds_match(const struct kinds *k, const struct iteration_log *log,
				   uint32_t n)
{
	for (unsigned int i = 0; i < k->n_plans; i++) {
		uint32_t alike = 0;

		while (alike < n && annex_log_alike(log, &k->plans[i]->log, alike))
			alike++;
		if (alike == n && !k->plans[i]->err)
			return k->plans[i];
	}
	return NULL;
}

void annex_kinds_keep(struct kinds *k, struct planning *plan)
{
	unsigned int i = 0;

	while (i < k->n_plans && !annex_log_same(&k->plans[i]->log, &plan->log))
		i++;
	if (i == KINDS)
		i--;
	if (i < k->n_plans)
		discard(k->plans[i]);
	else
		k->n_plans++;
	k->plans[i] = plan;
	plan_first(k, i);
}

int annex_kinds_give(struct kinds *k, const struct annex_system *sys, struct annex_trace *trace,
		     struct annex_plan *plan)
{
	struct planning *given = malloc(sizeof(*given));
	int err = given ? annex_planning_take(given, sys, trace, plan)
			: annex_fail(-ENOMEM, "exec: no memory for a plan");

	if (err)
		free(given);
	else
		annex_kinds_keep(k, given);
	return err;
}

void annex_kinds_used(struct kinds *k, struct planning *plan)
{
	for (unsigned int i = 0; i < k->n_plans; i++)
		if (k->plans[i] == plan)
			plan_first(k, i);
}

void annex_kinds_clear(struct kinds *k)
{
	while (k->n_logs)
		annex_log_clear(&k->logs[--k->n_logs]);
	while (k->n_plans)
		discard(k->plans[--k->n_plans]);
}
