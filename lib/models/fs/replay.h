/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_FS_REPLAY_H
#define ANNEX_FS_REPLAY_H

#include "fs.h"

/*
 * fs_journal_replay() - Read what the journal has for blocks of metadata: @copy is called for each
 * block once, in their order. @sequence: the number of the next transaction; @head: where it goes.
 *
 * Return: 0; -EIO (its header is damaged, or a block cannot be read); an error of @copy.
 */
int fs_journal_replay(struct fs_dev *d, const struct fs_super *s,
		      int (*copy)(void *ctx, uint32_t block, enum annex_fs_class class,
				  const struct fs_line *lines),
		      void *ctx, uint64_t *sequence, uint32_t *head);

#endif
