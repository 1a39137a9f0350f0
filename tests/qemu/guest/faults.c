// SPDX-License-Identifier: MIT
/*
 * Every allocation and every copy from or to user space fails once, in each thing that can be asked
 * of annex.ko and of its controllers, for faults.sh:
 *
 *   faults loading FILE       loading the module in FILE, and unloading it
 *   faults calls ADDRESS      what the owner may ask for
 *   faults binding ADDRESS    probing and removing; it is not bound in the end
 */
#define _GNU_SOURCE
#include <linux/udmabuf.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include "faults.h"

#define RINGS (64 * PAGE)
#define SMALL (4 * PAGE)
#define LARGE (1024 * PAGE) /* more than a batch, and than a page of pointers */

static int memory = -1; /* a dma-buf */

static struct annex_ioc_info info;

static long ask_info(void)
{
	info = (struct annex_ioc_info){.size = sizeof(info), .abi = ANNEX_ABI};
	return result(ioctl(fd, ANNEX_IOC_INFO, &info));
}

static long ask_identify(void)
{
	static char data[PAGE] __attribute__((aligned(4096)));
	struct annex_ioc_identify args = {.size = sizeof(args), .cns = 1, .data = (uintptr_t)data};

	return result(ioctl(fd, ANNEX_IOC_IDENTIFY, &args));
}

static long ask_state(void)
{
	struct annex_ioc_state args = {.size = sizeof(args)};

	return result(ioctl(fd, ANNEX_IOC_STATE, &args));
}

static long ask_reset(void)
{
	return result(ioctl(fd, ANNEX_IOC_RESET));
}

static struct annex_ioc_seg segs[LARGE / PAGE];
static uint32_t id;
static char *mem;

static long map(uint32_t kind, const void *at, uint64_t bytes, int file)
{
	struct annex_ioc_map args = {.size = sizeof(args),
				     .kind = kind,
				     .addr = (uintptr_t)at,
				     .bytes = bytes,
				     .segs = (uintptr_t)segs,
				     .nsegs = LARGE / PAGE,
				     .fd = file};
	long err = result(ioctl(fd, ANNEX_IOC_MAP, &args));

	id = args.id;
	return err;
}

static long unmap(void)
{
	struct annex_ioc_unmap args = {.size = sizeof(args), .id = id};

	return result(ioctl(fd, ANNEX_IOC_UNMAP, &args));
}

/* Memory that is not there yet: to pin it is to make it. */
static long fresh(void)
{
	if (mem)
		munmap(mem, LARGE);
	mem = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return mem == MAP_FAILED ? -errno : result(madvise(mem, LARGE, MADV_NOHUGEPAGE));
}

static long map_fresh(void)
{
	return map(ANNEX_MAP_USER, mem, SMALL, -1);
}

static long map_user(void)
{
	return map(ANNEX_MAP_USER, mem, LARGE, -1);
}

static long map_host(void)
{
	return map(ANNEX_MAP_HOST, NULL, RINGS, -1);
}

static long map_cmb(void)
{
	return map(ANNEX_MAP_CMB, NULL, RINGS, -1);
}

static long map_dmabuf(void)
{
	return map(ANNEX_MAP_DMABUF, NULL, RINGS, memory);
}

static int event = -1;

static long create_with(int eventfd)
{
	struct annex_ioc_queue args = {.size = sizeof(args),
				       .qid = 1,
				       .depth = 64,
				       .sq_map = id,
				       .cq_map = id,
				       .eventfd = eventfd,
				       .cq_offset = RINGS / 2};

	return result(ioctl(fd, ANNEX_IOC_QUEUE_CREATE, &args));
}

static long destroy(void)
{
	struct annex_ioc_qid args = {.size = sizeof(args), .qid = 1};

	return result(ioctl(fd, ANNEX_IOC_QUEUE_DELETE, &args));
}

/* A queue that was created exists even if its number could not be copied out. */
static long create(void)
{
	long err = create_with(-1);

	return err == -EEXIST ? 0 : err;
}

static long create_eventfd(void)
{
	long err = create_with(event);

	return err == -EEXIST ? 0 : err;
}

static long ask_abort(void)
{
	struct annex_ioc_abort args = {.size = sizeof(args), .qid = 1, .cid = 7};

	return result(ioctl(fd, ANNEX_IOC_ABORT, &args));
}

static char *view;

static long view_at(uint64_t offset, size_t bytes)
{
	view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	return view == MAP_FAILED ? -errno : 0;
}

static long unview(void)
{
	return result(munmap(view, PAGE));
}

static long view_doorbells(void)
{
	return view_at(ANNEX_MMAP_DOORBELLS, PAGE);
}

static long view_shadow(void)
{
	return view_at(ANNEX_MMAP_SHADOW, PAGE);
}

static long view_new(void)
{
	return view_at(ANNEX_MMAP_NEW(id), RINGS);
}

static long unview_new(void)
{
	return result(munmap(view, RINGS));
}

/* A fault that finds no memory is taken again, so the store always comes through. */
static long touch(void)
{
	*(volatile uint32_t *)(void *)(view + 4 * 2) = 0;
	return 0;
}

static int module_file = -1;

static long load(void)
{
	return result(syscall(SYS_finit_module, module_file, "", 0));
}

static long unload(void)
{
	return result(syscall(SYS_delete_module, "annex", O_NONBLOCK));
}

static const struct thing calls[] = {
	{"info", NULL, ask_info, NULL, false},
	{"identify", NULL, ask_identify, NULL, false},
	{"state", NULL, ask_state, NULL, false},
	{"reset", NULL, ask_reset, NULL, false},
	{"map memory that is not there yet", fresh, map_fresh, unmap, false},
	{"map user memory", NULL, map_user, unmap, false},
	{"map host memory", NULL, map_host, unmap, false},
};

static const struct thing map_of_cmb = {"map controller memory", NULL, map_cmb, unmap, false};
static const struct thing map_of_dmabuf = {"map a dma-buf", NULL, map_dmabuf, unmap, false};

static const struct thing with_rings[] = {
	{"create a queue pair", NULL, create, destroy, false},
	{"create one with an eventfd", NULL, create_eventfd, destroy, false},
	{"delete a queue pair", create, destroy, NULL, false},
	{"see the doorbells", NULL, view_doorbells, unview, false},
	{"see new memory", NULL, view_new, unview_new, false},
	{"touch the doorbells", view_doorbells, touch, unview, false},
	{"unmap the doorbells", view_doorbells, unview, NULL, false},
};

static const struct thing of_shadow = {"see shadow doorbells", NULL, view_shadow, unview, false};
static const struct thing of_abort = {"abort a command", NULL, ask_abort, NULL, false};
static const struct thing of_unmap = {"unmap", map_host, unmap, NULL, false};

static void each_call(void)
{
	uint32_t own;

	all(calls, sizeof(calls) / sizeof(calls[0]));
	if (info.cmb_bytes >= RINGS)
		each_site(&map_of_cmb);
	if (memory >= 0)
		each_site(&map_of_dmabuf);
	each_site(&of_unmap);
	if (map_host()) {
		say(false, "memory for queues");
		return;
	}
	own = id;
	all(with_rings, sizeof(with_rings) / sizeof(with_rings[0]));
	if (info.flags & ANNEX_INFO_SHADOW)
		each_site(&of_shadow);
	say(!create(), "a queue pair");
	each_site(&of_abort);
	say(!destroy(), "it is deleted");
	id = own;
	say(!unmap(), "its memory is unmapped");
}

/* An owner with one of each resource, which exits. */
static long become_owner(void)
{
	long err = open_file();

	if (!err)
		err = ask_info();
	if (!err)
		err = fresh();
	if (!err)
		err = map_user();
	if (!err && memory >= 0)
		err = map_dmabuf();
	if (!err)
		err = map_host();
	if (!err)
		err = create_eventfd();
	return err;
}

static const struct thing of_open = {"open", NULL, open_file, close_file, false};
static const struct thing of_close = {"close", become_owner, close_file, NULL, false};
/* The driver core has errors of its own, and says -ENODEV for some. */
static const struct thing of_load = {"load", NULL, load, unload, true};
static const struct thing of_unload = {"unload", load, unload, NULL, true};

static void make_dmabuf(void)
{
	struct udmabuf_create args = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = RINGS};
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int file = memfd_create("faults", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (dev >= 0 && file >= 0 && !ftruncate(file, RINGS) &&
	    !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK)) {
		args.memfd = (uint32_t)file;
		memory = ioctl(dev, UDMABUF_CREATE, &args);
	}
	close(dev);
	close(file);
}

static void calls_of_owner(void)
{
	event = eventfd(0, EFD_CLOEXEC);
	make_dmabuf();
	each_site(&of_open);
	fd = open_or_exit(path, O_RDWR);
	each_call();
	close_file();
	each_site(&of_close);
}

static void loading(const char *file)
{
	module_file = open_or_exit(file, O_RDONLY);
	each_site(&of_load);
	each_site(&of_unload);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: faults loading FILE | calls|binding ADDRESS\n");
		return 1;
	}
	begin(argv[2]);
	if (!strcmp(argv[1], "loading"))
		loading(argv[2]);
	else if (!strcmp(argv[1], "binding"))
		binding("annex");
	else
		calls_of_owner();
	return failures != 0;
}
