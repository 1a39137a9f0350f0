// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uapi/annex.h>
#include "binding.h"
#include "memory.h"
#include "region.h"
#include "tools/common/sysfs.h"

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
