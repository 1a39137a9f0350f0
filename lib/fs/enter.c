// SPDX-License-Identifier: MIT
#include <errno.h>
#include "commit.h"
#include "enter.h"
#include "journal.h"
#include "orphan.h"
#include "page.h"

int fs_enter(struct annex_fs *fs, bool changes)
{
	pthread_mutex_lock(&fs->lock);
	if (changes && fs->read_only)
		return -EROFS;
	return changes ? fs_journal_room(fs) : 0;
}

int fs_leave(struct annex_fs *fs, int err)
{
	int late;

	err = fs_op_end(fs, err);
	fs_pages_trim(&fs->pages);
	late = fs_nodes_trim(fs);
	pthread_mutex_unlock(&fs->lock);
	return err ? err : late;
}
