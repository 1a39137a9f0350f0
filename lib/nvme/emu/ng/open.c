// SPDX-License-Identifier: MIT
/*
 * Opening namespaces that stay with the kernel's NVMe driver.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "core/least.h"
#include "ng.h"

#define ADMIN_IDENTIFY 0x06
#define IDENTIFY_MS 10000u
#define POLL_MAJOR 6u
#define POLL_MINOR 12u

/* struct wish - The parameters of the URI. */
struct wish {
	const char *scheme;
	bool readonly;
	bool force;
	bool poll;
};

static int open_fd(const char *path, const struct wish *wish)
{
	/* O_NONBLOCK: opening a FIFO, which is refused afterwards, must not block. */
	int flags = (wish->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK, fd;

	if (!*path)
		return annex_fail(-EINVAL, "%s: no path", wish->scheme);
	fd = open(path, flags);
	if (fd < 0)
		return annex_fail(-errno, "%s: cannot open %s: %m", wish->scheme, path);
	return fd;
}

/* With O_NONBLOCK the kernel would refuse commands that have to wait. */
static int clear_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ? -errno : 0;
}

/* By its name in sysfs (ngXnY), not by its path. */
static int find_node(int fd, const char *path, const struct wish *wish, struct emu_ng *ng)
{
	char name[EMU_DISK_NAME];
	struct stat st;
	int nsid = -1;

	if (!fstat(fd, &st) && S_ISCHR(st.st_mode)) {
		snprintf(ng->node, sizeof(ng->node), "/sys/dev/char/%u:%u", major(st.st_rdev),
			 minor(st.st_rdev));
		if (annex_emu_link_name(ng->node, name) && !strncmp(name, "ng", 2))
			nsid = ioctl(fd, NVME_IOCTL_ID);
	}
	if (nsid <= 0)
		return annex_fail(-EINVAL,
				  "%s: %s is no generic device of an NVMe namespace, as "
				  "/dev/ng0n1 is; nvme: takes a controller, file: a block device",
				  wish->scheme, path);
	ng->nsid = (uint32_t)nsid;
	snprintf(ng->disk, sizeof(ng->disk), "nvme%.27s", name + 2);
	return 0;
}

static int identify(int fd, const char *path, const struct wish *wish, uint32_t nsid, void *data)
{
	struct nvme_passthru_cmd cmd = {.opcode = ADMIN_IDENTIFY,
					.nsid = nsid,
					.addr = (uintptr_t)data,
					.data_len = ANNEX_NVME_PAGE,
					.cdw10 = ANNEX_CNS_NS,
					.timeout_ms = IDENTIFY_MS};
	int rc = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &cmd);

	if (rc > 0)
		return annex_fail(annex_nvme_errno((uint16_t)rc),
				  "%s: %s: Identify Namespace: NVMe status 0x%03x", wish->scheme,
				  path, (unsigned int)rc & ANNEX_SC_MASK);
	if (rc < 0 && errno == EACCES)
		return annex_fail(-EACCES,
				  "%s: %s: the kernel lets root alone send commands (before "
				  "Linux 6.2, for all of them)",
				  wish->scheme, path);
	return rc ? annex_fail(-errno, "%s: %s: Identify Namespace: %m", wish->scheme, path) : 0;
}

/* The command that gives the namespace a format that can be used, in a string of @n bytes. */
static void find_format(const struct annex_id_ns *id, const char *disk, char *out, size_t n)
{
	struct annex_id_ns other = *id;

	other.dps = 0;
	other.nlbaf = 63; /* the low and the high bits of FLBAS count */
	for (unsigned int i = 0; i <= id->nlbaf && i < 64; i++) {
		other.flbas = (uint8_t)((i & 15) | (i & 0x30) << 1);
		if (annex_id_shift(&other)) {
			snprintf(out, n, "; nvme format /dev/%s --lbaf=%u changes it", disk, i);
			return;
		}
	}
	*out = 0;
}

static int read_format(const struct annex_id_ns *id, const char *path, const struct wish *wish,
		       struct emu_ns *ns)
{
	const struct annex_lbaf *format = annex_id_format(id);
	uint32_t shift = annex_id_shift(id);
	struct emu_ng *ng = ns->own;
	char other[96];

	if (!id->nsze)
		return annex_fail(-ENODEV, "%s: %s: the namespace is gone", wish->scheme, path);
	if (!shift || id->nsze > UINT64_MAX >> shift) {
		find_format(id, ng->disk, other, sizeof(other));
		return annex_fail(-EINVAL,
				  "%s: %s: format %u has blocks of 2^%u bytes, with %u of "
				  "metadata, which cannot be used%s",
				  wish->scheme, path, (unsigned int)(format - id->lbaf),
				  format->lbads, format->ms, other);
	}
	ns->shift = shift;
	ns->blocks = id->nsze;
	ng->protect = annex_id_protected(id);
	return 0;
}

/* A number in sysfs about the block device; 0: unknown. */
static uint64_t queue_limit(const struct emu_ng *ng, const char *name)
{
	unsigned long long value = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/block/%s/%s", ng->disk, name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%llu", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

/*
 * The kernel does not divide these commands. Its limit of bytes includes the drive's (MDTS); each
 * page is a segment, and data may begin inside a page.
 */
static int read_limits(struct annex_emu *emu, const char *path, const struct wish *wish,
		       struct emu_ns *ns)
{
	const struct emu_ng *ng = ns->own;
	uint64_t bytes = queue_limit(ng, "queue/max_hw_sectors_kb") << 10;
	uint64_t pieces = queue_limit(ng, "queue/max_segments");

	bytes = least(bytes, EMU_MAX_TRANSFER) / ANNEX_NVME_PAGE * ANNEX_NVME_PAGE;
	if (!bytes || pieces < 2)
		return annex_fail(-ENODEV,
				  "%s: %s: sysfs does not tell the limits of the block device %s",
				  wish->scheme, path, ng->disk);
	while (ANNEX_NVME_PAGE << emu->mdts > bytes)
		emu->mdts--;
	ns->most = (uint32_t)least(bytes, (pieces - 1) * ANNEX_NVME_PAGE) >> ns->shift << ns->shift;
	if (!ns->most)
		return annex_fail(-EINVAL, "%s: %s: the kernel transfers no block of 2^%u bytes",
				  wish->scheme, path, ns->shift);
	ns->pieces = (uint32_t)least(pieces - 1, IOV_MAX);
	ns->readonly = wish->readonly || queue_limit(ng, "ro");
	return 0;
}

/* Linux 6.1 polls commands without data by a pointer that it has not set, and crashes. */
static bool polls_safely(void)
{
	unsigned int major_nr, minor_nr;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major_nr, &minor_nr) == 2 &&
	       (major_nr > POLL_MAJOR || (major_nr == POLL_MAJOR && minor_nr >= POLL_MINOR));
}

static int check_poll(const char *path, const struct wish *wish, const struct emu_ng *ng)
{
	if (!wish->poll)
		return 0;
	if (!polls_safely())
		return annex_fail(-EOPNOTSUPP, "%s: poll=1 needs Linux %u.%u: older ones crash",
				  wish->scheme, POLL_MAJOR, POLL_MINOR);
	if (!queue_limit(ng, "queue/io_poll"))
		return annex_fail(-EOPNOTSUPP,
				  "%s: %s: the kernel's driver has no queues to poll (modprobe "
				  "nvme poll_queues=2)",
				  wish->scheme, path);
	return 0;
}

static int read_ns(struct annex_emu *emu, const char *path, const struct wish *wish,
		   struct emu_ns *ns)
{
	struct annex_id_ns *id = calloc(1, sizeof(*id));
	struct emu_ng *ng = ns->own;
	int err;

	if (!id)
		return annex_fail(-ENOMEM, "%s: out of memory", wish->scheme);
	err = find_node(ns->fd, path, wish, ng);
	if (!err)
		err = clear_nonblock(ns->fd);
	if (!err)
		err = identify(ns->fd, path, wish, ng->nsid, id);
	if (!err)
		err = read_format(id, path, wish, ns);
	if (!err)
		err = read_limits(emu, path, wish, ns);
	if (!err)
		err = check_poll(path, wish, ng);
	free(id);
	return err;
}

/* Files that an error leaves open are closed with the controller. */
static int open_ns(struct annex_emu *emu, const char *path, const struct wish *wish)
{
	struct emu_ns *ns = &emu->ns[emu->nns];
	struct emu_ngs *g = emu->own;
	struct emu_ng *ng = &g->ns[emu->nns];
	int fd;

	if (emu->nns == EMU_NAMESPACES)
		return annex_fail(-EINVAL, "%s: more than %u namespaces", wish->scheme,
				  EMU_NAMESPACES);
	fd = open_fd(path, wish);
	if (fd < 0)
		return fd;
	*ns = (struct emu_ns){
		.nsid = ++emu->nns, .fd = fd, .align = 4, .disk = ng->disk, .own = ng};
	ng->force = wish->force;
	return read_ns(emu, path, wish, ns);
}

static int by_nsid(const void *a, const void *b)
{
	const struct emu_ng *x = ((const struct emu_ns *)a)->own;
	const struct emu_ng *y = ((const struct emu_ns *)b)->own;

	return (x->nsid > y->nsid) - (x->nsid < y->nsid);
}

/* All namespaces of a controller, sorted. */
static int open_all(struct annex_emu *emu, const char *body, const struct wish *wish)
{
	char names[EMU_NAMESPACES][EMU_DISK_NAME], path[EMU_DISK_NAME + 8];
	int n = annex_emu_ng_find(body, names), err = n < 0 ? n : 0;

	for (int i = 0; !err && i < n; i++) {
		snprintf(path, sizeof(path), "/dev/%.31s", names[i]);
		err = open_ns(emu, path, wish);
	}
	if (err)
		return err;
	qsort(emu->ns, emu->nns, sizeof(emu->ns[0]), by_nsid);
	for (unsigned int i = 0; i < emu->nns; i++)
		emu->ns[i].nsid = i + 1;
	return 0;
}

int annex_emu_ng_open(struct annex_emu *emu, const struct annex_uri *uri)
{
	static const char *const keys[] = {"readonly", "force",    "poll", "ns...",
					   "serve",    "fault...", NULL};
	const bool all = !strcmp(uri->scheme, "nvme");
	struct wish wish = {.scheme = all ? "nvme" : "ng"};
	int err = annex_uri_check_keys(uri, keys);

	emu->scheme = wish.scheme;
	if (!err)
		err = annex_uri_bool(uri, "readonly", &wish.readonly);
	if (!err)
		err = annex_uri_bool(uri, "force", &wish.force);
	if (!err)
		err = annex_uri_bool(uri, "poll", &wish.poll);
	((struct emu_ngs *)emu->own)->ring.polled = wish.poll;
	if (!err && all && annex_uri_get(uri, "ns"))
		err = annex_fail(-EINVAL, "nvme: it has all namespaces; ns= is for ng:");
	if (!err)
		err = all ? open_all(emu, uri->body, &wish) : open_ns(emu, uri->body, &wish);
	for (unsigned int i = 0; !err && i < uri->nparams; i++)
		if (!strcmp(uri->params[i].key, "ns"))
			err = open_ns(emu, uri->params[i].value, &wish);
	return err;
}
