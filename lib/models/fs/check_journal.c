// SPDX-License-Identifier: MIT
/*
 * The journal of a file system that is checked.
 */
#include <errno.h>
#include "check.h"
#include "replay.h"

static int copy(void *ctx, uint32_t block, enum annex_fs_class class, const struct fs_line *lines)
{
	(void)class;
	return fs_check_put(ctx, block, lines);
}

int fs_check_replay(struct fs_check *c)
{
	uint64_t sequence = 0;
	uint32_t head = 0;
	int err;

	if (!c->super.n_journal)
		return 0;
	err = fs_journal_replay(&c->dev, &c->super, copy, c, &sequence, &head);
	if (err && err != -EIO)
		return err;
	if (err)
		fs_check_tell(c, "the journal is damaged: what it had is lost");
	return 0;
}
