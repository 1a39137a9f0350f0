// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "tools/common/sysfs.h"
#include "ask.h"

int ask_file(const char *addr, int flags)
{
	char path[SYSFS_PATH];
	int fd;

	sysfs_path(path, "", "dev/annex/%s", addr);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set(-ENOENT, "pci:%s: not bound to annex (annex bind %s)", addr, addr);
	return fd < 0 ? err_sys("%s", path) : fd;
}

int ask_open(const char *addr, struct annex_ioc_info *info)
{
	int fd = ask_file(addr, O_RDONLY), err;

	if (fd < 0)
		return fd;
	*info = (struct annex_ioc_info){.size = sizeof(*info), .abi = ANNEX_ABI};
	if (!ioctl(fd, ANNEX_IOC_INFO, info))
		return fd;
	err = errno == EPROTONOSUPPORT
		      ? err_set(-errno, "pci:%s: annex.ko speaks version %u, annex %u", addr,
				info->abi, ANNEX_ABI)
		      : err_sys("pci:%s", addr);
	close(fd);
	return err;
}
