/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CXL memory as the kernel's own drivers have it: a memory device for each, regions made of
 * several, devdax made of regions.
 */
#ifndef TOOLS_PCI_REGION_H
#define TOOLS_PCI_REGION_H

#include <stdbool.h>

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
