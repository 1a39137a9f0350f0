/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Warnings of the library, each different one once, on standard error.
 */
#ifndef TOOLS_WARN_H
#define TOOLS_WARN_H

/* warn_init() - From now on. warn_stop() - No more, for a command that tells of them itself. */
void warn_init(void);
void warn_stop(void);

#endif
