// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A quantity of all runs as an SVG: bars for each workload, or lines over the first axis.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/plan/gnuplot.h"
#include "matrix.h"

/* struct drawing - A plot. @names: names of curves that have data. */
struct drawing {
	const struct matrix *m;
	const struct matrix_quantity *q;
	FILE *f;
	unsigned int names;
};

static double value(const struct drawing *d, const struct matrix_run *r)
{
	return d->q->of(r, matrix_reference(d->m, r));
}

/* Print a text inside quotes of a script; characters that would end it become question marks. */
static void print_quoted(FILE *f, const char *text)
{
	for (; *text; text++)
		fputc(strchr("'\"\\`", *text) || (unsigned char)*text < ' ' ? '?' : *text, f);
}

static void put_value(FILE *f, double v)
{
	if (isfinite(v))
		fprintf(f, "%.6g\n", v);
	else
		fputs("NaN\n", f);
}

/* Count the runs that have a value. *@positive: whether all values are above 0. */
static size_t count_values(const struct drawing *d, bool *positive)
{
	size_t n = 0;

	*positive = true;
	for (size_t i = 0; i < d->m->n_runs; i++) {
		const double v = value(d, &d->m->runs[i]);

		n += isfinite(v);
		*positive &= !isfinite(v) || v > 0;
	}
	return n;
}

/* The value of a program on a configuration, or NAN. */
static double bar(const struct drawing *d, const struct work_kind *k, const struct config *c)
{
	for (size_t i = 0; i < d->m->n_runs; i++)
		if (d->m->runs[i].kind == k && d->m->runs[i].config == c)
			return value(d, &d->m->runs[i]);
	return NAN;
}

static bool has_bars(const struct drawing *d, const struct config *c)
{
	bool any = false;

	for (unsigned int w = 0; w < d->m->n_works; w++)
		any |= isfinite(bar(d, d->m->works[w], c));
	return any;
}

/* Print a block of workloads and values for each configuration that has data. */
static void print_bars(const struct drawing *d, bool positive)
{
	const struct matrix *m = d->m;
	const char *between = "";

	for (unsigned int c = 0; c < m->n_configs; c++) {
		fprintf(d->f, "$c%u << END\n", c);
		for (unsigned int w = 0; w < m->n_works; w++) {
			fprintf(d->f, "\"%s\" ", m->works[w]->name);
			put_value(d->f, bar(d, m->works[w], m->configs[c]));
		}
		fputs("END\n", d->f);
	}
	fprintf(d->f,
		"set style data histograms\nset style histogram clustered gap 1\n"
		"set style fill solid 0.8\nset xtics rotate by -35\n%s\nplot ",
		positive ? "set logscale y" : "set yrange [0:*]");
	for (unsigned int c = 0; c < m->n_configs; c++) {
		if (!has_bars(d, m->configs[c]))
			continue;
		fprintf(d->f, "%s$c%u using 2:xtic(1) title '%s'", between, c, m->configs[c]->name);
		between = ", ";
	}
	fputc('\n', d->f);
}

/* Whether two runs are on the same curve: they differ in the first axis only. */
static bool same_curve(const struct matrix *m, const struct matrix_run *a,
		       const struct matrix_run *b)
{
	return a->kind == b->kind && a->config == b->config &&
	       !memcmp(a->at + 1, b->at + 1, (m->n_axes - 1) * sizeof(a->at[0]));
}

static void print_curve(struct drawing *d, const struct matrix_run *first)
{
	const struct matrix *m = d->m;

	fprintf(d->f, "$l%u << END\n", d->names++);
	for (const struct matrix_run *r = first; r < m->runs + m->n_runs; r++) {
		if (!same_curve(m, first, r))
			continue;
		fputc('"', d->f);
		print_quoted(d->f, m->axes[0].value[r->at[0]]);
		fputs("\" ", d->f);
		put_value(d->f, value(d, r));
	}
	fputs("END\n", d->f);
}

static void print_title(const struct drawing *d, const struct matrix_run *r)
{
	const struct matrix *m = d->m;

	fprintf(d->f, "%s %s", r->kind->name, r->config->name);
	for (unsigned int a = 1; a < m->n_axes; a++) {
		fprintf(d->f, " %s=", m->axes[a].name);
		print_quoted(d->f, m->axes[a].value[r->at[a]]);
	}
}

static void print_curves(struct drawing *d)
{
	const struct matrix *m = d->m;
	unsigned int curve = 0;

	for (size_t i = 0; i < m->n_runs; i++)
		if (!m->runs[i].at[0])
			print_curve(d, &m->runs[i]);
	fprintf(d->f, "set xlabel '--%s'\nset key outside\nset yrange [0:*]\nplot ",
		m->axes[0].name);
	for (size_t i = 0; i < m->n_runs; i++) {
		if (m->runs[i].at[0])
			continue;
		fprintf(d->f, "%s$l%u using 2:xtic(1) with linespoints title '", curve ? ", " : "",
			curve);
		print_title(d, &m->runs[i]);
		fputc('\'', d->f);
		curve++;
	}
	fputc('\n', d->f);
}

int matrix_plot(const struct matrix *m, const struct matrix_quantity *q, struct newfile *svg)
{
	struct drawing d = {.m = m, .q = q};
	bool positive;

	if (!count_values(&d, &positive))
		return err_set(-EINVAL, "--plot: no run has a value of %s", q->name);
	d.f = gnuplot_begin(1000, 600);
	if (!d.f)
		return -EIO;
	fprintf(d.f, "set title '%s: ", q->name);
	print_quoted(d.f, q->summary);
	fprintf(d.f, "'\nset ylabel '%s'\n", q->name);
	if (m->n_axes)
		print_curves(&d);
	else
		print_bars(&d, positive);
	return gnuplot_end(d.f, svg);
}
