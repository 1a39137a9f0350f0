/* SPDX-License-Identifier: MIT */
/*
 * Kinds of iterations: a program whose batches have several shapes has several kinds, each with a
 * plan of its own. The last KINDS kinds are remembered.
 */
#ifndef ANNEX_MIGRATE_KIND_H
#define ANNEX_MIGRATE_KIND_H

#include "planning.h"

#define KINDS 16u

/**
 * struct kinds - The last kinds, most recent first.
 * @logs: the last iteration of each kind.
 * @plans: plans of kinds, including failed ones.
 * @n_logs: number of @logs.
 * @n_plans: number of @plans.
 */
struct kinds {
	struct iteration_log logs[KINDS];
	struct planning *plans[KINDS];
	unsigned int n_logs, n_plans;
};

/* annex_kinds_see() - Take over an iteration, as the first. Return: whether there was one of its
 * kind, which is then passed to annex_log_follow(). */
bool annex_kinds_see(struct kinds *k, struct iteration_log *log, double drift);

/* annex_kinds_plan() - The plan for this kind of iteration, or NULL. annex_kinds_match() - A plan
 * that did not fail, for an iteration with the same first @n kernels, or NULL. */
struct planning *annex_kinds_plan(const struct kinds *k, const struct iteration_log *log);
struct planning *annex_kinds_match(const struct kinds *k, const struct iteration_log *log,
				   uint32_t n);

/* annex_kinds_keep() - Add a plan, in place of one of its kind. annex_kinds_used() - Make a plan
 * the most recent. */
void annex_kinds_keep(struct kinds *k, struct planning *plan);
void annex_kinds_used(struct kinds *k, struct planning *plan);

/* Add a plan of an earlier run. -ENOMEM: it still belongs to the caller. */
int annex_kinds_give(struct kinds *k, const struct annex_system *sys, struct annex_trace *trace,
		     struct annex_plan *plan);

void annex_kinds_clear(struct kinds *k);

#endif
