// SPDX-License-Identifier: MIT
/*
 * pci: memory of CXL devices that are bound to annex.ko, one or several in turns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uapi/annex_hdm.h>
#include "core/array.h"
#include "core/log.h"
#include "core/module.h"
#include "core/range.h"
#include "hdm.h"
#include "pci.h"

/**
 * struct pci_range - A range.
 * @m: its medium.
 * @name: address of the first device.
 * @members: files of all devices; only the first stays open.
 * @n: number of devices.
 * @shared: all users map the same memory; otherwise @m is a private piece.
 * @offset: first byte of @m in the range.
 * @dmabuf: a dma-buf of @m.
 * @room: capacity of the list of poison, in elements.
 */
struct pci_range {
	struct annex_medium m;
	char name[MODULE_NAME];
	int members[ANNEX_HDM_MEMBERS];
	unsigned int n;
	bool shared;
	uint64_t offset;
	int dmabuf;
	uint32_t room;
};

#define POISON_ONCE 65536u /* most runs of pages that one call of the module returns */

/* The module fills in the list of ranges directly. */
_Static_assert(sizeof(struct annex_ioc_seg) == sizeof(struct range) &&
		       offsetof(struct annex_ioc_seg, bytes) == offsetof(struct range, len),
	       "runs of pages are told as ranges are kept");

static struct pci_range *range_of(struct annex_medium *m)
{
	return (struct pci_range *)m; /* its first member */
}

static int find_dmabuf(struct annex_medium *m, uint64_t offset, uint64_t *at)
{
	*at = offset;
	return range_of(m)->dmabuf;
}

static void close_members(struct pci_range *r, unsigned int from)
{
	while (r->n > from)
		if (r->members[--r->n] >= 0)
			close(r->members[r->n]);
}

static void close_range_of(struct annex_medium *m)
{
	struct pci_range *r = range_of(m);

	if (m->base)
		munmap(m->base, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	if (r->dmabuf >= 0)
		close(r->dmabuf);
	close_members(r, 0);
	free(m->poison);
	free(r);
}

static int ask(const struct pci_range *r, int fd, unsigned long request, void *args,
	       const char *what)
{
	if (!ioctl(fd, request, args))
		return 0;
	return annex_fail(-errno, "pci:%s: %s: %m; the kernel log says more", r->name, what);
}

/* For @want, and some that come while they are read. */
static int make_room(struct pci_range *r, uint32_t want)
{
	uint32_t room = want <= UINT32_MAX / 2 ? want * 2 : UINT32_MAX;

	if (!array_resize(&r->m.poison, room * sizeof(*r->m.poison)))
		return annex_fail(-ENOMEM, "pci:%s: out of memory", r->name);
	r->room = room;
	return 0;
}

/* Whether the list may have changed since it was read: to ask for that costs less than the list. */
static bool has_news(const struct pci_range *r)
{
	struct pollfd p = {.fd = r->members[0], .events = POLLPRI};

	return poll(&p, 1, 0) != 0;
}

/* The list from the @at-th run on, as much as is told at once; *@n: how long all of it is. */
static int read_part(struct pci_range *r, uint32_t *at, uint32_t *n)
{
	uint32_t room = r->room - *at < POISON_ONCE ? r->room - *at : POISON_ONCE;
	struct annex_ioc_hdm_poison args = {.size = sizeof(args),
					    .list = (uintptr_t)(r->m.poison + *at),
					    .count = room,
					    .first = *at};
	int err = ask(r, r->members[0], ANNEX_IOC_HDM_POISON, &args, "its poison");

	*n = args.count;
	if (!err && *n > *at)
		*at += *n - *at < room ? *n - *at : room;
	return err;
}

/* Keep the parts in @m, by their offset there. */
static uint32_t clip_poison(struct pci_range *r, uint32_t n)
{
	uint64_t end = r->offset + r->m.bytes, from, to;
	struct range *list = r->m.poison;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		from = list[i].addr > r->offset ? list[i].addr : r->offset;
		to = list[i].addr + list[i].len < end ? list[i].addr + list[i].len : end;
		if (from < to)
			list[kept++] = (struct range){from - r->offset, to - from};
	}
	return kept;
}

static int read_list(struct pci_range *r)
{
	uint32_t at = 0, n = 16;
	int err = 0;

	do {
		if (n > r->room)
			err = make_room(r, n);
		if (!err)
			err = read_part(r, &at, &n);
	} while (!err && n > at);
	if (!err)
		r->m.npoison = clip_poison(r, at);
	return err;
}

/*
 * Poison that came while the list was read in parts may have moved the other entries. More may come
 * each time, but not without end: a page is listed once.
 */
static int read_poison(struct annex_medium *m)
{
	struct pci_range *r = range_of(m);
	int err = 0;

	while (!err && has_news(r))
		err = read_list(r);
	return err;
}

static int clear_poison(struct annex_medium *m, uint64_t offset, uint64_t len)
{
	struct pci_range *r = range_of(m);
	struct annex_ioc_hdm_clear args = {
		.size = sizeof(args), .offset = r->offset + offset, .bytes = len};
	int err = ask(r, r->members[0], ANNEX_IOC_HDM_CLEAR, &args, "its poison is not cleared");

	return err ? err : read_list(r);
}

static const struct annex_medium_ops range_ops = {.dmabuf = find_dmabuf,
						  .poison = read_poison,
						  .clear = clear_poison,
						  .close = close_range_of};

static int shake_hands(struct pci_range *r, int fd, struct annex_ioc_hdm_info *info)
{
	*info = (struct annex_ioc_hdm_info){.size = sizeof(*info), .abi = ANNEX_ABI};
	if (!ioctl(fd, ANNEX_IOC_HDM_INFO, info))
		return 0;
	if (errno == EPROTONOSUPPORT)
		return annex_fail(-errno, "pci:%s: annex.ko speaks version %u, this library %u",
				  r->name, info->abi, ANNEX_ABI);
	if (errno == ENOTTY)
		return annex_fail(-ENODEV, "pci:%s: no CXL memory device", r->name);
	return annex_fail(-errno, "pci:%s: %m", r->name);
}

/* The next address of a list with commas; false: it is none, or one too many. */
static bool next_name(const char **at, char name[MODULE_NAME])
{
	size_t len = strcspn(*at, ",");
	char word[MODULE_NAME + 1];

	if (len >= sizeof(word))
		return false;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len + ((*at)[len] == ',');
	return annex_module_name(word, name);
}

static int open_members(struct pci_range *r, const char *body, struct annex_ioc_hdm_info *info)
{
	struct annex_ioc_hdm_info other;
	const char *at = body;
	char name[MODULE_NAME];
	int err;

	do {
		if (r->n == ANNEX_HDM_MEMBERS || !next_name(&at, name))
			return annex_fail(-EINVAL,
					  "pci:%.64s: up to %u PCI addresses, such as 0000:0d:00.0",
					  body, ANNEX_HDM_MEMBERS);
		if (!r->n)
			memcpy(r->name, name, sizeof(r->name));
		err = annex_module_file(name, &r->members[r->n]);
		if (err)
			return err;
		r->n++;
		err = shake_hands(r, r->members[r->n - 1], r->n == 1 ? info : &other);
		if (err)
			return err;
	} while (*at);
	return 0;
}

static int make_range(struct pci_range *r, const struct annex_uri *uri,
		      const struct annex_ioc_hdm_info *info)
{
	struct annex_ioc_hdm_range args = {.size = sizeof(args)};
	bool persistent = !info->volatile_bytes;
	uint64_t size = 0, granularity = 0, uncached = 0;
	int err = annex_uri_bool(uri, "persistent", &persistent);

	if (!err)
		err = annex_uri_u64(uri, "size", 1, INT64_MAX, &size);
	if (!err)
		err = annex_uri_u64(uri, "granularity", ANNEX_HDM_GRANULARITY_MIN,
				    ANNEX_HDM_GRANULARITY_MAX, &granularity);
	if (!err)
		err = annex_uri_u64(uri, "m2func", 0, INT64_MAX, &uncached);
	if (err)
		return err;
	if (r->n > 1) { /* else it is the file's own device */
		args.members = (uintptr_t)r->members;
		args.nmembers = r->n;
	}
	args.kind = persistent ? ANNEX_HDM_PERSISTENT : ANNEX_HDM_VOLATILE;
	args.bytes = size;
	args.granularity = (uint32_t)granularity;
	args.uc = uncached;
	err = ask(r, r->members[0], ANNEX_IOC_HDM_RANGE, &args, "no range of it");
	r->m.bytes = args.bytes - uncached;
	r->m.persistent = persistent;
	r->m.scratch = !persistent;
	r->shared = args.flags & ANNEX_HDM_RANGE_SHARED;
	return err;
}

/* A private piece, all of the range by default, and a file of its own for locks. */
static int take_piece(struct pci_range *r, const struct annex_uri *uri)
{
	struct annex_ioc_hdm_piece args = {.size = sizeof(args), .part = ANNEX_PART_CACHED};
	uint64_t bytes = r->m.bytes;
	int err = annex_uri_u64(uri, "piece", 1, INT64_MAX, &bytes);

	args.bytes = bytes;
	if (!err)
		err = ask(r, r->members[0], ANNEX_IOC_HDM_PIECE, &args, "no piece of it");
	if (err)
		return err;
	r->m.bytes = args.bytes;
	r->offset = args.offset;
	r->m.base = annex_medium_map(args.fd, r->m.bytes, 0, MAP_SHARED);
	if (!r->m.base)
		err = annex_fail(-errno, "pci:%s: its piece cannot be mapped: %m", r->name);
	close(args.fd); /* the mapping keeps the piece */
	if (err)
		return err;
	r->m.fd = memfd_create("annex-hdm", MFD_CLOEXEC);
	if (r->m.fd < 0 || ftruncate(r->m.fd, (off_t)r->m.bytes))
		return annex_fail(-errno, "pci:%s: no file for its locks: %m", r->name);
	return 0;
}

/* All that a queue or a buffer may ever lie in, while the file that it is a part of is open. */
static int export_all(struct pci_range *r)
{
	struct annex_ioc_dmabuf args = {
		.size = sizeof(args), .offset = r->offset, .bytes = r->m.bytes};
	int err = ask(r, r->members[0], ANNEX_IOC_HDM_DMABUF, &args, "no dma-buf of it");

	if (!err)
		r->dmabuf = args.fd;
	return err;
}

static int map_range(struct pci_range *r)
{
	r->m.base = annex_medium_map(r->members[0], r->m.bytes, 0, MAP_SHARED);
	if (!r->m.base)
		return annex_fail(-errno, "pci:%s: it cannot be mapped: %m", r->name);
	/* Locks want a file description that no mapping keeps. */
	return annex_module_file(r->name, &r->m.fd);
}

/* Its members, and the range as it is or as it shall be. */
static int join_range(const struct annex_uri *uri, struct pci_range **out)
{
	static const char *const keys[] = {"size",   "granularity", "persistent", "format",
					   "m2func", "piece",       NULL};
	struct pci_range *r = calloc(1, sizeof(*r));
	struct annex_ioc_hdm_info info;
	int err;

	if (!r)
		return annex_fail(-ENOMEM, "pci: out of memory");
	r->m = (struct annex_medium){.ops = &range_ops, .fd = -1, .node = -1};
	r->dmabuf = -1;
	err = annex_uri_check_keys(uri, keys);
	if (!err)
		err = open_members(r, uri->body, &info);
	if (!err)
		err = make_range(r, uri, &info);
	if (err)
		close_range_of(&r->m);
	else
		*out = r;
	return err;
}

int hdm_pci_open(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out)
{
	struct pci_range *r;
	int err = join_range(uri, &r);

	(void)timeout_ms;
	if (err)
		return err;
	err = r->shared ? map_range(r) : take_piece(r, uri);
	if (!err)
		err = export_all(r);
	if (err) {
		close_range_of(&r->m);
		return err;
	}
	close_members(r, 1);
	*out = &r->m;
	return 0;
}

int hdm_piece_open(const struct annex_uri *uri, struct hdm_piece *out)
{
	struct annex_ioc_hdm_piece args = {.size = sizeof(args), .bytes = out->bytes};
	struct pci_range *r;
	int err = join_range(uri, &r);

	if (err)
		return err;
	err = ask(r, r->members[0], ANNEX_IOC_HDM_PIECE, &args, "no uncached memory of it");
	if (!err) {
		out->at = mmap(NULL, out->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, args.fd, 0);
		if (out->at == MAP_FAILED) {
			out->at = NULL;
			err = annex_fail(-errno, "pci:%s: its uncached memory cannot be mapped: %m",
					 r->name);
		}
		close(args.fd); /* the mapping keeps the piece */
	}
	if (!err) {
		out->fd = r->members[0];
		r->members[0] = -1;
	}
	close_range_of(&r->m);
	return err;
}

void hdm_piece_close(struct hdm_piece *piece)
{
	munmap(piece->at, piece->bytes);
	close(piece->fd);
}

bool hdm_piece_beside(const struct hdm_piece *piece, const struct annex_medium *m, const char *addr,
		      uint64_t *offset)
{
	const struct pci_range *r = (const struct pci_range *)m;
	struct stat ours, theirs;

	if (m->ops != &range_ops || fstat(piece->fd, &ours) || fstat(r->members[0], &theirs) ||
	    ours.st_rdev != theirs.st_rdev)
		return false;
	*offset = r->offset + (uint64_t)(addr - m->base);
	return true;
}
