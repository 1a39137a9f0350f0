// SPDX-License-Identifier: MIT
/*
 * Figures, as a table and as JSON.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include "figure.h"

unsigned int bench_rounds = BENCH_ROUNDS;
bool bench_smoke;

static char command[512];
static json_t *figures;

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 4; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc == 4;
}

static _Noreturn void bad_usage(const struct bench_group *groups, const char *program)
{
	fprintf(stderr, "bench: usage: %s OUTPUT.json TOOL DIR [GROUP]...; there are", program);
	for (; groups->name; groups++)
		fprintf(stderr, " %s", groups->name);
	fputc('\n', stderr);
	exit(1);
}

static void print_log(void *unused, enum annex_log_level level, const char *line)
{
	(void)unused;
	if (level != ANNEX_LOG_INFO)
		fprintf(stderr, "  annex: %s\n", line);
}

void bench_form(void)
{
	const char *asked = getenv("SMOKE");

	bench_smoke = asked && *asked;
	bench_rounds = BENCH_SIZE(BENCH_ROUNDS, 1);
}

void bench_groups(const struct bench_group *groups, int argc, char **argv)
{
	struct bench_ctx ctx;
	unsigned int ran = 0;

	if (argc < 4)
		bad_usage(groups, argv[0]);
	bench_form();
	annex_set_log(print_log, NULL);
	ctx = (struct bench_ctx){.dir = argv[3], .tool = argv[2]};
	figures = json_array();
	for (const struct bench_group *g = groups; g->name; g++) {
		if (!wanted(g->name, argc, argv))
			continue;
		g->run(&ctx);
		ran++;
	}
	if (!ran)
		bad_usage(groups, argv[0]);
	if (json_dump_file(figures, argv[1], JSON_INDENT(2) | JSON_REAL_PRECISION(6)))
		bench_fail("cannot write %s: %s", argv[1], strerror(errno));
	json_decref(figures);
}

void bench_command(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
}

void bench_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("bench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

void bench_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("  ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	va_end(ap);
}

/* @spread: the least and the greatest value of all rounds; NULL: there was one. */
static void report(const char *name, double value, const double *spread, const char *unit,
		   double target, int at_most)
{
	int has_target = target > 0 || at_most;
	int met = at_most ? value <= target : value >= target;
	json_t *f = json_pack("{s:s, s:f, s:s, s:s}", "figure", name, "value", value, "unit", unit,
			      "command", command);
	char range[48] = "";

	if (!f)
		bench_fail("out of memory");
	if (spread) {
		json_object_set_new(f, "least", json_real(spread[0]));
		json_object_set_new(f, "most", json_real(spread[1]));
		snprintf(range, sizeof(range), "%.3f to %.3f", spread[0], spread[1]);
	}
	json_object_set_new(f, "target", has_target ? json_real(target) : json_null());
	json_object_set_new(f, "met", has_target && !bench_smoke ? json_boolean(met) : json_null());
	json_array_append_new(figures, f);
	if (value < 0 && value > -0.0005)
		value = 0; /* is printed without a sign */
	printf("%-66s %10.3f %-10s %-20s", name, value, unit, range);
	if (has_target)
		printf(" %s %-6g %s", at_most ? "<=" : ">=", target,
		       bench_smoke ? ""
		       : met       ? "met"
				   : "MISSED");
	putchar('\n');
	fflush(stdout);
}

void bench_figure(const char *name, double value, const char *unit, double target, int at_most)
{
	report(name, value, NULL, unit, target, at_most);
}

void bench_series(const char *name, double *values, unsigned int n, const char *unit, double target,
		  int at_most)
{
	double median = bench_median(values, n), spread[2] = {values[0], values[n - 1]};

	report(name, median, spread, unit, target, at_most);
}

void bench_ratios(double *ratios, const double *over, const double *under, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		ratios[i] = over[i] / under[i];
}

double bench_seconds(void)
{
	return (double)annex_now() / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
