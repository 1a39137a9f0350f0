// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex list: the controllers and memory devices of the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../cli.h"
#include "../commands.h"
#include "../error.h"
#include "../out.h"
#include "grid.h"
#include "pcidev.h"
#include "look.h"
#include "users.h"

#define COLS 10

static json_t *text_or_null(const char *text)
{
	json_t *string = *text ? json_string(text) : NULL;

	/* What a device calls itself may be no UTF-8. */
	return string ? string : json_null();
}

static json_t *number_or_null(int64_t n, int64_t least)
{
	return n < least ? json_null() : json_integer((json_int_t)n);
}

static json_t *users_json(const struct users *users)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < users->n; i++) {
		const struct user *u = &users->user[i];
		json_t *one = json_pack("{ss ss}", "kind", user_kind(u), "device", u->device);

		if (u->kind != USER_SWAP)
			json_object_set_new(one, "name", text_or_null(u->name));
		if (u->kind == USER_PROCESS)
			json_object_set_new(one, "pid", json_integer(u->pid));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *device_json(const struct pcidev *d, const struct users *users)
{
	json_t *o = json_object();

	json_object_set_new(o, "address", json_string(d->addr));
	json_object_set_new(o, "kind", json_string(pcidev_kind(d)));
	json_object_set_new(o, "vendor", text_or_null(d->vendor));
	json_object_set_new(o, "name", text_or_null(d->name));
	json_object_set_new(o, "model", text_or_null(d->model));
	json_object_set_new(o, "driver", text_or_null(d->driver));
	json_object_set_new(o, "iommu_group", number_or_null(d->group, 0));
	json_object_set_new(o, "iommu_domain", text_or_null(d->domain));
	json_object_set_new(o, "numa_node", number_or_null(d->numa, 0));
	json_object_set_new(o, "link_speed", text_or_null(d->speed));
	json_object_set_new(o, "link_width", number_or_null(d->width, 1));
	json_object_set_new(o, "cmb_bytes", number_or_null(d->cmb, 0));
	json_object_set_new(o, "used_by", users_json(users));
	json_object_set_new(o, "all_processes_seen", json_boolean(!users->partial));
	return o;
}

static int report_json(const struct pcidev_list *list, const struct users *users)
{
	json_t *devices = json_array();
	struct out out;

	for (unsigned int i = 0; i < list->n; i++)
		json_array_append_new(devices, device_json(&list->dev[i], &users[i]));
	out_init(&out, cli_name(), true);
	out_json(&out, "devices", devices);
	return out_end(&out);
}

static void cmb_text(char *buf, size_t size, int64_t cmb)
{
	if (cmb < 0)
		buf[0] = '\0';
	else if (cmb % (1 << 20))
		snprintf(buf, size, "%lld KiB", (long long)(cmb >> 10));
	else
		snprintf(buf, size, "%lld MiB", (long long)(cmb >> 20));
}

/* The first user, and how many more: JSON has them all. */
static void used_text(char *buf, size_t size, const struct pcidev *d, const struct users *users)
{
	size_t len;

	buf[0] = '\0';
	if (users->n) {
		user_text(&users->user[0], buf, size - 16);
		len = strlen(buf);
		if (users->n > 1)
			snprintf(buf + len, size - len, " +%u", users->n - 1);
	} else if (users->partial && !strcmp(d->driver, "annex")) {
		snprintf(buf, size, "? (ask as root)");
	}
}

static int put_row(struct grid *g, const struct pcidev *d, const struct users *users)
{
	char group[16] = "", numa[16] = "", link[32] = "", cmb[32], used[GRID_CELL],
	     model[GRID_CELL];
	const char *row[COLS] = {d->addr, pcidev_kind(d), d->driver, group, d->domain,
				 numa,    link,           cmb,       used,  model};

	if (d->group >= 0)
		snprintf(group, sizeof(group), "%d", d->group);
	if (d->numa >= 0)
		snprintf(numa, sizeof(numa), "%d", d->numa);
	if (d->width > 0)
		snprintf(link, sizeof(link), "%s x%d", d->speed, d->width);
	cmb_text(cmb, sizeof(cmb), d->cmb);
	used_text(used, sizeof(used), d, users);
	if (*d->model)
		snprintf(model, sizeof(model), "%s", d->model);
	else
		snprintf(model, sizeof(model), "%.70s %.70s", d->vendor, d->name);
	return grid_row(g, row);
}

static int report_table(const struct pcidev_list *list, const struct users *users)
{
	static const char *const heads[COLS] = {"address", "kind", "driver", "group",   "domain",
						"numa",    "link", "cmb",    "used by", "model"};
	struct grid g;
	int err;

	if (!list->n) {
		puts("no NVMe controller on PCI, no CXL memory device");
		return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
	}
	grid_init(&g, COLS);
	err = grid_row(&g, heads);
	for (unsigned int i = 0; i < list->n && !err; i++)
		err = put_row(&g, &list->dev[i], &users[i]);
	if (!err)
		return grid_end(&g);
	grid_drop(&g);
	return err;
}

static int list_devices(const struct look *look)
{
	struct pcidev_list list;
	struct users *users;
	int err = pcidev_list(look->root, &list);

	if (err)
		return err;
	users = calloc(list.n + 1, sizeof(*users));
	err = users ? users_find(look->root, list.dev, list.n, users)
		    : err_set(-ENOMEM, "out of memory");
	if (!err) {
		err = look->json ? report_json(&list, users) : report_table(&list, users);
		users_free(users, list.n);
	}
	free(users);
	pcidev_list_free(&list);
	return err;
}

static const char doc[] =
	"NVMe controllers and CXL memory devices: address, driver, IOMMU group and the type of its "
	"domain, NUMA node, link, controller memory buffer, and who uses it. What is not known is "
	"-; the buffer is known while the nvme driver uses it."
	"\vExamples:\n"
	"  annex list\n"
	"  annex list --json\n"
	"  annex list --root copy       of a machine whose /sys and /proc were copied to copy/";

int cmd_list(int argc, char **argv)
{
	struct look look;
	int err = look_parse(doc, argc, argv, &look);

	return err ? err : list_devices(&look);
}
