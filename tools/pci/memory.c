// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uapi/annex_hdm.h>
#include "tools/common/error.h"
#include "tools/common/sysfs.h"
#include "memory.h"

const char *memory_log(unsigned int log)
{
	static const char *const logs[MEMORY_LOGS] = {"information", "warning", "failure", "fatal"};

	return logs[log];
}

static void of_kernel(const char *root, const struct pcidev *d, struct memory *m)
{
	static const char *const kinds[] = {"ram", "pmem"};
	char mem[REGION_NAME];

	if (!region_memdev(root, d->addr, mem))
		return;
	for (unsigned int i = 0; i < 2; i++)
		m->capacity[i] = sysfs_number(-1, root, "sys/bus/pci/devices/%s/%s/%s/size",
					      d->addr, mem, kinds[i]);
}

/* Opening the device to ask disturbs no owner: any number of files may be open. */
static void ask_module(const struct pcidev *d, struct memory *m)
{
	struct annex_ioc_hdm_info info = {.size = sizeof(info), .abi = ANNEX_ABI};
	char path[SYSFS_PATH];
	int fd;

	sysfs_path(path, "", "dev/annex/%s", d->addr);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!ioctl(fd, ANNEX_IOC_HDM_INFO, &info)) {
		m->capacity[0] = (int64_t)info.volatile_bytes;
		m->capacity[1] = (int64_t)info.persistent_bytes;
		if (info.flags & ANNEX_HDM_POISON)
			m->poison = info.poison;
		if (info.flags & ANNEX_HDM_HEALTH)
			health_parse(info.health, &m->health);
	}
	close(fd);
}

static int64_t range_number(const char *root, const struct pcidev *d, const char *file)
{
	return sysfs_number(-1, root, "sys/class/annex/annex!%s/range/%s", d->addr, file);
}

/* Its address is known to root alone. */
static void read_range(const char *root, const struct pcidev *d, struct memory_range *r)
{
	int64_t ways = range_number(root, d, "ways"), bytes = range_number(root, d, "bytes");
	int64_t granularity = range_number(root, d, "granularity");
	char kind[16];

	/* It may come to its end meanwhile. */
	if (ways <= 0 || ways > MEMORY_MEMBERS || bytes < 0 || granularity < 0)
		return;
	sysfs_text(kind, sizeof(kind), root, "sys/class/annex/annex!%s/range/kind", d->addr);
	r->base = range_number(root, d, "base");
	r->bytes = (uint64_t)bytes;
	r->persistent = !strcmp(kind, "persistent");
	r->ended = range_number(root, d, "ended") == 1;
	r->granularity = (unsigned int)granularity;
	for (r->n = 0; r->n < (unsigned int)ways; r->n++)
		sysfs_text(r->member[r->n], PCIDEV_ADDR, root,
			   "sys/class/annex/annex!%s/range/member%u", d->addr, r->n);
}

/* Since the device was bound. */
static void read_events(const char *root, const struct pcidev *d, struct memory *m)
{
	for (unsigned int i = 0; i < MEMORY_LOGS; i++)
		m->events[i] = sysfs_number(-1, root, "sys/class/annex/annex!%s/events/%s", d->addr,
					    memory_log(i));
}

void memory_read(const char *root, const struct pcidev *d, struct memory *m)
{
	*m = (struct memory){.capacity = {-1, -1}, .poison = -1};
	for (unsigned int i = 0; i < MEMORY_LOGS; i++)
		m->events[i] = -1;
	if (strcmp(d->driver, pcidev_annex(d)) != 0) {
		of_kernel(root, d, m);
		return;
	}
	/* Files in a copy of /dev are no devices. */
	if (!*root)
		ask_module(d, m);
	read_range(root, d, &m->range);
	read_events(root, d, m);
}

/* @head, a number, and nothing behind. */
static bool is_numbered(const char *name, const char *head)
{
	size_t len = strlen(head), digits;

	if (strncmp(name, head, len) != 0)
		return false;
	digits = strspn(name + len, "0123456789");
	return digits && !name[len + digits] && len + digits < REGION_NAME;
}

bool region_is_dax(const char *name)
{
	unsigned int region, part;
	char tail;

	return sscanf(name, "dax%u.%u%c", &region, &part, &tail) == 2;
}

bool region_memdev(const char *root, const char *addr, char mem[REGION_NAME])
{
	struct sysfs_dir dir;
	bool found = false;

	mem[0] = '\0';
	sysfs_dir(&dir, root, "sys/bus/pci/devices/%s", addr);
	for (unsigned int i = 0; i < dir.n && !found; i++) {
		found = is_numbered(dir.name[i], "mem");
		if (found)
			snprintf(mem, REGION_NAME, "%.31s", dir.name[i]);
	}
	sysfs_dir_free(&dir);
	return found;
}

static int add_region(struct region_list *list, const char *name)
{
	char(*grown)[REGION_NAME];

	for (unsigned int i = 0; i < list->n; i++)
		if (!strcmp(list->name[i], name))
			return 0;
	grown = realloc(list->name, (list->n + 1) * sizeof(*grown));
	if (!grown)
		return err_set(-ENOMEM, "out of memory");
	list->name = grown;
	snprintf(grown[list->n++], REGION_NAME, "%s", name);
	return 0;
}

/* The regions that the decoders of an endpoint are for. */
static int add_endpoint(const char *root, const char *endpoint, struct region_list *list)
{
	char region[REGION_NAME];
	struct sysfs_dir dir;
	int err = 0;

	sysfs_dir(&dir, root, "sys/bus/cxl/devices/%s", endpoint);
	for (unsigned int i = 0; i < dir.n && !err; i++) {
		if (strncmp(dir.name[i], "decoder", 7) != 0)
			continue;
		sysfs_text(region, sizeof(region), root, "sys/bus/cxl/devices/%s/%s/region",
			   endpoint, dir.name[i]);
		if (*region && sysfs_number(0, root, "sys/bus/cxl/devices/%s/commit", region) == 1)
			err = add_region(list, region);
	}
	sysfs_dir_free(&dir);
	return err;
}

int region_list(const char *root, const char *mem, struct region_list *list)
{
	char of[REGION_NAME];
	struct sysfs_dir dir;
	int err = 0;

	*list = (struct region_list){.n = 0};
	sysfs_dir(&dir, root, "sys/bus/cxl/devices");
	for (unsigned int i = 0; i < dir.n && !err; i++) {
		if (!is_numbered(dir.name[i], "endpoint"))
			continue;
		sysfs_link(of, sizeof(of), root, "sys/bus/cxl/devices/%s/uport", dir.name[i]);
		if (!strcmp(of, mem))
			err = add_endpoint(root, dir.name[i], list);
	}
	sysfs_dir_free(&dir);
	if (err)
		region_list_free(list);
	return err;
}

void region_list_free(struct region_list *list)
{
	free(list->name);
	list->name = NULL;
	list->n = 0;
}
