/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of the kernel for a mounted file system (FUSE). Each handler replies once.
 */
#ifndef TOOLS_FS_OPS_H
#define TOOLS_FS_OPS_H

#define FUSE_USE_VERSION 314

#include <fuse3/fuse_lowlevel.h>
#include <annex/models/fs.h>

/* Since 3.17 libfuse has O_TMPFILE. */
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
#define OPS_HAS_TMPFILE
#endif

/* ops_fs() - The file system of a request. */
static inline struct annex_fs *ops_fs(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* ops_new() - Describe a new file in @parent, owned by the caller; its group is the caller's, or
 * the group of a set-group-ID @parent. */
int ops_new(fuse_req_t req, fuse_ino_t parent, mode_t mode, dev_t rdev, struct annex_fs_new *out);

/* ops_stat() - Convert an inode. ops_entry() - The same, with the time the kernel may cache it. */
void ops_stat(const struct annex_fs_attr *a, struct stat *out);
void ops_entry(const struct annex_fs_attr *a, struct fuse_entry_param *out);

/* ops_answer() - Reply @err, 0 or a negative errno; log damage too. */
void ops_answer(fuse_req_t req, int err);

/* ops_answer_entry(), ops_answer_attr() - Reply the attributes of a file, or @err. */
void ops_answer_entry(fuse_req_t req, int err, const struct annex_fs_attr *a);
void ops_answer_attr(fuse_req_t req, int err, const struct annex_fs_attr *a);

/* ops_node.c: inodes and their attributes */
void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n);
void ops_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *all);
void ops_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int set,
		 struct fuse_file_info *fi);
void ops_readlink(fuse_req_t req, fuse_ino_t ino);
void ops_statfs(fuse_req_t req, fuse_ino_t ino);
void ops_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t bytes,
		  int flags);
void ops_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t bytes);
void ops_listxattr(fuse_req_t req, fuse_ino_t ino, size_t bytes);
void ops_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

/* ops_name.c */
void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		struct fuse_file_info *fi);
#ifdef OPS_HAS_TMPFILE
void ops_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi);
#endif
void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void ops_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_rename(fuse_req_t req, fuse_ino_t from, const char *name, fuse_ino_t to, const char *other,
		unsigned int flags);

/* ops_file.c */
void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_read(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at, struct fuse_file_info *fi);
void ops_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t bytes, off_t at,
	       struct fuse_file_info *fi);
void ops_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void ops_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t at, off_t bytes,
		   struct fuse_file_info *fi);
void ops_lseek(fuse_req_t req, fuse_ino_t ino, off_t at, int whence, struct fuse_file_info *fi);

/* ops_dir.c */
void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at, struct fuse_file_info *fi);
void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at,
		     struct fuse_file_info *fi);

#endif
