/* SPDX-License-Identifier: MIT */
/*
 * For programs in which every allocation, and every copy from or to user space, fails once, one
 * after the other, in each thing that can be asked of annex.ko (faults.c, hdmscarce.c).
 *
 * /proc/thread-self/fail-nth lets the Nth of a thread fail (Documentation/fault-injection of the
 * kernel). So each thing is asked with N = 1, 2 and so on, until it succeeds with no failure left
 * over: then each site on its way has failed once. A call either succeeds all the same, or
 * says so with -ENOMEM or -EFAULT; after it the same call succeeds.
 */
#ifndef TESTS_QEMU_FAULTS_H
#define TESTS_QEMU_FAULTS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uapi/annex.h>

#define PAGE 4096ull
#define MOST 1000u /* sites of one thing */

static const char *address;
static char path[64];
static int fd = -1;
static int nth_file; /* the one thread's */
static unsigned int failures;

__attribute__((format(printf, 2, 3))) static void say(bool ok, const char *format, ...)
{
	char words[200];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	dprintf(3, "%sok %s\n", ok ? "" : "not ", words);
	failures += !ok;
}

/* The Nth from now on fails; 0: none. To say so is a copy too, which an earlier one may end. */
static void fail_nth(unsigned int n)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%u", n);

	for (int i = 0; i < 3; i++)
		if (pwrite(nth_file, text, (size_t)bytes, 0) == bytes)
			return;
	say(false, "fail-nth: %s", strerror(errno));
	exit(3);
}

/* Whether it has. To tell is a copy too, which may be the one that fails. */
static bool has_failed(void)
{
	char text[16] = "";

	if (pread(nth_file, text, sizeof(text) - 1, 0) < 0)
		return false;
	return !strtoul(text, NULL, 10);
}

/* struct thing - A request, by one system call, and the calls before and after it. */
struct thing {
	const char *name;
	long (*prepare)(void);
	long (*ask)(void);
	long (*undo)(void);
	bool any_errno; /* others than the module have a say in it */
};

static bool allowed(const struct thing *t, long err)
{
	return t->any_errno ? err < 0 : err == -ENOMEM || err == -EFAULT;
}

/* One try, of which the Nth site fails. 1: it has. 0: there are no more. */
static int one(const struct thing *t, unsigned int n, unsigned int *refused)
{
	long err = t->prepare ? t->prepare() : 0;
	bool failed;

	if (err) {
		say(false, "%s: prepared for site %u: %s", t->name, n, strerror((int)-err));
		return -1;
	}
	fail_nth(n);
	err = t->ask();
	failed = has_failed();
	fail_nth(0);
	*refused += err != 0;
	if (err && !(failed && allowed(t, err))) {
		say(false, "%s: site %u: %s", t->name, n, strerror((int)-err));
		return -1;
	}
	if (err)
		err = t->ask();
	if (!err && t->undo)
		err = t->undo();
	if (err) {
		say(false, "%s: after site %u: %s", t->name, n, strerror((int)-err));
		return -1;
	}
	return failed;
}

static void each_site(const struct thing *t)
{
	unsigned int refused = 0, n = 1;
	int got;

	do
		got = one(t, n, &refused);
	while (got > 0 && n++ < MOST);
	if (got >= 0)
		say(!got, "%s: %u sites, %u of them fatal to it", t->name, n - 1, refused);
}

static long result(long got)
{
	return got < 0 ? -errno : 0;
}

static void all(const struct thing *things, size_t n)
{
	for (size_t i = 0; i < n; i++)
		each_site(&things[i]);
}

static int open_or_exit(const char *name, int flags)
{
	int file = open(name, flags | O_CLOEXEC);

	if (file >= 0)
		return file;
	perror(name);
	exit(1);
}

static long open_file(void)
{
	fd = open(path, O_RDWR | O_CLOEXEC);
	return result(fd);
}

static long close_file(void)
{
	int was = fd;

	fd = -1;
	return result(close(was));
}

static int bind_file = -1, unbind_file = -1;

static long bind_driver(void)
{
	return result(pwrite(bind_file, address, strlen(address), 0));
}

static long unbind_driver(void)
{
	return result(pwrite(unbind_file, address, strlen(address), 0));
}

/* Probing and removing, by a driver that has it; it is not bound in the end. */
static void binding(const char *driver)
{
	const struct thing probe = {"bind", NULL, bind_driver, unbind_driver, true};
	const struct thing drop = {"unbind", bind_driver, unbind_driver, NULL, true};
	char name[80];

	snprintf(name, sizeof(name), "/sys/bus/pci/drivers/%s/bind", driver);
	bind_file = open_or_exit(name, O_WRONLY);
	snprintf(name, sizeof(name), "/sys/bus/pci/drivers/%s/unbind", driver);
	unbind_file = open_or_exit(name, O_WRONLY);
	say(!unbind_driver(), "it is unbound");
	each_site(&probe);
	each_site(&drop);
}

static void begin(const char *device)
{
	address = device;
	snprintf(path, sizeof(path), "/dev/annex/%s", address);
	nth_file = open_or_exit("/proc/thread-self/fail-nth", O_RDWR);
}

#endif
