// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "gnuplot.h"
#include "machine.h"
#include "report.h"
#include "sweep.h"

#define LABEL_HEIGHT 0.033 /* of the axis, which goes to 1.05 */

static int add_policy(struct sweep *s, const struct annex_policy *policy)
{
	for (unsigned int i = 0; i < s->n_policies; i++)
		if (s->policies[i] == policy)
			return err_set(-EINVAL, "policy %s is named twice", policy->name);
	if (s->n_policies == SWEEP_VALUES)
		return err_set(-E2BIG, "more than %d policies", SWEEP_VALUES);
	s->policies[s->n_policies++] = policy;
	return 0;
}

static int no_policy(const char *name)
{
	char names[200];

	return err_set(-EINVAL, "no policy \"%s\": choose among %s", name,
		       cli_names(&work_policies, names, sizeof(names)));
}

int sweep_policies(struct sweep *s, const char *names)
{
	char *copy = strdup(names), *rest = copy, *name;
	int err = copy ? 0 : err_set(-ENOMEM, "out of memory");

	if (!err && !strcmp(names, "all")) {
		for (unsigned int i = 0; annex_policy_at(i) && !err; i++)
			err = add_policy(s, annex_policy_at(i));
		rest = NULL;
	}
	while (!err && (name = strsep(&rest, ","))) {
		const struct annex_policy *p = annex_policy_find(name);

		err = p ? add_policy(s, p) : no_policy(name);
	}
	free(copy);
	return err;
}

/* Options of the machine, and the policy. */
static const char *key_at(unsigned int i, char *summary)
{
	static char key[24];
	const char *name = i ? machine_name(i - 1) : "policy";

	*summary = '\0';
	if (!name)
		return NULL;
	snprintf(key, sizeof(key), "%s=", name);
	return key;
}

const struct cli_list sweep_keys = {.arg = "KEY", .at = key_at};

bool sweep_word(const char *word)
{
	struct annex_system scratch;
	size_t len = strcspn(word, "=");
	char name[24];
	double number;

	if (!word[len] || len >= sizeof(name))
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	annex_system_init(&scratch);
	return !strcmp(name, "policy") || machine_set(&scratch, name, "1", &number) != -ENOENT;
}

static int add_values(struct sweep_axis *a, char *values)
{
	struct annex_system scratch;
	char *text;

	annex_system_init(&scratch);
	while ((text = strsep(&values, ","))) {
		int err;

		if (a->n == SWEEP_VALUES)
			return err_set(-E2BIG, "--sweep %s: more than %d values", a->name,
				       SWEEP_VALUES);
		a->text[a->n] = text;
		err = machine_set(&scratch, a->name, text, &a->number[a->n]);
		if (err == -ENOENT)
			return err_set(-EINVAL,
				       "--sweep %s: no option of the machine has this name",
				       a->name);
		if (err)
			return err;
		a->n++;
	}
	return 0;
}

/* Two values for one number would leave the user to guess which of them holds. */
static int check_axis(const struct sweep *s, const char *name, uint32_t given)
{
	uint32_t sets = machine_sets(name);

	for (unsigned int i = 0; i < s->n_axes; i++) {
		if (!strcmp(s->axes[i].name, name))
			return err_set(-EINVAL, "--sweep %s: given twice", name);
		if (machine_sets(s->axes[i].name) & sets)
			return err_set(-EINVAL, "--sweep %s: %s sets that already", name,
				       s->axes[i].name);
	}
	return given & sets ? err_set(-EINVAL,
				      "--sweep %s: an option sets that already: leave one of them "
				      "out",
				      name)
			    : 0;
}

static int add_axis(struct sweep *s, char *word, uint32_t given)
{
	struct sweep_axis *a = &s->axes[s->n_axes];
	char *values = strchr(word, '=');
	int err;

	if (!values)
		return err_set(-EINVAL, "--sweep %s: write KEY=VALUE,VALUE", word);
	*values++ = '\0';
	if (!strcmp(word, "policy"))
		return sweep_policies(s, values);
	if (s->n_axes == SWEEP_AXES)
		return err_set(-E2BIG, "--sweep: more than %d options", SWEEP_AXES);
	err = check_axis(s, word, given);
	if (err)
		return err;
	a->name = word;
	s->n_axes++;
	return add_values(a, values);
}

int sweep_add(struct sweep *s, const char *words, uint32_t given)
{
	unsigned int slot = 0;
	char *rest, *word;
	int err = 0;

	while (slot < SWEEP_AXES && s->text[slot])
		slot++;
	if (slot == SWEEP_AXES)
		return err_set(-E2BIG, "--sweep: more than %d options", SWEEP_AXES);
	s->text[slot] = rest = strdup(words);
	if (!rest)
		return err_set(-ENOMEM, "out of memory");
	while (!err && (word = strsep(&rest, " \t")))
		if (*word)
			err = add_axis(s, word, given);
	return err;
}

void sweep_free(struct sweep *s)
{
	for (unsigned int i = 0; i < SWEEP_AXES; i++)
		free(s->text[i]);
	for (size_t i = 0; i < s->n_runs; i++)
		outcome_free(&s->runs[i].o);
	free(s->runs);
}

/* Room for all runs. */
static int make_runs(struct sweep *s)
{
	size_t n = s->n_policies;

	for (unsigned int i = 0; i < s->n_axes && n <= SWEEP_RUNS; i++)
		n *= s->axes[i].n;
	if (!n)
		return err_set(-EINVAL, "--sweep: nothing to run");
	if (n > SWEEP_RUNS)
		return err_set(-E2BIG, "--sweep: more than %d runs", SWEEP_RUNS);
	s->runs = calloc(n, sizeof(*s->runs));
	if (!s->runs)
		return err_set(-ENOMEM, "out of memory");
	s->n_runs = n;
	return 0;
}

/* The machine of run number @i: of the axes, the last one changes first. */
static int set_machine(const struct sweep *s, size_t i, struct sweep_run *r)
{
	int err = 0;

	for (unsigned int a = s->n_axes; a-- > 0 && !err; i /= s->axes[a].n) {
		double number;

		r->at[a] = (unsigned int)(i % s->axes[a].n);
		err = machine_set(&r->sys, s->axes[a].name, s->axes[a].text[r->at[a]], &number);
	}
	return err;
}

static int run_one(const struct sweep *s, const struct annex_policy *policy, const struct work *w,
		   const struct annex_sim_options *opts, struct sweep_run *r)
{
	int err = work_check(w, &r->sys);

	if (err != -ENOSPC || !s->n_axes)
		return err ? err : work_policy(w, &r->sys, policy, opts, NULL, &r->o);
	/* Where a kernel does not fit, others of the sweep may still be of interest. */
	snprintf(r->o.policy, sizeof(r->o.policy), "%s", policy->name);
	snprintf(r->o.reason, sizeof(r->o.reason), "%s", err_text());
	r->o.bound = opts->noise > 0 ? NAN : INFINITY;
	err_clear();
	return 0;
}

int sweep_run(struct sweep *s, const struct work *w, const struct annex_system *sys,
	      const struct annex_sim_options *opts)
{
	struct sweep_run *r;
	int err = make_runs(s);

	if (err)
		return err;
	progress_begin("simulating");
	for (r = s->runs; r < s->runs + s->n_runs && !err; r++) {
		size_t i = (size_t)(r - s->runs);

		r->sys = *sys;
		err = set_machine(s, i / s->n_policies, r);
		if (!err)
			err = run_one(s, s->policies[i % s->n_policies], w, opts, r);
		progress_update(i + 1, s->n_runs, "runs");
	}
	progress_end();
	return err;
}

int sweep_table(const struct sweep *s)
{
	for (unsigned int a = 0; a < s->n_axes; a++)
		printf("%9s  ", s->axes[a].name);
	report_heads();
	for (size_t i = 0; i < s->n_runs; i++) {
		const struct sweep_run *r = &s->runs[i];

		for (unsigned int a = 0; a < s->n_axes; a++)
			printf("%*s  ",
			       strlen(s->axes[a].name) > 9 ? (int)strlen(s->axes[a].name) : 9,
			       s->axes[a].text[r->at[a]]);
		report_line(&r->o);
	}
	return report_printed();
}

json_t *sweep_json(const struct sweep *s, const struct work *w, double endurance)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_runs; i++) {
		const struct sweep_run *r = &s->runs[i];
		json_t *one = report_json(&r->o, w, &r->sys, endurance);
		json_t *at = json_object();

		for (unsigned int a = 0; a < s->n_axes; a++)
			json_object_set_new(at, s->axes[a].name,
					    json_real(s->axes[a].number[r->at[a]]));
		json_object_set_new(one, "sweep", at);
		json_array_append_new(list, one);
	}
	return list;
}

/* Whether two runs belong to the same line: all but the first axis are alike. */
static bool same_line(const struct sweep *s, const struct sweep_run *a, const struct sweep_run *b)
{
	return !strcmp(a->o.policy, b->o.policy) &&
	       !memcmp(a->at + 1, b->at + 1, (s->n_axes - 1) * sizeof(a->at[0]));
}

static double share(const struct sweep_run *r)
{
	return r->o.feasible ? r->o.r.ideal / r->o.r.iteration : 0;
}

/* The data of the line that begins with @first. */
static void print_line(const struct sweep *s, FILE *f, size_t first, unsigned int number)
{
	fprintf(f, "$line%u << END\n", number);
	for (size_t i = first; i < s->n_runs; i++) {
		const struct sweep_run *r = &s->runs[i];

		if (same_line(s, &s->runs[first], r))
			fprintf(f, "%.9g %.6g\n", s->axes[0].number[r->at[0]], share(r));
	}
	fputs("END\n", f);
}

/* One colour a policy, which people tell apart however they see colours (Okabe and Ito). */
static const char *colour_of(const struct sweep *s, const struct sweep_run *r)
{
	static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
					      "#e69f00", "#56b4e9", "#000000", "#b3a800"};
	unsigned int i = 0;

	while (i + 1 < s->n_policies && strcmp(s->policies[i]->name, r->o.policy))
		i++;
	return colours[i % (sizeof(colours) / sizeof(*colours))];
}

/* A marker for each value of the second axis, and dashes for each of the third. */
static void print_style(const struct sweep *s, FILE *f, size_t first)
{
	static const unsigned int markers[] = {7, 5, 9, 13, 6, 4, 8, 12, 2, 1};
	const struct sweep_run *r = &s->runs[first];
	unsigned int second = s->n_axes > 1 ? r->at[1] : 0, third = s->n_axes > 2 ? r->at[2] : 0;

	fprintf(f, "lw 2 lc rgb '%s' pt %u dt %u", colour_of(s, r),
		markers[second % (sizeof(markers) / sizeof(*markers))], third % 5 + 1);
}

static void print_title(const struct sweep *s, FILE *f, size_t first)
{
	const struct sweep_run *r = &s->runs[first];

	fputs(r->o.policy, f);
	for (unsigned int a = 1; a < s->n_axes; a++)
		fprintf(f, ", %s %g", s->axes[a].name, s->axes[a].number[r->at[a]]);
}

/* struct end - Where a line ends, and where its label goes. */
struct end {
	size_t line;
	double y;
};

static int from_the_top(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->y != y->y ? (x->y < y->y) - (x->y > y->y) : (x->line > y->line) - 1;
}

/* Each line is named beside its end; names of lines that end together are below each other. */
static int label_lines(const struct sweep *s, FILE *f, size_t lines)
{
	struct end *ends = calloc(lines + 1, sizeof(*ends));

	if (!ends)
		return err_set(-ENOMEM, "out of memory");
	for (size_t i = 0; i < lines; i++)
		ends[i].line = i;
	for (size_t i = 0; i < s->n_runs; i++)
		for (size_t l = 0; l < lines; l++)
			if (same_line(s, &s->runs[l], &s->runs[i]))
				ends[l].y = share(&s->runs[i]);
	qsort(ends, lines, sizeof(*ends), from_the_top);
	for (size_t i = 0; i < lines; i++) {
		if (i)
			ends[i].y = fmin(ends[i].y, ends[i - 1].y - LABEL_HEIGHT);
		fputs("set label '", f);
		print_title(s, f, ends[i].line);
		fprintf(f, "' at graph 1.02, first %.6g left tc rgb '%s'\n", ends[i].y,
			colour_of(s, &s->runs[ends[i].line]));
	}
	free(ends);
	return 0;
}

int sweep_plot(const struct sweep *s, struct newfile *svg)
{
	const char *unit = machine_unit(s->axes[0].name);
	FILE *f = gnuplot_begin(900, 600);
	unsigned int lines = 0;
	size_t i;
	int err;

	if (!f)
		return -EIO;
	/* The runs that begin a line are those with the first value of the first axis. */
	for (i = 0; i < s->n_runs && !s->runs[i].at[0]; i++)
		print_line(s, f, i, lines++);
	err = label_lines(s, f, lines);
	if (err) {
		fclose(f);
		return err;
	}
	fprintf(f,
		"set title 'Performance: 1 is ideal, 0 does not run'\n"
		"set xlabel '--%s%s%s'\nset ylabel 'ideal / iteration'\n"
		"set autoscale xfix\nset yrange [0:1.05]\nset rmargin %u\nplot ",
		s->axes[0].name, *unit ? ", in " : "", unit, s->n_axes > 1 ? 28 : 14);
	for (i = 0; i < lines; i++) {
		fprintf(f, "%s$line%zu using 1:2 with linespoints notitle ", i ? ", " : "", i);
		print_style(s, f, i);
	}
	fputc('\n', f);
	return gnuplot_end(f, svg);
}
