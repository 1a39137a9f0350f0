// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>
#include "ops.h"

int ops_new(fuse_req_t req, fuse_ino_t parent, mode_t mode, dev_t rdev, struct annex_fs_new *out)
{
	const struct fuse_ctx *caller = fuse_req_ctx(req);
	struct annex_fs_attr dir;
	int err = annex_fs_getattr(ops_fs(req), (uint32_t)parent, &dir);

	if (err)
		return err;
	*out = (struct annex_fs_new){mode, caller->uid, caller->gid, (uint32_t)rdev};
	/* The file system, not the kernel, implements set-group-ID directories. */
	if (dir.mode & S_ISGID) {
		out->gid = dir.gid;
		out->mode |= S_ISDIR(mode) ? S_ISGID : 0;
	}
	return 0;
}

static int make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev,
		struct annex_fs_attr *a)
{
	struct annex_fs_new new;
	int err = ops_new(req, parent, mode, rdev, &new);

	return err ? err : annex_fs_make(ops_fs(req), (uint32_t)parent, name, &new, a);
}

void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct annex_fs_attr a;
	int err = make(req, parent, name, mode, rdev, &a);

	ops_answer_entry(req, err, &a);
}

void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct annex_fs_attr a;
	int err = make(req, parent, name, (mode & 07777) | S_IFDIR, 0, &a);

	ops_answer_entry(req, err, &a);
}

/* The new file is open. */
static void answer_open(fuse_req_t req, int err, const struct annex_fs_attr *a,
			struct fuse_file_info *fi)
{
	struct annex_fs *fs = ops_fs(req);
	struct fuse_entry_param e;

	if (err) {
		ops_answer(req, err);
		return;
	}
	ops_entry(a, &e);
	fi->keep_cache = 1;
	if (fuse_reply_create(req, &e, fi))
		annex_fs_forget(fs, a->ino, 1);
}

void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		struct fuse_file_info *fi)
{
	struct annex_fs_attr a;
	int err = make(req, parent, name, (mode & 07777) | S_IFREG, 0, &a);

	answer_open(req, err, &a, fi);
}

#ifdef OPS_HAS_TMPFILE
void ops_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
	struct annex_fs_new new;
	struct annex_fs_attr a;
	int err = ops_new(req, parent, (mode & 07777) | S_IFREG, 0, &new);

	if (!err)
		err = annex_fs_make(ops_fs(req), 0, NULL, &new, &a);
	answer_open(req, err, &a, fi);
}
#endif

void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct annex_fs_new new;
	struct annex_fs_attr a;
	int err = ops_new(req, parent, S_IFLNK | 0777, 0, &new);

	if (!err)
		err = annex_fs_symlink(ops_fs(req), (uint32_t)parent, name, target, &new, &a);
	ops_answer_entry(req, err, &a);
}

void ops_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct annex_fs_attr a;
	int err = annex_fs_link(ops_fs(req), (uint32_t)ino, (uint32_t)parent, name, &a);

	ops_answer_entry(req, err, &a);
}

void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	ops_answer(req, annex_fs_unlink(ops_fs(req), (uint32_t)parent, name));
}

void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	ops_answer(req, annex_fs_rmdir(ops_fs(req), (uint32_t)parent, name));
}

/* Both sides use the flags of renameat2(). */
void ops_rename(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to, const char *other,
		unsigned int flags)
{
	ops_answer(req,
		   annex_fs_rename(ops_fs(req), (uint32_t)from, name, (uint32_t)to, other, flags));
}
