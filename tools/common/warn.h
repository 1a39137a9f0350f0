/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Warnings on standard error: the library's, each different one once, and commands'.
 */
#ifndef TOOLS_WARN_H
#define TOOLS_WARN_H

/* warn_init() - From now on. warn_stop() - No more, for a command that tells of them itself. */
void warn_init(void);
void warn_stop(void);

/* warn_say() - A warning of a command, each time: of something without which it goes on. */
void warn_say(const char *line);

#endif
