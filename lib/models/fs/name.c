// SPDX-License-Identifier: MIT
/*
 * Names: lookup, creation, rename and removal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bitmap.h"
#include "dev.h"
#include "dir.h"
#include "file.h"
#include "map.h"
#include "node.h"
#include "op.h"
#include "orphan.h"
#include "page.h"

#define LINKS 0x7fffffffu

static int check_name(const char *name)
{
	const size_t n = strlen(name);

	if (!n)
		return -ENOENT;
	if (n > ANNEX_FS_NAME)
		return -ENAMETOOLONG;
	return strchr(name, '/') ? -EINVAL : 0;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int directory(struct annex_fs *fs, uint32_t ino, struct fs_node **out)
{
	int err = fs_node_get(fs, ino, out);

	return err ? err : S_ISDIR((*out)->i.mode) ? 0 : -ENOTDIR;
}

/* Find a name of a directory, and its file. */
static int find(struct annex_fs *fs, struct fs_node *dir, const char *name, struct fs_name **entry,
		struct fs_node **out)
{
	int err = check_name(name);

	if (!err)
		err = fs_dir_find(fs, dir, name, entry);
	if (!err)
		err = fs_node_get(fs, (*entry)->ino, out);
	/* The entry names an inode that is not in use. */
	return err == -ESTALE ? -EIO : err;
}

/* "." names every file: the kernel looks it up when it has only the number in a file handle. */
static int lookup(struct annex_fs *fs, uint32_t parent, const char *name, struct fs_node **out)
{
	struct fs_name *entry;
	struct fs_node *dir;
	int err;

	if (!strcmp(name, "."))
		return fs_node_get(fs, parent, out);
	err = directory(fs, parent, &dir);
	if (err)
		return err;
	return is_dots(name) ? fs_node_get(fs, dir->i.rdev, out) : find(fs, dir, name, &entry, out);
}

int annex_fs_lookup(struct annex_fs *fs, uint32_t parent, const char *name,
		    struct annex_fs_attr *out)
{
	struct fs_node *n;
	int err = fs_enter(fs, false);

	if (!err)
		err = lookup(fs, parent, name, &n);
	if (!err) {
		fs_node_hold(fs, n);
		fs_node_attr(n, out);
	}
	return fs_leave(fs, err);
}

void annex_fs_forget(struct annex_fs *fs, uint32_t ino, uint64_t n)
{
	struct fs_node *node;

	fs_enter(fs, false);
	if (!fs_node_get(fs, ino, &node) && fs_node_drop(fs, node, n) && !node->i.nlink &&
	    !fs->read_only)
		fs_node_die(fs, node);
	fs_leave(fs, 0);
}

int annex_fs_getattr(struct annex_fs *fs, uint32_t ino, struct annex_fs_attr *out)
{
	struct fs_node *n;
	int err = fs_enter(fs, false);

	if (!err)
		err = fs_node_get(fs, ino, &n);
	if (!err)
		fs_node_attr(n, out);
	return fs_leave(fs, err);
}

static int set_size(struct annex_fs *fs, struct fs_node *n, uint64_t size)
{
	if (S_ISDIR(n->i.mode))
		return -EISDIR;
	return S_ISREG(n->i.mode) ? fs_file_resize(fs, n, size) : -EINVAL;
}

int annex_fs_setattr(struct annex_fs *fs, uint32_t ino, struct annex_fs_attr *attr,
		     unsigned int set)
{
	const unsigned int others = set & ~ANNEX_FS_SET_SIZE;
	struct fs_node *n;
	int err = fs_enter(fs, true);

	if (!err)
		err = fs_node_get(fs, ino, &n);
	if (!err && set & ANNEX_FS_SET_SIZE)
		err = set_size(fs, n, attr->size);
	if (!err && others)
		err = fs_node_change(fs, n);
	if (!err && others) {
		n->i.ctime = set & ANNEX_FS_SET_CTIME ? attr->ctime : fs_now();
		if (set & ANNEX_FS_SET_MODE)
			n->i.mode = (uint16_t)((n->i.mode & S_IFMT) | (attr->mode & 07777));
		n->i.uid = set & ANNEX_FS_SET_UID ? attr->uid : n->i.uid;
		n->i.gid = set & ANNEX_FS_SET_GID ? attr->gid : n->i.gid;
		n->i.atime = set & ANNEX_FS_SET_ATIME ? attr->atime : n->i.atime;
		n->i.mtime = set & ANNEX_FS_SET_MTIME ? attr->mtime : n->i.mtime;
	}
	err = fs_op_end(fs, err);
	if (!err)
		fs_node_attr(n, attr);
	return fs_leave(fs, err);
}

/* Check a new name: it must not exist, and the directory must have a link. */
static int check_new(struct annex_fs *fs, struct fs_node *dir, const char *name)
{
	struct fs_name *entry;
	int err = check_name(name);

	if (!err && is_dots(name))
		err = -EEXIST;
	if (!err && !dir->i.nlink)
		err = -ENOENT;
	if (!err)
		err = fs_dir_find(fs, dir, name, &entry);
	return err == -ENOENT && dir->i.nlink && *name ? 0 : err ? err : -EEXIST;
}

/* Make a file without a name; a crash deletes it. */
static int make_nameless(struct annex_fs *fs, const struct annex_fs_new *what, struct fs_node **n)
{
	int err = fs_node_new(fs, what, n);

	if (err)
		return err;
	(*n)->i.nlink = 0;
	return fs_orphan_add(fs, *n);
}

static int make(struct annex_fs *fs, struct fs_node *dir, const char *name,
		const struct annex_fs_new *what, struct fs_node **n)
{
	int err = check_new(fs, dir, name);

	if (!err && S_ISDIR(what->mode) && dir->i.nlink >= LINKS)
		err = -EMLINK;
	if (!err)
		err = fs_node_new(fs, what, n);
	if (!err)
		err = fs_dir_add(fs, dir, name, (*n)->ino, what->mode);
	if (!err && S_ISDIR(what->mode)) {
		(*n)->i.rdev = dir->ino;
		dir->i.nlink++;
		err = fs_dir_begin(fs, *n);
	}
	return err;
}

/* End a call that makes a file. */
static int made(struct annex_fs *fs, int err, struct fs_node *n, struct annex_fs_attr *out)
{
	err = fs_op_end(fs, err);
	if (!err) {
		fs_node_hold(fs, n);
		fs_node_attr(n, out);
	}
	return fs_leave(fs, err);
}

int annex_fs_make(struct annex_fs *fs, uint32_t parent, const char *name,
		  const struct annex_fs_new *what, struct annex_fs_attr *out)
{
	struct fs_node *dir, *n = NULL;
	int err = fs_enter(fs, true);

	if (!err && !parent) {
		err = make_nameless(fs, what, &n);
		return made(fs, err, n, out);
	}
	if (!err)
		err = directory(fs, parent, &dir);
	if (!err)
		err = make(fs, dir, name, what, &n);
	return made(fs, err, n, out);
}

static int write_target(struct annex_fs *fs, uint32_t block, const char *target, uint32_t length)
{
	char whole[FS_BLOCK] = {0};
	int err;

	if (fs->super.n_journal) {
		memcpy(whole, target, length);
		return fs_dev_write_blocks(&fs->dev, ANNEX_FS_DATA, block, whole, 1);
	}
	err = fs_op_fresh(fs, block);
	return err ? err : fs_op_store(fs, (uint64_t)block * FS_BLOCK, target, length);
}

/* Store the target in place of the map, or in a block. */
static int set_target(struct annex_fs *fs, struct fs_node *n, const char *target, uint32_t length)
{
	uint32_t block;
	int err;

	n->i.size = length;
	if (length <= FS_INLINE) {
		memcpy(n->i.map, target, length);
		return 0;
	}
	err = fs_block_take(fs, 0, &block);
	if (!err)
		err = write_target(fs, block, target, length);
	n->i.map[0] = block;
	n->i.blocks = 1;
	return err;
}

int annex_fs_symlink(struct annex_fs *fs, uint32_t parent, const char *name, const char *target,
		     const struct annex_fs_new *what, struct annex_fs_attr *out)
{
	const struct annex_fs_new link = {S_IFLNK | 0777, what->uid, what->gid, 0};
	const size_t length = strlen(target);
	struct fs_node *dir, *n = NULL;
	int err = fs_enter(fs, true);

	if (!err && !length)
		err = -ENOENT;
	if (!err && length >= FS_BLOCK)
		err = -ENAMETOOLONG;
	if (!err)
		err = directory(fs, parent, &dir);
	if (!err)
		err = make(fs, dir, name, &link, &n);
	if (!err)
		err = set_target(fs, n, target, (uint32_t)length);
	return made(fs, err, n, out);
}

int annex_fs_readlink(struct annex_fs *fs, uint32_t ino, char *buf, size_t bytes)
{
	struct fs_node *n;
	int err = fs_enter(fs, false);

	if (!err)
		err = fs_node_get(fs, ino, &n);
	if (!err && !S_ISLNK(n->i.mode))
		err = -EINVAL;
	if (!err && n->i.size >= FS_BLOCK)
		err = -EIO;
	if (!err && n->i.size >= bytes)
		err = -ERANGE;
	if (!err && n->i.size <= FS_INLINE)
		memcpy(buf, n->i.map, n->i.size);
	else if (!err && !fs_map_has(fs, n->i.map[0]))
		err = -EIO;
	else if (!err)
		err = fs_dev_read(&fs->dev, ANNEX_FS_DATA, (uint64_t)n->i.map[0] * FS_BLOCK, buf,
				  n->i.size);
	if (!err)
		buf[n->i.size] = 0;
	return fs_leave(fs, err);
}

int annex_fs_link(struct annex_fs *fs, uint32_t ino, uint32_t parent, const char *name,
		  struct annex_fs_attr *out)
{
	struct fs_node *dir, *n = NULL;
	int err = fs_enter(fs, true);

	if (!err)
		err = directory(fs, parent, &dir);
	if (!err)
		err = fs_node_get(fs, ino, &n);
	if (!err && S_ISDIR(n->i.mode))
		err = -EPERM;
	if (!err && n->i.nlink >= LINKS)
		err = -EMLINK;
	if (!err)
		err = check_new(fs, dir, name);
	if (!err)
		err = fs_node_change(fs, n);
	if (!err)
		err = fs_orphan_remove(fs, n);
	if (!err)
		err = fs_dir_add(fs, dir, name, ino, n->i.mode);
	if (!err) {
		n->i.nlink++;
		n->i.ctime = fs_now();
	}
	return made(fs, err, n, out);
}

/*
 * A file has lost a name. Without names it is deleted once it is unused, so its dirty pages need
 * not be written.
 */
static int unlinked(struct annex_fs *fs, struct fs_node *n)
{
	const bool last = S_ISDIR(n->i.mode) || n->i.nlink == 1;
	int err = last ? fs_op_node(fs, n) : fs_node_change(fs, n);

	if (err)
		return err;
	n->i.ctime = fs_now();
	n->i.nlink -= S_ISDIR(n->i.mode) ? 2 : 1;
	return n->i.nlink ? 0 : fs_orphan_add(fs, n);
}

/* After the operation, delete a file that lost its last name. */
static void end_unused(struct annex_fs *fs, struct fs_node *n)
{
	if (n && n->i.mode && !n->i.nlink && !n->refs)
		fs_node_die(fs, n);
}

static int remove_name(struct annex_fs *fs, uint32_t parent, const char *name, bool directories)
{
	struct fs_node *dir, *n = NULL;
	struct fs_name *entry;
	int err = fs_enter(fs, true);

	if (!err)
		err = directory(fs, parent, &dir);
	if (!err && is_dots(name))
		err = !directories ? -EISDIR : name[1] ? -ENOTEMPTY : -EINVAL;
	if (!err)
		err = find(fs, dir, name, &entry, &n);
	if (!err && S_ISDIR(n->i.mode) != directories)
		err = directories ? -ENOTDIR : -EISDIR;
	if (!err && directories) {
		err = fs_dir_empty(fs, n);
		err = err == 1 ? 0 : err ? err : -ENOTEMPTY;
	}
	if (!err)
		err = fs_dir_remove(fs, dir, entry);
	if (!err)
		err = unlinked(fs, n);
	if (!err && directories)
		dir->i.nlink--;
	err = fs_op_end(fs, err);
	if (!err)
		end_unused(fs, n);
	return fs_leave(fs, err);
}

int annex_fs_unlink(struct annex_fs *fs, uint32_t parent, const char *name)
{
	return remove_name(fs, parent, name, false);
}

int annex_fs_rmdir(struct annex_fs *fs, uint32_t parent, const char *name)
{
	return remove_name(fs, parent, name, true);
}

/* struct move - A rename. @entry, @other: entries. @n, @old: their files. */
struct move {
	struct fs_node *from, *to;
	struct fs_name *entry, *other;
	struct fs_node *n, *old;
};

/* Whether a directory is in another one or the same. */
static int within(struct annex_fs *fs, const struct fs_node *dir, const struct fs_node *above)
{
	struct fs_node *up;

	for (uint32_t left = fs->super.inodes; left; left--) {
		int err;

		if (dir == above)
			return 1;
		if (dir->ino == ANNEX_FS_ROOT)
			return 0;
		err = directory(fs, dir->i.rdev, &up);
		if (err)
			return err;
		dir = up;
	}
	return -EIO;
}

static int check_within(struct annex_fs *fs, const struct fs_node *dir, const struct fs_node *above)
{
	int err = S_ISDIR(above->i.mode) ? within(fs, dir, above) : 0;

	return err > 0 ? -EINVAL : err;
}

/* Check that the rename may replace the file with the other name. */
static int check_old(struct annex_fs *fs, const struct move *m)
{
	int empty;

	if (!S_ISDIR(m->n->i.mode))
		return S_ISDIR(m->old->i.mode) ? -EISDIR : 0;
	if (!S_ISDIR(m->old->i.mode))
		return -ENOTDIR;
	empty = fs_dir_empty(fs, m->old);
	return empty < 0 ? empty : empty ? 0 : -ENOTEMPTY;
}

/* Give a directory another parent. */
static int adopt(struct annex_fs *fs, struct fs_node *n, struct fs_node *from, struct fs_node *to)
{
	int err = fs_node_change(fs, n);

	if (err)
		return err;
	n->i.ctime = fs_now();
	if (!S_ISDIR(n->i.mode) || from == to)
		return 0;
	n->i.rdev = to->ino;
	from->i.nlink--;
	to->i.nlink++;
	return 0;
}

static int exchange(struct annex_fs *fs, struct move *m)
{
	int err = check_within(fs, m->from, m->old);

	if (!err)
		err = fs_dir_set(fs, m->from, m->entry, m->old->ino, m->old->i.mode);
	if (!err)
		err = fs_dir_set(fs, m->to, m->other, m->n->ino, m->n->i.mode);
	if (!err)
		err = adopt(fs, m->n, m->from, m->to);
	return err ? err : adopt(fs, m->old, m->to, m->from);
}

static int replace(struct annex_fs *fs, struct move *m)
{
	int err = check_old(fs, m);

	if (!err)
		err = fs_dir_set(fs, m->to, m->other, m->n->ino, m->n->i.mode);
	if (!err && S_ISDIR(m->old->i.mode))
		m->to->i.nlink--;
	return err ? err : unlinked(fs, m->old);
}

/* Remove the old name, or replace it by a whiteout: a character device 0:0. */
static int leave_old(struct annex_fs *fs, struct move *m, bool whiteout)
{
	const struct annex_fs_new what = {S_IFCHR, m->n->i.uid, m->n->i.gid, 0};
	struct fs_node *n;
	int err;

	if (!whiteout)
		return fs_dir_remove(fs, m->from, m->entry);
	err = fs_node_new(fs, &what, &n);
	return err ? err : fs_dir_set(fs, m->from, m->entry, n->ino, what.mode);
}

static int rename_to(struct annex_fs *fs, struct move *m, const char *other, unsigned int flags)
{
	int err = check_within(fs, m->to, m->n);

	if (!err && flags & ANNEX_FS_EXCHANGE)
		return m->old ? exchange(fs, m) : -ENOENT;
	if (!err && m->old && flags & ANNEX_FS_NOREPLACE)
		err = -EEXIST;
	if (err || m->old == m->n)
		return err;
	if (m->old)
		err = replace(fs, m);
	else
		err = check_new(fs, m->to, other);
	if (!err && !m->old)
		err = fs_dir_add(fs, m->to, other, m->n->ino, m->n->i.mode);
	if (!err)
		err = leave_old(fs, m, flags & ANNEX_FS_WHITEOUT);
	return err ? err : adopt(fs, m->n, m->from, m->to);
}

int annex_fs_rename(struct annex_fs *fs, uint32_t from, const char *name, uint32_t to,
		    const char *other, unsigned int flags)
{
	struct move m = {0};
	int err = fs_enter(fs, true);

	if (!err && (flags > 7 || (flags & ANNEX_FS_EXCHANGE && flags & ~ANNEX_FS_EXCHANGE)))
		err = -EINVAL;
	if (!err)
		err = directory(fs, from, &m.from);
	if (!err)
		err = directory(fs, to, &m.to);
	if (!err && (is_dots(name) || is_dots(other)))
		err = -EBUSY;
	if (!err)
		err = find(fs, m.from, name, &m.entry, &m.n);
	if (!err) {
		err = find(fs, m.to, other, &m.other, &m.old);
		if (err == -ENOENT && *other)
			err = 0;
	}
	if (!err)
		err = rename_to(fs, &m, other, flags);
	err = fs_op_end(fs, err);
	if (!err)
		end_unused(fs, m.old);
	return fs_leave(fs, err);
}

int annex_fs_readdir(struct annex_fs *fs, uint32_t ino, uint64_t at, struct annex_fs_entry *out)
{
	struct fs_node *n;
	uint32_t line;
	int err = fs_enter(fs, false);

	if (!err)
		err = directory(fs, ino, &n);
	if (!err && at < 2) {
		out->ino = at ? n->i.rdev : ino;
		out->type = S_IFDIR;
		strcpy(out->name, at ? ".." : ".");
		out->next = at + 1;
		err = 1;
	} else if (!err && at - 2 <= UINT32_MAX) {
		line = (uint32_t)(at - 2);
		err = fs_dir_next(fs, n, &line, out);
		out->next = 2ull + line;
	}
	return err > 0 ? fs_leave(fs, 0) ? -EIO : 1 : fs_leave(fs, err);
}
