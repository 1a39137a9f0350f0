// SPDX-License-Identifier: MIT
/*
 * Every call of annex.ko with every field out of range, for ioctl.sh:
 *
 *   ioctl ADDRESS [FILE]      the controller; a file of 16 KiB and more that is written back
 */
#define _GNU_SOURCE
#include <uapi/annex_hdm.h>
#include "ioctl.h"

static const struct {
	const char *name;
	unsigned long request;
} calls[] = {
	{"info", ANNEX_IOC_INFO},
	{"identify", ANNEX_IOC_IDENTIFY},
	{"map", ANNEX_IOC_MAP},
	{"unmap", ANNEX_IOC_UNMAP},
	{"create", ANNEX_IOC_QUEUE_CREATE},
	{"delete", ANNEX_IOC_QUEUE_DELETE},
	{"abort", ANNEX_IOC_ABORT},
	{"state", ANNEX_IOC_STATE},
	{"dma-buf", ANNEX_IOC_DMABUF},
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static void before_info(void)
{
	uint32_t args[32];

	for (unsigned int i = 1; i < CALLS; i++) {
		memset(args, 0, sizeof(args));
		args[0] = _IOC_SIZE(calls[i].request);
		expect(-EPROTO, call(calls[i].request, args), "%s before info", calls[i].name);
	}
	expect(-EPROTO, call(ANNEX_IOC_RESET, NULL), "reset before info");
	expect(-EPROTO, try_mmap(PAGE, PROT_READ, MAP_SHARED, ANNEX_MMAP_DOORBELLS),
	       "mmap before info");
}

static void shake_hands(void)
{
	static const uint32_t others[] = {0, ANNEX_ABI + 1, UINT32_MAX};
	struct annex_ioc_state state = {.size = sizeof(state)};

	for (unsigned int i = 0; i < 3; i++) {
		info = (struct annex_ioc_info){.size = sizeof(info), .abi = others[i]};
		expect(-EPROTONOSUPPORT, call(ANNEX_IOC_INFO, &info), "version %u", others[i]);
		expect(ANNEX_ABI, info.abi, "and it says its own");
	}
	expect(-EPROTO, call(ANNEX_IOC_STATE, &state), "a call after other versions");
	info = (struct annex_ioc_info){.size = sizeof(info), .abi = ANNEX_ABI};
	expect(0, call(ANNEX_IOC_INFO, &info), "info");
	expect(1,
	       info.queues && info.max_depth >= 2 && info.doorbells && !info.rsvd &&
		       !(info.doorbells % PAGE) && info.size == sizeof(info),
	       "its answer is plausible");
	expect(0, call(ANNEX_IOC_STATE, &state), "state");
	expect(1, state.csts, "the controller is ready");
}

static unsigned long resized(unsigned long request, uint32_t bytes)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), bytes);
}

/* A program made for a newer module, which had added members at the end. */
static void newer(void)
{
	struct {
		struct annex_ioc_state known;
		uint64_t more[2];
	} args = {.known.size = sizeof(args)};

	expect(0, call(resized(ANNEX_IOC_STATE, sizeof(args)), &args), "a larger structure");
	expect(1, args.known.csts && !args.more[0] && !args.more[1],
	       "what the module knows is told, and the rest is zero");
	args.more[1] = 1;
	expect(-E2BIG, call(resized(ANNEX_IOC_STATE, sizeof(args)), &args),
	       "one with a member that the module does not know");
}

static void sizes(void)
{
	char *ro = pages(1, PROT_READ);

	for (unsigned int i = 0; i < CALLS; i++) {
		uint32_t size = _IOC_SIZE(calls[i].request);
		const uint32_t wrong[] = {0, size - 1, size + 1, UINT32_MAX};
		uint32_t args[32] = {0};

		for (unsigned int j = 0; j < 4; j++) {
			args[0] = wrong[j];
			expect(-EINVAL, call(calls[i].request, args), "%s: size %u", calls[i].name,
			       wrong[j]);
		}
		expect(-EFAULT, call(calls[i].request, NULL), "%s: no arguments", calls[i].name);
		expect(-EFAULT, call(calls[i].request, (void *)ALL_ONES), "%s: of the kernel's",
		       calls[i].name);
		expect(-EINVAL, call(calls[i].request, ro), "%s: zeroes", calls[i].name);
		args[0] = size - 4;
		expect(-EINVAL, call(resized(calls[i].request, size - 4), args),
		       "%s: shorter than ever", calls[i].name);
		args[0] = size + 8;
		args[size / 4 + 1] = 1;
		expect(-E2BIG, call(resized(calls[i].request, size + 8), args),
		       "%s: a member that the module does not know", calls[i].name);
	}
	expect(-ENOTTY, call(_IO(ANNEX_IOC_TYPE, 0x0c), NULL), "a call after the last");
	expect(-ENOTTY, call(ANNEX_IOC_HDM_INFO, mem), "a call of CXL memory");
	expect(-ENOTTY, call(_IO('A', 0x08), NULL), "a call of another's");
	expect(-ENOTTY, call(_IOC(_IOC_READ, ANNEX_IOC_TYPE, 0, sizeof(info)), mem),
	       "a call in one direction only");
	expect(-ENOTTY, call(resized(ANNEX_IOC_RESET, 8), mem), "arguments where there are none");
	munmap(ro, PAGE);
}

static long identify(uint32_t cns, uint32_t nsid, void *data, uint32_t *status)
{
	struct annex_ioc_identify args = {
		.size = sizeof(args), .cns = cns, .nsid = nsid, .data = (uintptr_t)data};
	long err = call(ANNEX_IOC_IDENTIFY, &args);

	*status = args.status;
	return err;
}

static void identifies(void)
{
	char *ro = pages(1, PROT_READ);
	uint32_t status;

	expect(0, identify(1, 0, mem, &status), "identify: the controller");
	expect(1, !memcmp(mem + 4, "annex", 5), "it says its serial number");
	expect(0, identify(0, 1, mem, &status), "identify: a namespace");
	expect(0, identify(2, 0, mem, &status), "identify: the list");
	expect(0, identify(3, 1, mem, &status), "identify: descriptors of a namespace");
	expect(-EINVAL, identify(4, 1, mem, &status), "identify: cns 4");
	expect(-EINVAL, identify(7, 1, mem, &status), "identify: cns 7");
	expect(-EINVAL, identify(UINT32_MAX, 1, mem, &status), "identify: cns beyond");
	expect(-EIO, identify(0, 0, mem, &status), "identify: namespace 0");
	expect(1, status != 0, "with a status");
	expect(-EIO, identify(0, UINT32_MAX, mem, &status), "identify: every namespace");
	expect(-EFAULT, identify(1, 0, NULL, &status), "identify: into nothing");
	expect(-EFAULT, identify(1, 0, ro, &status), "identify: into read-only memory");
	munmap(ro, PAGE);
}

static struct annex_ioc_log smart(void)
{
	return (struct annex_ioc_log){.size = sizeof(struct annex_ioc_log),
				      .lid = 2,
				      .nsid = UINT32_MAX,
				      .bytes = 512,
				      .data = (uintptr_t)mem};
}

static void no_log(long want, struct annex_ioc_log args, const char *words)
{
	expect(want, call(ANNEX_IOC_LOG, &args), "log: %s", words);
	expect(want == -EIO, args.status != 0, "log: %s: its status", words);
}

static void logs(void)
{
	struct annex_ioc_log a = smart();
	unsigned int taken = 0;
	char *ro = pages(1, PROT_READ);

	memset(mem, 0xee, PAGE);
	expect(0, call(ANNEX_IOC_LOG, &a), "log: SMART");
	expect(0x143, (unsigned char)mem[1] | mem[2] << 8, "log: the temperature, in kelvin");
	expect(0xee, (unsigned char)mem[512], "log: no more bytes than wanted");
	a.lid = 1;
	expect(0, call(ANNEX_IOC_LOG, &a), "log: errors");
	a.lid = 3;
	expect(0, call(ANNEX_IOC_LOG, &a), "log: firmware slots");
	a.lid = 5;
	a.bytes = 4096;
	expect(0, call(ANNEX_IOC_LOG, &a), "log: effects");
	a = smart();
	for (a.lid = 0; a.lid < 0x120; a.lid++)
		taken += (!a.lid || a.lid == 4 || a.lid > 5) && call(ANNEX_IOC_LOG, &a) != -EINVAL;
	expect(0, taken, "log: all other pages are refused");
	a = smart();
	a.bytes = 0;
	no_log(-EINVAL, a, "nothing");
	a.bytes = 4100;
	no_log(-EINVAL, a, "more than a page");
	a.bytes = 510;
	no_log(-EINVAL, a, "half a word");
	a = smart();
	a.offset = 2;
	no_log(-EINVAL, a, "from half a word");
	a.offset = 1ull << 40;
	no_log(-EIO, a, "from beyond its end");
	a = smart();
	a.rsvd = 1;
	no_log(-EINVAL, a, "a reserved field");
	a = smart();
	a.data = 0;
	no_log(-EFAULT, a, "into nothing");
	a.data = (uintptr_t)ro;
	no_log(-EFAULT, a, "into read-only memory");
	munmap(ro, PAGE);
}

static void features(void)
{
	struct annex_ioc_feature a = {.size = sizeof(a), .fid = 4};
	unsigned int taken = 0;

	expect(0, call(ANNEX_IOC_FEATURE, &a), "feature: temperature threshold");
	expect(true, a.value > 273, "feature: in kelvin");
	a.fid = 6;
	expect(0, call(ANNEX_IOC_FEATURE, &a), "feature: write cache");
	a.select = 3;
	expect(-EINVAL, call(ANNEX_IOC_FEATURE, &a), "feature: capabilities");
	a.select = 0;
	for (a.fid = 0; a.fid < 0x120; a.fid++)
		taken += a.fid != 2 && a.fid != 4 && a.fid != 6 &&
			 call(ANNEX_IOC_FEATURE, &a) != -EINVAL;
	expect(0, taken, "feature: all others are refused");
}

static void map_numbers(void)
{
	struct annex_ioc_map a = user(mem, PAGE);

	a.kind = 4;
	no_map(-EINVAL, a, "kind 4");
	a.kind = UINT32_MAX;
	no_map(-EINVAL, a, "kind beyond");
	a = user(mem, PAGE);
	a.rsvd = 1;
	no_map(-EINVAL, a, "a reserved field");
	no_map(-EINVAL, user(mem, 0), "nothing");
	no_map(-EINVAL, user(mem, 1), "a byte");
	no_map(-EINVAL, user(mem, PAGE + 512), "parts of pages");
	no_map(-EINVAL, user(mem, ANNEX_MAP_MAX + PAGE), "more than is allowed");
	no_map(-EINVAL, user(mem, ALL_ONES), "all addresses");
	no_map(-EINVAL, fresh(ANNEX_MAP_HOST, ANNEX_MAP_NEW_MAX + PAGE), "too much host memory");
	no_map(-EINVAL, fresh(ANNEX_MAP_CMB, ANNEX_MAP_NEW_MAX + PAGE), "too much of its own");
	no_map(-EINVAL, user(mem + 8, PAGE), "an unaligned address");
	no_map(-EINVAL, user((void *)ALL_ONES, 2 * PAGE), "an address that wraps");
	a = fresh(ANNEX_MAP_HOST, PAGE);
	a.addr = (uintptr_t)mem;
	no_map(-EINVAL, a, "host memory with an address");
	a = fresh(ANNEX_MAP_HOST, PAGE);
	a.offset = PAGE;
	no_map(-EINVAL, a, "host memory with an offset");
	a = user(mem, PAGE);
	a.fd = 0;
	no_map(-EINVAL, a, "memory with a descriptor");
	a.fd = -2;
	expect(0, map(a, &a.id), "map: any negative descriptor is none");
	expect(0, unmap(a.id), "unmap");
	no_map(-EINVAL, dmabuf(-1, 0, PAGE), "no dma-buf");
	no_map(-EBADF, dmabuf(INT32_MAX, 0, PAGE), "a descriptor that is not open");
	no_map(-EINVAL, dmabuf(fd, 0, PAGE), "a descriptor of something else");
}

static void map_memory(const char *file)
{
	char *ro = pages(2, PROT_READ), *hole = pages(2, PROT_READ | PROT_WRITE), *at;
	int f;

	no_map(-EFAULT, user(NULL, PAGE), "address 0");
	no_map(-EFAULT, user((void *)(1ull << 47), PAGE), "the first address that is none");
	no_map(-EFAULT, user((void *)0xffff888000000000ull, PAGE), "the kernel's memory");
	no_map(-EFAULT, user((void *)(ALL_ONES - PAGE), PAGE), "the last page but one");
	no_map(-EFAULT, user(ro, 2 * PAGE), "read-only memory");
	mprotect(ro, PAGE, PROT_NONE);
	no_map(-EFAULT, user(ro, PAGE), "memory that may not be touched");
	munmap(hole + PAGE, PAGE);
	no_map(-EFAULT, user(hole, 2 * PAGE), "memory with a hole");
	munmap(hole, PAGE);
	no_map(-EFAULT, user(hole, PAGE), "memory that is gone");
	munmap(ro, 2 * PAGE);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, ANNEX_MMAP_DOORBELLS);
	no_map(-EFAULT, user(at, PAGE), "doorbells");
	munmap(at, PAGE);
	if (!file)
		return;
	f = open(file, O_RDWR | O_CLOEXEC);
	at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	no_map(-EOPNOTSUPP, user(at, 4 * PAGE), "pages of a file that is written back");
	munmap(at, 4 * PAGE);
	at = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, f, 0);
	no_map(-EFAULT, user(at, 4 * PAGE), "such pages, read-only");
	munmap(at, 4 * PAGE);
	close(f);
}

/* Where results go. */
static void map_results(void)
{
	struct annex_ioc_map a = user(mem, 4 * PAGE);
	char *ro = pages(1, PROT_READ);

	a.nsegs = 0;
	expect(-ENOSPC, call(ANNEX_IOC_MAP, &a), "map: no room for segments");
	expect(1, a.nsegs >= 1 && a.nsegs <= 4, "it says how many there are");
	if (has(ANNEX_INFO_IOMMU))
		expect(1, a.nsegs, "one behind an IOMMU");
	a = user(mem, PAGE);
	a.segs = 0;
	no_map(-EFAULT, a, "segments into nothing");
	a.segs = (uintptr_t)ro;
	no_map(-EFAULT, a, "segments into read-only memory");
	munmap(ro, PAGE);
}

static int make_udmabuf(uint64_t bytes)
{
	int memfd = memfd_create("ioctl", MFD_ALLOW_SEALING | MFD_CLOEXEC), dev, got;
	struct udmabuf_create create = {.memfd = (uint32_t)memfd, .size = bytes};

	if (ftruncate(memfd, (off_t)bytes) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		exit(3);
	dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	got = ioctl(dev, UDMABUF_CREATE, &create);
	if (got < 0)
		got = -errno;
	close(dev);
	close(memfd);
	return got;
}

/* The controller may write to all that is mapped. */
static void map_read_only(void)
{
	struct dma_heap_allocation_data heap = {.len = PAGE, .fd_flags = O_RDONLY | O_CLOEXEC};
	int dev = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);

	if (dev < 0)
		return; /* not in Debian's 6.1 */
	expect(0, ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &heap) ? -errno : 0,
	       "there is a read-only dma-buf");
	no_map(-EACCES, dmabuf((int)heap.fd, 0, PAGE), "a read-only dma-buf");
	close((int)heap.fd);
	close(dev);
}

static void map_dmabuf(void)
{
	int buf;
	uint32_t id, again;

	map_read_only();
	if (access("/dev/udmabuf", F_OK))
		return; /* not in Debian's 6.1 */
	buf = make_udmabuf(4 * PAGE);
	if (!expect(0, buf < 0 ? buf : 0, "there is a dma-buf"))
		return;
	no_map(-EINVAL, dmabuf(buf, 0, 5 * PAGE), "more than the dma-buf has");
	no_map(-EINVAL, dmabuf(buf, 4 * PAGE, PAGE), "behind the dma-buf");
	no_map(-EINVAL, dmabuf(buf, 3 * PAGE, 2 * PAGE), "across its end");
	no_map(-EINVAL, dmabuf(buf, 512, PAGE), "an unaligned offset");
	no_map(-EINVAL, dmabuf(buf, ALL_ONES, PAGE), "an offset that wraps");
	no_map(-EINVAL, dmabuf(buf, ALL_ONES - PAGE, PAGE), "an offset beyond");
	expect(0, map(dmabuf(buf, 3 * PAGE, PAGE), &id), "map: its last page");
	expect(0, map(dmabuf(buf, 0, 4 * PAGE), &again), "map: and all of it besides");
	close(buf);
	no_map(-EBADF, dmabuf(buf, 0, PAGE), "a dma-buf that was closed");
	expect(0, unmap(id), "unmap: a page of a dma-buf that was closed");
	expect(0, unmap(again), "unmap: the rest");
}

static void map_cmb(void)
{
	uint32_t ids[64], n = 0;
	long err = 0;

	if (!info.cmb_bytes) {
		no_map(-EOPNOTSUPP, fresh(ANNEX_MAP_CMB, PAGE),
		       "controller memory, of which is none");
		return;
	}
	while (n < 64 && !(err = map(fresh(ANNEX_MAP_CMB, ANNEX_MAP_NEW_MAX), &ids[n])))
		n++;
	expect(info.cmb_bytes / ANNEX_MAP_NEW_MAX, n, "map: all controller memory");
	expect(-ENOSPC, err, "map: more controller memory");
	while (n)
		err = unmap(ids[--n]);
	expect(0, err, "unmap: it");
}

/* The result of an export of good pages depends on the kernel: see peer.sh. */
static void exports(void)
{
	const uint64_t bytes = 4 * PAGE;
	uint32_t host, id;
	int got;

	expect(0, map(fresh(ANNEX_MAP_HOST, bytes), &host), "map: host memory");
	no_export(-ENOENT, 0, 0, PAGE, "of mapping 0");
	no_export(-ENOENT, 12345, 0, PAGE, "of no mapping");
	no_export(-ENOENT, UINT32_MAX, 0, PAGE, "of doorbells");
	no_export(-ENOENT, host, 0, PAGE, "of host memory");
	unmap(host);
	if (map(fresh(ANNEX_MAP_CMB, bytes), &id))
		return;
	no_export(-EINVAL, id, 0, 0, "of no bytes");
	no_export(-EINVAL, id, 0, PAGE + 512, "of a part of a page");
	no_export(-EINVAL, id, 512, PAGE, "from a part of a page");
	no_export(-EINVAL, id, 0, bytes + PAGE, "of more than the mapping has");
	no_export(-EINVAL, id, bytes, PAGE, "behind the mapping");
	no_export(-EINVAL, id, PAGE, bytes, "across its end");
	no_export(-EINVAL, id, PAGE, ALL_ONES, "that wraps");
	got = try_export(id, PAGE, PAGE);
	expect(1, got >= 0 || got == -EOPNOTSUPP, "dma-buf: of controller memory");
	expect(0, unmap(id), "unmap: controller memory");
	close(got);
}

static void unmaps(void)
{
	uint32_t id;

	expect(-ENOENT, unmap(0), "unmap: 0");
	expect(-ENOENT, unmap(12345), "unmap: what never was");
	expect(-ENOENT, unmap(UINT32_MAX), "unmap: beyond");
	expect(0, map(user(mem, PAGE), &id), "map: memory");
	expect(0, unmap(id), "unmap: it");
	expect(-ENOENT, unmap(id), "unmap: it again");
}

static void queue_numbers(void)
{
	static const struct {
		const char *words;
		uint64_t offset;
	} outside[] = {{"behind the mapping", RINGS},
		       {"beyond", ALL_ONES},
		       {"across its end", RINGS - PAGE},
		       {"that wraps", ALL_ONES - PAGE}};
	struct annex_ioc_queue q;
	const uint32_t qids[] = {0, info.queues + 1, 0x10001, UINT32_MAX};
	const uint32_t depths[] = {0, 1, info.max_depth + 1, 0x10002, UINT32_MAX};

	for (unsigned int i = 0; i < 4; i++)
		no_queue(-EINVAL, queue(qids[i]), i ? "an identifier beyond" : "identifier 0");
	for (unsigned int i = 0; i < 5; i++) {
		q = queue(1);
		q.depth = depths[i];
		no_queue(-EINVAL, q, i > 1 ? "too deep" : "too flat");
	}
	for (unsigned int i = 0; i < 4; i++) {
		q = queue(1);
		q.depth = 256;
		q.sq_offset = outside[i].offset;
		no_queue(-EINVAL, q, outside[i].words);
		q = queue(1);
		q.depth = 512;
		q.cq_offset = outside[i].offset;
		no_queue(-EINVAL, q, outside[i].words);
	}
	q = queue(1);
	q.rsvd = 1;
	no_queue(-EINVAL, q, "a reserved field");
	q = queue(1);
	q.sq_offset = 64;
	no_queue(-EINVAL, q, "an unaligned submission queue");
	q = queue(1);
	q.cq_offset = 2048;
	no_queue(-EINVAL, q, "an unaligned completion queue");
	q = queue(1);
	q.cq_offset = 0;
	no_queue(-EINVAL, q, "both in one place");
	q.depth = 128; /* 2 pages and half a page */
	q.cq_offset = PAGE;
	no_queue(-EINVAL, q, "one inside the other");
}

static void queue_places(void)
{
	const uint32_t none[] = {0, 12345, UINT32_MAX};
	struct annex_ioc_queue q;
	uint32_t cmb;

	for (unsigned int i = 0; i < 3; i++) {
		q = queue(1);
		q.sq_map = none[i];
		no_queue(-ENOENT, q, "a submission queue in no mapping");
		q = queue(1);
		q.cq_map = none[i];
		no_queue(-ENOENT, q, "a completion queue in no mapping");
	}
	if (map(fresh(ANNEX_MAP_CMB, 2 * PAGE), &cmb))
		return;
	q = queue(1);
	q.sq_map = cmb;
	no_queue(has(ANNEX_INFO_CMB_SQ) ? 0 : -EOPNOTSUPP, q, "a submission queue in its memory");
	q = queue(1);
	q.cq_map = cmb;
	q.cq_offset = PAGE;
	no_queue(has(ANNEX_INFO_CMB_CQ) ? 0 : -EOPNOTSUPP, q, "a completion queue in its memory");
	expect(0, unmap(cmb), "unmap: controller memory");
}

/* Queues in memory that is not in one piece for the controller. */
static void queue_pieces(void)
{
	struct annex_ioc_map a;
	struct annex_ioc_queue q;

	/* Touched from the end on, pages are seldom in a row. */
	for (unsigned int i = 16; i-- > 0;)
		mem[i * PAGE] = 1;
	a = user(mem, 16 * PAGE);
	if (!expect(0, call(ANNEX_IOC_MAP, &a), "map: sixteen pages"))
		return;
	q = queue(1);
	q.sq_map = a.id;
	q.depth = 1024;
	no_queue(a.nsegs > 1 ? -EOPNOTSUPP : 0, q,
		 a.nsegs > 1 ? "in pieces" : "in one piece of sixteen pages");
	expect(0, unmap(a.id), "unmap: them");
}

static void queue_events(void)
{
	struct annex_ioc_queue q = queue(1);
	int event = eventfd(0, EFD_CLOEXEC);

	q.eventfd = -2;
	no_queue(-EINVAL, q, "eventfd -2");
	q.eventfd = INT32_MAX;
	no_queue(info.vectors ? -EBADF : -EOPNOTSUPP, q, "an eventfd that is not open");
	q.eventfd = fd;
	no_queue(info.vectors ? -EINVAL : -EOPNOTSUPP, q, "an eventfd that is none");
	q.eventfd = event;
	no_queue(info.vectors ? 0 : -EOPNOTSUPP, q, "an eventfd");
	if (info.vectors < info.queues) {
		q.qid = info.queues;
		no_queue(-EOPNOTSUPP, q, "an eventfd without a vector");
	}
	close(event);
}

static long abort_one(uint32_t qid, uint32_t cid)
{
	struct annex_ioc_abort args = {.size = sizeof(args), .qid = qid, .cid = cid};
	long err = call(ANNEX_IOC_ABORT, &args);

	return err ? err : (long)args.aborted;
}

static void with_queues(void)
{
	struct annex_ioc_queue q = queue(1);
	uint32_t id;

	expect(0, map(user(mem, PAGE), &id), "map: memory besides");
	expect(0, call(ANNEX_IOC_QUEUE_CREATE, &q), "create: a queue pair");
	no_queue(-EEXIST, queue(1), "it again");
	q = queue(2);
	q.cq_offset = RINGS / 4;
	no_queue(-EINVAL, q, "another in its submission queue");
	q = queue(2);
	q.sq_offset = RINGS / 4;
	no_queue(-EINVAL, q, "another in its completion queue");
	q = queue(2);
	q.sq_offset = RINGS / 4;
	q.cq_offset = RINGS / 4 * 3;
	no_queue(info.queues < 2 ? -EINVAL : 0, q, "another beside it");
	expect(-EBUSY, unmap(rings), "unmap: what a queue lies in");
	expect(has(ANNEX_INFO_IOMMU) ? 0 : -EBUSY, unmap(id), "unmap: while there are queues");
	expect(-ENOENT, abort_one(0, 0), "abort: queue 0");
	expect(-ENOENT, abort_one(2, 0), "abort: a queue that is not there");
	expect(-ENOENT, abort_one(UINT32_MAX, 0), "abort: a queue beyond");
	expect(-EINVAL, abort_one(1, 0x10000), "abort: a command beyond");
	expect(0, abort_one(1, 5), "abort: no command");
	expect(-ENOENT, destroy(0), "delete: queue 0");
	expect(-ENOENT, destroy(2), "delete: a queue that is not there");
	expect(-ENOENT, destroy(0x10001), "delete: a queue beyond");
	expect(0, destroy(1), "delete: the queue pair");
	expect(-ENOENT, destroy(1), "delete: it again");
	if (!has(ANNEX_INFO_IOMMU))
		expect(0, unmap(id), "unmap: now");
}

static void queues(void)
{
	struct annex_ioc_queue q;

	if (!expect(0, map(fresh(ANNEX_MAP_HOST, RINGS), &rings), "map: memory for queues"))
		return;
	queue_numbers();
	queue_places();
	queue_pieces();
	queue_events();
	with_queues();
	q = queue(info.queues);
	q.depth = 2;
	no_queue(0, q, "the last, of two entries");
	q = queue(1);
	q.depth = info.max_depth;
	no_queue(0, q, "the deepest");
	expect(0, unmap(rings), "unmap: memory of queues");
}

static void file_calls(void)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
	char byte = 0;

	expect(1, poll(&p, 1, 0), "poll: calls reach the controller");
	expect(POLLOUT, p.revents, "poll: and nothing else");
	expect(-1, read(fd, &byte, 1), "it cannot be read");
	expect(-1, write(fd, &byte, 1), "nor written");
	expect(-1, lseek(fd, 0, SEEK_END), "nor sought");
	expect(-EBUSY, open_again(), "a second owner");
}

/* The file is the owner's; memory is charged to the process that maps. */
static int without_rights(void *arg)
{
	struct rlimit limit = {4 * PAGE, 4 * PAGE};
	uint32_t id, more;
	long got;

	(void)arg;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(65534) || setuid(65534))
		return 99;
	no_map(-ENOMEM, user(mem, 5 * PAGE), "more than RLIMIT_MEMLOCK");
	no_map(-ENOMEM, fresh(ANNEX_MAP_HOST, 5 * PAGE), "more host memory than that");
	expect(0, map(user(mem, 3 * PAGE), &id), "map: three pages");
	no_map(-ENOMEM, user(mem + 3 * PAGE, 2 * PAGE), "two more");
	expect(0, map(user(mem + 3 * PAGE, PAGE), &more), "map: one more");
	expect(0, unmap(id), "unmap: three pages");
	expect(0, map(fresh(ANNEX_MAP_HOST, 3 * PAGE), &id), "map: three of the host's");
	expect(0, unmap(id) | unmap(more), "unmap: all");
	got = open_again();
	expect(-EACCES, got, "it may not open the file");
	return (int)failures;
}

static int not_root(void *arg)
{
	(void)arg;
	if (setgid(65534) || setuid(65534))
		return 99;
	expect(has(ANNEX_INFO_IOMMU) ? 0 : -EPERM, open_again(), "an owner without rights");
	return (int)failures;
}

int main(int argc, char **argv)
{
	const char *file = argc > 2 ? argv[2] : NULL;

	if (argc < 2)
		return 3;
	snprintf(path, sizeof(path), "/dev/annex/%s", argv[1]);
	mem = pages(16, PROT_READ | PROT_WRITE);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (!expect(1, fd >= 0, "it opens"))
		return 1;
	before_info();
	shake_hands();
	sizes();
	newer();
	identifies();
	logs();
	features();
	map_numbers();
	map_memory(file);
	map_results();
	map_dmabuf();
	map_cmb();
	exports();
	unmaps();
	queues();
	file_calls();
	expect(0, in_child(without_rights, NULL), "all that in a child without rights");
	close(fd);
	chmod(path, 0666);
	expect(0, in_child(not_root, NULL), "and that");
	chmod(path, 0600);
	expect(0, open_again(), "it opens after it was closed");
	return failures ? 1 : 0;
}
