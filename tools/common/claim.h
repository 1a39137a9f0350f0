/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file, device or directory for this process alone: of two that write to it one says so, and
 * neither writes into what the other has begun. The kernel drops a claim with its descriptor.
 */
#ifndef TOOLS_CLAIM_H
#define TOOLS_CLAIM_H

/*
 * claim_file() - Open @path to write to it, and keep others from it until *@fd is closed: this
 * tool, and all that use annex_dev_claim(). -EBUSY, with the line: one of them reads or writes.
 * -ENOENT, without a line: it is not there. claim_made() - The same with @fd, which has just made
 * it. claim_read() - Keep writers from the file @fd, which is read; -ENOLCK, with a line that fits
 * a warning: its file system has no locks.
 */
int claim_file(const char *path, int *fd);
int claim_made(int fd, const char *path);
int claim_read(int fd, const char *path);

/* claim_dir() - Wait for the directory @path, in which names of several files are given, for a few
 * seconds: -EBUSY, with the line. claim_dir_of() - For the one that the file @path is in. */
int claim_dir(const char *path, int *fd);
int claim_dir_of(const char *path, int *fd);

#endif
