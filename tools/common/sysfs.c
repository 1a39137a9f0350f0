// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "progress.h"
#include "sysfs.h"

/* How often a wait is shown. */
#define SLICE_MS 200

static void path_of(char *path, const char *root, const char *fmt, va_list ap)
{
	int n = snprintf(path, SYSFS_PATH, "%s/", root), m;

	if (n >= SYSFS_PATH) {
		path[0] = '\0';
		return;
	}
	m = vsnprintf(path + n, SYSFS_PATH - (size_t)n, fmt, ap);
	if (n + m >= SYSFS_PATH)
		path[0] = '\0';
}

void sysfs_path(char *path, const char *root, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	path_of(path, root, fmt, ap);
	va_end(ap);
}

bool sysfs_is(const char *root, const char *fmt, ...)
{
	char path[SYSFS_PATH];
	va_list ap;

	va_start(ap, fmt);
	path_of(path, root, fmt, ap);
	va_end(ap);
	return !access(path, F_OK);
}

/* The first line of @path, and no byte that a terminal would act on. */
static bool line_of(char *buf, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	for (size_t len = strlen(buf); len && buf[len - 1] == ' '; len--)
		buf[len - 1] = '\0';
	return n >= 0;
}

bool sysfs_text(char *buf, size_t size, const char *root, const char *fmt, ...)
{
	char path[SYSFS_PATH];
	va_list ap;

	va_start(ap, fmt);
	path_of(path, root, fmt, ap);
	va_end(ap);
	return line_of(buf, size, path);
}

long long sysfs_number(long long none, const char *root, const char *fmt, ...)
{
	char path[SYSFS_PATH], buf[64], *end;
	long long v;
	va_list ap;

	va_start(ap, fmt);
	path_of(path, root, fmt, ap);
	va_end(ap);
	if (!line_of(buf, sizeof(buf), path))
		return none;
	v = strtoll(buf, &end, 0);
	return end == buf ? none : v;
}

bool sysfs_link(char *buf, size_t size, const char *root, const char *fmt, ...)
{
	char path[SYSFS_PATH], to[SYSFS_PATH];
	const char *last;
	va_list ap;
	ssize_t n;

	va_start(ap, fmt);
	path_of(path, root, fmt, ap);
	va_end(ap);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	last = strrchr(to, '/');
	snprintf(buf, size, "%s", last ? last + 1 : to);
	return n > 0;
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

void sysfs_dir(struct sysfs_dir *dir, const char *root, const char *fmt, ...)
{
	struct dirent **list = NULL;
	char path[SYSFS_PATH];
	va_list ap;
	int n;

	va_start(ap, fmt);
	path_of(path, root, fmt, ap);
	va_end(ap);
	n = scandir(path, &list, visible, alphasort);
	dir->name = n > 0 ? calloc((size_t)n, sizeof(*dir->name)) : NULL;
	dir->n = 0;
	for (int i = 0; i < n; i++) {
		char *name = dir->name ? strdup(list[i]->d_name) : NULL;

		if (name)
			dir->name[dir->n++] = name;
		free(list[i]);
	}
	free(list);
}

void sysfs_dir_free(struct sysfs_dir *dir)
{
	while (dir->n)
		free(dir->name[--dir->n]);
	free(dir->name);
	dir->name = NULL;
}

/* struct answer - What the child tells. */
struct answer {
	int err;
	char line[64];
};

/* The child, until it has written @text, or read when that is NULL; the parent has one thread. */
static void do_and_tell(const char *path, const char *text, int tell)
{
	struct answer a = {.err = 0};
	int fd;

	if (text) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, text, strlen(text)) < 0)
			a.err = errno;
	} else if (!line_of(a.line, sizeof(a.line), path)) {
		a.err = ENOENT;
	}
	_exit(write(tell, &a, sizeof(a)) != sizeof(a));
}

/* Wait for the child's answer, or for the end of the time limit. */
static int await(int from, pid_t pid, int ms, struct answer *a)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	int waited = 0, n = 0;

	for (; !n && waited < ms; waited += SLICE_MS) {
		n = poll(&p, 1, SLICE_MS);
		if (n < 0) /* interrupted */
			n = 0;
		progress_update((uint64_t)waited / 1000, (uint64_t)ms / 1000, "s");
	}
	if (!n) {
		/* It may be stuck in the kernel: not to be waited for. */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, WNOHANG);
		return -ETIMEDOUT;
	}
	if (read(from, a, sizeof(*a)) != sizeof(*a))
		a->err = EIO;
	waitpid(pid, NULL, 0);
	return -a->err;
}

static int by_child(const char *path, const char *text, int ms, struct answer *a)
{
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		close(ends[0]);
		close(ends[1]);
		return err;
	}
	if (!pid)
		do_and_tell(path, text, ends[1]);
	close(ends[1]);
	err = await(ends[0], pid, ms, a);
	close(ends[0]);
	return err;
}

int sysfs_write(const char *path, const char *text, int ms)
{
	struct answer a;

	return by_child(path, text, ms, &a);
}

int sysfs_read(const char *path, char *buf, size_t size, int ms)
{
	struct answer a = {.err = 0};
	int err = by_child(path, NULL, ms, &a);

	snprintf(buf, size, "%s", err ? "" : a.line);
	return err;
}
