// SPDX-License-Identifier: MIT
/*
 * Random calls and mappings of CXL memory devices' files, for hdmfuzz.sh:
 *
 *   hdmfuzz ADDRESSES NVME SECONDS [SEED]
 *
 * One process after the other, for about a second each: threads that open files of all devices,
 * which have commas between, make ranges, map and touch them, take pieces and dma-bufs, hand those
 * to the NVMe controller, have pages held by pipes, and fork; each process ends in another way. The
 * exit status is 0 when none was stuck or died of data that it saw. SIGBUS is allowed: devices may
 * be taken away and given back meanwhile.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <sys/uio.h>
#include <uapi/annex_hdm.h>
#include "fuzz.h"

#define FILES 6u
#define BUFS 6u
#define KNOWN 16u
#define PART (2ull << 20) /* of write-combining, and of uncached memory */
#define SIZE (256ull << 20)

static char *addresses[ANNEX_HDM_MEMBERS];
static unsigned int naddresses;
static const char *nvme;
/* Guesses, not to be relied on: others change them at any time. */
static volatile int files[FILES], bufs[BUFS], pieces[BUFS];
static volatile uint32_t maps[KNOWN];
static int nvme_fd;
static __thread sigjmp_buf bus;

static void on_bus(int signal)
{
	(void)signal;
	siglongjmp(bus, 1);
}

static int some_file(struct fuzzer *f)
{
	return files[draw(&f->state, FILES)];
}

/* Another file in the place of the one in @slot. */
static void replace(volatile int *slot, int fd)
{
	int old = *slot;

	*slot = fd;
	if (old >= 0)
		close(old);
}

static void do_info(struct fuzzer *f, int fd)
{
	struct annex_ioc_hdm_info info = {.size = size_of(f, ANNEX_IOC_HDM_INFO),
					  .abi = (uint32_t)maybe(&f->state, ANNEX_ABI)};

	call(f, fd, ANNEX_IOC_HDM_INFO, &info);
}

/*
 * Open another file in the place of one of these; reads of it do not block. A process that holds
 * pages does not wait for the device: its removal waits for the pages.
 */
static void open_file(struct fuzzer *f, double seconds)
{
	unsigned int i = (unsigned int)draw(&f->state, FILES);
	int flags = (rarely(&f->state, 8) ? O_RDONLY : O_RDWR) | O_NONBLOCK;
	int fd = get_file(addresses[draw(&f->state, naddresses)], flags, seconds);

	replace(&files[i], fd);
	if (!rarely(&f->state, 10))
		do_info(f, fd);
}

static void do_open(struct fuzzer *f)
{
	open_file(f, 0);
}

/* Most of them the same, so that files have a range in common. */
static void do_range(struct fuzzer *f)
{
	const char *kind = getenv("CXL_KIND");
	int fds[ANNEX_HDM_MEMBERS];
	struct annex_ioc_hdm_range args = {
		.size = size_of(f, ANNEX_IOC_HDM_RANGE),
		.kind = (uint32_t)maybe(&f->state, kind && !strcmp(kind, "persistent")),
		.bytes = maybe(&f->state, 0),
		.wc = maybe(&f->state, PART),
		.uc = maybe(&f->state, PART),
		.granularity = (uint32_t)maybe(&f->state, 0),
	};

	if (rarely(&f->state, 4)) {
		for (unsigned int i = 0; i < ANNEX_HDM_MEMBERS; i++)
			fds[i] = some_file(f);
		args.members = maybe(&f->state, (uintptr_t)fds);
		args.nmembers = (uint32_t)maybe(&f->state, 1u << draw(&f->state, 3));
	}
	call(f, some_file(f), ANNEX_IOC_HDM_RANGE, &args);
}

static void do_dmabuf(struct fuzzer *f)
{
	unsigned int i = (unsigned int)draw(&f->state, BUFS);
	struct annex_ioc_dmabuf args = {
		.size = size_of(f, ANNEX_IOC_HDM_DMABUF),
		.offset = maybe(&f->state, draw(&f->state, 4096) * PAGE),
		.bytes = maybe(&f->state, (1 + draw(&f->state, 64)) * PAGE),
	};

	if (!call(f, some_file(f), ANNEX_IOC_HDM_DMABUF, &args))
		replace(&bufs[i], args.fd);
}

static void do_piece(struct fuzzer *f)
{
	unsigned int i = (unsigned int)draw(&f->state, BUFS);
	struct annex_ioc_hdm_piece args = {
		.size = size_of(f, ANNEX_IOC_HDM_PIECE),
		.bytes = maybe(&f->state, (1 + draw(&f->state, 8)) * PAGE),
	};

	if (!call(f, some_file(f), ANNEX_IOC_HDM_PIECE, &args))
		replace(&pieces[i], args.fd);
}

static void do_poison(struct fuzzer *f)
{
	struct annex_ioc_hdm_poison args = {
		.size = size_of(f, ANNEX_IOC_HDM_POISON),
		.flags = (uint32_t)maybe(&f->state, draw(&f->state, 4)),
		.list = maybe(&f->state, (uintptr_t)f->segs),
		.count = (uint32_t)maybe(&f->state, draw(&f->state, 64)),
		.first = (uint32_t)maybe(&f->state, draw(&f->state, 4)),
	};

	/* No list at an address that happens to be good. */
	if (args.count > 64)
		args.list = 0;
	call(f, some_file(f), ANNEX_IOC_HDM_POISON, &args);
}

static void do_clear(struct fuzzer *f)
{
	struct annex_ioc_hdm_clear args = {
		.size = size_of(f, ANNEX_IOC_HDM_CLEAR),
		.offset = maybe(&f->state, draw(&f->state, 4096) * PAGE),
		.bytes = maybe(&f->state, (1 + draw(&f->state, 64)) * PAGE),
	};

	call(f, some_file(f), ANNEX_IOC_HDM_CLEAR, &args);
}

static void do_small(struct fuzzer *f)
{
	struct annex_hdm_event events[2];
	struct pollfd p = {.fd = some_file(f), .events = POLLIN};
	uint32_t any[1024 / 4] = {0}; /* or the kernel would write to where numbers point */

	switch (draw(&f->state, 4)) {
	case 0:
		do_info(f, some_file(f));
		break;
	case 1:
		poll(&p, 1, 0);
		break;
	case 2:
		(void)!read(some_file(f), events, maybe(&f->state, sizeof(events)) % 512);
		break;
	default:
		any[0] = (uint32_t)odd(&f->state);
		call(f, some_file(f),
		     _IOC(draw(&f->state, 4), ANNEX_IOC_TYPE, draw(&f->state, 12) + 0x1c,
			  draw(&f->state, 200)),
		     any);
		break;
	}
}

static void do_nvme(struct fuzzer *f)
{
	unsigned int slot = (unsigned int)draw(&f->state, KNOWN);
	struct annex_ioc_unmap unmap = {.size = sizeof(unmap), .id = maps[slot]};
	struct annex_ioc_map map = {.size = sizeof(map),
				    .kind = ANNEX_MAP_DMABUF,
				    .offset = maybe(&f->state, draw(&f->state, 4) * PAGE),
				    .bytes = maybe(&f->state, (1 + draw(&f->state, 8)) * PAGE),
				    .segs = (uintptr_t)f->segs,
				    .nsegs = 64,
				    .fd = bufs[draw(&f->state, BUFS)]};

	if (rarely(&f->state, 2))
		call(f, nvme_fd, ANNEX_IOC_UNMAP, &unmap);
	else if (!call(f, nvme_fd, ANNEX_IOC_MAP, &map))
		maps[slot] = map.id;
}

static void do_mmap(struct fuzzer *f)
{
	const uint64_t offsets[] = {draw(&f->state, SIZE / PAGE) * PAGE, draw(&f->state, 16) * PAGE,
				    SIZE - 2 * PART - PAGE, SIZE - 2 * PART, SIZE - PART};
	bool piece = rarely(&f->state, 5);
	int fd = piece ? pieces[draw(&f->state, BUFS)] : some_file(f);
	uint64_t whole = draw(&f->state, 2) * PAGE;
	unsigned int i = some_view(f);
	uint64_t offset = maybe(&f->state, piece ? whole : offsets[draw(&f->state, 5)]) &
			  ~(PAGE - 1);
	size_t bytes = (size_t)maybe(&f->state, (1 + draw(&f->state, 8)) * PAGE);
	int prot = rarely(&f->state, 50) ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;

	map_view(f, i, fd, offset, bytes, 1ull << 30, prot);
}

/* A page of a view, touched by this thread or by the kernel for it. */
static void touch(struct fuzzer *f)
{
	unsigned int i = some_view(f);
	struct iovec page = {NULL, PAGE};
	static __thread char bytes[PAGE];

	if (!f->views[i].at || sigsetjmp(bus, 1))
		return;
	page.iov_base = f->views[i].at + draw(&f->state, f->views[i].bytes / PAGE) * PAGE;
	switch (draw(&f->state, 8)) {
	case 0:
		(void)!vmsplice(f->pipes[1], &page, 1, SPLICE_F_NONBLOCK);
		break;
	case 1:
		(void)!read(f->pipes[0], bytes, sizeof(bytes));
		break;
	case 2:
		(void)!read(f->pipes[0], page.iov_base, PAGE);
		break;
	case 3:
		(void)!write(f->pipes[1], page.iov_base, PAGE);
		break;
	case 4:
		*(volatile uint64_t *)page.iov_base = f->state;
		break;
	default:
		*(volatile uint64_t *)page.iov_base;
		break;
	}
}

/* Its own views in other forms, that are as good afterwards. */
static void reshape(struct fuzzer *f)
{
	unsigned int i = some_view(f);

	if (!f->views[i].at)
		return;
	switch (draw(&f->state, 4)) {
	case 0:
		mprotect(f->views[i].at, PAGE, PROT_NONE);
		mprotect(f->views[i].at, PAGE, PROT_READ | PROT_WRITE);
		break;
	case 1:
		madvise(f->views[i].at, f->views[i].bytes, (int)draw(&f->state, 26));
		break;
	case 2:
		move_view(f, i);
		break;
	default:
		drop_view(f, i);
		break;
	}
}

static bool open_all(struct fuzzer *self)
{
	struct annex_ioc_info info = {.size = sizeof(info), .abi = ANNEX_ABI};

	memset((void *)files, 0xff, sizeof(files));
	memset((void *)bufs, 0xff, sizeof(bufs));
	nvme_fd = get_file(nvme, O_RDWR, 30);
	if (nvme_fd < 0 || ioctl(nvme_fd, ANNEX_IOC_INFO, &info))
		return false;
	for (unsigned int i = 0; i < 2 * FILES; i++)
		open_file(self, 30);
	return true;
}

static int owner(uint64_t seed)
{
	static const struct action table[] = {
		{30, do_open},  {70, do_range}, {60, do_dmabuf}, {50, do_piece}, {30, do_poison},
		{20, do_clear}, {50, do_small}, {110, do_nvme},  {150, do_mmap}, {390, touch},
		{55, reshape},  {5, do_fork},   {0, NULL}};
	struct fuzzer self = {.state = seed};
	uint64_t way = draw(&self.state, 3);

	signal(SIGCHLD, SIG_IGN);
	signal(SIGBUS, on_bus);
	if (!open_all(&self))
		return 2;
	deadline = now() + 0.5 + (double)draw(&self.state, 1000) / 1000;
	for (unsigned int i = 0; i < THREADS; i++) {
		fuzzers[i].state = draw(&self.state, ~0ull);
		if (pipe2(fuzzers[i].pipes, O_NONBLOCK | O_CLOEXEC))
			return 3;
	}
	start_fuzzers(table);
	end_fuzzers(way == 0, draw(&self.state, 500));
	if (way == 1)
		raise(SIGKILL);
	_exit(0);
}

int main(int argc, char **argv)
{
	static const struct depth depths[] = {{"range", _IOC_NR(ANNEX_IOC_HDM_RANGE), 100, 10},
					      {"dma-buf", _IOC_NR(ANNEX_IOC_HDM_DMABUF), 50, 2},
					      {"piece", _IOC_NR(ANNEX_IOC_HDM_PIECE), 30, 1},
					      {"poison", _IOC_NR(ANNEX_IOC_HDM_POISON), 30, 1},
					      {"map", _IOC_NR(ANNEX_IOC_MAP), 100, 3},
					      {NULL}};
	char *save, *word;

	if (argc < 4)
		return 3;
	for (word = strtok_r(argv[1], ",", &save); word && naddresses < ANNEX_HDM_MEMBERS;
	     word = strtok_r(NULL, ",", &save))
		addresses[naddresses++] = word;
	nvme = argv[2];
	return owners(argv[3], argc > 4 ? argv[4] : NULL, owner, depths);
}
