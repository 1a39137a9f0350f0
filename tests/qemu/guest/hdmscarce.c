// SPDX-License-Identifier: MIT
/*
 * Every allocation and every copy from or to user space fails once, in each thing that can be asked
 * of CXL memory devices, for hdmscarce.sh:
 *
 *   hdmscarce calls ADDRESS NVME   what users may ask for; of the memory also as a dma-buf, by the
 *                                  owner of the controller NVME
 *   hdmscarce binding ADDRESS      probing and removing; it is not bound in the end
 */
#define _GNU_SOURCE
#include <poll.h>
#include <uapi/annex_hdm.h>
#include "faults.h"

#define PART (2ull << 20) /* of write-combining, and of uncached memory */

static uint64_t range_bytes;

static long info_of(int file)
{
	struct annex_ioc_hdm_info info = {.size = sizeof(info), .abi = ANNEX_ABI};
	long err = result(ioctl(file, ANNEX_IOC_HDM_INFO, &info));

	range_bytes = info.range_bytes;
	return err;
}

static long ask_info(void)
{
	return info_of(fd);
}

static long greet(void)
{
	long err = open_file();

	return err ? err : ask_info();
}

/* A range that was made, but could not be told, is there. */
static long make_range_by(const int *members)
{
	struct annex_ioc_hdm_range args = {.size = sizeof(args),
					   .wc = PART,
					   .uc = PART,
					   .members = (uintptr_t)members,
					   .nmembers = members ? 1 : 0};
	long err = result(ioctl(fd, ANNEX_IOC_HDM_RANGE, &args));

	return err == -EBUSY && !ask_info() && range_bytes ? 0 : err;
}

static long make_range(void)
{
	return make_range_by(NULL);
}

static long make_range_of_list(void)
{
	return make_range_by(&fd);
}

/* A second file, which comes and goes beside the first. */
static int first_file = -1;

static long greet_beside(void)
{
	first_file = fd;
	return greet();
}

static long join_beside(void)
{
	long err = greet_beside();

	return err ? err : make_range();
}

static long leave(void)
{
	long err = close_file();

	fd = first_file;
	return err;
}

/* A dma-buf that was made, but could not be told, has the lowest number that was free. */
static int dmabuf = -1;

static long export_memory(void)
{
	struct annex_ioc_dmabuf args = {.size = sizeof(args), .bytes = 16 * PAGE};
	int next = dup(fd);
	long err;

	close(next);
	err = result(ioctl(fd, ANNEX_IOC_HDM_DMABUF, &args));
	if (err == -EFAULT)
		close(next);
	dmabuf = args.fd;
	return err;
}

static long close_dmabuf(void)
{
	return result(close(dmabuf));
}

static int nvme = -1;
static uint32_t map_id;

static long map_dmabuf(void)
{
	static struct annex_ioc_seg segs[16];
	struct annex_ioc_map args = {.size = sizeof(args),
				     .kind = ANNEX_MAP_DMABUF,
				     .bytes = 16 * PAGE,
				     .segs = (uintptr_t)segs,
				     .nsegs = 16,
				     .fd = dmabuf};
	long err = result(ioctl(nvme, ANNEX_IOC_MAP, &args));

	map_id = args.id;
	return err;
}

static long unmap_dmabuf(void)
{
	struct annex_ioc_unmap args = {.size = sizeof(args), .id = map_id};

	return result(ioctl(nvme, ANNEX_IOC_UNMAP, &args));
}

/* The last that was had, and that of the file that stays. One that was made, but could not be told,
 * has the lowest number that was free. */
static int piece, own_piece;

static long take_piece(void)
{
	struct annex_ioc_hdm_piece args = {.size = sizeof(args), .bytes = PAGE};
	int next = dup(fd);
	long err;

	close(next);
	err = result(ioctl(fd, ANNEX_IOC_HDM_PIECE, &args));
	if (err == -EFAULT)
		close(next);
	piece = err ? -1 : args.fd;
	return err;
}

static long close_piece(void)
{
	close(piece);
	return leave();
}

static char *view;

static long view_at(uint64_t offset)
{
	view = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	return view == MAP_FAILED ? -errno : 0;
}

static long view_cached(void)
{
	return view_at(0);
}

static long view_combining(void)
{
	return view_at(range_bytes - 2 * PART);
}

static long view_piece(void)
{
	view = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, own_piece, 0);
	return view == MAP_FAILED ? -errno : 0;
}

static long unview(void)
{
	return result(munmap(view, PAGE));
}

/* A fault that finds no memory is taken again, so the store always comes through. */
static long touch(void)
{
	*(volatile uint64_t *)(void *)view = 1;
	return 0;
}

static long ask_poison_as(uint32_t flags)
{
	static struct annex_ioc_seg list[16];
	struct annex_ioc_hdm_poison args = {
		.size = sizeof(args), .flags = flags, .list = (uintptr_t)list, .count = 16};
	long err = result(ioctl(fd, ANNEX_IOC_HDM_POISON, &args));

	/* hdmscarce.sh has put some there. */
	return err || args.count ? err : -ENODATA;
}

static long ask_poison(void)
{
	return ask_poison_as(0);
}

static long ask_poison_anew(void)
{
	return ask_poison_as(ANNEX_POISON_RESCAN);
}

static long ask_poison_of_device(void)
{
	return ask_poison_as(ANNEX_POISON_RESCAN | ANNEX_POISON_DEVICE);
}

/* An event, from outside (lib.sh's host), and the moment that it takes to come here. */
static long cause_event(void)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char first = 0, c = 0;

	dprintf(3, "@host cxl-inject-general-media-event path=/machine/peripheral/cxl0 "
		   "log=informational flags=1 dpa=4096 descriptor=3 type=2 transaction-type=1\n");
	for (; c != '\n'; first = first ? first : c)
		if (read(3, &c, 1) != 1)
			return -EIO;
	if (first != 'o') /* "ok", not "error" */
		return -EREMOTEIO;
	return poll(&p, 1, 60000) == 1 ? 0 : -ETIME;
}

static long read_event(void)
{
	struct annex_hdm_event event;

	return read(fd, &event, sizeof(event)) == (ssize_t)sizeof(event) ? 0 : -errno;
}

/* A user with one of each resource, which exits. */
static long become_user(void)
{
	long err = greet();

	if (!err)
		err = make_range();
	if (!err)
		err = ask_info();
	if (!err)
		err = take_piece();
	if (!err)
		close(piece);
	if (!err)
		err = view_cached();
	if (!err)
		err = touch();
	if (!err)
		err = unview();
	return err;
}

/* Of a request for addresses the kernel tells only that it failed. */
static const struct thing without_range[] = {
	{"open", NULL, open_file, close_file, false},
	{"the handshake", open_file, ask_info, close_file, false},
	{"make a range", greet, make_range, close_file, true},
	{"make a range of a list", greet, make_range_of_list, close_file, true},
	{"close the last file", become_user, close_file, NULL, false},
};

static const struct thing with_range[] = {
	{"join a range", greet_beside, make_range, leave, false},
	{"take a piece", join_beside, take_piece, close_piece, false},
	{"export a dma-buf", NULL, export_memory, close_dmabuf, false},
	{"see cached memory", NULL, view_cached, unview, false},
	{"touch cached memory", view_cached, touch, unview, false},
	{"see combining memory", NULL, view_combining, unview, false},
	{"touch combining memory", view_combining, touch, unview, false},
	{"see a piece", NULL, view_piece, unview, false},
	{"touch a piece", view_piece, touch, unview, false},
	{"ask for poison anew", NULL, ask_poison_anew, NULL, false},
	{"ask for poison", NULL, ask_poison, NULL, false},
	{"ask for that of the device", NULL, ask_poison_of_device, NULL, false},
	{"read an event", cause_event, read_event, NULL, false},
};

static const struct thing of_controller = {"let a controller reach it", NULL, map_dmabuf,
					   unmap_dmabuf, false};

static void by_controller(const char *node)
{
	struct annex_ioc_info info = {.size = sizeof(info), .abi = ANNEX_ABI};
	char name[64];

	snprintf(name, sizeof(name), "/dev/annex/%s", node);
	nvme = open_or_exit(name, O_RDWR);
	say(!ioctl(nvme, ANNEX_IOC_INFO, &info), "the controller is opened");
	say(!export_memory(), "memory is a dma-buf");
	each_site(&of_controller);
	close_dmabuf();
	close(nvme);
}

static void calls(const char *node)
{
	all(without_range, sizeof(without_range) / sizeof(without_range[0]));
	if (greet() || make_range() || ask_info() || take_piece()) {
		say(false, "a range");
		return;
	}
	own_piece = piece;
	all(with_range, sizeof(with_range) / sizeof(with_range[0]));
	by_controller(node);
	close(own_piece);
	say(!close_file(), "it is closed");
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: hdmscarce calls ADDRESS NVME | binding ADDRESS\n");
		return 1;
	}
	begin(argv[2]);
	if (argc > 3)
		calls(argv[3]);
	else
		binding("annex_cxl");
	return failures != 0;
}
