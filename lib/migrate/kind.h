/* SPDX-License-Identifier: MIT */
/*
 * Kinds of iterations: a program whose batches have several shapes runs several, each of which has
 * a plan of its own. The kinds that were seen last are known.
 */
#ifndef ANNEX_MIGRATE_KIND_H
#define ANNEX_MIGRATE_KIND_H

#include "planning.h"

#define KINDS 16u

/* struct kinds - @logs: the last iteration of each kind; @plans: of kinds, also those that failed;
 * both by when they were seen, the last one first. */
struct kinds {
	struct iteration_log logs[KINDS];
	struct planning *plans[KINDS];
	unsigned int n_logs, n_plans;
};

/* annex_kinds_see() - Take an iteration over, which becomes the first. Return: whether there was
 * one of its kind, which it follows: annex_log_follow(). */
bool annex_kinds_see(struct kinds *k, struct iteration_log *log, double drift);

/* annex_kinds_plan() - The plan that was made of such an iteration; NULL. annex_kinds_match() - One
 * that did not fail, and of which the first @n kernels are alike; NULL. */
struct planning *annex_kinds_plan(const struct kinds *k, const struct iteration_log *log);
struct planning *annex_kinds_match(const struct kinds *k, const struct iteration_log *log,
				   uint32_t n);

/* annex_kinds_keep() - A plan is there, in place of one of its kind. annex_kinds_used() - It is the
 * first now. */
void annex_kinds_keep(struct kinds *k, struct planning *plan);
void annex_kinds_used(struct kinds *k, struct planning *plan);

void annex_kinds_clear(struct kinds *k);

#endif
