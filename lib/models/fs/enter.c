// SPDX-License-Identifier: MIT
#include <errno.h>
#include "commit.h"
#include "enter.h"
#include "orphan.h"
#include "page.h"

int fs_enter(struct annex_fs *fs, bool changes)
{
	pthread_mutex_lock(&fs->lock);
	if (!changes)
		return 0;
	if (fs->read_only)
		return -EROFS;
	fs_dead_room(fs);
	return fs_commit_room(fs);
}

int fs_leave(struct annex_fs *fs, int err)
{
	err = fs_op_end(fs, err);
	fs_pages_trim(&fs->pages);
	fs_nodes_trim(fs);
	pthread_mutex_unlock(&fs->lock);
	return err;
}
