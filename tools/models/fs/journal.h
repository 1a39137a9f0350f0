/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of a program that may have no terminal: to stderr, or to syslog(3).
 */
#ifndef TOOLS_FS_JOURNAL_H
#define TOOLS_FS_JOURNAL_H

#include <stdbool.h>
#include <annex/log.h>

/*
 * journal_detach() - From now on lines go to syslog, those of the library too. journal_detached() -
 * Whether they do.
 */
void journal_detach(void);
bool journal_detached(void);

/* journal_line() - Write a line; one that is the same as the one before is left out. Any thread. */
void journal_line(enum annex_log_level level, const char *text);

#endif
