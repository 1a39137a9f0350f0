// SPDX-License-Identifier: MIT
/*
 * A directory of the host, passed through by FUSE: passthrough DIR MOUNTPOINT, in the foreground
 * until it is unmounted. A file system of annex fs mount is measured beside it, so the kernel is
 * told the same by both, and data are moved without copies here (splice). It has what the
 * measurements need: files and directories, no links, no attributes but sizes.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BELIEVED 1.0 /* seconds, as tools/models/fs/ops_node.c has them */
#define CHAINS 65536u

/* struct node - A file that the kernel knows. @fd: with O_PATH. @refs: of the kernel. */
struct node {
	struct node *next;
	int fd;
	ino_t ino;
	uint64_t refs;
};

static struct node root;
static struct node *chains[CHAINS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

static int fd_of(fuse_ino_t ino)
{
	return node_of(ino)->fd;
}

static void init(void *ctx, struct fuse_conn_info *conn)
{
	const unsigned int without = FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_ATOMIC_O_TRUNC |
				     FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_WRITEBACK_CACHE;
	const unsigned int with = FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_PARALLEL_DIROPS |
				  FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_SPLICE_READ |
				  FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE;

	(void)ctx;
	conn->want = (conn->want & ~without) | (conn->capable & with);
	conn->time_gran = 1;
}

/* Find a name and take a reference; @fd becomes the node's, or is closed. */
static int enter(int fd, struct fuse_entry_param *e)
{
	struct node *n, **chain;

	*e = (struct fuse_entry_param){.attr_timeout = BELIEVED, .entry_timeout = BELIEVED};
	if (fd < 0)
		return errno;
	if (fstatat(fd, "", &e->attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) {
		int err = errno;

		close(fd);
		return err;
	}
	chain = &chains[e->attr.st_ino % CHAINS];
	pthread_mutex_lock(&lock);
	for (n = *chain; n && n->ino != e->attr.st_ino; n = n->next)
		;
	if (n) {
		close(fd);
	} else {
		n = calloc(1, sizeof(*n));
		if (!n)
			abort();
		*n = (struct node){*chain, fd, e->attr.st_ino, 0};
		*chain = n;
	}
	n->refs++;
	pthread_mutex_unlock(&lock);
	e->ino = (uintptr_t)n;
	return 0;
}

static void forget_one(fuse_ino_t ino, uint64_t refs)
{
	struct node *n = node_of(ino), **at;

	if (n == &root)
		return;
	pthread_mutex_lock(&lock);
	n->refs -= refs;
	if (!n->refs) {
		for (at = &chains[n->ino % CHAINS]; *at != n; at = &(*at)->next)
			;
		*at = n->next;
		close(n->fd);
		free(n);
	}
	pthread_mutex_unlock(&lock);
}

static void forget(fuse_req_t req, fuse_ino_t ino, uint64_t refs)
{
	forget_one(ino, refs);
	fuse_reply_none(req);
}

static void forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < n; i++)
		forget_one(all[i].ino, all[i].nlookup);
	fuse_reply_none(req);
}

static void reply_entry(fuse_req_t req, int err, const struct fuse_entry_param *e)
{
	if (err)
		fuse_reply_err(req, err);
	else if (fuse_reply_entry(req, e))
		forget_one(e->ino, 1);
}

static void lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e;
	int err = enter(openat(fd_of(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC), &e);

	reply_entry(req, err, &e);
}

static void reply_attr(fuse_req_t req, fuse_ino_t ino)
{
	struct stat st;

	if (fstatat(fd_of(ino), "", &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		fuse_reply_err(req, errno);
	else
		fuse_reply_attr(req, &st, BELIEVED);
}

static void get_attr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	reply_attr(req, ino);
}

/* A name that open() takes for a file of which there is an O_PATH. */
static void path_of(fuse_ino_t ino, char path[32])
{
	snprintf(path, 32, "/proc/self/fd/%d", fd_of(ino));
}

static void set_attr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
		     struct fuse_file_info *fi)
{
	char path[32];

	(void)fi;
	path_of(ino, path);
	if (set & FUSE_SET_ATTR_SIZE && truncate(path, attr->st_size))
		fuse_reply_err(req, errno);
	else
		reply_attr(req, ino);
}

static void make_dir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fuse_entry_param e;
	int err = mkdirat(fd_of(parent), name, mode) ? errno : 0;

	if (!err)
		err = enter(openat(fd_of(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC), &e);
	reply_entry(req, err, &e);
}

static void create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		   struct fuse_file_info *fi)
{
	const int flags = (fi->flags | O_CREAT | O_CLOEXEC) & ~O_NOFOLLOW;
	int fd = openat(fd_of(parent), name, flags, mode);
	struct fuse_entry_param e;
	int err = fd < 0 ? errno : 0;

	if (!err)
		err = enter(openat(fd_of(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC), &e);
	if (err) {
		fuse_reply_err(req, err);
		return;
	}
	fi->fh = (uint64_t)fd;
	fi->keep_cache = 1;
	fuse_reply_create(req, &e, fi);
}

static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	char path[32];
	int fd;

	path_of(ino, path);
	fd = open(path, (fi->flags | O_CLOEXEC) & ~O_NOFOLLOW);
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	fi->fh = (uint64_t)fd;
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

static void release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	close((int)fi->fh);
	fuse_reply_err(req, 0);
}

static void read_file(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at,
		      struct fuse_file_info *fi)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(bytes);

	(void)ino;
	buf.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	buf.buf[0].fd = (int)fi->fh;
	buf.buf[0].pos = at;
	fuse_reply_data(req, &buf, FUSE_BUF_SPLICE_MOVE);
}

static void write_file(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *from, off_t at,
		       struct fuse_file_info *fi)
{
	struct fuse_bufvec to = FUSE_BUFVEC_INIT(fuse_buf_size(from));
	ssize_t n;

	(void)ino;
	to.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	to.buf[0].fd = (int)fi->fh;
	to.buf[0].pos = at;
	n = fuse_buf_copy(&to, from, 0);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

static void sync_file(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	fuse_reply_err(req, (datasync ? fdatasync((int)fi->fh) : fsync((int)fi->fh)) ? errno : 0);
}

static void unlink_file(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, unlinkat(fd_of(parent), name, 0) ? errno : 0);
}

static void remove_dir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, unlinkat(fd_of(parent), name, AT_REMOVEDIR) ? errno : 0);
}

static void open_dir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	int fd = openat(fd_of(ino), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		fuse_reply_err(req, errno);
		return;
	}
	fi->fh = (uintptr_t)dir;
	fuse_reply_open(req, fi);
}

static void release_dir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	closedir((DIR *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t at,
		     struct fuse_file_info *fi)
{
	DIR *dir = (DIR *)(uintptr_t)fi->fh;
	char *buf = malloc(bytes);
	size_t n = 0, more = 0;
	struct dirent *d;

	(void)ino;
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	seekdir(dir, at);
	while (n + more <= bytes && (d = readdir(dir))) {
		const struct stat st = {.st_ino = d->d_ino, .st_mode = (mode_t)d->d_type << 12};

		n += more;
		more = fuse_add_direntry(req, buf + n, bytes - n, d->d_name, &st, d->d_off);
	}
	fuse_reply_buf(req, buf, n + more <= bytes ? n + more : n);
	free(buf);
}

static const struct fuse_lowlevel_ops ops = {
	.init = init,
	.lookup = lookup,
	.forget = forget,
	.forget_multi = forget_multi,
	.getattr = get_attr,
	.setattr = set_attr,
	.mkdir = make_dir,
	.create = create,
	.open = open_file,
	.release = release,
	.read = read_file,
	.write_buf = write_file,
	.fsync = sync_file,
	.unlink = unlink_file,
	.rmdir = remove_dir,
	.opendir = open_dir,
	.releasedir = release_dir,
	.readdir = read_dir,
};

int main(int argc, char **argv)
{
	char *words[] = {argv[0], (char[]){"-odefault_permissions,fsname=passthrough"}, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(2, words);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *se;
	int err;

	if (argc != 3 || !config) {
		fprintf(stderr, "usage: passthrough DIR MOUNTPOINT\n");
		return 2;
	}
	root.fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root.fd < 0) {
		fprintf(stderr, "passthrough: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	se = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!se || fuse_session_mount(se, argv[2]))
		return 1;
	err = fuse_session_loop_mt(se, config);
	fuse_session_unmount(se);
	fuse_session_destroy(se);
	fuse_loop_cfg_destroy(config);
	return err ? 1 : 0;
}
