// SPDX-License-Identifier: MIT
/*
 * The journal of a file system that is checked or explained.
 */
#include <errno.h>
#include <string.h>
#include "check.h"
#include "dev.h"
#include "journal.h"
#include "replay.h"

static int copy(void *ctx, uint32_t block, enum annex_fs_class class, const struct fs_line *lines)
{
	struct check_block *b;
	int err = fs_check_new(ctx, block, &b);

	(void)class;
	if (!err)
		memcpy(b->lines, lines, sizeof(b->lines));
	return err;
}

int fs_check_replay(struct fs_check *c)
{
	const struct fs_super *s = &c->super;
	uint64_t sequence = 0;
	uint32_t head = 0;
	int err;

	if (!s->n_journal)
		return 0;
	err = fs_journal_replay(&c->dev, s, copy, c, &sequence, &head);
	if (err && err != -EIO)
		return err;
	if (err)
		fs_check_tell(c, true, "the journal is damaged: what it had is lost");
	if (!c->mend || (!err && head == 1))
		return 0;
	/* Old transactions must not look like those that come. */
	if (err)
		err = fs_dev_trim(&c->dev, s->journal, s->n_journal);
	if (!err)
		err = fs_check_flush(c);
	return err ? err : fs_journal_reset(&c->dev, s, sequence + 1);
}
