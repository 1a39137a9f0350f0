/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_TESTS_SPAWN_H
#define ANNEX_TESTS_SPAWN_H

#include <jansson.h>

/* Run a program to its end and read what it prints as JSON; the benchmark ends if that fails. */
json_t *bench_run_json(const char *dir, char *const argv[]);

/*
 * struct bench_usage - Time and memory of a program: seconds from start to end, and its peak of
 * resident memory in bytes. The kernel's peak includes the caller's resident memory when the
 * program starts: measure while that is little.
 */
struct bench_usage {
	double seconds, peak;
};
json_t *bench_run_usage(const char *dir, char *const argv[], struct bench_usage *usage);

/* The number at "key.key.key"; of an array on the way the first element is taken. */
double bench_number(const json_t *object, const char *path);

#endif
