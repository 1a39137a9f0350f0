/* SPDX-License-Identifier: MIT */
/*
 * Figures with targets, printed as they are measured and written as JSON at the end.
 */
#ifndef ANNEX_TESTS_FIGURE_H
#define ANNEX_TESTS_FIGURE_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

/*
 * Rounds of a comparison: at most, and in this run. The sides take turns in each round, so that the
 * load of the machine falls on all of them.
 */
#define BENCH_ROUNDS 5
extern unsigned int bench_rounds;

/*
 * SMOKE=1 in the environment asks for the smoke form: every measurement once and as small as it
 * gets, to see that it works. Data are verified as always; met.py judges no figure.
 */
extern bool bench_smoke;
#define BENCH_SIZE(full, smoke) (bench_smoke ? (smoke) : (full))

/**
 * struct bench_ctx - Where a benchmark works.
 * @dir: folder for its files.
 * @tool: path of the annex tool.
 */
struct bench_ctx {
	const char *dir;
	const char *tool;
};

/* struct bench_group - Some figures that are measured together. */
struct bench_group {
	const char *name;
	void (*run)(const struct bench_ctx *ctx);
};

/*
 * bench_groups() - A program NAME OUTPUT.json TOOL DIR [GROUP]...: measure all @groups, whose names
 * end with NULL, or the named ones, and write their figures to a file.
 * bench_form() - Read the form, full or smoke; programs without groups call it first.
 */
void bench_groups(const struct bench_group *groups, int argc, char **argv);
void bench_form(void);

/* How the figures that follow can be had again. */
void bench_command(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A measured value. @at_most: the target is an upper bound, else a lower one, of which 0 is none:
 * reported only.
 */
void bench_figure(const char *name, double value, const char *unit, double target, int at_most);
/*
 * The median of @n values, one of each round, with the least and the greatest of them; sorts them.
 * bench_ratios() - Of each round that of two sides, into @ratios.
 */
void bench_series(const char *name, double *values, unsigned int n, const char *unit, double target,
		  int at_most);
void bench_ratios(double *ratios, const double *over, const double *under, unsigned int n);
void bench_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
double bench_seconds(void);
double bench_median(double *values, unsigned int n);

/* Run a program to its end and parse its output as JSON; a failure ends the benchmark. */
json_t *bench_run_json(const char *dir, char *const argv[]);

/**
 * struct bench_usage - Time and memory of a program.
 * @seconds: from start to end.
 * @peak: the most resident memory, in bytes, of the program that the process ran last. Memory of
 *	the caller, of a shell before its "exec" (ru_maxrss has both) and of children is not in it.
 */
struct bench_usage {
	double seconds, peak;
};

/* bench_run_json(), and the usage if it is asked for; that needs ptrace(). */
json_t *bench_run_usage(const char *dir, char *const argv[], struct bench_usage *usage);

/* A group of figures: the peak of a small program that a large one runs; ends if it is wrong. */
void bench_peak(const struct bench_ctx *ctx);

/* The number at "key.key.key"; of an array on the way the first element is taken. */
double bench_number(const json_t *object, const char *path);

#endif
