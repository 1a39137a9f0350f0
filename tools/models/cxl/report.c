// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tools/common/error.h"
#include "tools/plan/gnuplot.h"
#include "matrix.h"

#define WIDTH 9

/* struct table - A table, with widths of its columns of names and axes. */
struct table {
	const struct matrix *m;
	const struct matrix_quantity *q;
	int names;
	int axis[MATRIX_AXES];
};

static void widen(int *width, const char *text)
{
	const int n = (int)strlen(text);

	*width = n > *width ? n : *width;
}

static void set_widths(struct table *t)
{
	const struct matrix *m = t->m;

	for (unsigned int i = 0; i < m->n_works; i++) {
		widen(&t->names, m->works[i]->name);
		widen(&t->names, m->works[i]->set);
	}
	for (unsigned int i = 0; i < m->n_axes; i++) {
		widen(&t->axis[i], m->axes[i].name);
		for (unsigned int j = 0; j < m->axes[i].n; j++)
			widen(&t->axis[i], m->axes[i].value[j]);
	}
}

/* Print at least three digits in at most WIDTH columns. */
static void print_number(double v)
{
	if (isnan(v))
		printf("  %*s", WIDTH, "-");
	else if (v >= 1e9 || (v && v < 1e-4))
		printf("  %*.2e", WIDTH, v);
	else if (v >= 1000 || v == floor(v))
		printf("  %*.0f", WIDTH, v);
	else
		printf("  %*.*f", WIDTH, v < 0.1 ? 5 : v < 10 ? 3 : v < 100 ? 2 : 1, v);
}

static void print_heads(const struct table *t, const char *set)
{
	const struct matrix *m = t->m;

	printf("%-*s", t->names, set);
	for (unsigned int i = 0; i < m->n_axes; i++)
		printf("  %*s", t->axis[i], m->axes[i].name);
	for (unsigned int i = 0; i < m->n_configs; i++)
		if (!strcmp(m->configs[i]->set, set))
			printf("  %*s", WIDTH, m->configs[i]->name);
	putchar('\n');
}

/* Print the line that begins with run @r. Return: the first run of the next line. */
static const struct matrix_run *print_line(const struct table *t, const struct matrix_run *r)
{
	const struct matrix *m = t->m;
	const struct matrix_run *first = r;

	printf("%-*s", t->names, r->kind->name);
	for (unsigned int i = 0; i < m->n_axes; i++)
		printf("  %*s", t->axis[i], m->axes[i].value[r->at[i]]);
	for (; r < m->runs + m->n_runs && matrix_same_line(first, r); r++)
		print_number(t->q->of(r, matrix_reference(m, r)));
	putchar('\n');
	return r;
}

int matrix_table(const struct matrix *m, const struct matrix_quantity *q)
{
	struct table t = {.m = m, .q = q};
	const struct matrix_run *r = m->runs;
	const char *set = "";

	set_widths(&t);
	printf("%s: %s\n", q->name, q->summary);
	while (r < m->runs + m->n_runs) {
		if (strcmp(set, r->kind->set)) {
			set = r->kind->set;
			putchar('\n');
			print_heads(&t, set);
		}
		r = print_line(&t, r);
	}
	return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the table") : 0;
}

static json_t *board_json(const struct matrix *m, const struct matrix_run *r)
{
	json_t *o = json_object();

	for (unsigned int i = 0; i < m->n_options; i++)
		json_object_set_new(o, m->option[i], json_string(m->value[i]));
	for (unsigned int i = 0; i < m->n_axes; i++)
		json_object_set_new(o, m->axes[i].name, json_string(m->axes[i].value[r->at[i]]));
	return o;
}

static void set_count(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static void set_seconds(json_t *o, const char *key, double ns)
{
	json_object_set_new(o, key, json_real(ns * 1e-9));
}

static void set_ram(json_t *o, const struct ram_stats *s)
{
	set_count(o, "faults", s->faults);
	set_count(o, "endpoint_reads", s->reads);
	set_count(o, "endpoint_hits", s->hits - s->late);
	set_count(o, "endpoint_late", s->late);
	set_count(o, "flash_reads", s->flash_reads);
	set_count(o, "flash_writes", s->flash_writes);
	set_count(o, "flash_copies", s->copied);
	set_count(o, "promoted", s->promoted);
	set_count(o, "demoted", s->demoted);
	set_count(o, "host_accesses", s->host);
}

static json_t *series_json(const struct series *s)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->n; i++) {
		const struct series_sum *l = &s->loads[i], *w = &s->stores[i];
		json_t *o = json_object();

		set_seconds(o, "until_s", (double)((i + 1) * s->width));
		set_count(o, "loads", l->n);
		set_seconds(o, "load_mean_s", l->n ? (double)l->ns / (double)l->n : 0);
		set_count(o, "stores", w->n);
		set_seconds(o, "store_mean_s", w->n ? (double)w->ns / (double)w->n : 0);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *run_json(const struct matrix *m, const struct matrix_run *r)
{
	const struct result *s = &r->result;
	json_t *o = json_object();

	json_object_set_new(o, "workload", json_string(r->kind->name));
	json_object_set_new(o, "configuration", json_string(r->config->name));
	json_object_set_new(o, "set", json_string(r->kind->set));
	json_object_set_new(o, "group", json_string(r->kind->group));
	json_object_set_new(o, "options", board_json(m, r));
	set_seconds(o, "time_s", (double)s->ns);
	set_count(o, "bytes", s->bytes);
	set_count(o, "loads", s->loads);
	set_count(o, "stores", s->stores);
	set_count(o, "compute_instructions", s->ops);
	set_count(o, "instructions", s->instructions);
	set_count(o, "lines_loaded", s->misses);
	set_count(o, "lines_stored", s->write_backs);
	set_count(o, "switches", s->switches);
	set_seconds(o, "load_mean_s", s->load_mean);
	set_seconds(o, "store_mean_s", s->store_mean);
	set_seconds(o, "load_p99_s", s->load_p99);
	set_seconds(o, "store_p99_s", s->store_p99);
	set_ram(o, &s->ram);
	set_count(o, "residue_pages", s->residue);
	json_object_set_new(o, "series", series_json(&s->series));
	return o;
}

json_t *matrix_json(const struct matrix *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->n_runs; i++)
		json_array_append_new(list, run_json(m, &m->runs[i]));
	return list;
}
