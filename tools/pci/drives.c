// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <jansson.h>
#include <annex/nvme.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "tools/common/input.h"
#include "tools/common/out.h"
#include "tools/common/pcidev.h"
#include "tools/common/sysfs.h"
#include "ask.h"
#include "drives.h"

#define TEXT 80
#define RESULTS 200

/* struct drive - Facts; unknown ones are "" or 0. @id: "1b36:0010, class 010802". */
struct drive {
	char model[48], firmware[16], id[32], link[TEXT], iommu[16];
	uint64_t transfer;
	unsigned int queues, block;
};

/* struct report - @release: of the kernel. @results: of selftest, with @parts as JSON. */
struct report {
	const struct look *look;
	char release[TEXT];
	char results[RESULTS];
	json_t *parts;
};

/* The limits that the kernel's driver uses: its own where they are less than the controller's. */
static void facts_of_kernel(const char *root, const struct pcidev *p, struct drive *d)
{
	char at[TEXT], ctrl[SYSFS_PATH];
	struct sysfs_dir dir, disks;

	snprintf(at, sizeof(at), "sys/bus/pci/devices/%s/nvme", p->addr);
	sysfs_dir(&dir, root, "%s", at);
	if (dir.n) {
		snprintf(ctrl, sizeof(ctrl), "%s/%.64s", at, dir.name[0]);
		sysfs_text(d->firmware, sizeof(d->firmware), root, "%s/firmware_rev", ctrl);
		d->queues = (unsigned int)sysfs_number(1, root, "%s/queue_count", ctrl) - 1;
		sysfs_dir(&disks, root, "%s", ctrl);
		for (unsigned int i = 0; i < disks.n && !d->block; i++) {
			d->block = (unsigned int)sysfs_number(
				0, root, "%s/%s/queue/logical_block_size", ctrl, disks.name[i]);
			d->transfer = (uint64_t)sysfs_number(0, root,
							     "%s/%s/queue/max_hw_sectors_kb", ctrl,
							     disks.name[i])
				      << 10;
		}
		sysfs_dir_free(&disks);
	}
	sysfs_dir_free(&dir);
}

/* A field of a controller is padded with spaces. */
static void put_field(char *text, size_t size, const char *field, size_t n)
{
	while (n && (field[n - 1] == ' ' || !field[n - 1]))
		n--;
	snprintf(text, size, "%.*s", (int)n, field);
	err_plain(text, size);
}

static int identify(int fd, uint32_t cns, void *data)
{
	struct annex_ioc_identify call = {
		.size = sizeof(call), .cns = cns, .nsid = cns ? 0 : 1, .data = (uintptr_t)data};

	return ioctl(fd, ANNEX_IOC_IDENTIFY, &call);
}

/* The limits that annex.ko tells. A controller that may not be asked remains without facts. */
static void facts_of_annex(const struct pcidev *p, struct drive *d)
{
	struct annex_ioc_info info;
	struct annex_id_ctrl ctrl;
	struct annex_id_ns ns;
	int fd = ask_open(p->addr, &info);

	if (fd < 0) {
		err_clear();
		return;
	}
	d->queues = info.queues;
	d->transfer = info.max_transfer;
	if (!identify(fd, 1, &ctrl)) {
		put_field(d->model, sizeof(d->model), ctrl.mn, sizeof(ctrl.mn));
		put_field(d->firmware, sizeof(d->firmware), ctrl.fr, sizeof(ctrl.fr));
	}
	if (!identify(fd, 0, &ns) && annex_id_shift(&ns))
		d->block = 1u << annex_id_shift(&ns);
	close(fd);
}

static unsigned int pci_number(const char *root, const struct pcidev *p, const char *name)
{
	return (unsigned int)sysfs_number(0, root, "sys/bus/pci/devices/%s/%s", p->addr, name);
}

static void look_at(const char *root, const struct pcidev *p, struct drive *d)
{
	*d = (struct drive){0};
	snprintf(d->model, sizeof(d->model), "%s", p->model);
	snprintf(d->id, sizeof(d->id), "%04x:%04x, class %06x", pci_number(root, p, "vendor"),
		 pci_number(root, p, "device"), pci_number(root, p, "class"));
	if (p->width)
		snprintf(d->link, sizeof(d->link), "%s x%d", p->speed, p->width);
	snprintf(d->iommu, sizeof(d->iommu), "%s", p->domain);
	if (!strcmp(p->driver, "nvme"))
		facts_of_kernel(root, p, d);
	else if (!*root && !strcmp(p->driver, pcidev_annex(p)))
		facts_of_annex(p, d);
}

/* A cell must not end early. */
static void print_cell(const char *text)
{
	fputs("| ", stdout);
	for (const char *c = *text ? text : "unknown"; *c; c++)
		putchar(*c == '|' ? '/' : *c);
	putchar(' ');
}

static void print_number(uint64_t n, bool bytes)
{
	char text[OUT_SIZE];

	snprintf(text, sizeof(text), "%llu", (ull)n);
	print_cell(!n ? "" : bytes ? out_size((double)n, text) : text);
}

static void print_row(const struct report *r, const struct drive *d)
{
	print_cell(d->model);
	print_cell(d->firmware);
	print_cell(d->id);
	print_cell(d->link);
	print_cell(r->release);
	print_cell(*d->iommu ? d->iommu : "off");
	print_number(d->transfer, true);
	print_number(d->queues, false);
	print_number(d->block, true);
	print_cell(r->results);
	puts("|");
}

static json_t *text_or_null(const char *text)
{
	json_t *string = *text ? json_string(text) : NULL;

	return string ? string : json_null();
}

static json_t *drive_json(const struct drive *d)
{
	json_t *o = json_object();

	json_object_set_new(o, "model", text_or_null(d->model));
	json_object_set_new(o, "firmware", text_or_null(d->firmware));
	json_object_set_new(o, "pci", text_or_null(d->id));
	json_object_set_new(o, "link", text_or_null(d->link));
	json_object_set_new(o, "iommu_domain", text_or_null(d->iommu));
	json_object_set_new(o, "max_transfer_bytes",
			    d->transfer ? json_integer((json_int_t)d->transfer) : json_null());
	json_object_set_new(o, "queues", d->queues ? json_integer(d->queues) : json_null());
	json_object_set_new(o, "block_bytes", d->block ? json_integer(d->block) : json_null());
	return o;
}

static int print_all(const struct report *r, const struct pcidev_list *list)
{
	json_t *drives = json_array();
	struct drive d;
	struct out out;

	if (!r->look->json)
		puts("| drive | firmware | PCI | link | kernel | IOMMU | largest command | queues "
		     "| block | selftest |\n|---|---|---|---|---|---|---|---|---|---|");
	for (unsigned int i = 0; i < list->n; i++) {
		if (list->dev[i].kind != PCIDEV_NVME)
			continue;
		look_at(r->look->root, &list->dev[i], &d);
		if (r->look->json)
			json_array_append_new(drives, drive_json(&d));
		else
			print_row(r, &d);
	}
	if (!r->look->json) {
		json_decref(drives);
		return fflush(stdout) || ferror(stdout) ? err_sys("cannot write the report") : 0;
	}
	out_init(&out, cli_name(), true);
	out_json(&out, "kernel", text_or_null(r->release));
	out_json(&out, "drives", drives);
	out_json(&out, "selftest", r->parts ? json_incref(r->parts) : json_null());
	return out_end(&out);
}

/* The results of a report of annex selftest, each with the name of its part. */
static int read_selftest(struct report *r, const char *path)
{
	FILE *f = input_file(path);
	json_error_t error;
	json_t *all, *part;
	size_t i;

	if (!f)
		return -EINVAL;
	all = json_loadf(f, JSON_REJECT_DUPLICATES, &error);
	fclose(f);
	r->parts = json_array();
	json_array_foreach(json_object_get(all, "parts"), i, part)
	{
		const char *name = json_string_value(json_object_get(part, "part"));
		const char *result = json_string_value(json_object_get(part, "result"));
		size_t n = strlen(r->results);

		if (!name || !result)
			continue;
		snprintf(r->results + n, sizeof(r->results) - n, "%s%s: %s", n ? ", " : "", name,
			 result);
		json_array_append_new(r->parts,
				      json_pack("{ss ss}", "part", name, "result", result));
	}
	json_decref(all);
	err_plain(r->results, sizeof(r->results));
	return json_array_size(r->parts)
		       ? 0
		       : err_set(-EINVAL, "%s: no report of annex selftest --json", path);
}

int drives_report(const struct look *look, const char *selftest)
{
	struct report r = {.look = look, .results = "not run"};
	struct pcidev_list list;
	int err = 0;

	if (selftest) {
		r.results[0] = '\0';
		err = read_selftest(&r, selftest);
	}
	if (!err)
		err = pcidev_list(look->root, &list);
	if (!err) {
		sysfs_text(r.release, sizeof(r.release), look->root, "proc/sys/kernel/osrelease");
		err = print_all(&r, &list);
		pcidev_list_free(&list);
	}
	json_decref(r.parts);
	return err;
}
