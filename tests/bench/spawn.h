/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_TESTS_SPAWN_H
#define ANNEX_TESTS_SPAWN_H

#include <jansson.h>
#include "figure.h"

/* Run a program to its end and read what it prints as JSON; the benchmark ends if that fails. */
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
