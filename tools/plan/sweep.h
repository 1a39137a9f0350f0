/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policies on different machines: every combination of the values of some options (G10 figures 15
 * to 18).
 */
#ifndef TOOLS_PLAN_SWEEP_H
#define TOOLS_PLAN_SWEEP_H

#include <jansson.h>
#include "tools/common/newfile.h"
#include "work.h"

#define SWEEP_AXES 6
#define SWEEP_VALUES 64
#define SWEEP_RUNS 100000

/* struct sweep_axis - One option and its values: as written, and in G where it is in bytes. */
struct sweep_axis {
	const char *name;
	unsigned int n;
	const char *text[SWEEP_VALUES];
	double number[SWEEP_VALUES];
};

/* struct sweep_run - One policy on one machine: a value for each axis. */
struct sweep_run {
	unsigned int at[SWEEP_AXES];
	struct annex_system sys;
	struct outcome o;
};

/*
 * struct sweep - A zeroed one is empty; without axes it is one machine.
 * @text: what the axes point into.
 */
struct sweep {
	unsigned int n_policies;
	const struct annex_policy *policies[SWEEP_VALUES];
	unsigned int n_axes;
	struct sweep_axis axes[SWEEP_AXES];
	char *text[SWEEP_AXES];
	size_t n_runs;
	struct sweep_run *runs;
};

/* sweep_policies() - Add policies, from "all", or names with commas. */
int sweep_policies(struct sweep *s, const char *names);

/* The names that a word of --sweep begins with. */
extern const struct cli_list sweep_keys;

/*
 * sweep_add() - Read "KEY=VALUE,... KEY=VALUE,...", of options that are not in @given.
 * sweep_word() - Whether @word begins so.
 */
int sweep_add(struct sweep *s, const char *words, uint32_t given);
bool sweep_word(const char *word);

/* sweep_run() - Plan and simulate them all, on machines like @sys. */
int sweep_run(struct sweep *s, const struct work *w, const struct annex_system *sys,
	      const struct annex_sim_options *opts);

/* sweep_table() - Print a line for each. sweep_json() - All of them as a list. */
int sweep_table(const struct sweep *s);
json_t *sweep_json(const struct sweep *s, const struct work *w, double endurance);

/* sweep_plot() - Performance against the first axis: a line for each policy and other values. */
int sweep_plot(const struct sweep *s, struct newfile *svg);

void sweep_free(struct sweep *s);

#endif
