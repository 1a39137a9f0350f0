// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "tools/common/sysfs.h"
#include "ask.h"

int ask_open(const char *addr, struct annex_ioc_info *info)
{
	char path[SYSFS_PATH];
	int fd, err;

	sysfs_path(path, "", "dev/annex/%s", addr);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set(-ENOENT, "pci:%s: not bound to annex (annex bind %s)", addr, addr);
	if (fd < 0)
		return err_sys("%s", path);
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
