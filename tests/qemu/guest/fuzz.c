// SPDX-License-Identifier: MIT
/*
 * Random calls and mappings of a controller's file, for fuzz.sh:
 *
 *   fuzz ADDRESS SECONDS [SEED]
 *
 * One owner after the other, for about a second each: threads that make random calls
 * and mappings, ring all doorbells, write commands into queues, and fork; each ends in another way.
 * The exit status is 0 when none of them was stuck or died of data in its mappings. The
 * controller may be taken away and given back meanwhile.
 */
#define _GNU_SOURCE
#include <linux/udmabuf.h>
#include <sys/eventfd.h>
#include "fuzz.h"

#define REGION (64 * PAGE) /* memory of a thread that it may map */
#define KNOWN 16u          /* mappings that are remembered */
#define BUFS 2u
#define NEAR 32u /* pages from a mapping, where the module's own are: see hostile.c */
#define ADMIN_RUNG (TALLIES - 1) /* in the place of a call */
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

static const char *address;
static struct annex_ioc_info info;
static int fd;
static int bufs[BUFS];
/* Guesses, not to be relied on: others change them at any time. */
static volatile uint32_t known[KNOWN];
static volatile uint64_t known_addr[KNOWN];

static uint32_t some_id(struct fuzzer *f)
{
	return (uint32_t)maybe(&f->state, known[draw(&f->state, KNOWN)]);
}

/* An address in a command: of a known mapping, anything, or perhaps of the module's own pages. */
static uint64_t some_addr(struct fuzzer *f)
{
	uint64_t at = known_addr[draw(&f->state, KNOWN)];

	if (rarely(&f->state, 6))
		return at + draw(&f->state, 2 * NEAR) * PAGE - NEAR * PAGE;
	return maybe(&f->state, at);
}

static char *some_memory(struct fuzzer *f)
{
	return fuzzers[draw(&f->state, THREADS)].region + draw(&f->state, REGION / PAGE) * PAGE;
}

static void do_map(struct fuzzer *f)
{
	unsigned int slot = (unsigned int)draw(&f->state, KNOWN);
	struct annex_ioc_map args = {.size = size_of(f, ANNEX_IOC_MAP),
				     .kind = (uint32_t)maybe(&f->state, draw(&f->state, 4)),
				     .bytes = maybe(&f->state, (1 + draw(&f->state, 8)) * PAGE),
				     .segs = maybe(&f->state, (uintptr_t)f->segs),
				     .nsegs = (uint32_t)maybe(&f->state, 64),
				     .rsvd = (uint32_t)maybe(&f->state, 0)};

	args.addr = maybe(&f->state, args.kind == ANNEX_MAP_USER ? (uintptr_t)some_memory(f) : 0);
	args.offset = maybe(&f->state,
			    args.kind == ANNEX_MAP_DMABUF ? draw(&f->state, 16) * PAGE : 0);
	args.fd = (int)maybe(&f->state, args.kind == ANNEX_MAP_DMABUF
						? (uint64_t)bufs[draw(&f->state, BUFS)]
						: UINT32_MAX);
	/* No segments at an address that happens to be good. */
	if (args.nsegs > 64)
		args.segs = (uintptr_t)f->segs * (args.segs == (uintptr_t)f->segs ? 0 : 1);
	if (!call(f, fd, ANNEX_IOC_MAP, &args)) {
		known[slot] = args.id;
		known_addr[slot] = f->segs[0].addr;
	}
}

static void do_unmap(struct fuzzer *f)
{
	struct annex_ioc_unmap args = {.size = size_of(f, ANNEX_IOC_UNMAP), .id = some_id(f)};

	call(f, fd, ANNEX_IOC_UNMAP, &args);
}

static void do_export(struct fuzzer *f)
{
	struct annex_ioc_dmabuf args = {.size = size_of(f, ANNEX_IOC_DMABUF),
					.offset = maybe(&f->state, draw(&f->state, 2) * PAGE),
					.bytes = maybe(&f->state, PAGE)};
	struct annex_ioc_map again = {.size = sizeof(again), .kind = ANNEX_MAP_DMABUF};

	args.offset += ANNEX_MMAP_NEW(some_id(f));
	if (call(f, fd, ANNEX_IOC_DMABUF, &args))
		return;
	again.bytes = PAGE;
	again.fd = args.fd;
	call(f, fd, ANNEX_IOC_MAP, &again);
	close(args.fd);
}

static void do_queue(struct fuzzer *f)
{
	struct annex_ioc_queue args = {
		.size = size_of(f, ANNEX_IOC_QUEUE_CREATE),
		.qid = (uint32_t)maybe(&f->state, 1 + draw(&f->state, 24)),
		.depth = (uint32_t)maybe(&f->state, 2 + draw(&f->state, 63)),
		.sq_map = some_id(f),
		.cq_map = some_id(f),
		.sq_offset = maybe(&f->state, draw(&f->state, 2) * PAGE),
		.cq_offset = maybe(&f->state, draw(&f->state, 4) * PAGE),
		.eventfd = -1,
		.rsvd = (uint32_t)maybe(&f->state, 0),
	};
	int event = rarely(&f->state, 4) ? eventfd(0, EFD_CLOEXEC) : -1;

	args.eventfd = (int)maybe(&f->state, (uint32_t)event);
	call(f, fd, ANNEX_IOC_QUEUE_CREATE, &args);
	if (event >= 0)
		close(event);
}

static void do_qid(struct fuzzer *f)
{
	struct annex_ioc_qid qid = {.size = size_of(f, ANNEX_IOC_QUEUE_DELETE),
				    .qid = (uint32_t)maybe(&f->state, 1 + draw(&f->state, 8))};
	struct annex_ioc_abort abort = {.size = size_of(f, ANNEX_IOC_ABORT),
					.qid = qid.qid,
					.cid = (uint32_t)maybe(&f->state, draw(&f->state, 64))};

	if (rarely(&f->state, 3))
		call(f, fd, ANNEX_IOC_ABORT, &abort);
	else
		call(f, fd, ANNEX_IOC_QUEUE_DELETE, &qid);
}

static void do_small(struct fuzzer *f)
{
	struct annex_ioc_info again = {.size = size_of(f, ANNEX_IOC_INFO),
				       .abi = (uint32_t)maybe(&f->state, ANNEX_ABI)};
	struct annex_ioc_state state = {.size = size_of(f, ANNEX_IOC_STATE)};
	struct annex_ioc_identify identify = {.size = size_of(f, ANNEX_IOC_IDENTIFY),
					      .cns = (uint32_t)maybe(&f->state, draw(&f->state, 3)),
					      .nsid = (uint32_t)maybe(&f->state, 1)};
	static __thread char page[PAGE];
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint32_t any[1024 / 4];

	identify.data = rarely(&f->state, 10) ? 0 : (uintptr_t)page;
	switch (draw(&f->state, 5)) {
	case 0:
		call(f, fd, ANNEX_IOC_INFO, &again);
		break;
	case 1:
		call(f, fd, ANNEX_IOC_STATE, &state);
		break;
	case 2:
		call(f, fd, ANNEX_IOC_IDENTIFY, &identify);
		break;
	case 3:
		poll(&p, 1, 0);
		break;
	default:
		/* Zeroes, or the kernel would write to where numbers point. */
		memset(any, 0, sizeof(any));
		any[0] = (uint32_t)odd(&f->state);
		call(f, fd,
		     _IOC(draw(&f->state, 4), ANNEX_IOC_TYPE, draw(&f->state, 12),
			  draw(&f->state, 200)),
		     any);
		break;
	}
}

/* What a queue may find in its memory. Without an IOMMU it is left as it is: flushes. */
static void scribble(struct fuzzer *f, char *at)
{
	static const uint8_t opcodes[] = {0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0c, 0x19};
	uint32_t cmd[16] = {0};
	uint64_t prp;

	if (!(info.flags & ANNEX_INFO_IOMMU))
		return;
	for (unsigned int i = 0; i < 8; i++) {
		cmd[0] = opcodes[draw(&f->state, sizeof(opcodes))] | (uint32_t)draw(&f->state, 64)
									     << 16;
		cmd[1] = (uint32_t)maybe(&f->state, 1);
		prp = some_addr(f);
		memcpy(&cmd[6], &prp, 8);
		prp = some_addr(f);
		memcpy(&cmd[8], &prp, 8);
		cmd[10] = (uint32_t)maybe(&f->state, draw(&f->state, 1000));
		cmd[12] = (uint32_t)draw(&f->state, 64);
		memcpy(at + i * 64, cmd, 64);
	}
}

static void ring(struct fuzzer *f, char *doors)
{
	/*
	 * The first two are the admin queue's. A wrong head (the second) may leave no room for
	 * completions, which costs the module's five seconds.
	 */
	uint64_t word = rarely(&f->state, 20) ? rarely(&f->state, 20) : 2 + draw(&f->state, 16);

	*(volatile uint32_t *)(doors + word * 4) = (uint32_t)maybe(&f->state, draw(&f->state, 64));
	if (word < 2)
		count_call(ADMIN_RUNG, 0);
}

static void touch(struct fuzzer *f)
{
	unsigned int i = some_view(f);
	char *at = f->views[i].at;

	if (!at) {
		scribble(f, f->region + draw(&f->state, REGION / PAGE) * PAGE);
	} else if (f->views[i].offset < ANNEX_MMAP_SHADOW) {
		ring(f, at);
	} else if (f->views[i].offset < ANNEX_MMAP_NEW(0)) {
		*(volatile uint32_t *)(at + draw(&f->state, 1024) * 4) =
			(uint32_t)maybe(&f->state, draw(&f->state, 64));
	} else {
		*(volatile char *)at;
		scribble(f, at + draw(&f->state, f->views[i].bytes / PAGE) * PAGE);
	}
}

static void do_mmap(struct fuzzer *f)
{
	const uint64_t offsets[] = {ANNEX_MMAP_DOORBELLS, ANNEX_MMAP_SHADOW, ANNEX_MMAP_EVENTIDX,
				    ANNEX_MMAP_NEW(some_id(f)), ANNEX_MMAP_NEW(some_id(f))};
	unsigned int i = some_view(f);
	uint64_t offset = maybe(&f->state, offsets[draw(&f->state, 5)]) & ~(PAGE - 1);
	size_t bytes = (size_t)maybe(&f->state, (1 + draw(&f->state, 8)) * PAGE);

	if (offset < ANNEX_MMAP_NEW(0))
		bytes = maybe(&f->state, PAGE);
	/* Later touched as a whole, so not larger than a touch. */
	map_view(f, i, fd, offset, bytes, 1 << 20, PROT_READ | PROT_WRITE);
}

/* Its own memory and views in other forms, that are as good afterwards. */
static void reshape(struct fuzzer *f)
{
	char *page = f->region + draw(&f->state, REGION / PAGE) * PAGE;
	unsigned int i = some_view(f);
	int advice;

	switch (draw(&f->state, 6)) {
	case 0:
		(void)mmap(page, PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 1:
		mprotect(page, PAGE, PROT_READ);
		sched_yield();
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		break;
	case 2:
		madvise(page, PAGE, MADV_DONTNEED);
		break;
	case 3:
		advice = (int)draw(&f->state, 26);
		/* These lose host memory from sight, for good. */
		if (f->views[i].at && advice != MADV_DONTNEED && advice != MADV_DONTNEED_LOCKED)
			madvise(f->views[i].at, f->views[i].bytes, advice);
		break;
	case 4:
		move_view(f, i);
		break;
	default:
		drop_view(f, i);
		break;
	}
}

static void do_reset(struct fuzzer *f)
{
	call(f, fd, ANNEX_IOC_RESET, NULL);
}

static void make_bufs(void)
{
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	for (unsigned int i = 0; i < BUFS; i++) {
		int memfd = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);
		struct udmabuf_create create = {.memfd = (uint32_t)memfd, .size = 16 * PAGE};

		if (memfd < 0 || ftruncate(memfd, 16 * PAGE) ||
		    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
			exit(3);
		bufs[i] = ioctl(dev, UDMABUF_CREATE, &create);
		close(memfd);
	}
	close(dev);
}

/* An owner's life. Without an IOMMU, left-over data in controller memory could be commands. */
static int owner(uint64_t seed)
{
	static const struct action table[] = {{200, do_map}, {120, do_unmap}, {130, do_queue},
					      {70, do_qid},  {80, do_small},  {100, do_mmap},
					      {230, touch},  {55, reshape},   {20, do_export},
					      {5, do_fork},  {3, do_reset},   {0, NULL}};
	struct fuzzer self = {.state = seed};
	uint64_t way = draw(&self.state, 4);

	signal(SIGCHLD, SIG_IGN);
	make_bufs();
	fd = get_file(address, rarely(&self.state, 8) ? O_RDONLY : O_RDWR, 30);
	if (fd < 0)
		return 2;
	info = (struct annex_ioc_info){.size = sizeof(info), .abi = ANNEX_ABI};
	if (!rarely(&self.state, 10))
		ioctl(fd, ANNEX_IOC_INFO, &info);
	deadline = now() + 0.2 + (double)draw(&self.state, 1000) / 1000;
	for (unsigned int i = 0; i < THREADS; i++) {
		fuzzers[i].state = draw(&self.state, ~0ull);
		fuzzers[i].region = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	start_fuzzers(table);
	if (way == 1)
		close(dup(fd));
	end_fuzzers(way == 0, draw(&self.state, 300));
	if (way == 2)
		close(fd); /* views keep it */
	if (way == 3)
		raise(SIGKILL);
	_exit(0);
}

int main(int argc, char **argv)
{
	static const struct depth depths[] = {{"map", _IOC_NR(ANNEX_IOC_MAP), 300, 30},
					      {"unmap", _IOC_NR(ANNEX_IOC_UNMAP), 100, 10},
					      {"queue", _IOC_NR(ANNEX_IOC_QUEUE_CREATE), 100, 10},
					      {"identify", _IOC_NR(ANNEX_IOC_IDENTIFY), 20, 6},
					      {"rung admin doorbells", ADMIN_RUNG, 10, 10},
					      {NULL}};

	if (argc < 3)
		return 3;
	address = argv[1];
	return owners(argv[2], argc > 3 ? argv[3] : NULL, owner, depths);
}
