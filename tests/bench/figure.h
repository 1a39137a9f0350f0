/* SPDX-License-Identifier: MIT */
/*
 * Figures with targets, printed as they are measured and written as JSON at the end.
 */
#ifndef ANNEX_TESTS_FIGURE_H
#define ANNEX_TESTS_FIGURE_H

#include <stdint.h>

/* bench_begin() - Before the first figure. bench_end() - Write all of them to a file. */
void bench_begin(void);
void bench_end(const char *path);

/* How the figures that follow can be had again. */
void bench_command(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A measured value. @at_most: the target is an upper bound, else a lower one, of which 0 is none:
 * reported only.
 */
void bench_figure(const char *name, double value, const char *unit, double target, int at_most);
void bench_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
double bench_seconds(void);
double bench_median(double *values, unsigned int n);
uint64_t bench_random(uint64_t *state);

#endif
