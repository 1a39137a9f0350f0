// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
#include "region.h"
#include "tools/common/sysfs.h"

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

static int add(struct region_list *list, const char *name)
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
			err = add(list, region);
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
