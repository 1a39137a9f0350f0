/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line on a terminal's stderr, from the moment that a command has run for a second.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdint.h>

/* progress_begin() - A new activity, named in a literal. */
void progress_begin(const char *what);

/* progress_update() - @done of @total are through (@total 0: unknown). Any thread, any rate. */
void progress_update(uint64_t done, uint64_t total, const char *unit);

/* progress_clear() - Write this before another line, which takes the place of the progress line. */
const char *progress_clear(void);

/* progress_now() - A line of its own, at once, until the next activity begins. */
void progress_now(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* progress_end() - Take the line away. */
void progress_end(void);

#endif
