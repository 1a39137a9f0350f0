// SPDX-License-Identifier: MIT
/*
 * An owner without rights that tries to have its own admin commands executed, for hostile.sh:
 *
 *   hostile ADDRESS write   write to the module's admin queue, as to any address that is mapped
 *   hostile ADDRESS forge   forge a completion, as the first owner since the controller was bound
 *   hostile ADDRESS ring    ring the admin queue's doorbells
 *   hostile ADDRESS pin     pin more memory than RLIMIT_MEMLOCK, with the help of other processes
 *   hostile ADDRESS leave   leave something in controller memory
 *   hostile ADDRESS seek    look for what the last owner left there
 *   hostile ADDRESS read    change something with a file that was opened for reading
 *
 * Buffers and admin queue are in one IOMMU domain: a Write command from an address shows the data
 * there, a Read to it changes the data, where the controller may. Claims go to file 3.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <time.h>
#include "ioctl.h"

#define NOBODY 65534
#define BELOW 64u    /* pages below and above the owner's own, where the module's are */
#define SCANNED 128u /* altogether */
#define ADMIN_DEPTH 32u
#define REFUSED 0x03 /* what the module fills the entries with that it does not use */
#define QID 1u
#define HIDDEN 5u
#define DEPTH 16u
#define TIMEOUT_S 20
#define BLOCK 512u
#define LBA_SEEN 1000u
#define PIECE (1u << 20)
#define SECRET 0x7365637265740000ull
#define LBA_FORGED 2000u
#define LIE 0x2aau   /* a status that no command has */
#define LOST 0x1000  /* no status: the queue pair ended with a reset */
#define TRIES 8u     /* the module may look for events between a forged entry and its command */
#define MARKED 1000u /* a word of the shadow doorbells that is no queue's */

enum { SQ, CQ, BUF, OTHER, OTHER_CQ, PAGES }; /* pages of the owner's memory */
enum { WRITE = 1, READ = 2 };

struct cqe {
	uint32_t result, rsvd;
	uint16_t sq_head, sq_id, cid, status;
};

static char *own;
static uint64_t own_addr;
static volatile uint32_t *doors, *shadow;
static uint32_t tail, head, phase = 1;
/*
 * Admin commands of the module's since the controller was bound, the owner being the first. Resets
 * send RESET_SENDS more. Requests for events do not count: their identifier is always the same.
 */
static uint32_t sent;
#define EVENTS (has(ANNEX_INFO_EVENTS) ? 1u : 0u) /* Set Features, with a request */
#define BIND_SENDS ((shadow ? 3u : 2u) + EVENTS)  /* Set Features, Identify, Doorbell Buffer */
#define RESET_SENDS ((shadow ? 2u : 1u) + EVENTS)
static uint32_t era; /* resets() when the queue pair was made */

__attribute__((noreturn)) static void broken(const char *words)
{
	dprintf(3, "not ok the test: %s (%s)\n", words, strerror(errno));
	exit(3);
}

static char *page(unsigned int i)
{
	return own + i * PAGE;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Word 2 * Q: tail of submission queue Q; 2 * Q + 1: head of its completion queue. */
static volatile uint32_t *word(volatile uint32_t *of, uint32_t i)
{
	return of + i * (1u << (info.cap >> 32 & 15));
}

static void ring(uint32_t i, uint32_t value)
{
	if (shadow)
		__atomic_store_n(word(shadow, i), value, __ATOMIC_SEQ_CST);
	__atomic_store_n(word(doors, i), value, __ATOMIC_SEQ_CST);
}

static uint32_t resets(void)
{
	struct annex_ioc_state state = {.size = sizeof(state)};

	if (call(ANNEX_IOC_STATE, &state))
		broken("state");
	return state.resets;
}

/* One command, to its end: its status. The module may reset the controller at any time. */
static int io(uint32_t opcode, uint32_t lba, uint64_t prp, uint32_t bytes)
{
	volatile struct cqe *cqe = (volatile struct cqe *)page(CQ) + head;
	uint32_t cmd[16] = {opcode,
			    1,
			    [6] = (uint32_t)prp,
			    (uint32_t)(prp >> 32),
			    [10] = lba,
			    [12] = bytes / BLOCK - 1};
	double end = now() + TIMEOUT_S;

	memcpy(page(SQ) + 64 * tail, cmd, sizeof(cmd));
	tail = (tail + 1) % DEPTH;
	ring(2 * QID, tail);
	/* Its phase is read before the rest of the entry, which is not needed. */
	while ((__atomic_load_n(&cqe->status, __ATOMIC_ACQUIRE) & 1u) != phase)
		if (resets() != era)
			return LOST;
		else if (now() > end)
			broken("a command of the owner's is not answered");
	head = (head + 1) % DEPTH;
	phase ^= !head;
	ring(2 * QID + 1, head);
	return cqe->status >> 1 & 0x7ff;
}

/* What the controller sees at an address, in BUF: 0, or the status of the command that failed. */
static int look(uint64_t at)
{
	int status;

	/* QEMU reports success of a Write from unreadable memory: the block keeps these zeroes. */
	memset(page(BUF), 0, PAGE);
	status = io(WRITE, LBA_SEEN, own_addr + BUF * PAGE, PAGE);
	if (!status)
		status = io(WRITE, LBA_SEEN, at, PAGE);
	return status ? status : io(READ, LBA_SEEN, own_addr + BUF * PAGE, PAGE);
}

/* Put BUF's bytes there. */
static int put(uint64_t at)
{
	int status = io(WRITE, LBA_FORGED, own_addr + BUF * PAGE, PAGE);

	return status ? status : io(READ, LBA_FORGED, at, PAGE);
}

static long ask(uint32_t cns, void *data, uint32_t *status)
{
	struct annex_ioc_identify args = {
		.size = sizeof(args), .cns = cns, .nsid = !cns, .data = (uintptr_t)data};
	long err = call(ANNEX_IOC_IDENTIFY, &args);

	sent += 1;
	*status = args.status;
	return err;
}

static long identify(uint32_t cns, void *data)
{
	uint32_t status;

	return ask(cns, data, &status);
}

static void *see(size_t bytes, uint64_t offset)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (at == MAP_FAILED)
		broken("mmap");
	return at;
}

static void begin(int flags)
{
	info = (struct annex_ioc_info){.size = sizeof(info), .abi = ANNEX_ABI};
	fd = open(path, flags);
	if (fd < 0 || call(ANNEX_IOC_INFO, &info))
		broken(path);
}

static void begin_with_memory(void)
{
	struct annex_ioc_map args = fresh(ANNEX_MAP_HOST, PAGES * PAGE);

	begin(O_RDWR | O_CLOEXEC);
	if (call(ANNEX_IOC_MAP, &args))
		broken("memory");
	rings = args.id;
	own_addr = segs[0].addr;
	own = see(PAGES * PAGE, ANNEX_MMAP_NEW(args.id));
	doors = see(info.doorbells, ANNEX_MMAP_DOORBELLS);
	if (info.flags & ANNEX_INFO_SHADOW)
		shadow = see(PAGE, ANNEX_MMAP_SHADOW);
	sent = BIND_SENDS;
}

/* A queue pair anew: none survives a reset. */
static long pair(uint32_t qid, uint32_t sq, uint32_t cq)
{
	struct annex_ioc_queue args = queue(qid);

	args.depth = DEPTH;
	args.sq_offset = sq * PAGE;
	args.cq_offset = cq * PAGE;
	memset(page(cq), 0, PAGE);
	if (qid == QID) {
		tail = head = 0;
		phase = 1;
		era = resets();
		if (shadow)
			*word(shadow, 2 * QID) = *word(shadow, 2 * QID + 1) = 0;
	}
	sent += 2;
	return call(ANNEX_IOC_QUEUE_CREATE, &args);
}

/* Entries of 64 bytes, all but a few of which are what the module fills them with. */
static bool is_admin_sq(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ADMIN_DEPTH; i++)
		n += page(BUF)[64 * i] == REFUSED;
	return n >= ADMIN_DEPTH - 1;
}

/* One of the pages around the owner's, or 0: it is the owner's. */
static uint64_t around(uint32_t i)
{
	uint64_t at = own_addr + i * PAGE - BELOW * PAGE;

	return at >= own_addr && at < own_addr + PAGES * PAGE ? 0 : at;
}

static uint64_t find_sq(void)
{
	for (uint32_t i = 0; i < SCANNED; i++)
		if (around(i) && !look(around(i)) && is_admin_sq())
			return around(i);
	return 0;
}

/*
 * Admin commands that an owner is not to give. Every other entry is @then, if there is one: the
 * first two make a queue pair that the module does not know of. The next stay when the owner is
 * gone, and the next boot has them too; then doorbells in memory of his choice, and the last one
 * makes another disk of it.
 */
static const struct attack {
	const char *name;
	uint8_t opcode, then;
	uint32_t nsid, dw10, dw11;
} attacks[] = {
	{"Create I/O Queues", 0x05, 0x01, 0, (DEPTH - 1) << 16 | HIDDEN, HIDDEN << 16 | 1},
	{"Firmware Image Download", 0x11, 0, 0, PAGE / 4 - 1, 0},
	{"Firmware Commit", 0x10, 0, 0, 0x9, 0},
	{"Security Send", 0x81, 0, 0, 0x01000000, PAGE},
	{"Namespace Management", 0x0d, 0, 1, 1, 0},
	{"Set Features", 0x09, 0, 0, 0x06, 0},
	{"Doorbell Buffer Config", 0x7c, 0, 0, 0, 0},
	{"Format NVM", 0x80, 0, 1, 4, 0},
};

/* As many entries as there are in the queue, all with it. */
static void forge_command(const struct attack *a)
{
	for (unsigned int i = 0; i < PAGE / 64; i++) {
		bool then = i % 2 && a->then;
		uint64_t at = own_addr + (then ? OTHER : OTHER_CQ) * PAGE;
		uint32_t cmd[16] = {then ? a->then : a->opcode, a->nsid, [10] = a->dw10, a->dw11};

		memcpy(&cmd[6], &at, sizeof(at));
		memcpy(&cmd[8], &own_addr, sizeof(own_addr));
		memcpy(page(BUF) + 64 * i, cmd, sizeof(cmd));
	}
}

/* Whether a command in the pair that the owner would have made is answered. */
static bool hidden_answers(void)
{
	volatile struct cqe *cqe = (volatile struct cqe *)page(OTHER_CQ);
	uint32_t flush[16] = {0, 1};

	memcpy(page(OTHER), flush, sizeof(flush));
	ring(2 * HIDDEN, 1);
	/* The controller does one after the other. */
	for (unsigned int i = 0; i < 4; i++)
		io(READ, LBA_SEEN, own_addr + BUF * PAGE, PAGE);
	return cqe->status & 1;
}

/* The controller still does what the module wants of it, or does again after a reset. */
static void works(const char *when, const unsigned char *truth)
{
	static unsigned char id[PAGE];
	long err = identify(0, id);

	if (err == -EIO)
		err = identify(0, id);
	expect(0, err, "%s: a command of the module's works", when);
	expect(0, memcmp(id, truth, PAGE), "%s: the namespace is as it was", when);
}

/* No queue pair survives a reset. */
static void begin_anew(void)
{
	if (call(ANNEX_IOC_RESET, NULL))
		broken("reset");
	memset(page(OTHER_CQ), 0, PAGE);
	if (pair(QID, SQ, CQ))
		broken("a queue pair");
}

/* Have the controller write one into the queue, and ring for a round of it. */
static void attack(const struct attack *a, const unsigned char *truth)
{
	uint32_t before;
	uint64_t sq;

	begin_anew();
	sq = find_sq();
	expect(true, sq >= own_addr - NEAR * PAGE && sq < own_addr + (PAGES + NEAR) * PAGE,
	       "%s: the admin submission queue is near the owner's memory", a->name);
	forge_command(a);
	put(sq); /* QEMU's controller says that it has, and has not */
	expect(true, !look(sq) && is_admin_sq(), "%s: no entry is the owner's", a->name);
	before = resets();
	ring(0, ADMIN_DEPTH - 1);
	expect(false, hidden_answers(), "%s: there is no other queue pair", a->name);
	works(a->name, truth);
	expect(before + 1, resets(), "%s: the controller was reset", a->name);
}

/* Where the admin completion queue may be; not the shadow doorbells. Return: how many. */
static unsigned int candidates(uint64_t sq, uint64_t *at)
{
	unsigned int n = 0;

	if (shadow)
		shadow[MARKED] = MARKED;
	for (uint64_t i = 0; i < 2 * NEAR; i++) {
		uint64_t addr = sq + i * PAGE - NEAR * PAGE;

		if (addr - own_addr >= PAGES * PAGE && !look(addr) &&
		    ((uint32_t *)page(BUF))[MARKED] != MARKED)
			at[n++] = addr;
	}
	return n;
}

/*
 * A completion for the module's next command, wherever the module looks next. The controller cannot
 * overwrite it with its own, since the owner tells it that the module has not taken the last 31.
 */
static bool deceive(const uint64_t *at, unsigned int n)
{
	uint32_t number = sent + resets() * RESET_SENDS + 1;
	static unsigned char id[PAGE];
	struct cqe *cqe = (struct cqe *)page(BUF);
	uint32_t status;

	for (unsigned int i = 0; i < PAGE / sizeof(*cqe); i++)
		cqe[i] = (struct cqe){.cid = (uint16_t)number, .status = LIE << 1 | 1};
	for (unsigned int i = 0; i < n; i++)
		put(at[i]);
	ring(1, RESET_SENDS + 2 + 1); /* behind the next one; two made the queue pair */
	return ask(0, id, &status) == -EIO && status == LIE;
}

/*
 * It must be able to write its completions, so an owner that forges the right number gets an answer
 * of its own. Nothing else comes of it.
 */
static void forge_completions(const unsigned char *truth)
{
	uint64_t at[2 * NEAR];
	unsigned int tries = TRIES;
	bool deceived = false;

	while (!deceived && tries--) {
		begin_anew();
		deceived = deceive(at, candidates(find_sq(), at));
	}
	expect(true, deceived, "a completion is forged");
	works("after a completion was forged", truth);
	works("once more", truth);
}

static void write_to_it(void)
{
	static unsigned char truth[PAGE];

	begin_with_memory();
	if (identify(0, truth))
		broken("identify");
	for (unsigned int i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		attack(&attacks[i], truth);
}

/*
 * The attacks above make the module send commands of its own, sooner or later. So their number is
 * known to the first owner only, before a wrong doorbell was rung.
 */
static void forge(void)
{
	static unsigned char truth[PAGE];

	begin_with_memory();
	if (identify(0, truth))
		broken("identify");
	forge_completions(truth);
}

static void ring_it(unsigned int times)
{
	static unsigned char truth[PAGE], id[PAGE];
	unsigned int good = 0;
	uint32_t rung = 0;

	begin_with_memory();
	if (identify(0, truth))
		broken("a controller");
	for (unsigned int i = 0; i < times; i++) {
		double end = now() + TIMEOUT_S;

		begin_anew();
		/* Not where the tail is, after a reset and two commands for the queue pair. */
		rung = (rung * 5 + 7) % (ADMIN_DEPTH - 1);
		ring(0, (RESET_SENDS + EVENTS + 2 + 1 + rung) % ADMIN_DEPTH);
		if (i % 10 == 9) /* then completions may have no room, which costs five seconds */
			ring(1, rung * 3 % ADMIN_DEPTH);
		io(READ, LBA_SEEN, own_addr + BUF * PAGE, PAGE); /* then it has heard */
		while (resets() == era && now() < end)
			identify(0, id);
		good += resets() == era + 1 && !identify(0, id) && !memcmp(id, truth, PAGE);
	}
	expect(times, good, "of %u rung doorbells each is a reset, and the next command works",
	       times);
}

/* A dma-buf of memory that is not pinned, or -1. */
static int udmabuf(uint64_t bytes)
{
	struct udmabuf_create args = {.memfd = (uint32_t)memfd_create("hostile", MFD_ALLOW_SEALING),
				      .size = bytes};
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	if (dev < 0)
		return -1;
	if (ftruncate((int)args.memfd, (off_t)bytes) ||
	    fcntl((int)args.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		broken("memfd");
	return ioctl(dev, UDMABUF_CREATE, &args);
}

#define LIMIT 16u /* pages */

static int map_all(void *arg)
{
	(void)arg;
	return (int)-map(fresh(ANNEX_MAP_HOST, LIMIT * PAGE), NULL);
}

static void pin(char **argv, int buf)
{
	struct rlimit limit = {LIMIT * PAGE, LIMIT * PAGE};

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		broken("limit");
	begin(O_RDWR);
	if (buf >= 0)
		no_map(-ENOMEM, dmabuf(buf, 0, PAGE), "a page of a dma-buf that is larger");
	/* The child ends, its pages stay: this process has the file. */
	expect(0, in_child(map_all, NULL), "another process maps up to its limit");
	no_map(-ENOMEM, fresh(ANNEX_MAP_HOST, PAGE), "more than RLIMIT_MEMLOCK, after its end");
	no_map(0, fresh(ANNEX_MAP_CMB, PIECE), "controller memory, which is not counted");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	argv[1] = path;
	argv[2] = (char[]){"exec"};
	execv("/proc/self/exe", argv);
	broken("exec");
}

/* All of it; and the page that is seen in its place when it is taken back. */
static void controller_memory(bool leave)
{
	uint64_t bytes = 0, wrong = 0;
	volatile uint64_t *at = NULL;
	uint32_t id, last = 0;

	begin(O_RDWR | O_CLOEXEC);
	while (!map(fresh(ANNEX_MAP_CMB, PIECE), &id)) {
		last = id;
		at = see(PIECE, ANNEX_MMAP_NEW(id));
		for (uint64_t i = 0; i < PIECE / sizeof(*at); i += 64) {
			if (leave)
				at[i] = SECRET + i;
			wrong += at[i] != (leave ? SECRET + i : 0);
		}
		bytes += PIECE;
	}
	expect(true, bytes == info.cmb_bytes && bytes, "all of it is given out");
	expect(0, wrong,
	       leave ? "something is left in controller memory"
		     : "nothing is found in controller memory");
	if (!bytes || unmap(last))
		broken("controller memory");
	if (leave)
		at[1] = SECRET;
	expect(true, at[1] == (leave ? SECRET : 0),
	       leave ? "and in the memory in its place" : "nor in the memory in its place");
}

static void read_only(void)
{
	struct annex_ioc_queue q = queue(QID);
	static unsigned char id[PAGE];
	uint32_t before;
	int other;

	begin(O_RDONLY | O_CLOEXEC);
	before = resets();
	expect(0, identify(0, id), "reading: a namespace is told");
	no_map(-EBADF, fresh(ANNEX_MAP_HOST, PAGE), "opened for reading");
	no_map(-EBADF, user(mem, PAGE), "opened for reading, its own memory");
	no_queue(-EBADF, q, "opened for reading");
	no_export(-EBADF, 1, 0, PAGE, "opened for reading");
	expect(-EBADF, destroy(QID), "delete: opened for reading");
	expect(-EBADF, call(ANNEX_IOC_RESET, NULL), "reset: opened for reading");
	expect(-EACCES, try_mmap(PAGE, PROT_READ, MAP_SHARED, ANNEX_MMAP_DOORBELLS),
	       "mmap: opened for reading");
	expect(before, resets(), "reading: nothing was reset");
	other = open(path, O_RDWR | O_CLOEXEC);
	expect(true, other >= 0, "reading: the owner comes beside it");
	expect(0, identify(0, id), "reading: a namespace is told beside the owner");
	expect(-1, open(path, O_RDWR | O_CLOEXEC), "reading: there is one owner");
	close(other);
	close(fd);
	begin(O_RDONLY | O_CLOEXEC);
	expect(before, resets(), "reading: its end resets nothing");
}

/* argv: the address; what; how often. */
int main(int argc, char **argv)
{
	int buf = -1;

	if (argc != 4)
		return 3;
	if (!strcmp(argv[2], "exec")) { /* another memory map, the same file */
		fd = atoi(strrchr(argv[1], '/') + 1);
		no_map(-ENOMEM, fresh(ANNEX_MAP_HOST, PAGE),
		       "more than RLIMIT_MEMLOCK, after an exec");
		return failures ? 1 : 0;
	}
	snprintf(path, sizeof(path), "/dev/annex/%s", argv[1]);
	mem = pages(1, PROT_READ | PROT_WRITE);
	if (!strcmp(argv[2], "pin"))
		buf = udmabuf(64 * PAGE);
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		broken("nobody");
	if (!strcmp(argv[2], "write"))
		write_to_it();
	else if (!strcmp(argv[2], "forge"))
		forge();
	else if (!strcmp(argv[2], "ring"))
		ring_it((unsigned int)atoi(argv[3]));
	else if (!strcmp(argv[2], "pin"))
		pin(argv, buf);
	else if (!strcmp(argv[2], "read"))
		read_only();
	else
		controller_memory(!strcmp(argv[2], "leave"));
	return failures ? 1 : 0;
}
