/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines on standard error while a command runs: its progress, on a terminal and after a second, and
 * warnings: each different one of the library once, and the command's own.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdint.h>

/* progress_begin() - A new activity, named in a literal. */
void progress_begin(const char *what);

/* progress_time() - A new activity that counts nothing: a thread shows its seconds. */
void progress_time(const char *what);

/* progress_update() - @done of @total are through (@total 0: unknown). Any thread, any rate. */
void progress_update(uint64_t done, uint64_t total, const char *unit);

/* progress_clear() - Write this before another line, which takes the place of the progress line. */
const char *progress_clear(void);

/* progress_now() - A line of its own, at once, until the next activity begins. */
void progress_now(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* progress_end() - Take the line away. */
void progress_end(void);

/* warn_init() - From now on. warn_stop() - No more, for a command that tells of them itself. */
void warn_init(void);
void warn_stop(void);

/* warn_say() - A warning of a command, each time: of something without which it goes on. */
void warn_say(const char *line);

#endif
