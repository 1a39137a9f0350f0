// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "log.h"
#include "uffd.h"

static int fail(const char *what, int err)
{
	const int refused = err == EPERM || err == ENOSYS;

	return annex_fail(-err, "%s: no userfaultfd: %s%s", what, strerror(err),
			  refused ? ": a seccomp filter refuses it, or the kernel has none (let "
				    "this user open /dev/userfaultfd; in a container: "
				    "--security-opt seccomp=unconfined)"
				  : "");
}

int annex_uffd_open(const char *what, enum uffd_way *way)
{
	int dev, err, fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	*way = UFFD_CALL;
	if (fd >= 0)
		return fd;
	err = errno;
	if (err != EPERM && err != ENOSYS)
		return fail(what, err);
	dev = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (dev >= 0) {
		fd = ioctl(dev, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
		close(dev);
		*way = UFFD_DEVICE;
	}
	if (fd < 0) {
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
		*way = UFFD_USER;
	}
	return fd < 0 ? fail(what, err) : fd;
}
