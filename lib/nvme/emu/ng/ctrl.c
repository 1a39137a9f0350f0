// SPDX-License-Identifier: MIT
/*
 * A controller of the kernel's NVMe driver, and the devices of its namespaces: by sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "ng.h"

#define DEVICES "/sys/class/nvme-generic"

/* The name of the controller of a character device. */
static int name_by_path(const char *path, char name[EMU_DISK_NAME])
{
	char link[64];
	unsigned int n;
	struct stat st;
	int end = 0;

	if (stat(path, &st))
		return annex_fail(-errno, "nvme: cannot find %s: %m", path);
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u", major(st.st_rdev), minor(st.st_rdev));
	if (!S_ISCHR(st.st_mode) || !annex_emu_link_name(link, name) ||
	    sscanf(name, "nvme%u%n", &n, &end) != 1 || name[end])
		return annex_fail(-EINVAL,
				  "nvme: %s is no NVMe controller, as /dev/nvme0 or 0000:00:04.0; "
				  "ng: takes a namespace, as /dev/ng0n1",
				  path);
	return 0;
}

static int name_by_address(const char *address, char name[EMU_DISK_NAME])
{
	const bool is_short = strlen(address) == strlen("00:04.0");
	const struct dirent *entry;
	char path[128];
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%.32s/nvme", is_short ? "0000:" : "",
		 address);
	dir = opendir(path);
	*name = '\0';
	while (dir && !*name && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "nvme", 4) && strlen(entry->d_name) < EMU_DISK_NAME)
			snprintf(name, EMU_DISK_NAME, "%.31s", entry->d_name);
	if (dir)
		closedir(dir);
	return *name ? 0
		     : annex_fail(-ENODEV,
				  "nvme: the kernel's driver nvme has no controller %s (one that "
				  "annex.ko has is pci:)",
				  address);
}

/* Whether a namespace belongs to the controller, or to its subsystem (multipath). */
static bool belongs(const char *device, const char *ctrl)
{
	char path[PATH_MAX], parent[EMU_DISK_NAME];

	snprintf(path, sizeof(path), DEVICES "/%.64s/device", device);
	if (annex_emu_link_name(path, parent) && !strcmp(parent, ctrl))
		return true;
	snprintf(path, sizeof(path), DEVICES "/%.64s/device/%s", device, ctrl);
	return !access(path, F_OK);
}

int annex_emu_ng_find(const char *body, char names[EMU_NAMESPACES][EMU_DISK_NAME])
{
	char ctrl[EMU_DISK_NAME];
	const struct dirent *entry;
	unsigned int n = 0;
	DIR *dir;
	int err;

	err = strchr(body, '/') ? name_by_path(body, ctrl) : name_by_address(body, ctrl);
	if (err)
		return err;
	dir = opendir(DEVICES);
	while (dir && n <= EMU_NAMESPACES && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !belongs(entry->d_name, ctrl))
			continue;
		if (n < EMU_NAMESPACES)
			snprintf(names[n], EMU_DISK_NAME, "%.31s", entry->d_name);
		n++;
	}
	if (dir)
		closedir(dir);
	if (!n)
		return annex_fail(-ENODEV,
				  "nvme: %s has no namespace that the kernel shows as a "
				  "generic device (/dev/ng*)",
				  body);
	if (n > EMU_NAMESPACES)
		return annex_fail(-EINVAL, "nvme: %s has more than %u namespaces; ng: takes some",
				  body, EMU_NAMESPACES);
	return (int)n;
}
