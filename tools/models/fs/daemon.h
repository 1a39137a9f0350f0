/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process of a mount: in the background, with its log, its thread that writes back, and its
 * setting for memory reclaim.
 */
#ifndef TOOLS_FS_DAEMON_H
#define TOOLS_FS_DAEMON_H

#include <stdbool.h>
#include <annex/log.h>
#include <annex/models/fs.h>

/*
 * daemon_fork() - Continue in a child, which must be the one that opens the endpoint. *@pipe is for
 * daemon_ready(). Return: 0 in the child; 1 in the parent, once the child is ready; -errno with the
 * line set. When the child fails first, it prints why and the parent exits with the child's status.
 */
int daemon_fork(int *pipe);

/* daemon_ready() - Detach from the terminal, log to syslog(3), and let the parent exit. */
int daemon_ready(int pipe);

/* daemon_detached() - Whether lines of the tool and the library go to syslog(3). */
bool daemon_detached(void);

/* daemon_log() - Write a line to stderr or syslog; a repeated line is left out. Any thread. */
void daemon_log(enum annex_log_level level, const char *text);

struct flusher;

/*
 * flusher_start() - Start a thread that writes dirty data of a file system back every @seconds. An
 * error is logged once; fsync() returns it too. Return: 0, or -errno with the line set.
 */
int flusher_start(struct annex_fs *fs, unsigned int seconds, struct flusher **out);
void flusher_stop(struct flusher *f);

/*
 * reclaim_arrange() - Keep allocations of this process and its children from waiting for dirty
 * pages of the mount.
 *
 * A program that writes through a shared mapping has dirty pages of the mount, which this process
 * writes back. In a control group of version 1 that is short of memory, an allocation of any
 * process of the group may wait for the write-back of such a page: this process would wait for
 * itself forever.
 *
 * Return: 0, or -EPERM with the line set when the setting is needed and not permitted.
 */
int reclaim_arrange(void);

#endif
