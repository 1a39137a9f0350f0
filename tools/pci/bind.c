// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex bind, annex unbind: controllers and CXL memory to annex.ko and back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "binding.h"
#include "tools/common/pcidev.h"
#include "tools/common/sysfs.h"
#include "users.h"

/*
 * struct bind_job - The devices of a command.
 * @pick: devices of @list, each once.
 * @n: number of them.
 */
struct bind_job {
	char **addrs;
	unsigned int n_addrs;
	bool json;
	struct pcidev_list list;
	struct pcidev **pick;
	struct users *users;
	unsigned int n;
};

static bool is_driver(const struct pcidev *d, const char *name)
{
	return !strcmp(d->driver, name);
}

/* Memory that the kernel uses itself must be empty before its driver can leave. */
static int say_dax(const struct pcidev *d, const struct user *u, const char *text)
{
	char before[128] = "";

	if (!strcmp(u->name, "kmem"))
		snprintf(before, sizeof(before), "daxctl offline-memory %s && ", u->device);
	return err_set(-EBUSY, "%s is in use: %s: %secho %s > /sys/bus/dax/drivers/%s/unbind first",
		       d->addr, text, before, u->device, u->name);
}

/* The first of its users, and how to end that. */
static int say_busy(const struct pcidev *d, const struct user *u)
{
	char text[256];

	user_words(u, text, sizeof(text));
	switch (u->kind) {
	case USER_MOUNT:
		return err_set(-EBUSY, "%s is in use: %s: umount %s first", d->addr, text, u->name);
	case USER_SWAP:
		return err_set(-EBUSY, "%s is in use: %s: swapoff /dev/%s first", d->addr, text,
			       u->device);
	case USER_HOLDER:
		return err_set(-EBUSY, "%s is in use: %s: %s%s first", d->addr, text,
			       !strncmp(u->name, "md", 2) ? "mdadm --stop /dev/"
							  : "dmsetup remove /dev/",
			       u->name);
	case USER_DAX:
		return say_dax(d, u, text);
	case USER_REGION:
		return err_set(-EBUSY,
			       "%s is in use: %s: echo 0 > /sys/bus/cxl/devices/%s/commit first",
			       d->addr, text, u->name);
	case USER_COUNT:
		return err_set(
			-EBUSY,
			"%s is in use: %s, not by a process that has it open: end the process "
			"that holds a dma-buf of it, or waits for I/O to its pages",
			d->addr, text);
	case USER_PROCESS:
		break;
	}
	return err_set(-EBUSY, "%s is in use: %s: end it first", d->addr, text);
}

static int check_root(const char *command, const struct pcidev *d)
{
	if (!access("/sys/bus/pci/drivers_probe", W_OK))
		return 0;
	return err_set(-EPERM, "only root may change drivers: sudo %s %s", command, d->addr);
}

static int check_bind(const struct pcidev *d, const struct users *users)
{
	if (is_driver(d, pcidev_annex(d)))
		return 0;
	if (*d->driver && !is_driver(d, pcidev_home(d)))
		return err_set(-EBUSY,
			       "%s belongs to the driver %s: echo %s > "
			       "/sys/bus/pci/drivers/%s/unbind unbinds it",
			       d->addr, d->driver, d->addr, d->driver);
	if (users->n)
		return say_busy(d, &users->user[0]);
	if (sysfs_number(0, "", "sys/bus/pci/devices/%s/sriov_numvfs", d->addr) > 0)
		return err_set(-EBUSY,
			       "%s has virtual functions: echo 0 > "
			       "/sys/bus/pci/devices/%s/sriov_numvfs ends them",
			       d->addr, d->addr);
	if (!sysfs_is("", "sys/bus/pci/drivers/%s", pcidev_annex(d)))
		return err_set(-ENODEV, "the kernel module is not loaded: modprobe annex "
					"(annex doctor says more)");
	return check_root("annex bind", d);
}

static int check_unbind(const struct pcidev *d, const struct users *users)
{
	if (is_driver(d, pcidev_home(d)))
		return 0;
	if (*d->driver && !is_driver(d, pcidev_annex(d)))
		return err_set(-EINVAL, "%s is bound to %s, not to annex", d->addr, d->driver);
	if (users->n)
		return say_busy(d, &users->user[0]);
	if (!sysfs_is("", "sys/bus/pci/drivers/%s", pcidev_home(d)))
		return err_set(-ENODEV, "the driver %s, for %s, is not loaded: modprobe %s first",
			       pcidev_home(d), d->addr, pcidev_home(d));
	return check_root("annex unbind", d);
}

static void put_result(struct out *out, json_t *devices, const struct pcidev *d, const char *was,
		       bool changed)
{
	json_t *one = json_pack("{ss ss}", "address", d->addr, "driver", d->driver);
	bool alone = d->kind == PCIDEV_NVME && d->group < 0;

	json_object_set_new(one, "driver_before", *was ? json_string(was) : json_null());
	json_object_set_new(one, "changed", json_boolean(changed));
	json_object_set_new(one, "iommu_group",
			    d->group < 0 ? json_null() : json_integer(d->group));
	json_array_append_new(devices, one);
	if (!changed)
		out_row(out, d->addr, "is already bound to %s", d->driver);
	else if (alone && is_driver(d, pcidev_annex(d)))
		out_row(out, d->addr,
			"bound to %s; no IOMMU: opening it needs CAP_SYS_RAWIO and modprobe annex "
			"allow_no_iommu=1",
			d->driver);
	else if (d->group < 0)
		out_row(out, d->addr, "bound to %s", d->driver);
	else
		out_row(out, d->addr, "bound to %s, IOMMU group %d", d->driver, d->group);
}

/* Report the changes that were made even if the rest failed. */
static int change_all(struct bind_job *job, bool take)
{
	json_t *devices = json_array();
	struct out out;
	char was[32];
	int err = 0, printed;

	out_init(&out, cli_name(), job->json);
	progress_begin(take ? "binding" : "unbinding");
	for (unsigned int i = 0; i < job->n && !err; i++) {
		struct pcidev *d = job->pick[i];
		bool done = is_driver(d, take ? pcidev_annex(d) : pcidev_home(d));

		snprintf(was, sizeof(was), "%s", d->driver);
		if (!done)
			err = take ? binding_take(d, &job->users[i]) : binding_return(d);
		if (!err)
			put_result(&out, devices, d, was, !done);
	}
	progress_end();
	out_json(&out, "devices", devices);
	if (err && !out.rows) {
		out_drop(&out);
		return err;
	}
	printed = out_end(&out);
	return err ? err : printed;
}

/* All devices are looked at before the first is touched. */
static int pick(struct bind_job *job)
{
	int err = 0;

	for (unsigned int i = 0; i < job->n_addrs && !err; i++) {
		struct pcidev *d = NULL;
		bool twice = false;

		err = pcidev_find(&job->list, job->addrs[i], &d);
		for (unsigned int k = 0; k < job->n && !err; k++)
			twice = twice || job->pick[k] == d;
		if (!err && !twice)
			err = users_find("", d, 1, &job->users[job->n]);
		if (!err && !twice)
			job->pick[job->n++] = d;
	}
	return err;
}

static int run(struct bind_job *job, bool take)
{
	int err = pcidev_list("", &job->list);

	if (!err)
		err = pick(job);
	for (unsigned int i = 0; i < job->n && !err; i++)
		err = take ? check_bind(job->pick[i], &job->users[i])
			   : check_unbind(job->pick[i], &job->users[i]);
	if (!err)
		err = change_all(job, take);
	users_free(job->users, job->n);
	pcidev_list_free(&job->list);
	return err;
}

static int take(void *o, char *arg)
{
	struct bind_job *job = o;
	char addr[PCIDEV_ADDR];

	job->addrs[job->n_addrs++] = arg;
	return pcidev_addr(arg, addr);
}

static const struct cli_option options[] = {CLI_JSON(struct bind_job, json), {0}};

static int command(const struct cli_line *line, int argc, char **argv, bool take)
{
	struct bind_job job = {
		.addrs = calloc((size_t)argc, sizeof(*job.addrs)),
		.pick = calloc((size_t)argc, sizeof(struct pcidev *)),
		.users = calloc((size_t)argc, sizeof(*job.users)),
	};
	int err = job.addrs && job.pick && job.users ? cli_parse(line, argc, argv, &job)
						     : err_set(-ENOMEM, "out of memory");

	if (!err)
		err = run(&job, take);
	free(job.addrs);
	free(job.pick);
	free(job.users);
	return err;
}

static const char bind_doc[] =
	"Hand NVMe controllers to the kernel module annex, so that --device pci:ADDR can use them, "
	"and CXL memory devices, for --cache-in pci:ADDR. Refused while anything uses a namespace "
	"or a region of theirs. If a step fails, everything is restored."
	"\vExamples:\n"
	"  annex bind 0000:00:04.0\n"
	"  annex bind 00:04.0 0d:00.0 --json";

static const char unbind_doc[] =
	"Give controllers back to the kernel's nvme driver, and CXL memory devices to its cxl_pci "
	"driver. Refused while a program has them open, or uses their memory."
	"\vExamples:\n"
	"  annex unbind 0000:00:04.0";

int cmd_bind(int argc, char **argv)
{
	static const struct cli_line line = {options, "ADDR...", bind_doc, .take = take,
					     .none = "no device: annex list shows them"};

	return command(&line, argc, argv, true);
}

int cmd_unbind(int argc, char **argv)
{
	static const struct cli_line line = {options, "ADDR...", unbind_doc, .take = take,
					     .none = "no device: annex list shows them"};

	return command(&line, argc, argv, false);
}
