// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include "claim.h"
#include "error.h"

#define DIR_MS 5000u
#define FILE_MS 500u
#define NAP_NS 5000000

static int nap(void)
{
	const struct timespec while_held = {.tv_nsec = NAP_NS};

	return nanosleep(&while_held, NULL);
}

/* A process that was killed has its claims until the kernel has ended its I/O. */
static int lock_file(int fd, short how, unsigned int wait_ms)
{
	struct flock all = {.l_type = how, .l_whence = SEEK_SET};
	const uint64_t until = annex_deadline_ms(wait_ms);

	while (fcntl(fd, F_OFD_SETLK, &all)) {
		if ((errno != EAGAIN && errno != EACCES) || annex_now() > until)
			return -errno;
		nap();
	}
	return 0;
}

static int refuse(int fd, const char *path)
{
	struct flock other = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const bool reads = !fcntl(fd, F_OFD_GETLK, &other) && other.l_type == F_RDLCK;

	return err_set(-EBUSY, "another process %s %s", reads ? "reads" : "writes to", path);
}

static int claim_write(int fd, const char *path, unsigned int wait_ms)
{
	int err = lock_file(fd, F_WRLCK, wait_ms);

	if (err == -EAGAIN || err == -EACCES)
		return refuse(fd, path);
	return err ? err_set(err, "cannot lock %s: %s", path, strerror(-err)) : 0;
}

/* A process that has the file at once is alive. */
int claim_made(int fd, const char *path)
{
	return claim_write(fd, path, 0);
}

int claim_read(int fd, const char *path)
{
	int err = lock_file(fd, F_RDLCK, FILE_MS);

	if (err == -EAGAIN || err == -EACCES)
		return refuse(fd, path);
	return err ? err_set(-ENOLCK, "cannot lock %s against writers: %s", path, strerror(-err))
		   : 0;
}

/* The previous owner of the claim may have removed the file, or put another in its place. */
static bool is_at(int fd, const char *path)
{
	struct stat x, y;

	if (fstat(fd, &x) || stat(path, &y))
		return false;
	if (S_ISBLK(x.st_mode))
		return S_ISBLK(y.st_mode) && x.st_rdev == y.st_rdev;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Lock the node that the kernel made for a device, as the library does. */
static int open_node(const char *path)
{
	char link[64], target[PATH_MAX], node[PATH_MAX + 8];
	const char *open_as = path, *name;
	struct stat st, own;
	ssize_t n;

	if (!stat(path, &st) && S_ISBLK(st.st_mode)) {
		snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(st.st_rdev),
			 minor(st.st_rdev));
		n = readlink(link, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		name = strrchr(target, '/');
		snprintf(node, sizeof(node), "/dev/%s", name ? name + 1 : "");
		if (!access(node, R_OK | W_OK) && !stat(node, &own) && S_ISBLK(own.st_mode) &&
		    own.st_rdev == st.st_rdev)
			open_as = node;
	}
	return open(open_as, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

int claim_file(const char *path, int *fd)
{
	int err;

	do {
		*fd = open_node(path);
		if (*fd < 0)
			return errno == ENOENT ? -ENOENT : err_sys("cannot open %s", path);
		err = claim_write(*fd, path, FILE_MS);
		if (!err && is_at(*fd, path))
			return 0;
		close(*fd);
		*fd = -1;
	} while (!err);
	return err;
}

/* A command holds this lock only while it renames. Another program that can read the directory may
 * hold it for longer: give up then. */
static int lock_dir(int fd, const char *path)
{
	const uint64_t until = annex_deadline_ms(DIR_MS);

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return err_sys("cannot lock %s", path);
		if (annex_now() > until)
			return err_set(-EBUSY, "another process has had %s locked for %u s", path,
				       DIR_MS / 1000);
		nap();
	}
	return 0;
}

int claim_dir(const char *path, int *fd)
{
	int err;

	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return err_sys("cannot open %s", path);
	err = lock_dir(*fd, path);
	if (err) {
		close(*fd);
		*fd = -1;
	}
	return err;
}

int claim_dir_of(const char *path, int *fd)
{
	char *copy = strdup(path);
	int err = copy ? claim_dir(dirname(copy), fd) : err_set(-ENOMEM, "out of memory");

	free(copy);
	return err;
}
