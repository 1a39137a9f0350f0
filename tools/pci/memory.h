/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a CXL memory device: capacity, the range that annex.ko made of it, poison, events,
 * and how it says that it is.
 */
#ifndef TOOLS_PCI_MEMORY_H
#define TOOLS_PCI_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "health.h"
#include "tools/common/pcidev.h"

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

#endif
