/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of programs on configurations, for every combination of the values of some options.
 */
#ifndef TOOLS_CXL_MATRIX_H
#define TOOLS_CXL_MATRIX_H

#include <jansson.h>
#include "tools/common/newfile.h"
#include "config.h"
#include "sim.h"

#define MATRIX_AXES 6
#define MATRIX_VALUES 64
#define MATRIX_NAMES 64
#define MATRIX_RUNS 100000

/*
 * struct matrix_axis - An option of boards, and its values.
 * @name: the option.
 * @n: number of values.
 * @value: the values.
 */
struct matrix_axis {
	const char *name;
	unsigned int n;
	const char *value[MATRIX_VALUES];
};

struct matrix_run {
	const struct work_kind *kind;
	const struct config *config;
	unsigned int at[MATRIX_AXES];
	struct board board;
	struct result result;
};

/*
 * struct matrix - Runs; zeroed: none.
 * @works: programs.
 * @configs: configurations.
 * @n_works: number of programs.
 * @n_configs: number of configurations.
 * @option: options of all boards.
 * @value: values of @option.
 * @n_options: number of options.
 * @axes: options that vary.
 * @n_axes: number of these.
 * @text: memory of names and values.
 * @n_texts: number of texts.
 * @runs: the runs.
 * @n_runs: number of runs.
 */
struct matrix {
	const struct work_kind *works[MATRIX_NAMES];
	const struct config *configs[MATRIX_NAMES];
	unsigned int n_works, n_configs;
	const char *option[MATRIX_NAMES], *value[MATRIX_NAMES];
	unsigned int n_options;
	struct matrix_axis axes[MATRIX_AXES];
	unsigned int n_axes;
	char *text[MATRIX_NAMES];
	unsigned int n_texts;
	struct matrix_run *runs;
	size_t n_runs;
};

/*
 * matrix_work() - Add a program, or all of a set.
 * matrix_configs() - Add configurations, from names separated by commas.
 * matrix_option() - Set an option on all boards.
 * matrix_sweep() - Add an axis, "KEY=VALUE,...".
 * Return: 0, or -EINVAL, -E2BIG, -ENOMEM with the line set.
 */
int matrix_work(struct matrix *m, const char *name);
int matrix_configs(struct matrix *m, const char *names);
int matrix_option(struct matrix *m, const char *name, const char *value);
int matrix_sweep(struct matrix *m, const char *word);

/*
 * matrix_make() - Make the list of runs. Without programs or configurations it has all of them.
 * matrix_run() - Run them on @threads threads.
 * Return: 0, or a negative errno with the line set.
 */
int matrix_make(struct matrix *m);
int matrix_run(struct matrix *m, unsigned int threads);
void matrix_free(struct matrix *m);

/* matrix_same_line() - Whether two runs have the same program and values. */
bool matrix_same_line(const struct matrix_run *a, const struct matrix_run *b);

/* matrix_reference() - The run that @r is compared with, or NULL. */
const struct matrix_run *matrix_reference(const struct matrix *m, const struct matrix_run *r);

/*
 * struct matrix_quantity - A quantity of a run, for tables and plots.
 * @name: its name; NULL ends the list.
 * @summary: a line for users.
 * @of: compute it from a run and its reference, which may be NULL. Return: NAN: no value.
 * @relative: it needs the reference.
 */
struct matrix_quantity {
	const char *name;
	const char *summary;
	double (*of)(const struct matrix_run *r, const struct matrix_run *reference);
	bool relative;
};

extern const struct matrix_quantity matrix_quantities[];

/* matrix_can_show() - Check that all runs have the quantity. Return: 0; -EINVAL with the line. */
int matrix_can_show(const struct matrix *m, const struct matrix_quantity *q);

/*
 * matrix_table() - Print a line for each program and combination, a column for each configuration.
 * matrix_json() - List all runs.
 * matrix_plot() - Plot a quantity against the first axis.
 */
int matrix_table(const struct matrix *m, const struct matrix_quantity *q);
json_t *matrix_json(const struct matrix *m);
int matrix_plot(const struct matrix *m, const struct matrix_quantity *q, struct newfile *svg);

#endif
