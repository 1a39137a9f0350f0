// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex poison: the poison list of a CXL memory device that is bound to annex, and clearing it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uapi/annex_hdm.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/pcidev.h"
#include "ask.h"

#define MOST 65536u /* records that one call of the module returns */

struct opts {
	const char *uri;
	bool clear, json;
};

/* struct list - Records, as the device has them, and their bytes. */
struct list {
	struct annex_ioc_seg record[MOST];
	unsigned int n;
	uint64_t bytes;
};

static int call(int fd, const struct opts *o, unsigned long request, void *args, const char *what)
{
	return ioctl(fd, request, args) ? err_sys("%s: %s", o->uri, what) : 0;
}

static int open_device(const struct opts *o, const char *addr, struct annex_ioc_hdm_info *info)
{
	int fd = ask_file(addr, o->clear ? O_RDWR : O_RDONLY), err;

	if (fd < 0)
		return fd;
	*info = (struct annex_ioc_hdm_info){.size = sizeof(*info), .abi = ANNEX_ABI};
	err = call(fd, o, ANNEX_IOC_HDM_INFO, info, "no CXL memory");
	if (err)
		close(fd);
	return err ? err : fd;
}

static int look(int fd, const struct opts *o, struct list *l)
{
	struct annex_ioc_hdm_poison args = {.size = sizeof(args),
					    .flags = ANNEX_POISON_RESCAN | ANNEX_POISON_DEVICE,
					    .list = (uintptr_t)l->record,
					    .count = MOST};
	int err = call(fd, o, ANNEX_IOC_HDM_POISON, &args, "its poison list");

	l->n = args.count < MOST ? args.count : MOST;
	l->bytes = 0;
	for (unsigned int i = 0; i < l->n && !err; i++)
		l->bytes += l->record[i].bytes;
	return err;
}

/* A range of all memory of a kind, for as long as it takes: a file has one range. */
static int clear_kind(const struct opts *o, const char *addr, uint32_t kind)
{
	struct annex_ioc_hdm_range range = {.size = sizeof(range), .kind = kind};
	struct annex_ioc_hdm_clear args = {.size = sizeof(args)};
	struct annex_ioc_hdm_info info;
	int fd = open_device(o, addr, &info), err = 0;

	if (fd < 0)
		return fd;
	/* Users' pages would be zeroed without their knowledge. */
	if (info.range_bytes)
		err = err_set(-EBUSY, "%s: its memory is in use (annex list)", o->uri);
	if (!err)
		err = call(fd, o, ANNEX_IOC_HDM_RANGE, &range, "no range, see the kernel log");
	args.bytes = range.bytes;
	if (!err)
		err = call(fd, o, ANNEX_IOC_HDM_CLEAR, &args, "not cleared");
	close(fd);
	return err;
}

/* Device addresses begin with volatile memory. */
static int clear(const struct opts *o, const char *addr, const struct annex_ioc_hdm_info *info,
		 const struct list *l)
{
	bool kinds[2] = {false, false};
	int err = 0;

	for (unsigned int i = 0; i < l->n; i++)
		kinds[l->record[i].addr >= info->volatile_bytes] = true;
	for (uint32_t kind = 0; kind < 2 && !err; kind++)
		if (kinds[kind])
			err = clear_kind(o, addr, kind);
	return err;
}

static int report(const struct opts *o, const struct list *l, uint64_t cleared)
{
	json_t *list = json_array();
	struct out out;

	for (unsigned int i = 0; i < l->n; i++)
		json_array_append_new(list, json_pack("{s:I, s:I}", "offset", l->record[i].addr,
						      "bytes", l->record[i].bytes));
	out_init(&out, cli_name(), o->json);
	out_text(&out, "device", "device", o->uri);
	out_json(&out, "records", list);
	out_row(&out, "records", "%u", l->n);
	out_bytes(&out, "poisoned_bytes", "poisoned", l->bytes);
	if (o->clear)
		out_bytes(&out, "cleared_bytes", "cleared", cleared);
	return out_end(&out);
}

static int run(const struct opts *o, const char *addr)
{
	static struct list list;
	struct annex_ioc_hdm_info info;
	uint64_t before;
	int fd = open_device(o, addr, &info), err;

	if (fd < 0)
		return fd;
	err = look(fd, o, &list);
	before = list.bytes;
	if (!err && o->clear) {
		err = clear(o, addr, &info, &list);
		if (!err)
			err = look(fd, o, &list);
	}
	close(fd);
	/* There may be more new poison than cleared poison. */
	return err ? err : report(o, &list, before > list.bytes ? before - list.bytes : 0);
}

static const char doc[] =
	"Show the poison list of a CXL memory device that is bound to annex. --clear zeroes the "
	"poisoned memory, so that it can be used again; its data is lost already. That needs root, "
	"and a device of which no program has a range: programs clear memory that they have by "
	"annex_hdm_clear()."
	"\vExamples:\n"
	"  annex poison pci:0000:0d:00.0\n"
	"  sudo annex poison pci:0000:0d:00.0 --clear --json";

int cmd_poison(int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"clear", 0, NULL, 0, OPT_FLAG(struct opts, clear),
		 "Zero the poisoned memory, and let it be used again"},
		CLI_JSON(struct opts, json),
		{0},
	};
	static const struct cli_line line = {
		.options = options,
		.args = "pci:ADDRESS",
		.doc = doc,
		CLI_ARG(struct opts, uri),
		.none = "needs a CXL memory device: pci:ADDRESS (annex list)",
		.many = "one device is enough: '%s' is too many",
	};
	struct opts o = {.clear = false};
	char addr[PCIDEV_ADDR];
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = pcidev_uri(o.uri, "device", addr);
	return err ? err : run(&o, addr);
}
