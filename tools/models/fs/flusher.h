/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that has late writes of a file system last, every few seconds.
 */
#ifndef TOOLS_FS_FLUSHER_H
#define TOOLS_FS_FLUSHER_H

#include <annex/models/fs.h>

struct flusher;

/* flusher_start() - Begin; @seconds apart. Return: 0, or -errno with the line set. An error in
 * writing back is told once (journal_line()), and to who calls fsync(). */
int flusher_start(struct annex_fs *fs, unsigned int seconds, struct flusher **out);
void flusher_stop(struct flusher *f);

#endif
