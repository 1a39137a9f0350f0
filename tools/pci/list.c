// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex list: the controllers and memory devices of the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/pcidev.h"
#include "look.h"
#include "memory.h"
#include "users.h"

#define GRID_COLS 12
#define GRID_CELL 160

/* struct grid - Cells of text that line up: the first row has the names of the columns. */
struct grid {
	unsigned int cols;
	unsigned int rows;
	char (*cell)[GRID_CELL];
};

static void grid_init(struct grid *g, unsigned int cols)
{
	memset(g, 0, sizeof(*g));
	g->cols = cols;
}

/* A row of @g->cols texts, "" as "-". */
static int grid_row(struct grid *g, const char *const *texts)
{
	char(*grown)[GRID_CELL] = realloc(g->cell, (g->rows + 1) * g->cols * sizeof(*grown));

	if (!grown)
		return err_set(-ENOMEM, "out of memory");
	g->cell = grown;
	for (unsigned int c = 0; c < g->cols; c++)
		snprintf(grown[g->rows * g->cols + c], GRID_CELL, "%s", *texts[c] ? texts[c] : "-");
	g->rows++;
	return 0;
}

static void grid_drop(struct grid *g)
{
	free(g->cell);
	g->cell = NULL;
	g->rows = 0;
}

/* Print and free. */
static int grid_end(struct grid *g)
{
	int width[GRID_COLS] = {0};

	for (unsigned int r = 0; r < g->rows; r++)
		for (unsigned int c = 0; c < g->cols; c++) {
			int len = (int)strlen(g->cell[r * g->cols + c]);

			if (len > width[c])
				width[c] = len;
		}
	for (unsigned int r = 0; r < g->rows; r++) {
		const char(*row)[GRID_CELL] = &g->cell[r * g->cols];

		/* The last column is as long as it is: no spaces behind. */
		for (unsigned int c = 0; c + 1 < g->cols; c++)
			printf("%-*s  ", width[c], row[c]);
		printf("%s\n", row[g->cols - 1]);
	}
	grid_drop(g);
	return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
}

#define COLS 10
#define MEMORY_COLS 7

/* struct seen - A device and its findings. @memory: of CXL memory. */
struct seen {
	const struct pcidev *d;
	const struct users *users;
	struct memory memory;
};

static json_t *text_or_null(const char *text)
{
	json_t *string = *text ? json_string(text) : NULL;

	/* The name that a device gives may not be UTF-8. */
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

		if (u->kind == USER_COUNT)
			json_object_set_new(one, "count", json_integer(u->count));
		else if (u->kind != USER_SWAP)
			json_object_set_new(one, "name", text_or_null(u->name));
		if (u->kind == USER_PROCESS)
			json_object_set_new(one, "pid", json_integer(u->pid));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *range_json(const struct memory_range *r)
{
	json_t *o, *members;

	if (!r->n)
		return json_null();
	o = json_object();
	members = json_array();
	json_object_set_new(o, "base", number_or_null(r->base, 0));
	json_object_set_new(o, "bytes", json_integer((json_int_t)r->bytes));
	json_object_set_new(o, "persistent", json_boolean(r->persistent));
	json_object_set_new(o, "granularity_bytes", json_integer(r->granularity));
	json_object_set_new(o, "ended", json_boolean(r->ended));
	for (unsigned int i = 0; i < r->n; i++)
		json_array_append_new(members, json_string(r->member[i]));
	json_object_set_new(o, "members", members);
	return o;
}

static json_t *health_json(const struct health *h)
{
	json_t *o, *words;

	if (!h->known)
		return json_null();
	o = json_object();
	words = json_array();
	for (unsigned int i = 0; i < h->n; i++)
		json_array_append_new(words, json_string(h->word[i]));
	json_object_set_new(o, "troubles", words);
	json_object_set_new(o, "life_used_percent", number_or_null(h->life, 0));
	json_object_set_new(o, "degrees_celsius",
			    number_or_null(h->degrees, HEALTH_NO_DEGREES + 1));
	json_object_set_new(o, "dirty_shutdowns", json_integer(h->dirty_shutdowns));
	json_object_set_new(o, "corrected_volatile", json_integer(h->corrected_volatile));
	json_object_set_new(o, "corrected_persistent", json_integer(h->corrected_persistent));
	return o;
}

static void put_memory(json_t *o, const struct memory *m)
{
	json_t *events = json_object();

	for (unsigned int i = 0; i < MEMORY_LOGS; i++)
		json_object_set_new(events, memory_log(i), number_or_null(m->events[i], 0));
	json_object_set_new(o, "volatile_bytes", number_or_null(m->capacity[0], 0));
	json_object_set_new(o, "persistent_bytes", number_or_null(m->capacity[1], 0));
	json_object_set_new(o, "range", range_json(&m->range));
	json_object_set_new(o, "poison_records", number_or_null(m->poison, 0));
	json_object_set_new(o, "events", events);
	json_object_set_new(o, "health", health_json(&m->health));
}

static json_t *device_json(const struct seen *seen)
{
	const struct pcidev *d = seen->d;
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
	json_object_set_new(o, "used_by", users_json(seen->users));
	json_object_set_new(o, "all_processes_seen", json_boolean(!seen->users->partial));
	if (d->kind == PCIDEV_CXL)
		put_memory(o, &seen->memory);
	return o;
}

static int report_json(const struct seen *seen, unsigned int n)
{
	json_t *devices = json_array();
	struct out out;

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(devices, device_json(&seen[i]));
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
		user_words(&users->user[0], buf, size - 16);
		len = strlen(buf);
		if (users->n > 1)
			snprintf(buf + len, size - len, " +%u", users->n - 1);
	} else if (users->partial && !strcmp(d->driver, pcidev_annex(d))) {
		snprintf(buf, size, "? (ask as root)");
	}
}

static int put_row(struct grid *g, const struct seen *seen)
{
	const struct pcidev *d = seen->d;
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
	used_text(used, sizeof(used), d, seen->users);
	if (*d->model)
		snprintf(model, sizeof(model), "%s", d->model);
	else
		snprintf(model, sizeof(model), "%.70s %.70s", d->vendor, d->name);
	return grid_row(g, row);
}

static void capacity_text(char buf[OUT_SIZE], int64_t bytes)
{
	if (bytes < 0)
		snprintf(buf, OUT_SIZE, "?");
	else if (bytes)
		out_size((double)bytes, buf);
	else
		buf[0] = '\0';
}

/* How large, where, and on how many devices. */
static void range_text(char buf[GRID_CELL], const struct memory_range *r)
{
	char size[OUT_SIZE], at[24] = "", ways[24] = "";

	buf[0] = '\0';
	if (r->base >= 0)
		snprintf(at, sizeof(at), " at 0x%llx", (ull)r->base);
	if (r->n > 1)
		snprintf(ways, sizeof(ways), ", %u ways", r->n);
	if (r->n)
		snprintf(buf, GRID_CELL, "%s%s%s%s", out_size((double)r->bytes, size), at, ways,
			 r->ended ? ", ended" : "");
}

/* The logs that have records. */
static void events_text(char buf[GRID_CELL], const struct memory *m)
{
	bool known = false;
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < MEMORY_LOGS; i++) {
		known = known || m->events[i] >= 0;
		if (m->events[i] > 0)
			len += (size_t)snprintf(buf + len, GRID_CELL - len, "%s%lld %s",
						len ? ", " : "", (long long)m->events[i],
						memory_log(i));
	}
	if (!len)
		snprintf(buf, GRID_CELL, "%s", known ? "none" : "?");
}

static void health_text(char buf[GRID_CELL], const struct health *h)
{
	size_t len = 0;

	snprintf(buf, GRID_CELL, "%s", h->known ? "good" : "?");
	for (unsigned int i = 0; i < h->n && len < GRID_CELL; i++)
		len += (size_t)snprintf(buf + len, GRID_CELL - len, "%s%s", i ? ", " : "",
					h->word[i]);
}

static int put_memory_row(struct grid *g, const struct seen *seen)
{
	char capacity[2][OUT_SIZE], range[GRID_CELL], poison[24] = "?", events[GRID_CELL];
	char health[GRID_CELL];
	const char *row[MEMORY_COLS] = {seen->d->addr, capacity[0], capacity[1], poison,
					events,        health,      range};

	capacity_text(capacity[0], seen->memory.capacity[0]);
	capacity_text(capacity[1], seen->memory.capacity[1]);
	range_text(range, &seen->memory.range);
	if (seen->memory.poison >= 0)
		snprintf(poison, sizeof(poison), "%lld", (long long)seen->memory.poison);
	events_text(events, &seen->memory);
	health_text(health, &seen->memory.health);
	return grid_row(g, row);
}

/* Of CXL memory, if there is some, below the other. */
static int report_memory(const struct seen *seen, unsigned int n)
{
	static const char *const heads[MEMORY_COLS] = {
		"CXL memory", "volatile", "persistent", "poison", "events", "health", "range"};
	struct grid g;
	int err;

	grid_init(&g, MEMORY_COLS);
	err = grid_row(&g, heads);
	for (unsigned int i = 0; i < n && !err; i++)
		if (seen[i].d->kind == PCIDEV_CXL)
			err = put_memory_row(&g, &seen[i]);
	if (!err && g.rows > 1) {
		puts("");
		return grid_end(&g);
	}
	grid_drop(&g);
	return err;
}

static int report_table(const struct seen *seen, unsigned int n)
{
	static const char *const heads[COLS] = {"address", "kind", "driver", "group",   "domain",
						"numa",    "link", "cmb",    "used by", "model"};
	struct grid g;
	int err;

	if (!n) {
		puts("no NVMe controller on PCI, no CXL memory device");
		return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
	}
	grid_init(&g, COLS);
	err = grid_row(&g, heads);
	for (unsigned int i = 0; i < n && !err; i++)
		err = put_row(&g, &seen[i]);
	if (!err)
		err = grid_end(&g);
	grid_drop(&g);
	return err ? err : report_memory(seen, n);
}

static int report(const struct look *look, const struct pcidev_list *list,
		  const struct users *users)
{
	struct seen *seen = calloc(list->n + 1, sizeof(*seen));
	int err;

	if (!seen)
		return err_set(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < list->n; i++) {
		seen[i].d = &list->dev[i];
		seen[i].users = &users[i];
		if (list->dev[i].kind == PCIDEV_CXL)
			memory_read(look->root, &list->dev[i], &seen[i].memory);
	}
	err = look->json ? report_json(seen, list->n) : report_table(seen, list->n);
	free(seen);
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
		err = report(look, &list, users);
		users_free(users, list.n);
	}
	free(users);
	pcidev_list_free(&list);
	return err;
}

static const char doc[] =
	"NVMe controllers and CXL memory devices: address, driver, IOMMU group and the type of its "
	"domain, NUMA node, link, controller memory buffer, and users. A - stands for an unknown "
	"value; the buffer is known while the nvme driver uses it. CXL memory also has its "
	"capacity, records of poison and of events, health, and the range that annex.ko made of "
	"it; a ? stands for a value that the device or its driver does not tell, or tells only to "
	"users with rights on it."
	"\vExamples:\n"
	"  annex list\n"
	"  annex list --json\n"
	"  annex list --root copy       # of a machine whose /sys and /proc were copied to copy/";

int cmd_list(int argc, char **argv)
{
	struct look look;
	int err = look_parse(doc, argc, argv, &look);

	return err ? err : list_devices(&look);
}
