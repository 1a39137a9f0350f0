// SPDX-License-Identifier: MIT
/*
 * The files that annex.ko offers, by the addresses of their devices.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "log.h"
#include "module.h"

/* DDDD:BB:DD.F, or BB:DD.F in domain 0. */
bool annex_module_name(const char *text, char name[MODULE_NAME])
{
	unsigned int domain = 0, bus, slot, function;
	int n = 0;

	if (!(sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &n) == 4 &&
	      !text[n])) {
		domain = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &slot, &function, &n) != 3 || text[n])
			return false;
	}
	snprintf(name, MODULE_NAME, "%04x:%02x:%02x.%x", domain, bus, slot, function);
	return slot <= 31 && function <= 7;
}

/* Whether the kernel lists its devices, and this is none of them. */
static bool is_absent(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", name);
	return !access("/sys/bus", F_OK) && access(path, F_OK);
}

int annex_module_file(const char *name, int *fd)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/dev/annex/%s", name);
	*fd = open(path, O_RDWR | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	err = -errno;
	switch (err) {
	case -ENOENT:
		if (is_absent(name))
			return annex_fail(err, "pci:%s: there is no such device: annex list", name);
		return annex_fail(err, "pci:%s: not bound to annex.ko: annex bind %s", name, name);
	case -EBUSY:
		return annex_fail(err, "pci:%s: another program has it open", name);
	case -EACCES:
		return annex_fail(err, "pci:%s: no permission to open %s", name, path);
	case -EPERM:
		return annex_fail(err,
				  "pci:%s: refused by annex.ko; the kernel log says why: "
				  "annex doctor",
				  name);
	default:
		return annex_fail(err, "pci:%s: %s: %s", name, path, strerror(-err));
	}
}
