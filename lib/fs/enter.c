// SPDX-License-Identifier: MIT
#include <errno.h>
#include "commit.h"
#include "enter.h"
#include "orphan.h"
#include "page.h"

int fs_enter(struct annex_fs *fs, bool changes)
{
	int err;

	pthread_mutex_lock(&fs->lock);
	if (changes && fs->read_only)
		return -EROFS;
	err = changes ? fs_dead_room(fs) : 0;
	return !err && changes ? fs_commit_room(fs) : err;
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
