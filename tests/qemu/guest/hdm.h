/* SPDX-License-Identifier: MIT */
/*
 * The calls of annex.ko on CXL memory, for tests of them (hdm.c, hdmapart.c, hdmcalls.c):
 * an unexpected failure ends the program with one line.
 */
#ifndef TESTS_QEMU_HDM_H
#define TESTS_QEMU_HDM_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uapi/annex_hdm.h>
#include "die.h"

#define PAGE 4096ull
#define MIB (1ull << 20)
#define GRANULE (256 * MIB)

static unsigned int failures;

/* A claim that goes on when it fails, and counts in @failures. */
static inline void expect(long want, long got, const char *words)
{
	if (got == want) {
		dprintf(3, "ok %s\n", words);
		return;
	}
	dprintf(3, "not ok %s\n#   %ld (%s), not %ld (%s)\n", words, got, strerror((int)labs(got)),
		want, strerror((int)labs(want)));
	failures++;
}

static int open_node(const char *address)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/annex/%s", address);
	return open(path, O_RDWR | O_CLOEXEC);
}

static long call(int fd, unsigned long request, void *args)
{
	return ioctl(fd, request, args) ? -errno : 0;
}

static long info_of(int fd, struct annex_ioc_hdm_info *info)
{
	*info = (struct annex_ioc_hdm_info){.size = sizeof(*info), .abi = ANNEX_ABI};
	return call(fd, ANNEX_IOC_HDM_INFO, info);
}

static int open_hdm(const char *address)
{
	struct annex_ioc_hdm_info info;
	int fd = open_node(address);
	long err = fd < 0 ? -errno : info_of(fd, &info);

	if (err)
		die("%s: %s", address, strerror((int)-err));
	return fd;
}

static void *map_at(int fd, uint64_t offset, uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

#endif
