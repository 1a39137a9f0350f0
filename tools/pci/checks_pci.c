// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requirements of controllers on PCI: a kernel, its headers, annex.ko, an IOMMU.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "checks.h"
#include "tools/common/pcidev.h"
#include "tools/common/sysfs.h"
#include "smart.h"
#include "users.h"

/* The oldest kernel that annex.ko builds for. */
#define KERNEL_MAJOR 6
#define KERNEL_MINOR 1

static void check_kernel(struct checks *c, const char *release)
{
	int major = 0, minor = 0;
	bool new;

	new = sscanf(release, "%d.%d", &major, &minor) == 2 &&
	      (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR));
	checks_add(c, "pci:", "kernel", new ? CHECK_OK : CHECK_MISSING,
		   "%s; annex.ko needs %d.%d%s", *release ? release : "unknown", KERNEL_MAJOR,
		   KERNEL_MINOR, new ? " or newer" : ", or newer");
	if (!new)
		checks_mend(c, "sudo apt-get install linux-image-$(dpkg --print-architecture)");
}

/* Whether depmod has found annex.ko. */
static bool is_installed(const struct checks *c, const char *release)
{
	char path[SYSFS_PATH], *line = NULL;
	const char *name;
	bool found = false;
	size_t size = 0;
	FILE *f;

	sysfs_path(path, c->root, "lib/modules/%s/modules.dep", release);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &size, f) > 0) {
		line[strcspn(line, ":")] = '\0';
		name = strrchr(line, '/');
		found = !strncmp(name ? name + 1 : line, "annex.ko", 8);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Kernels that others have built have no packages of headers. */
static void no_headers(struct checks *c, const char *release)
{
	char version[256];

	sysfs_text(version, sizeof(version), c->root, "proc/sys/kernel/version");
	if (strstr(version, "Debian") || strstr(version, "Ubuntu")) {
		checks_add(c, "pci:", "headers", CHECK_MISSING, "annex.ko cannot be built for %s",
			   release);
		checks_mend(c, "sudo apt-get install dkms linux-headers-%s", release);
	} else {
		checks_add(c, "pci:", "headers", CHECK_MISSING,
			   "annex.ko cannot be built for %s: its headers are not installed; they "
			   "come with the kernel's build",
			   release);
	}
}

static void check_module(struct checks *c, const char *release)
{
	bool loaded = sysfs_is(c->root, "sys/bus/pci/drivers/annex");
	bool installed = is_installed(c, release);

	if (sysfs_is(c->root, "lib/modules/%s/build", release)) {
		checks_add(c, "pci:", "headers", CHECK_OK, "annex.ko can be built for %s", release);
	} else if (loaded || installed) {
		checks_add(c, "pci:", "headers", CHECK_OK,
			   "not there, and not needed: annex.ko is built");
	} else {
		no_headers(c, release);
	}
	if (loaded) {
		checks_add(c, "pci:", "module", CHECK_OK, "annex.ko is loaded");
	} else if (installed) {
		checks_add(c, "pci:", "module", CHECK_MISSING, "annex.ko is not loaded");
		checks_mend(c, "sudo modprobe annex");
	} else {
		checks_add(c, "pci:", "module", CHECK_MISSING,
			   "annex.ko is not built; in the folder of Annex's source:");
		checks_mend(c, "sudo make install-module && sudo dkms install annex/" ANNEX_VERSION
			       " && sudo modprobe annex");
	}
}

static bool is_intel(const struct checks *c)
{
	char path[SYSFS_PATH], line[256];
	bool intel = false;
	FILE *f;

	sysfs_path(path, c->root, "proc/cpuinfo");
	f = fopen(path, "re");
	while (f && !intel && fgets(line, sizeof(line), f) && line[0] != '\n')
		intel = strstr(line, "GenuineIntel");
	if (f)
		fclose(f);
	return intel;
}

static void mend_by_boot(struct checks *c, const char *words)
{
	checks_mend(c,
		    "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"' | sudo tee "
		    "/etc/default/grub.d/annex.cfg && sudo update-grub && sudo reboot",
		    words);
}

static void check_iommu(struct checks *c)
{
	struct sysfs_dir groups;

	sysfs_dir(&groups, c->root, "sys/kernel/iommu_groups");
	if (groups.n) {
		checks_add(c, "pci:", "IOMMU", CHECK_OK, "on: %u groups", groups.n);
	} else {
		checks_add(c, "pci:", "IOMMU", CHECK_MISSING,
			   "off: a controller can reach all memory, so opening one needs "
			   "CAP_SYS_RAWIO and modprobe annex allow_no_iommu=1");
		if (is_intel(c))
			mend_by_boot(c, "intel_iommu=on");
		else
			checks_mend(c, "sudo systemctl reboot --firmware-setup   # AMD-Vi, SMMU: "
				       "on");
	}
	sysfs_dir_free(&groups);
}

/* Whether a function is a bridge, which accesses no memory itself. */
static bool is_bridge(struct checks *c, const char *addr)
{
	char text[16];

	sysfs_text(text, sizeof(text), c->root, "sys/bus/pci/devices/%s/class", addr);
	return !strncmp(text, "0x0604", 6);
}

/* Controllers whose IOMMU group annex.ko does not claim: it has other devices. */
static void check_groups(struct checks *c, const struct pcidev_list *list)
{
	struct sysfs_dir members;

	for (unsigned int i = 0; i < list->n; i++) {
		const struct pcidev *d = &list->dev[i];

		if (d->kind != PCIDEV_NVME || d->group < 0)
			continue;
		sysfs_dir(&members, c->root, "sys/kernel/iommu_groups/%d/devices", d->group);
		for (unsigned int j = 0; j < members.n; j++)
			if (strcmp(members.name[j], d->addr) != 0 && !is_bridge(c, members.name[j]))
				checks_add(c, "pci:", "group", CHECK_MISSING,
					   "%s shares IOMMU group %d with %s, so annex.ko does not "
					   "bind it: try another slot",
					   d->addr, d->group, members.name[j]);
		sysfs_dir_free(&members);
	}
}

static int check_controllers(struct checks *c, const struct pcidev_list *list)
{
	struct users *users = calloc(list->n + 1, sizeof(*users));
	unsigned int all = 0, ours = 0, idle = 0;
	int err = users ? users_find(c->root, list->dev, list->n, users)
			: err_set(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < list->n && !err; i++) {
		bool taken = !strcmp(list->dev[i].driver, pcidev_annex(&list->dev[i]));

		if (list->dev[i].kind != PCIDEV_NVME)
			continue;
		all++;
		ours += taken;
		idle += !taken && !users[i].n;
	}
	if (!err)
		users_free(users, list->n);
	free(users);
	if (err)
		return err;
	checks_add(c, "pci:", "controllers", ours + idle ? CHECK_OK : CHECK_MISSING,
		   all ? "%u NVMe: %u bound to annex, %u more that nothing uses"
		       : "there is no NVMe controller on PCI",
		   all, ours, idle);
	if (all && !(ours + idle))
		checks_mend(c, "annex list   # names their users");
	return 0;
}

static void check_nodes(struct checks *c)
{
	char path[SYSFS_PATH];
	struct sysfs_dir nodes;
	struct group *group;
	struct stat st;

	sysfs_dir(&nodes, c->root, "dev/annex");
	if (!nodes.n)
		checks_add(c, "pci:", "permission", CHECK_UNKNOWN, "nothing is bound to annex");
	for (unsigned int i = 0; i < nodes.n; i++) {
		sysfs_path(path, c->root, "dev/annex/%s", nodes.name[i]);
		if (!access(path, R_OK | W_OK))
			continue;
		checks_add(c, "pci:", "permission", CHECK_MISSING,
			   "you may not read and write /dev/annex/%s", nodes.name[i]);
		group = stat(path, &st) ? NULL : getgrgid(st.st_gid);
		if (group && st.st_gid)
			checks_mend(c, "sudo usermod -aG %s \"$USER\"   # then log in anew",
				    group->gr_name);
		else
			checks_mend(c, "sudo annex ...");
		break;
	}
	if (nodes.n && strcmp(c->check[c->n - 1].name, "permission") != 0)
		checks_add(c, "pci:", "permission", CHECK_OK, "you may use all of /dev/annex");
	sysfs_dir_free(&nodes);
}

/* Warnings of controllers, which a user with rights on them can ask. */
static void check_health(struct checks *c, const struct pcidev_list *list)
{
	unsigned int asked = 0, warned = 0;
	struct smart s;

	for (unsigned int i = 0; i < list->n; i++) {
		const struct pcidev *d = &list->dev[i];

		if (*c->root || d->kind != PCIDEV_NVME || strcmp(d->driver, pcidev_annex(d)) != 0 ||
		    smart_ask(d->addr, &s))
			continue;
		asked++;
		warned += s.n > 0;
		if (s.n) {
			checks_add(c, "pci:", "health", CHECK_LIMITED, "%s warns: %s", d->addr,
				   s.warning[0]);
			checks_mend(c, "annex health pci:%s", d->addr);
		}
	}
	if (asked && !warned)
		checks_add(c, "pci:", "health", CHECK_OK, "%u NVMe without a warning", asked);
}

int checks_pci(struct checks *c)
{
	struct pcidev_list list;
	char release[80];
	int err = pcidev_list(c->root, &list);

	if (err)
		return err;
	sysfs_text(release, sizeof(release), c->root, "proc/sys/kernel/osrelease");
	check_kernel(c, release);
	check_module(c, release);
	check_iommu(c);
	check_groups(c, &list);
	err = check_controllers(c, &list);
	check_nodes(c);
	check_health(c, &list);
	pcidev_list_free(&list);
	return err;
}
