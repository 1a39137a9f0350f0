// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requirements of CXL memory: windows from the firmware, a device bound to annex.ko, bridges with
 * free decoders; and for other uses the kernel's own drivers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "checks.h"
#include "tools/common/pcidev.h"
#include "tools/common/sysfs.h"
#include "users.h"

static void check_drivers(struct checks *c)
{
	if (sysfs_is(c->root, "sys/bus/pci/drivers/cxl_pci") &&
	    sysfs_is(c->root, "sys/bus/cxl/drivers/cxl_mem")) {
		checks_add(c, "cxl", "drivers", CHECK_OK, "the kernel's own are loaded");
		return;
	}
	checks_add(c, "cxl", "drivers", CHECK_MISSING,
		   "the kernel's own are not loaded: CXL memory cannot become a NUMA node");
	checks_mend(c, "sudo modprobe -a cxl_acpi cxl_pci cxl_mem cxl_port");
}

static void check_windows(struct checks *c)
{
	if (sysfs_is(c->root, "sys/firmware/acpi/tables/CEDT")) {
		checks_add(c, "cxl", "windows", CHECK_OK,
			   "the firmware describes them (ACPI CEDT)");
		return;
	}
	checks_add(c, "cxl", "windows", CHECK_MISSING,
		   "the firmware describes none (no ACPI CEDT): no range can be made");
	checks_mend(c, "sudo systemctl reboot --firmware-setup   # CXL: on");
}

/* The name at the end of a line of proc(5), iomem; NULL: it is not a port's registers. */
static const char *port_of(char *line)
{
	char *name = strstr(line, " : ");

	line[strcspn(line, "\n")] = '\0';
	if (!name || strncmp(name + 3, "port", 4) != 0)
		return NULL;
	name += 3;
	return name[4] && strspn(name + 4, "0123456789") == strlen(name + 4) ? name : NULL;
}

/* Names are there for everybody, addresses for root. */
static void check_bridges(struct checks *c)
{
	char path[SYSFS_PATH], ports[80] = "", *line = NULL;
	const char *port;
	size_t size = 0, len = 0;
	FILE *f;

	sysfs_path(path, c->root, "proc/iomem");
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		port = port_of(line);
		if (port && len + strlen(port) + 2 < sizeof(ports))
			len += (size_t)snprintf(ports + len, sizeof(ports) - len, "%s%s",
						len ? ", " : "", port);
	}
	free(line);
	if (!f) {
		checks_add(c, "cxl", "bridges", CHECK_UNKNOWN, "/proc/iomem cannot be read");
		return;
	}
	fclose(f);
	if (!len) {
		checks_add(c, "cxl", "bridges", CHECK_OK,
			   "no driver holds the decoders of host bridges or switches");
		return;
	}
	checks_add(c, "cxl", "bridges", CHECK_MISSING,
		   "the kernel's cxl_port holds the decoders of %s: annex can make no range below",
		   ports);
	checks_mend(c, "sudo modprobe -r cxl_acpi   # no region may be in use");
}

/* @one: the first that nothing uses; NULL: all are used. */
static void say_devices(struct checks *c, unsigned int all, unsigned int ours, unsigned int idle,
			const struct pcidev *one)
{
	if (!all) {
		checks_add(c, "cxl", "devices", CHECK_MISSING, "there is no CXL memory device");
		return;
	}
	checks_add(c, "cxl", "devices", ours ? CHECK_OK : CHECK_MISSING,
		   "%u CXL memory: %u bound to annex, %u more that nothing uses", all, ours, idle);
	if (!ours && one)
		checks_mend(c, "sudo annex bind %s", one->addr);
	else if (!ours)
		checks_mend(c, "annex list   # names their users");
}

static int check_devices(struct checks *c, const struct pcidev_list *list, unsigned int *all)
{
	struct users *users = calloc(list->n + 1, sizeof(*users));
	const struct pcidev *one = NULL;
	unsigned int ours = 0, idle = 0;
	int err = users ? users_find(c->root, list->dev, list->n, users)
			: err_set(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < list->n && !err; i++) {
		const struct pcidev *d = &list->dev[i];

		if (d->kind != PCIDEV_CXL)
			continue;
		++*all;
		if (!strcmp(d->driver, pcidev_annex(d))) {
			ours++;
		} else if (!users[i].n) {
			idle++;
			one = one ? one : d;
		}
	}
	if (!err) {
		users_free(users, list->n);
		say_devices(c, *all, ours, idle, one);
	}
	free(users);
	return err;
}

int checks_cxl(struct checks *c)
{
	struct pcidev_list list;
	unsigned int devices = 0;
	int err = pcidev_list(c->root, &list);

	if (err)
		return err;
	err = check_devices(c, &list, &devices);
	/* Without a device it is no loss that the rest is not there. */
	if (!err && devices) {
		check_windows(c);
		check_bridges(c);
	}
	if (!err)
		check_drivers(c);
	pcidev_list_free(&list);
	return err;
}
