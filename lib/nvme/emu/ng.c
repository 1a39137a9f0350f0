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
#include "ring.h"

#define ADMIN_IDENTIFY 0x06
#define IDENTIFY_MS 10000u
#define POLL_MAJOR 6u
#define POLL_MINOR 12u

/* struct wish - What the URI asks for. */
struct wish {
	const char *scheme;
	bool readonly;
	bool force;
	bool poll;
};

static int open_fd(const char *path, const struct wish *wish)
{
	/* O_NONBLOCK: a FIFO must not keep us waiting before it is refused. */
	int flags = (wish->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK, fd;

	if (!*path)
		return annex_fail(-EINVAL, "%s: no path", wish->scheme);
	fd = open(path, flags);
	if (fd < 0)
		return annex_fail(-errno, "%s: cannot open %s: %m", wish->scheme, path);
	return fd;
}

/* With O_NONBLOCK the kernel would refuse commands instead of having them wait. */
static int clear_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ? -errno : 0;
}

/* A character device of sysfs that the kernel's driver has called ngXnY, and not only the path. */
static int find_node(int fd, const char *path, const struct wish *wish, struct emu_ng *ng)
{
	char name[EMU_NG_NAME];
	struct stat st;
	int nsid = -1;

	if (!fstat(fd, &st) && S_ISCHR(st.st_mode)) {
		snprintf(ng->node, sizeof(ng->node), "/sys/dev/char/%u:%u", major(st.st_rdev),
			 minor(st.st_rdev));
		if (annex_emu_ng_link(ng->node, name) && !strncmp(name, "ng", 2))
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

/* The format is one of 64; its number is in two parts (NVM 4.1.5.1). */
static int read_format(const struct annex_id_ns *id, const char *path, const struct wish *wish,
		       struct emu_ns *ns)
{
	const unsigned int index = (id->flbas & 15) | (id->flbas >> 5 & 3) << 4;
	struct annex_lbaf format;

	memcpy(&format,
	       (const char *)id + offsetof(struct annex_id_ns, lbaf) + index * sizeof(format),
	       sizeof(format));
	if (!id->nsze)
		return annex_fail(-ENODEV, "%s: %s: the namespace is gone", wish->scheme, path);
	if ((format.lbads != 9 && format.lbads != 12) || format.ms ||
	    id->nsze > UINT64_MAX >> format.lbads)
		return annex_fail(-EINVAL,
				  "%s: %s has %llu blocks of 2^%u bytes, with %u of metadata; 512 "
				  "and 4096 bytes without metadata work",
				  wish->scheme, path, (ull)id->nsze, format.lbads, format.ms);
	ns->shift = format.lbads;
	ns->blocks = id->nsze;
	return 0;
}

/* A number that the kernel tells of a block device; 0: it does not. */
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
 * The kernel divides none of these commands. Its limit of bytes has the drive's (MDTS) in it; pages
 * that lie apart are a segment each, and data may begin inside of one.
 */
static int read_limits(struct annex_emu *emu, const char *path, const struct wish *wish,
		       struct emu_ns *ns)
{
	uint64_t bytes = queue_limit(ns->ng, "queue/max_hw_sectors_kb") << 10;
	uint64_t pieces = queue_limit(ns->ng, "queue/max_segments");

	bytes = least(bytes, EMU_MAX_TRANSFER) / ANNEX_NVME_PAGE * ANNEX_NVME_PAGE;
	if (!bytes || pieces < 2)
		return annex_fail(-ENODEV,
				  "%s: %s: sysfs does not tell the limits of the block device %s",
				  wish->scheme, path, ns->ng->disk);
	while (ANNEX_NVME_PAGE << emu->mdts > bytes)
		emu->mdts--;
	ns->ng->most = (uint32_t)least(bytes, (pieces - 1) * ANNEX_NVME_PAGE);
	ns->ng->pieces = (uint32_t)least(pieces - 1, IOV_MAX);
	ns->readonly = wish->readonly || queue_limit(ns->ng, "ro");
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
	int err;

	if (!id)
		return annex_fail(-ENOMEM, "%s: out of memory", wish->scheme);
	err = find_node(ns->fd, path, wish, ns->ng);
	if (!err)
		err = clear_nonblock(ns->fd);
	if (!err)
		err = identify(ns->fd, path, wish, ns->ng->nsid, id);
	if (!err)
		err = read_format(id, path, wish, ns);
	if (!err)
		err = read_limits(emu, path, wish, ns);
	if (!err)
		err = check_poll(path, wish, ns->ng);
	free(id);
	return err;
}

/* Files that an error leaves open are closed with the controller. */
static int open_ns(struct annex_emu *emu, const char *path, const struct wish *wish)
{
	struct emu_ns *ns = &emu->ns[emu->nns];
	int fd;

	if (emu->nns == EMU_NAMESPACES)
		return annex_fail(-EINVAL, "%s: more than %u namespaces", wish->scheme,
				  EMU_NAMESPACES);
	fd = open_fd(path, wish);
	if (fd < 0)
		return fd;
	*ns = (struct emu_ns){.nsid = ++emu->nns, .fd = fd, .direct = true, .mem_align = 4};
	ns->ng = calloc(1, sizeof(*ns->ng));
	if (!ns->ng)
		return annex_fail(-ENOMEM, "%s: out of memory", wish->scheme);
	ns->ng->force = wish->force;
	return read_ns(emu, path, wish, ns);
}

static int by_nsid(const void *a, const void *b)
{
	const struct emu_ns *x = a, *y = b;

	return (x->ng->nsid > y->ng->nsid) - (x->ng->nsid < y->ng->nsid);
}

/* All of a controller's, in their order. */
static int open_all(struct annex_emu *emu, const char *body, const struct wish *wish)
{
	char names[EMU_NAMESPACES][EMU_NG_NAME], path[EMU_NG_NAME + 8];
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

	emu->passes = true;
	emu->scheme = wish.scheme;
	if (!err)
		err = annex_uri_bool(uri, "readonly", &wish.readonly);
	if (!err)
		err = annex_uri_bool(uri, "force", &wish.force);
	if (!err)
		err = annex_uri_bool(uri, "poll", &wish.poll);
	emu->polled = wish.poll;
	if (!err && all && annex_uri_get(uri, "ns"))
		err = annex_fail(-EINVAL, "nvme: it has all namespaces; ns= is for ng:");
	if (!err)
		err = all ? open_all(emu, uri->body, &wish) : open_ns(emu, uri->body, &wish);
	for (unsigned int i = 0; !err && i < uri->nparams; i++)
		if (!strcmp(uri->params[i].key, "ns"))
			err = open_ns(emu, uri->params[i].value, &wish);
	return err;
}

void annex_emu_ng_close(struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++)
		free(emu->ns[i].ng);
}

/* The first block of @ns, to @data, in registered buffer @buf. Return: as the completion has it. */
static int read_block(struct annex_emu *emu, struct emu_ns *ns, void *data, int buf)
{
	struct io_uring *uring = &emu->ring->uring;
	struct emu_req req = {.sqe = {.opcode = ANNEX_NVM_READ},
			      .ns = ns,
			      .len = 1u << ns->shift,
			      .steps = 1,
			      .buf = buf,
			      .iov = {{data, 1u << ns->shift}},
			      .nsegs = 1};
	struct io_uring_cqe *cqe;
	int res;

	req.segs = req.iov;
	annex_emu_ng_issue(emu, &req, ns, io_uring_get_sqe(uring), ns->fd);
	do
		res = io_uring_submit(uring);
	while (res == -EINTR || res == -EAGAIN);
	if (res < 0)
		return res;
	do
		res = io_uring_wait_cqe(uring, &cqe);
	while (res == -EINTR);
	if (res < 0)
		return res;
	res = cqe->res;
	io_uring_cqe_seen(uring, cqe);
	return res;
}

/* The same to the second page of registered memory, whose first has it already. */
static bool fixed_works(struct annex_emu *emu, char *data, size_t bytes)
{
	struct emu_ns *ns = &emu->ns[0];
	int buf = annex_emu_ring_register(emu, (uintptr_t)data, bytes), res = -1;

	if (buf >= 0)
		res = read_block(emu, ns, data + ANNEX_NVME_PAGE, buf);
	annex_emu_ring_unregister(emu, buf, bytes);
	return !res && !memcmp(data, data + ANNEX_NVME_PAGE, 1u << ns->shift);
}

/*
 * Linux 6.1 takes registered memory only of buffers that have no more pages than a command may
 * have: then they are small. Older ones take none.
 */
static void try_fixed(struct annex_emu *emu, char *data, size_t bytes)
{
	uint64_t chunk = EMU_BUF_CHUNK;

	if (fixed_works(emu, data, bytes))
		return;
	while (chunk > bytes - 4 * ANNEX_NVME_PAGE)
		chunk /= 2;
	emu->ring->chunk = chunk;
	if (chunk >= 2 * ANNEX_NVME_PAGE && fixed_works(emu, data, chunk))
		return;
	emu->ring->fixed_bufs = false;
	annex_log(ANNEX_LOG_INFO, "%s: slower, as the kernel takes no registered buffers for it",
		  emu->scheme);
}

int annex_emu_ng_try(struct annex_emu *emu)
{
	uint32_t pieces = UINT32_MAX;
	int err = 0, res = 0;
	size_t bytes;
	char *data;

	for (unsigned int i = 0; i < emu->nns; i++)
		pieces = (uint32_t)least(pieces, emu->ns[i].ng->pieces);
	/* More pages than any command has. */
	bytes = (pieces + 4ull) * ANNEX_NVME_PAGE;
	data = aligned_alloc(ANNEX_NVME_PAGE, bytes);
	if (!data)
		return annex_fail(-ENOMEM, "%s: out of memory", emu->scheme);
	memset(data, 0, bytes);
	for (unsigned int i = emu->nns; !err && i-- > 0;) {
		/* A block that the drive cannot read has been asked for, too. */
		res = read_block(emu, &emu->ns[i], data, -1);
		if (res < 0)
			err = annex_fail(res, "%s: the kernel takes no commands for /dev/ng%s: %s",
					 emu->scheme, emu->ns[i].ng->disk + 4, strerror(-res));
	}
	if (!res)
		try_fixed(emu, data, bytes);
	free(data);
	return err;
}
