/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CXL memory: the state of a device (capacity, the range that annex.ko made of it, poison, events,
 * health), and the kernel's own view: a memory device for each, regions made of several, devdax
 * made of regions.
 */
#ifndef TOOLS_PCI_MEMORY_H
#define TOOLS_PCI_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/common/pcidev.h"
#include "health.h"

#define MEMORY_MEMBERS 8
#define MEMORY_LOGS 4

/* struct memory_range - @n members, in their order; 0: there is no range, or none is known of. */
struct memory_range {
	int64_t base; /* negative: not known */
	uint64_t bytes;
	bool persistent;
	bool ended; /* its users are gone, but pages of it are still referenced */
	unsigned int granularity;
	unsigned int n;
	char member[MEMORY_MEMBERS][PCIDEV_ADDR];
};

/*
 * struct memory - Facts of a CXL memory device; an unknown one is negative.
 * @capacity: bytes of volatile and of persistent memory.
 * @poison: records in its list.
 * @events: records in each log: information, warning, failure, fatal.
 */
struct memory {
	int64_t capacity[2];
	int64_t poison;
	int64_t events[MEMORY_LOGS];
	struct health health;
	struct memory_range range;
};

/* memory_read() - As far as a driver has @d, and this process the right to ask it. */
void memory_read(const char *root, const struct pcidev *d, struct memory *m);

/* memory_log() - The name of a log. */
const char *memory_log(unsigned int log);

#define REGION_NAME 32

/* region_memdev() - The name of the memory device at PCI address @addr, "mem0"; false: none. */
bool region_memdev(const char *root, const char *addr, char mem[REGION_NAME]);

/* struct region_list - Regions that are committed: their decoders are. */
struct region_list {
	char (*name)[REGION_NAME];
	unsigned int n;
};

/* region_list() - List the regions that @mem is a part of. 0 or -ENOMEM with the line set. */
int region_list(const char *root, const char *mem, struct region_list *list);
void region_list_free(struct region_list *list);

/* region_is_dax() - Whether @name is that of a devdax, "dax0.0". */
bool region_is_dax(const char *name);

#endif
