// SPDX-License-Identifier: MIT
/*
 * Files under a limit of locked memory, which io_uring is counted against (by some kernels) and
 * does not apply to root: each test is a child with a user of its own.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/log.h>
#include "nvme/dev.h"
#include "nvme/emu/file/file.h"
#include "tests/unit/unit.h"

#define DEVICES 8u
#define BYTES (1u << 20)
#define FIRST_USER 100000 /* this user and the next ones, by process number, are unused */

static unsigned int told;

static void count_told(void *ctx, enum annex_log_level level, const char *line)
{
	(void)ctx;
	told += level == ANNEX_LOG_WARNING && strstr(line, "by threads, as io_uring is") &&
		strstr(line, "the limit of locked memory, ");
}

/* A device whose buffer goes there and back. Return: 0, 1: it is served by threads, -1. */
static int use_one(const char *path)
{
	char *buf = aligned_alloc(4096, BYTES), uri[UNIT_PATH + 16];
	struct annex_io io = {.opcode = ANNEX_NVM_WRITE, .nsid = 1, .nlb = 8, .bytes = 4096};
	struct annex_dev *dev;

	snprintf(uri, sizeof(uri), "file:%s?direct=0", path);
	if (!buf || annex_dev_open(uri, NULL, &dev) || annex_dev_map(dev, buf, BYTES, &io.addr))
		return -1;
	memset(buf, 0x5a, 4096);
	if (annex_dev_io(dev, &io, 1, NULL))
		return -1;
	memset(buf, 0, 4096);
	io.opcode = ANNEX_NVM_READ;
	if (annex_dev_io(dev, &io, 1, NULL) || buf[0] != 0x5a || buf[4095] != 0x5a)
		return -1;
	return ((const struct emu_file *)annex_emu_of(dev->ctrl)->own)->pool != NULL;
}

/* DEVICES of them, which stay open until the process ends. Return: how many work by threads. */
static int use_all(const char *path)
{
	int threads = 0;

	for (unsigned int i = 0; i < DEVICES; i++) {
		int by = use_one(path);

		if (by < 0) {
			fprintf(stderr, "device %u: %s\n", i, annex_last_error());
			return -1;
		}
		threads += by;
	}
	return told == (threads > 0) ? threads : -1;
}

/* Become a user that locks at most @bytes, or less where this one may not have so much. */
static bool be_limited(uint64_t bytes)
{
	uid_t uid = (uid_t)(FIRST_USER + getpid());
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return false;
	limit.rlim_max = limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	return !setrlimit(RLIMIT_MEMLOCK, &limit) &&
	       (getuid() || !(setresgid(uid, uid, uid) || setresuid(uid, uid, uid)));
}

static int status_of(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* @fn in a child, which returns its exit status, 0 to 127. */
static int in_child(int (*fn)(const char *path), const char *path, uint64_t bytes)
{
	pid_t child = fork();

	if (child)
		return status_of(child);
	told = 0;
	annex_set_log(count_told, NULL);
	_exit(be_limited(bytes) ? fn(path) & 0x7f : 0x7f);
}

static void make_file(char *path)
{
	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, BYTES), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(path, 0666), 0);
}

/* Another user's processes have nothing of this limit; an ordinary user has others that run. */
static bool is_alone(void)
{
	return !getuid();
}

/* Every device opens, and one line says which go by threads; from 1 MiB on, none need do. */
static void any_limit(void)
{
	static const uint64_t limits[] = {0, 16 << 10, 64 << 10, 128 << 10, 1 << 20, 8 << 20};
	char path[UNIT_PATH];

	make_file(path);
	for (unsigned int i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		int threads = in_child(use_all, path, limits[i]);

		CU_ASSERT(threads >= 0 && threads <= (int)DEVICES);
		CU_ASSERT(threads == 0 || limits[i] < 1 << 20 || !is_alone());
	}
	unlink(path);
}

static int use_twice(const char *path)
{
	int first = use_all(path), second;
	pid_t child = fork();

	if (!child) {
		told = 0;
		return use_all(path);
	}
	second = status_of(child);
	return first < 0 || second < 0 ? -1 : first + second;
}

/* The default of Debian has room for two processes of one user. */
static void two_processes(void)
{
	char path[UNIT_PATH];
	int threads;

	make_file(path);
	threads = in_child(use_twice, path, 8 << 20);
	CU_ASSERT(threads >= 0 && threads <= 2 * (int)DEVICES);
	CU_ASSERT(threads == 0 || !is_alone());
	unlink(path);
}

UNIT_SUITE(emu_locked, {"any limit", any_limit}, {"two processes", two_processes});
