// SPDX-License-Identifier: MIT
/*
 * Descriptors: 1, 2 and their duplicates, which can be written. There are no other files, and an
 * empty root directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "call.h"

enum { EMPTY_PATH = 0x1000, IOV_MOST = 1024 };
/* Numbers of the kernel on RISC-V, which only some hosts share. */
enum { G_TCGETS = 0x5401, G_TIOCGWINSZ = 0x5413, TERMIOS_BYTES = 36, WINSIZE_BYTES = 8 };
enum { G_CREAT = 0100, G_APPEND = 02000, G_NONBLOCK = 04000, G_CLOEXEC = 02000000 };

static int host_fd(const struct user *u, uint64_t fd)
{
	return (uint32_t)fd < USER_FDS && u->fd[(uint32_t)fd].open ? u->fd[(uint32_t)fd].host
								   : -EBADF;
}

static bool is_open(const struct user *u, uint64_t fd)
{
	return (uint32_t)fd < USER_FDS && u->fd[(uint32_t)fd].open;
}

int64_t call_getcwd(struct user *u, const uint64_t *a)
{
	if (a[1] < 2)
		return -ERANGE;
	return rv_space_write(&u->space, a[0], "/", 2) ? -EFAULT : 2;
}

static int64_t duplicate(struct user *u, uint64_t fd, uint64_t from, bool cloexec)
{
	if (!is_open(u, fd))
		return -EBADF;
	if ((uint32_t)from >= USER_FDS)
		return -EINVAL;
	for (uint32_t to = (uint32_t)from; to < USER_FDS; to++) {
		if (u->fd[to].open)
			continue;
		u->fd[to] = u->fd[(uint32_t)fd];
		u->fd[to].cloexec = cloexec;
		return to;
	}
	return -EMFILE;
}

int64_t call_dup(struct user *u, const uint64_t *a)
{
	return duplicate(u, a[0], 0, false);
}

int64_t call_dup3(struct user *u, const uint64_t *a)
{
	uint32_t from = (uint32_t)a[0], to = (uint32_t)a[1], flags = (uint32_t)a[2];

	if (flags & ~(uint32_t)G_CLOEXEC || from == to)
		return -EINVAL;
	if (to >= USER_FDS || !is_open(u, from))
		return -EBADF;
	u->fd[to] = u->fd[from];
	u->fd[to].cloexec = flags;
	return to;
}

/* They are written and not read, whatever the host's can do. */
static int64_t file_flags(int host, bool set, uint64_t to)
{
	int flags = fcntl(host, F_GETFL);

	if (flags < 0)
		return -errno;
	if (!set)
		return O_WRONLY | (flags & O_APPEND ? G_APPEND : 0) |
		       (flags & O_NONBLOCK ? G_NONBLOCK : 0);
	flags &= ~(O_APPEND | O_NONBLOCK);
	flags |= (to & G_APPEND ? O_APPEND : 0) | (to & G_NONBLOCK ? O_NONBLOCK : 0);
	return fcntl(host, F_SETFL, flags) ? -errno : 0;
}

int64_t call_fcntl(struct user *u, const uint64_t *a)
{
	int host = host_fd(u, a[0]);
	struct user_fd *fd;

	if (!is_open(u, a[0]))
		return -EBADF;
	fd = &u->fd[(uint32_t)a[0]];
	switch ((uint32_t)a[1]) {
	case F_DUPFD:
		return duplicate(u, a[0], a[2], false);
	case 1030: /* F_DUPFD_CLOEXEC */
		return duplicate(u, a[0], a[2], true);
	case F_GETFD:
		return fd->cloexec;
	case F_SETFD:
		fd->cloexec = a[2] & FD_CLOEXEC;
		return 0;
	case F_GETFL:
	case F_SETFL:
		return file_flags(host, (uint32_t)a[1] == F_SETFL, a[2]);
	default:
		return -EINVAL;
	}
}

/* A terminal is told as one, so that programs flush their lines. */
int64_t call_ioctl(struct user *u, const uint64_t *a)
{
	uint32_t bytes = (uint32_t)a[1] == G_TCGETS       ? TERMIOS_BYTES
			 : (uint32_t)a[1] == G_TIOCGWINSZ ? WINSIZE_BYTES
							  : 0;
	char out[64];

	if (!is_open(u, a[0]))
		return -EBADF;
	if (!bytes || ioctl(host_fd(u, a[0]), bytes == WINSIZE_BYTES ? TIOCGWINSZ : TCGETS, out))
		return -ENOTTY;
	return rv_space_write(&u->space, a[2], out, bytes);
}

/* -EFAULT, or -ENOENT: the path at a[1] names nothing. */
int64_t call_no_path(struct user *u, const uint64_t *a)
{
	char first;

	return rv_space_read(&u->space, a[1], &first, 1) ? -EFAULT : -ENOENT;
}

static bool is_root(const struct user *u, uint64_t path)
{
	char text[2] = "";

	return !rv_space_read(&u->space, path, text, 1) && text[0] == '/' &&
	       !rv_space_read(&u->space, path + 1, text + 1, 1) && !text[1];
}

int64_t call_chdir(struct user *u, const uint64_t *a)
{
	const uint64_t at[2] = {0, a[0]};

	return is_root(u, a[0]) ? 0 : call_no_path(u, at);
}

int64_t call_mkdirat(struct user *u, const uint64_t *a)
{
	int64_t err = is_root(u, a[1]) ? -EEXIST : call_no_path(u, a);

	return err == -ENOENT ? -EROFS : err;
}

int64_t call_openat(struct user *u, const uint64_t *a)
{
	int64_t err = call_no_path(u, a);

	return err == -ENOENT && a[2] & G_CREAT ? -EROFS : err;
}

int64_t call_close(struct user *u, const uint64_t *a)
{
	if (!is_open(u, a[0]))
		return -EBADF;
	u->fd[(uint32_t)a[0]].open = false;
	return 0;
}

int64_t call_pipe2(struct user *u, const uint64_t *a)
{
	(void)u;
	(void)a;
	return -ENFILE;
}

int64_t call_getdents(struct user *u, const uint64_t *a)
{
	return is_open(u, a[0]) ? -ENOTDIR : -EBADF;
}

int64_t call_lseek(struct user *u, const uint64_t *a)
{
	off_t at;

	if (!is_open(u, a[0]))
		return -EBADF;
	if ((uint32_t)a[2] > SEEK_END)
		return -EINVAL;
	at = lseek(host_fd(u, a[0]), (off_t)a[1], (int)a[2]);
	return at < 0 ? -errno : at;
}

/* Descriptors are open for writing only. */
int64_t call_read(struct user *u, const uint64_t *a)
{
	(void)u;
	(void)a;
	return -EBADF;
}

/* As much as one area has; the program's library calls again for the rest. @at: NULL, or where. */
static int64_t write_some(struct user *u, uint64_t fd, uint64_t va, uint64_t bytes, const off_t *at)
{
	const uint64_t most = 0x7ffff000; /* as Linux has it */
	struct rv_span s;
	uint64_t room;
	ssize_t n;

	if (!is_open(u, fd))
		return -EBADF;
	if ((int64_t)bytes < 0)
		return -EINVAL;
	if (!bytes)
		return 0;
	if (rv_space_find(&u->space, va, &s) || !(s.prot & RV_READ))
		return -EFAULT;
	room = s.bytes - (va - s.va);
	bytes = bytes < room ? bytes : room;
	bytes = bytes < most ? bytes : most;
	do
		n = at ? pwrite(host_fd(u, fd), s.host + (va - s.va), bytes, *at)
		       : write(host_fd(u, fd), s.host + (va - s.va), bytes);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int64_t call_write(struct user *u, const uint64_t *a)
{
	return write_some(u, a[0], a[1], a[2], NULL);
}

int64_t call_pwrite(struct user *u, const uint64_t *a)
{
	off_t at = (off_t)a[3];

	return at < 0 ? -EINVAL : write_some(u, a[0], a[1], a[2], &at);
}

int64_t call_writev(struct user *u, const uint64_t *a)
{
	int64_t total = 0;

	if (!is_open(u, a[0]))
		return -EBADF;
	if (a[2] > IOV_MOST)
		return -EINVAL;
	for (uint64_t i = 0; i < a[2]; i++) {
		uint64_t part[2];
		int64_t did;

		if (rv_space_read(&u->space, a[1] + i * sizeof(part), part, sizeof(part)))
			return total ? total : -EFAULT;
		did = write_some(u, a[0], part[0], part[1], NULL);
		if (did < 0)
			return total ? total : did;
		total += did;
		if ((uint64_t)did < part[1])
			break;
	}
	return total;
}

/* Until @timeout (0: for ever) has passed: nothing becomes ready later. */
static int64_t wait_until(struct user *u, uint64_t timeout)
{
	uint64_t ns = UINT64_MAX, now = user_now(CLOCK_MONOTONIC);
	int err = timeout ? user_timespec(u, timeout, &ns) : 0;

	return err ? err : user_sleep(u, timeout ? now + ns : UINT64_MAX);
}

static int check_timeout(const struct user *u, uint64_t timeout)
{
	uint64_t ns;

	return timeout ? user_timespec(u, timeout, &ns) : 0;
}

int64_t call_ppoll(struct user *u, const uint64_t *a)
{
	int err = check_timeout(u, a[2]);
	struct pollfd p;
	int64_t n = 0;

	if (err)
		return err;
	if ((uint32_t)a[1] > USER_FDS)
		return -EINVAL;
	for (uint64_t i = 0, va = a[0]; i < (uint32_t)a[1]; i++, va += sizeof(p)) {
		if (rv_space_read(&u->space, va, &p, sizeof(p)))
			return -EFAULT;
		p.revents = p.fd < 0                      ? 0
			    : !is_open(u, (uint32_t)p.fd) ? POLLNVAL
							  : p.events & (POLLOUT | POLLWRNORM);
		n += p.revents != 0;
		if (rv_space_write(&u->space, va, &p, sizeof(p)))
			return -EFAULT;
	}
	return n ? n : wait_until(u, a[2]);
}

/* Sets of at most USER_FDS bits: reading, writing and exceptions. */
int64_t call_pselect(struct user *u, const uint64_t *a)
{
	uint64_t set[3] = {0}, mask;
	int err = check_timeout(u, a[4]);
	int64_t n;

	if (err || (int32_t)a[0] < 0)
		return err ? err : -EINVAL;
	mask = a[0] >= USER_FDS ? UINT64_MAX : (1ull << a[0]) - 1;
	for (unsigned int k = 0; k < 3; k++) {
		if (a[1 + k] && a[0] && rv_space_read(&u->space, a[1 + k], &set[k], 8))
			return -EFAULT;
		set[k] &= mask;
		for (uint64_t left = set[k]; left; left &= left - 1)
			if (!is_open(u, (uint64_t)__builtin_ctzll(left)))
				return -EBADF;
	}
	n = __builtin_popcountll(set[1]);
	set[0] = set[2] = 0;
	err = n ? 0 : (int)wait_until(u, a[4]);
	for (unsigned int k = 0; k < 3 && !err; k++)
		if (a[1 + k] && a[0])
			err = rv_space_write(&u->space, a[1 + k], &set[k], 8);
	return err ? err : n;
}

/* struct stat of asm-generic. */
static int64_t put_stat(struct user *u, uint64_t fd, uint64_t va)
{
	struct {
		uint64_t dev, ino;
		uint32_t mode, nlink, uid, gid;
		uint64_t rdev, pad;
		int64_t size;
		int32_t blksize, pad2;
		int64_t blocks, times[6];
		uint32_t unused[2];
	} out = {0};
	struct stat st;

	if (!is_open(u, fd))
		return -EBADF;
	if (fstat(host_fd(u, fd), &st))
		return -errno;
	out.dev = st.st_dev;
	out.ino = st.st_ino;
	out.mode = st.st_mode;
	out.nlink = 1;
	out.size = st.st_size;
	out.blksize = (int32_t)st.st_blksize;
	out.blocks = st.st_blocks;
	out.rdev = st.st_rdev;
	return rv_space_write(&u->space, va, &out, sizeof(out));
}

int64_t call_fstat(struct user *u, const uint64_t *a)
{
	return put_stat(u, a[0], a[1]);
}

/* -ENOENT; 0: the path is empty, and the descriptor is meant. */
static int64_t empty_path(struct user *u, uint64_t va, uint64_t flags)
{
	char first;

	if (rv_space_read(&u->space, va, &first, 1))
		return -EFAULT;
	return first || !(flags & EMPTY_PATH) ? -ENOENT : 0;
}

int64_t call_fstatat(struct user *u, const uint64_t *a)
{
	int64_t err = empty_path(u, a[1], a[3]);

	return err ? err : put_stat(u, a[0], a[2]);
}

int64_t call_statx(struct user *u, const uint64_t *a)
{
	int64_t err = empty_path(u, a[1], a[2]);
	struct {
		uint32_t mask, blksize;
		uint64_t attributes;
		uint32_t nlink, uid, gid;
		uint16_t mode, pad;
		uint64_t ino, size, blocks, attributes_mask, times[8];
		uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
		uint64_t rest[14];
	} out = {.mask = 0x71f, .nlink = 1}; /* STATX_BASIC_STATS without times */
	struct stat st;

	if (err)
		return err;
	if (!is_open(u, a[0]))
		return -EBADF;
	if (fstat(host_fd(u, a[0]), &st))
		return -errno;
	out.blksize = (uint32_t)st.st_blksize;
	out.mode = (uint16_t)st.st_mode;
	out.ino = st.st_ino;
	out.size = (uint64_t)st.st_size;
	out.blocks = (uint64_t)st.st_blocks;
	out.rdev_major = major(st.st_rdev);
	out.rdev_minor = minor(st.st_rdev);
	out.dev_major = major(st.st_dev);
	out.dev_minor = minor(st.st_dev);
	return rv_space_write(&u->space, a[4], &out, sizeof(out));
}
