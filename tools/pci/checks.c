// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mem:, file:, ng:, spaces, limits, NUMA nodes and GPUs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/log.h>
#include <annex/mem.h>
#include "checks.h"
#include "tools/common/sysfs.h"

/* Queues, a cache of some size and staging buffers. */
#define MEMLOCK_ENOUGH (64ull << 20)

#define RINGS 16u /* devices at once */
#define NAME 64u  /* bytes for a controller's name, or its state */
#define UNCONFINED "docker run --security-opt seccomp=unconfined ..."
#define MORE_MEMLOCK                                                                               \
	"echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/annex.conf   # then log "  \
	"in anew"
#define UNPRIVILEGED "sudo sysctl -w vm.unprivileged_userfaultfd=1"

void checks_add(struct checks *c, const char *device, const char *name, enum check_state state,
		const char *fmt, ...)
{
	struct check *k = &c->check[c->n < CHECKS ? c->n++ : CHECKS - 1];
	va_list ap;

	memset(k, 0, sizeof(*k));
	k->device = device;
	k->name = name;
	k->state = state;
	va_start(ap, fmt);
	vsnprintf(k->means, sizeof(k->means), fmt, ap);
	va_end(ap);
}

void checks_mend(struct checks *c, const char *fmt, ...)
{
	struct check *k = &c->check[c->n - 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->mend, sizeof(k->mend), fmt, ap);
	va_end(ap);
}

/* A device behind file: is opened, on memory: there is no better proof. */
static void check_file(struct checks *c)
{
	struct annex_dev *dev = NULL;
	char uri[64];
	int fd, err;

	if (*c->root) {
		checks_add(c, "file:", "files", CHECK_OK, "any file or block device can be used");
		return;
	}
	fd = memfd_create("annex-doctor", MFD_CLOEXEC);
	snprintf(uri, sizeof(uri), "file:/proc/self/fd/%d?size=1M&direct=0", fd);
	err = annex_dev_open(uri, NULL, &dev);
	if (fd < 0 || err)
		checks_add(c, "file:", "files", CHECK_MISSING,
			   "no file or block device can be used: %.300s", annex_last_error());
	else
		checks_add(c, "file:", "files", CHECK_OK,
			   "work: any file or block device can be used");
	annex_dev_close(dev);
	if (fd >= 0)
		close(fd);
}

/* Rings of the size that serves a device at least. Return: how many of RINGS this process gets. */
static unsigned int count_rings(int *err)
{
	int fd[RINGS];
	unsigned int n = 0;

	*err = 0;
	while (n < RINGS && !*err) {
		struct io_uring_params params = {.flags = IORING_SETUP_CQSIZE, .cq_entries = 256};

		fd[n] = (int)syscall(SYS_io_uring_setup, 128u, &params);
		if (fd[n] < 0)
			*err = -errno;
		else
			n++;
	}
	for (unsigned int i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

static unsigned long long memlock_kib(void)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	return (unsigned long long)limit.rlim_cur >> 10;
}

static void add_limited(struct checks *c, unsigned int rings)
{
	char few[32];

	snprintf(few, sizeof(few), "room for %u devices", rings);
	checks_add(c, "file:", "io_uring", CHECK_LIMITED,
		   "the limit of locked memory, %llu KiB, has %s: files%s are served by threads; "
		   "slower, results are the same",
		   memlock_kib(), rings ? few : "no room left", rings ? " of more" : "");
	checks_mend(c, MORE_MEMLOCK);
}

static void check_io_uring(struct checks *c)
{
	long long off = sysfs_number(-1, c->root, "proc/sys/kernel/io_uring_disabled");
	unsigned int rings;
	int err = 0;

	if (*c->root && off < 0) {
		checks_add(c, "file:", "io_uring", CHECK_UNKNOWN,
			   "this kernel does not tell; run this on the machine itself");
		return;
	}
	rings = *c->root ? (off ? 0 : RINGS) : count_rings(&err);
	if (err == -ENOMEM) {
		add_limited(c, rings);
		return;
	}
	if (rings) {
		checks_add(c, "file:", "io_uring", CHECK_OK, "allowed: files are served by it");
		return;
	}
	checks_add(c, "file:", "io_uring", CHECK_MISSING,
		   "refused: files are served by threads; slower, results are the same");
	if (off > 0)
		checks_mend(c, "sudo sysctl -w kernel.io_uring_disabled=0");
	else
		checks_mend(c, UNCONFINED);
}

static void check_writes(struct checks *c, bool writes)
{
	if (writes) {
		checks_add(
			c, "space", "writes", CHECK_OK,
			"first writes are seen: data that is only read is not written out again");
		return;
	}
	checks_add(c, "space", "writes", CHECK_MISSING,
		   "first writes are not seen (Linux 6.4 and newer): data that is only read is "
		   "written out too, which is slower; results are the same");
}

/* A space is made: there is no better proof. */
static void check_space(struct checks *c)
{
	struct annex_space_opts opts = {.device = 1 << 20, .host = 1 << 20};
	struct annex_space *space = NULL;
	enum annex_watch how;
	bool writes;

	if (*c->root) {
		checks_add(c, "space", "userfaultfd", CHECK_UNKNOWN,
			   "a right of each process: run this on the machine itself");
		return;
	}
	if (annex_space_create(&opts, &space)) {
		checks_add(c, "space", "userfaultfd", CHECK_MISSING, "no tensors can move: %.300s",
			   annex_last_error());
		return;
	}
	annex_space_get_watch(space, &how, &writes);
	annex_space_destroy(space);
	if (how == ANNEX_WATCH_SIGNAL) {
		checks_add(
			c, "space", "userfaultfd", CHECK_MISSING,
			"refused: accesses are caught by signals (SIGSEGV), slower; system calls "
			"on tensors that are elsewhere, or not held, fail");
		checks_mend(c, UNCONFINED);
	} else if (how == ANNEX_WATCH_USER) {
		checks_add(c, "space", "userfaultfd", CHECK_MISSING,
			   "only for the program's own accesses: system calls on tensors that are "
			   "elsewhere, or not held, fail");
		checks_mend(c, UNPRIVILEGED);
	} else {
		checks_add(c, "space", "userfaultfd", CHECK_OK,
			   "by %s: tensors can move while programs use them",
			   how == ANNEX_WATCH_DEVICE ? "/dev/userfaultfd" : "the system call");
	}
	check_writes(c, writes);
}

static void check_memlock(struct checks *c)
{
	struct rlimit limit;

	if (*c->root || getrlimit(RLIMIT_MEMLOCK, &limit)) {
		checks_add(c, "pci:", "memlock", CHECK_UNKNOWN,
			   "a limit of each process: run this on the machine itself");
	} else if (limit.rlim_cur == RLIM_INFINITY || !geteuid()) {
		checks_add(c, "pci:", "memlock", CHECK_OK, "unlimited%s: any buffer can be pinned",
			   geteuid() ? "" : " for root");
	} else if (limit.rlim_cur >= MEMLOCK_ENOUGH) {
		checks_add(c, "pci:", "memlock", CHECK_OK, "%llu MiB of buffers can be pinned",
			   (unsigned long long)limit.rlim_cur >> 20);
	} else {
		checks_add(c, "pci:", "memlock", CHECK_LIMITED,
			   "the limit of locked memory, %llu KiB, is what a controller's queues "
			   "and buffers have",
			   memlock_kib());
		checks_mend(c, MORE_MEMLOCK);
	}
}

static void check_numa(struct checks *c)
{
	char memory[80], cpus[80];

	if (!sysfs_text(memory, sizeof(memory), c->root, "sys/devices/system/node/has_memory")) {
		checks_add(c, "numa:", "nodes", CHECK_MISSING, "this kernel reports no NUMA nodes");
		return;
	}
	sysfs_text(cpus, sizeof(cpus), c->root, "sys/devices/system/node/has_cpu");
	checks_add(c, "numa:", "nodes", CHECK_OK, "with memory: %s; with processors: %s", memory,
		   *cpus ? cpus : "none");
}

static void check_gpu(struct checks *c)
{
	char version[200];

	if (!sysfs_text(version, sizeof(version), c->root, "proc/driver/nvidia/version")) {
		checks_add(c, "gpu", "driver", CHECK_MISSING,
			   "no NVIDIA driver: queues and data cannot lie in GPU memory");
		checks_mend(c, "sudo apt-get install nvidia-open-kernel-dkms");
		return;
	}
	checks_add(c, "gpu", "driver", CHECK_OK, "%.200s", version);
	if (strstr(version, "Open Kernel Module")) {
		checks_add(c, "gpu", "dma-buf", CHECK_OK, "the driver can export GPU memory");
		return;
	}
	checks_add(c, "gpu", "dma-buf", CHECK_MISSING,
		   "only NVIDIA's open kernel modules export GPU memory to other devices");
	checks_mend(c, "sudo apt-get install nvidia-open-kernel-dkms");
}

/* Namespaces of the kernel's driver, by their generic devices. */
static void check_generic(struct checks *c)
{
	unsigned int usable = 0, all;
	char path[SYSFS_PATH], first[NAME] = "";
	struct sysfs_dir nodes;

	sysfs_dir(&nodes, c->root, "sys/class/nvme-generic");
	all = nodes.n;
	if (all)
		snprintf(first, sizeof(first), "%s", nodes.name[0]);
	for (unsigned int i = 0; i < all; i++) {
		sysfs_path(path, c->root, "dev/%s", nodes.name[i]);
		usable += !access(path, R_OK | W_OK);
	}
	sysfs_dir_free(&nodes);
	if (!all) {
		checks_add(c, "ng:", "drives", CHECK_UNKNOWN,
			   "the kernel's NVMe driver has none (/dev/ng0n1)");
		return;
	}
	checks_add(c, "ng:", "drives", usable ? CHECK_OK : CHECK_MISSING,
		   "%u of %u namespaces of the kernel's driver may be used beside it (/dev/ng*)",
		   usable, all);
	if (!usable)
		checks_mend(c,
			    "sudo install -D /dev/null \"/etc/annex/ng/$(xargs "
			    "</sys/class/nvme-generic/%s/device/serial)\" && sudo udevadm trigger "
			    "--subsystem-match=nvme-generic && sudo usermod -aG annex \"$USER\"   "
			    "# for this drive, by 60-annex-ng.rules; then log in anew",
			    first);
}

/*
 * struct remote - Controllers of other machines: @all of them, and @live ones.
 * @lost: one that is not connected, in @state.
 * @patient: one whose loss the kernel never gives up on.
 */
struct remote {
	unsigned int all, live;
	char lost[NAME], state[NAME], patient[NAME];
};

static void see_remote(const struct checks *c, const char *ctrl, struct remote *r)
{
	char text[NAME];

	sysfs_text(text, sizeof(text), c->root, "sys/class/nvme/%s/transport", ctrl);
	if (!*text || !strcmp(text, "pcie") || !strcmp(text, "apple-nvme"))
		return;
	r->all++;
	sysfs_text(text, sizeof(text), c->root, "sys/class/nvme/%s/state", ctrl);
	if (!strcmp(text, "live")) {
		r->live++;
	} else {
		snprintf(r->lost, sizeof(r->lost), "%s", ctrl);
		snprintf(r->state, sizeof(r->state), "%s", text);
	}
	sysfs_text(text, sizeof(text), c->root, "sys/class/nvme/%s/ctrl_loss_tmo", ctrl);
	if (!strcmp(text, "off"))
		snprintf(r->patient, sizeof(r->patient), "%s", ctrl);
}

/* Drives of other machines, which the kernel's initiator connects to. */
static void check_remote(struct checks *c)
{
	struct sysfs_dir ctrls;
	struct remote r = {0};

	sysfs_dir(&ctrls, c->root, "sys/class/nvme");
	for (unsigned int i = 0; i < ctrls.n; i++)
		see_remote(c, ctrls.name[i], &r);
	sysfs_dir_free(&ctrls);
	if (!r.all) {
		checks_add(c, "ng:", "remote", CHECK_UNKNOWN,
			   "no drive of another machine is connected (docs/remote.md)");
		checks_mend(c, "sudo nvme connect -t tcp -a ADDRESS -s 4420 -n NAME");
	} else if (r.live < r.all) {
		checks_add(c, "ng:", "remote", CHECK_MISSING,
			   "%u of %u paths to other machines' drives are lost (%s: %s)",
			   r.all - r.live, r.all, r.lost, r.state);
	} else if (*r.patient) {
		checks_add(
			c, "ng:", "remote", CHECK_MISSING,
			"%u paths to other machines' drives are live; if %s is lost, file: waits "
			"for ever",
			r.all, r.patient);
		checks_mend(c, "echo 600 | sudo tee /sys/class/nvme/%s/ctrl_loss_tmo", r.patient);
	} else {
		checks_add(c, "ng:", "remote", CHECK_OK,
			   "%u paths to other machines' drives are live", r.all);
	}
}

/* Drives that this machine offers to others, which root can see. */
static void check_offered(struct checks *c)
{
	unsigned int open = 0, n;
	struct sysfs_dir names;

	sysfs_dir(&names, c->root, "sys/kernel/config/nvmet/subsystems");
	n = names.n;
	for (unsigned int i = 0; i < n; i++)
		open += sysfs_number(0, c->root,
				     "sys/kernel/config/nvmet/subsystems/%s/attr_allow_any_host",
				     names.name[i]) == 1;
	sysfs_dir_free(&names);
	if (!n)
		return;
	checks_add(c, "ng:", "offered", CHECK_OK,
		   "%u subsystems to other machines, %u of them to any that can reach this one", n,
		   open);
}

void checks_host(struct checks *c)
{
	checks_add(c, "mem:", "memory", CHECK_OK, "emulated in the process: nothing is needed");
	/* First: rings of closed devices take memory until the kernel frees them. */
	check_io_uring(c);
	check_file(c);
	check_generic(c);
	check_remote(c);
	check_offered(c);
	check_space(c);
	check_numa(c);
	check_gpu(c);
	check_memlock(c);
}
