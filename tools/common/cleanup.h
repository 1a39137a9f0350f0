/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that must not outlive a command that was interrupted.
 */
#ifndef TOOLS_CLEANUP_H
#define TOOLS_CLEANUP_H

/* cleanup_init() - Catch the signals that end a command from outside. */
void cleanup_init(void);

/*
 * cleanup_hold() - Delay these signals, so that a file is recorded before one of them arrives.
 * cleanup_release() - Deliver them again after as many calls. Only the main thread takes signals
 * (pool.c).
 */
void cleanup_hold(void);
void cleanup_release(void);

/*
 * cleanup_add() - Have @path (a file or an empty directory) removed should a signal end the
 * program. Removal is in the reverse order. Returns 0, -ENOMEM or -ENOSPC.
 */
int cleanup_add(const char *path);

/* cleanup_all() - Remove all of them; from a signal handler as well. */
void cleanup_all(void);

/* cleanup_forget() - It was renamed, or is to stay. */
void cleanup_forget(const char *path);
/* cleanup_remove() - Remove it now, if it is there. Returns 0, or -errno with the line set. */
int cleanup_remove(const char *path);

#endif
