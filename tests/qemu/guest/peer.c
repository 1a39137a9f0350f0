// SPDX-License-Identifier: MIT
/*
 * Controller memory of one controller as a dma-buf, into which another one reads, for peer.sh:
 *
 *   peer EXPORTER IMPORTER data      data goes both ways, and wrong calls are refused
 *   peer EXPORTER IMPORTER refused   there is no peer-to-peer DMA here
 *   peer EXPORTER IMPORTER close     the exporter's file is closed while the importer has it mapped
 *   peer EXPORTER IMPORTER fail      say "ready"; the importer does not come back from a reset
 *   peer EXPORTER IMPORTER end       say "ready"; the dma-buf ends when the script ends something
 *
 * Both are bound, at addresses as in /dev/annex. Claims go to file 3.
 */
#define _GNU_SOURCE
#include <time.h>
#include "ioctl.h"

#define QID 1u
#define DEPTH 16u
#define TIMEOUT_S 20
#define BLOCK 512u
#define BYTES (2 * PAGE) /* of a transfer */
#define LBA_FROM 100u
#define LBA_TO 200u
#define CMB_PAGES 4u /* the middle two are exported */

enum { SQ, CQ, BUF, BUF_END, PAGES }; /* pages of host memory */
enum { WRITE = 1, READ = 2 };

struct cqe {
	uint32_t result, rsvd;
	uint16_t sq_head, sq_id, cid, status;
};

/* struct side - A controller and its owner. */
static struct side {
	char path[64];
	int fd;
	uint32_t flags, stride;
	char *host;
	uint64_t host_at;
	uint32_t rings;
	volatile uint32_t *doors, *shadow;
	uint32_t tail, head, phase;
} a, b;

static uint32_t cmb; /* the exporter's mapping, at mem */
static uint64_t cmb_at;

__attribute__((noreturn)) static void broken(const char *words)
{
	dprintf(3, "not ok the test: %s (%s)\n", words, strerror(errno));
	exit(3);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *see(size_t bytes, uint64_t offset)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED)
		broken("mmap");
	return at;
}

/* Calls of ioctl.h are made on this side's file. */
static void on(const struct side *s)
{
	fd = s->fd;
	rings = s->rings;
}

/* A queue pair anew: none survives a reset. */
static long make_queue(struct side *s)
{
	struct annex_ioc_queue args = queue(QID);

	on(s);
	args.sq_map = args.cq_map = s->rings;
	args.depth = DEPTH;
	args.sq_offset = SQ * PAGE;
	args.cq_offset = CQ * PAGE;
	memset(s->host, 0, 2 * PAGE);
	s->tail = s->head = 0;
	s->phase = 1;
	return call(ANNEX_IOC_QUEUE_CREATE, &args);
}

static void open_side(struct side *s)
{
	struct annex_ioc_map args = fresh(ANNEX_MAP_HOST, PAGES * PAGE);

	info = (struct annex_ioc_info){.size = sizeof(info), .abi = ANNEX_ABI};
	s->fd = fd = open(s->path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || call(ANNEX_IOC_INFO, &info))
		broken(s->path);
	s->stride = 1u << (info.cap >> 32 & 15);
	if (call(ANNEX_IOC_MAP, &args))
		broken("host memory");
	s->rings = args.id;
	s->host_at = segs[0].addr;
	s->host = see(PAGES * PAGE, ANNEX_MMAP_NEW(args.id));
	s->doors = see(info.doorbells, ANNEX_MMAP_DOORBELLS);
	s->shadow = has(ANNEX_INFO_SHADOW) ? see(PAGE, ANNEX_MMAP_SHADOW) : NULL;
	if (make_queue(s))
		broken("a queue pair");
}

static void ring(struct side *s, uint32_t word, uint32_t value)
{
	if (s->shadow)
		__atomic_store_n(s->shadow + word * s->stride, value, __ATOMIC_SEQ_CST);
	__atomic_store_n(s->doors + word * s->stride, value, __ATOMIC_SEQ_CST);
}

/* A command for two pages at an address, to its end: its status. */
static long io(struct side *s, uint32_t opcode, uint32_t lba, uint64_t at)
{
	volatile struct cqe *cqe = (volatile struct cqe *)(s->host + CQ * PAGE) + s->head;
	double end = now() + TIMEOUT_S;
	uint64_t second = at + PAGE;
	uint32_t cmd[16] = {opcode,
			    1,
			    [6] = (uint32_t)at,
			    (uint32_t)(at >> 32),
			    (uint32_t)second,
			    (uint32_t)(second >> 32),
			    lba,
			    [12] = BYTES / BLOCK - 1};

	memcpy(s->host + SQ * PAGE + 64 * s->tail, cmd, sizeof(cmd));
	s->tail = (s->tail + 1) % DEPTH;
	ring(s, 2 * QID, s->tail);
	/* Its phase is read before the rest of the entry, which is not needed. */
	while ((__atomic_load_n(&cqe->status, __ATOMIC_ACQUIRE) & 1u) != s->phase)
		if (now() > end)
			return -ETIMEDOUT;
	s->head = (s->head + 1) % DEPTH;
	s->phase ^= !s->head;
	ring(s, 2 * QID + 1, s->head);
	return cqe->status >> 1 & 0x7ff;
}

static uint64_t buf(const struct side *s)
{
	return s->host_at + BUF * PAGE;
}

static void fill(volatile char *at, uint32_t seed)
{
	for (uint32_t i = 0; i < BYTES / 4; i++)
		((volatile uint32_t *)at)[i] = seed + i * 2654435761u;
}

static bool filled(const volatile char *at, uint32_t seed)
{
	for (uint32_t i = 0; i < BYTES / 4; i++)
		if (((const volatile uint32_t *)at)[i] != seed + i * 2654435761u)
			return false;
	return true;
}

static uint32_t resets(const struct side *s)
{
	struct annex_ioc_state state = {.size = sizeof(state)};

	on(s);
	if (call(ANNEX_IOC_STATE, &state))
		broken("state");
	return state.resets;
}

static void make_cmb(void)
{
	struct annex_ioc_map args = fresh(ANNEX_MAP_CMB, CMB_PAGES * PAGE);

	on(&a);
	if (call(ANNEX_IOC_MAP, &args))
		broken("controller memory");
	cmb = args.id;
	cmb_at = segs[0].addr;
	mem = see(CMB_PAGES * PAGE, ANNEX_MMAP_NEW(cmb));
}

static int export(void)
{
	int got;

	on(&a);
	got = try_export(cmb, PAGE, BYTES);
	if (!expect(1, got >= 0, "controller memory is exported"))
		exit(1);
	return got;
}

/* The importer's mapping of it, and its address. */
static long import(int dmabuf_fd, uint32_t *id, uint64_t *at)
{
	long err;

	on(&b);
	err = map(dmabuf(dmabuf_fd, 0, BYTES), id);
	*at = segs[0].addr;
	return err;
}

static void refusals(int dmabuf_fd)
{
	on(&a);
	no_map(-EOPNOTSUPP, dmabuf(dmabuf_fd, 0, BYTES), "its own memory, as a dma-buf");
	expect(1, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dmabuf_fd, 0) == MAP_FAILED,
	       "programs cannot map the dma-buf");
}

/* From the importer's disk into the memory, from there to the exporter's disk, and back. */
static void transfer(uint64_t at)
{
	fill(mem, 7);
	fill(mem + BYTES, 7);
	fill(b.host + BUF * PAGE, 1);
	expect(0, io(&b, WRITE, LBA_FROM, buf(&b)), "the importer's disk has data");
	expect(0, io(&b, READ, LBA_FROM, at), "the importer reads it into the dma-buf");
	expect(1, filled(mem + PAGE, 1), "the exporter sees it");
	expect(0, io(&a, WRITE, LBA_TO, cmb_at + PAGE), "the exporter writes it to its disk");
	expect(0, io(&a, READ, LBA_TO, buf(&a)), "and reads it");
	expect(1, filled(a.host + BUF * PAGE, 1), "it is the same");
	fill(mem + PAGE, 2);
	expect(0, io(&b, WRITE, LBA_FROM, at), "the importer writes other data from the dma-buf");
	expect(0, io(&b, READ, LBA_FROM, buf(&b)), "and reads it");
	expect(1, filled(b.host + BUF * PAGE, 2), "it is the exporter's");
}

/* Outside of the dma-buf nothing changes. */
static void guards(uint64_t at)
{
	memset(mem, 0x55, CMB_PAGES * PAGE);
	fill(b.host + BUF * PAGE, 3);
	io(&b, WRITE, LBA_FROM, buf(&b));
	expect(0, io(&b, READ, LBA_FROM, at), "the importer reads once more");
	expect(1, filled(mem + PAGE, 3), "into the pages of the dma-buf");
	expect(0x55, mem[PAGE - 1], "not before it");
	expect(0x55, mem[PAGE + BYTES], "nor behind it");
}

static bool within(double seconds, bool (*what)(void))
{
	double end = now() + seconds;

	while (!what())
		if (now() > end)
			return false;
	return true;
}

static bool unmapped(void)
{
	on(&a);
	return !unmap(cmb);
}

static uint32_t b_resets;

static bool revoked(void)
{
	return resets(&b) > b_resets;
}

/* The importer has lost the memory, and is as good as before. */
static void lost(int dmabuf_fd, uint32_t id)
{
	uint32_t again;
	uint64_t at;

	expect(1, within(TIMEOUT_S, revoked), "the importer is reset");
	expect(-ENODEV, import(dmabuf_fd, &again, &at), "it cannot import the dma-buf again");
	expect(0, unmap(id), "its mapping is removed");
	expect(0, make_queue(&b), "it has a queue pair again");
	fill(b.host + BUF * PAGE, 4);
	expect(0, io(&b, WRITE, LBA_FROM, buf(&b)), "and writes");
}

static void data(void)
{
	int buf_fd = export();
	uint32_t id, second, resets_before;
	uint64_t at, at_second;

	refusals(buf_fd);
	expect(0, import(buf_fd, &id, &at), "the importer maps it");
	expect(0, import(buf_fd, &second, &at_second), "twice");
	/* Without an IOMMU nothing is unmapped while there are queue pairs. */
	expect(0, destroy(QID), "its queue pair ends");
	expect(0, unmap(second), "it unmaps one");
	expect(0, make_queue(&b), "it has a queue pair again");
	transfer(at);
	guards(at);
	resets_before = b_resets = resets(&b);
	on(&a);
	expect(0, destroy(QID), "the exporter's queue pair ends");
	expect(-EBUSY, unmap(cmb), "unmap: controller memory that another controller has mapped");
	expect(1, within(TIMEOUT_S, unmapped), "unmap: soon after that");
	lost(buf_fd, id);
	expect(resets_before + 1, resets(&b), "it was reset once");
	close(buf_fd);
	make_cmb();
	buf_fd = export();
	on(&a);
	expect(0, unmap(cmb), "unmap: controller memory whose dma-buf nothing has mapped");
	expect(-ENODEV, import(buf_fd, &id, &at), "whose dma-buf has ended, too");
	close(buf_fd);
}

/* A kernel or a machine without it. */
static void refused(void)
{
	int buf_fd;
	uint32_t id;
	uint64_t at;

	on(&a);
	buf_fd = try_export(cmb, 0, BYTES);
	if (buf_fd >= 0)
		expect(-EOPNOTSUPP, import(buf_fd, &id, &at), "the importer is refused");
	else
		expect(-EOPNOTSUPP, buf_fd, "the export is refused");
}

/* The views keep the file. */
static void reopen_exporter(void)
{
	munmap(mem, CMB_PAGES * PAGE);
	munmap(a.host, PAGES * PAGE);
	munmap((void *)a.doors, info.doorbells);
	if (a.shadow)
		munmap((void *)a.shadow, PAGE);
	close(a.fd);
	open_side(&a);
	expect(1, a.fd >= 0, "the exporter has the next owner at once");
}

/*
 * The importer maps a dma-buf and reads into it, to the end of the command: a reset of a controller
 * that transfers to another one crashes QEMU.
 */
static bool read_into(int buf_fd, uint32_t *id)
{
	uint64_t at;

	if (!expect(0, import(buf_fd, id, &at), "the importer maps it"))
		return false;
	expect(0, io(&b, READ, LBA_FROM, at), "and reads into it");
	b_resets = resets(&b);
	return true;
}

static void closing(void)
{
	int buf_fd = export();
	uint32_t id;

	if (!read_into(buf_fd, &id))
		return;
	reopen_exporter();
	lost(buf_fd, id);
	make_cmb();
	expect(0, mem[PAGE], "which finds the memory cleared");
	close(buf_fd);
}

static void ending(void)
{
	int buf_fd = export();
	uint32_t id;

	if (!read_into(buf_fd, &id))
		return;
	puts("ready");
	fflush(stdout);
	lost(buf_fd, id);
	close(buf_fd);
	puts("ended");
}

static bool failed(void)
{
	on(&b);
	return call(ANNEX_IOC_RESET, NULL) == -ENODEV;
}

static void failing(void)
{
	int buf_fd = export();
	uint32_t id;
	uint64_t at;

	if (!expect(0, import(buf_fd, &id, &at), "the importer maps it"))
		return;
	puts("ready");
	fflush(stdout);
	expect(1, within(TIMEOUT_S, failed), "the importer fails");
	reopen_exporter();
	close(buf_fd);
	puts("ended");
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 3;
	snprintf(a.path, sizeof(a.path), "/dev/annex/%s", argv[1]);
	snprintf(b.path, sizeof(b.path), "/dev/annex/%s", argv[2]);
	open_side(&b);
	open_side(&a);
	make_cmb();
	if (!strcmp(argv[3], "data"))
		data();
	else if (!strcmp(argv[3], "close"))
		closing();
	else if (!strcmp(argv[3], "end"))
		ending();
	else if (!strcmp(argv[3], "fail"))
		failing();
	else
		refused();
	return failures ? 1 : 0;
}
