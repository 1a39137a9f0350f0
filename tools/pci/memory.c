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
#include "sysfs.h"

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

/* Any number of files may be open, so to ask is nobody's trouble. */
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

/* "base 0x110000000 bytes 0x10000000 kind 0 granularity 256 members 0000:0d:00.0 ..." */
static void read_range(const char *root, const struct pcidev *d, struct memory_range *r)
{
	unsigned long long base, bytes;
	char line[512], *at, *word, *rest;
	unsigned int kind;

	sysfs_text(line, sizeof(line), root, "sys/class/annex/annex!%s/hdm/range", d->addr);
	at = strstr(line, " members ");
	if (!at || sscanf(line, "base %llx bytes %llx kind %u granularity %u", &base, &bytes, &kind,
			  &r->granularity) != 4)
		return;
	*at = '\0';
	r->base = base;
	r->bytes = bytes;
	r->persistent = kind == ANNEX_HDM_PERSISTENT;
	r->ended = strstr(line, " ended");
	for (word = strtok_r(at + 9, " ", &rest); word && r->n < MEMORY_MEMBERS;
	     word = strtok_r(NULL, " ", &rest))
		snprintf(r->member[r->n++], PCIDEV_ADDR, "%s", word);
}

/* "information 0 warning 1 failure 0 fatal 0", since the device was bound. */
static void read_events(const char *root, const struct pcidev *d, struct memory *m)
{
	char line[160], *at;
	long long n;

	sysfs_text(line, sizeof(line), root, "sys/class/annex/annex!%s/hdm/events", d->addr);
	for (unsigned int i = 0; i < MEMORY_LOGS; i++) {
		at = strstr(line, memory_log(i));
		if (at && sscanf(at, "%*s %lld", &n) == 1 && n >= 0)
			m->events[i] = n;
	}
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
	/* What a copy of /dev has is no device. */
	if (!*root)
		ask_module(d, m);
	read_range(root, d, &m->range);
	read_events(root, d, m);
}
