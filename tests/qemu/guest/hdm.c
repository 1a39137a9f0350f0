// SPDX-License-Identifier: MIT
/*
 * A user of CXL memory through annex.ko, for hdm.sh and its neighbours. MEMBERS are addresses in
 * interleave order, with commas between; CXL_KIND=persistent in the environment takes that memory.
 *
 *   hdm info ADDRESS                what the module says of a device
 *   hdm fill MEMBERS GRAIN          fill a range with a pattern, verify it, print where it is; what
 *                                   each member must have is in the files member0... then
 *   hdm verify MEMBERS GRAIN        the pattern is there
 *   hdm time ADDRESS                milliseconds from open() to memory that can be used
 *   hdm pace ADDRESS                milliseconds for eleven ranges, one after the other
 *   hdm killed ADDRESS N            N processes that make a range are killed at once; milliseconds
 *                                   for the next one
 *   hdm crowd ADDRESS N             N files map a page of the range, which is read; say "crowded"
 *   hdm direct MEMBERS FILE [on]    O_DIRECT between a file and the range, both ways
 *   hdm dmabuf MEMBERS URI [on]     queues and data of an NVMe device in the range; on: say
 *                                   "running", and go on until something fails; so above
 *   hdm hold MEMBERS FIFO [UC]      with an uncached part of UC bytes; say "holding", then do what
 *                                   lines from there say: "touch AT": say what byte is there, or
 *                                   "SIGBUS"; "piece PART": take a page of that part, and say
 *                                   whether there is one; "pin AT": a pipe has that
 *                                   page; "drop": no more; "unmap"; "close"; "news MS": whether
 *                                   poll() says within that time that there is new poison;
 *                                   "list": ask for it, without asking the devices; "break AT":
 *                                   the kernel finds that page bad; "clear AT": clear its poison;
 *                                   "end"
 *   hdm wait ADDRESS                say "waiting", then "event LOG" for each event
 *   hdm poison MEMBERS              ask the devices, print pages that must not be touched
 *   hdm clear MEMBERS AT            clear the poison of the page at that offset in the range
 */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <annex/detail/clock.h>
#include <annex/device.h>
#include <annex/log.h>
#include <annex/provider.h>
#include "hdm.h"
#include "tests/unit/random.h"

#define SAMPLE (2 * MIB) /* of each member, that is compared outside */

/*
 * struct range - A range that was joined: its numbers, its members' files, @fds[0] that it was
 * joined by, and where the cacheable memory is mapped: the range's from @offset on.
 */
struct range {
	struct annex_ioc_hdm_range args;
	int fds[ANNEX_HDM_MEMBERS];
	uint32_t n;
	unsigned char *mem;
	uint64_t offset, cached;
};

/* @members: addresses with commas between. */
static void open_members(struct range *r, const char *members)
{
	char *words = strdup(members), *save, *word;

	r->n = 0;
	for (word = strtok_r(words, ",", &save); word && r->n < ANNEX_HDM_MEMBERS;
	     word = strtok_r(NULL, ",", &save))
		r->fds[r->n++] = open_hdm(word);
	free(words);
}

/* Some of a private range, for stores are slow in an emulator, and zeroing all would take long. */
static int take_some(struct range *r)
{
	struct annex_ioc_hdm_piece piece = {
		.size = sizeof(piece), .part = ANNEX_PART_CACHED, .bytes = MIB};
	long err = call(r->fds[0], ANNEX_IOC_HDM_PIECE, &piece);

	if (err)
		die("piece: %s", strerror((int)-err));
	r->offset = piece.offset;
	r->cached = MIB;
	return piece.fd;
}

static void join(struct range *r, const char *members, struct annex_ioc_hdm_range want)
{
	long err;
	int fd;

	open_members(r, members);
	r->offset = 0;
	r->args = want;
	r->args.size = sizeof(r->args);
	if (r->n > 1) {
		r->args.members = (uintptr_t)r->fds;
		r->args.nmembers = r->n;
	}
	err = call(r->fds[0], ANNEX_IOC_HDM_RANGE, &r->args);
	if (err)
		die("%s: range: %s", members, strerror((int)-err));
	r->cached = r->args.bytes - want.wc - want.uc;
	fd = r->args.flags & ANNEX_HDM_RANGE_SHARED ? r->fds[0] : take_some(r);
	r->mem = map_at(fd, 0, r->cached);
	if (!r->mem)
		die("%s: mmap: %m", members);
}

static uint64_t word_at(uint64_t offset)
{
	return (offset + 8) * 0x9e3779b97f4a7c15u;
}

static int info(const char *address)
{
	struct annex_ioc_hdm_info in;
	int fd = open_hdm(address);

	if (info_of(fd, &in))
		die("info: %m");
	printf("serial %llu volatile %llu persistent %llu decoders %u granule %llu flags %u poison "
	       "%u users %u\n",
	       in.serial, in.volatile_bytes, in.persistent_bytes, in.decoders, in.granule, in.flags,
	       in.poison, in.users);
	return 0;
}

/* Every word of the first and the last part of each member's share, some of those between. */
static bool is_sample(const struct range *r, uint64_t at)
{
	uint64_t part = SAMPLE * r->n;

	return at < part || at >= r->cached - part || at % (MIB * 3) < PAGE;
}

static void verify(const struct range *r)
{
	for (uint64_t at = 0; at < r->cached; at += 8)
		if (!is_sample(r, at))
			at += PAGE - 8;
		else if (*(uint64_t *)(r->mem + at) != word_at(at))
			die("word at 0x%llx is 0x%llx", (unsigned long long)at,
			    (unsigned long long)*(uint64_t *)(r->mem + at));
}

static void write_member(const struct range *r, uint32_t p)
{
	uint32_t grain = r->args.granularity;
	char name[24];
	FILE *file;

	snprintf(name, sizeof(name), "member%u", p);
	file = fopen(name, "w");
	for (uint64_t at = 0; file && at < SAMPLE; at += 8) {
		uint64_t word = word_at((at / grain * r->n + p) * grain + at % grain);

		fwrite(&word, sizeof(word), 1, file);
	}
	if (!file || fclose(file))
		die("%s: %m", name);
}

static struct annex_ioc_hdm_range want(const char *grain)
{
	const char *kind = getenv("CXL_KIND");

	return (struct annex_ioc_hdm_range){
		.granularity = (uint32_t)strtoul(grain, NULL, 0),
		.kind = kind && !strcmp(kind, "persistent") ? ANNEX_HDM_PERSISTENT
							    : ANNEX_HDM_VOLATILE,
	};
}

static int fill(const char *members, const char *grain)
{
	struct range r;

	join(&r, members, want(grain));
	for (uint64_t at = 0; at < r.cached; at += 8)
		if (!is_sample(&r, at))
			at += PAGE - 8;
		else
			*(uint64_t *)(r.mem + at) = word_at(at);
	verify(&r);
	for (uint32_t p = 0; p < r.n; p++)
		write_member(&r, p);
	printf("base 0x%llx bytes 0x%llx granularity %u\n", r.args.base, r.args.bytes,
	       r.args.granularity);
	return 0;
}

static int look(const char *members, const char *grain)
{
	struct range r;

	join(&r, members, want(grain));
	verify(&r);
	return 0;
}

static int time_open(const char *address)
{
	uint64_t start = annex_now();
	struct range r;

	join(&r, address, want("0"));
	*(volatile uint64_t *)r.mem = 1;
	printf("%llu\n", (unsigned long long)((annex_now() - start) / 1000000));
	return 0;
}

/* Each range of a process that ends. */
static int pace(const char *address)
{
	uint64_t start = annex_now();

	for (unsigned int i = 0; i < 11; i++) {
		pid_t pid = fork();
		struct range r;
		int status;

		if (!pid) {
			join(&r, address, want("0"));
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			die("range %u: %m", i);
	}
	printf("%llu\n", (unsigned long long)((annex_now() - start) / 1000000));
	return 0;
}

static int killed(const char *address, unsigned int n)
{
	uint64_t start;
	struct range r;

	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			join(&r, address, want("0"));
			pause();
		}
		if (pid < 0 || kill(pid, SIGKILL) || waitpid(pid, NULL, 0) != pid)
			die("process %u: %m", i);
	}
	start = annex_now();
	join(&r, address, want("0"));
	printf("%llu\n", (unsigned long long)((annex_now() - start) / 1000000));
	return 0;
}

static int crowd(const char *address, unsigned int n)
{
	struct rlimit most = {.rlim_cur = n + 20, .rlim_max = n + 20};

	if (setrlimit(RLIMIT_NOFILE, &most))
		die("%u files: %m", n);
	for (unsigned int i = 0; i < n; i++) {
		struct range r;

		join(&r, address, want("0"));
		if (*(volatile uint64_t *)r.mem == 1) /* a page fault */
			die("file %u", i);
	}
	puts("crowded");
	fflush(stdout);
	pause();
	return 0;
}

static void there_and_back(const struct range *r, int fd, unsigned int i, size_t bytes)
{
	unsigned char *out = r->mem + i * 4 * MIB, *in = out + 2 * MIB;
	static uint64_t seed = 1;

	random_fill(&seed, out, bytes);
	memset(in, 0, bytes);
	if (pwrite(fd, out, bytes, (off_t)(i * MIB)) != (ssize_t)bytes)
		die("write of %zu bytes: %m", bytes);
	if (pread(fd, in, bytes, (off_t)(i * MIB)) != (ssize_t)bytes)
		die("read of %zu bytes: %m", bytes);
	if (memcmp(in, out, bytes))
		die("%zu bytes have changed", bytes);
}

static int direct(const char *members, const char *path, bool forever)
{
	const size_t sizes[] = {4096, 65536, 1048576};
	struct range r;
	int fd;

	join(&r, members, want("0"));
	fd = open(path, O_RDWR | O_DIRECT);
	if (fd < 0)
		die("%s: %m", path);
	for (bool again = true; again; again = forever) {
		for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			there_and_back(&r, fd, i, sizes[i]);
		printf("running\n");
		fflush(stdout);
	}
	return 0;
}

/* A provider of the range's memory, first come first served. */
struct arena {
	struct range range;
	int dmabuf;
	size_t used;
};

static void *arena_alloc(void *ctx, size_t size, size_t align)
{
	struct arena *a = ctx;
	size_t at = (a->used + PAGE - 1) / PAGE * PAGE;

	if (align > PAGE || at + size > a->range.cached)
		return NULL;
	a->used = at + size;
	return a->range.mem + at;
}

static void arena_free(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	(void)ptr;
	(void)size;
}

static int arena_dmabuf(void *ctx, void *ptr, uint64_t *offset)
{
	struct arena *a = ctx;

	*offset = (uint64_t)((unsigned char *)ptr - a->range.mem);
	return a->dmabuf;
}

static int rounds(struct annex_dev *dev, bool forever)
{
	uint64_t seed = 1, out_addr, in_addr;
	void *out, *in;
	struct annex_ns ns;
	int err = annex_dev_ns(dev, 1, &ns);

	if (!err)
		err = annex_dev_alloc(dev, ANNEX_PLACE_PROVIDER, 65536, &out, &out_addr);
	if (!err)
		err = annex_dev_alloc(dev, ANNEX_PLACE_PROVIDER, 65536, &in, &in_addr);
	for (unsigned int round = 0; (forever || round < 50) && !err; round++) {
		struct annex_io io = {.opcode = ANNEX_NVM_WRITE,
				      .nsid = 1,
				      .slba = round % 64 * 16,
				      .nlb = 16,
				      .bytes = 16 * ns.block,
				      .addr = out_addr};

		random_fill(&seed, out, io.bytes);
		memset(in, 0, io.bytes);
		err = annex_dev_io(dev, &io, 1, NULL);
		io.opcode = ANNEX_NVM_READ;
		io.addr = in_addr;
		if (!err)
			err = annex_dev_io(dev, &io, 1, NULL);
		if (!err && memcmp(in, out, io.bytes))
			die("round %u: data is wrong", round);
		if (forever && !round) {
			printf("running\n");
			fflush(stdout);
		}
	}
	return err;
}

static int dmabuf(const char *members, const char *uri, bool forever)
{
	struct arena a = {.dmabuf = -1};
	const struct annex_provider provider = {.name = "hdm",
						.ctx = &a,
						.alloc = arena_alloc,
						.free = arena_free,
						.dmabuf = arena_dmabuf};
	struct annex_dev_opts opts = {.queues = 1,
				      .depth = 32,
				      .timeout_ms = 10000,
				      .sq = ANNEX_PLACE_PROVIDER,
				      .cq = ANNEX_PLACE_PROVIDER,
				      .provider = &provider};
	struct annex_ioc_dmabuf args = {.size = sizeof(args), .bytes = 64 * MIB};
	struct annex_dev *dev = NULL;
	int err;

	join(&a.range, members, want("0"));
	if (call(a.range.fds[0], ANNEX_IOC_HDM_DMABUF, &args))
		die("dma-buf: %m");
	a.dmabuf = args.fd;
	err = annex_dev_open(uri, &opts, &dev);
	if (!err)
		err = rounds(dev, forever);
	if (err)
		die("%s: %s", strerror(-err), annex_last_error());
	annex_dev_close(dev);
	return 0;
}

static sigjmp_buf bus;

static void on_bus(int signal)
{
	(void)signal;
	siglongjmp(bus, 1);
}

static void touch(const volatile unsigned char *at)
{
	if (sigsetjmp(bus, 1))
		printf("SIGBUS\n");
	else
		printf("byte %u\n", *at);
}

/* One by one, as a list is read that has more than one call tells. */
static unsigned int list_poison(const struct range *r)
{
	struct annex_ioc_seg seg = {.addr = 0};
	struct annex_ioc_hdm_poison args = {.size = sizeof(args), .list = (uintptr_t)&seg};
	unsigned long long end = 0;

	do {
		args.count = 1;
		if (call(r->fds[0], ANNEX_IOC_HDM_POISON, &args))
			die("poison: %m");
		if (args.first < args.count && end && seg.addr <= end)
			die("poison: 0x%llx after 0x%llx", seg.addr, end);
		end = seg.addr + seg.bytes;
	} while (++args.first < args.count);
	return args.count;
}

static long clear_page(const struct range *r, uint64_t offset)
{
	struct annex_ioc_hdm_clear args = {
		.size = sizeof(args), .offset = offset / PAGE * PAGE, .bytes = PAGE};

	return call(r->fds[0], ANNEX_IOC_HDM_CLEAR, &args);
}

/* Until the process ends. */
static long take_page(const struct range *r, uint64_t part)
{
	struct annex_ioc_hdm_piece piece = {.size = sizeof(piece), .part = part, .bytes = PAGE};

	return call(r->fds[0], ANNEX_IOC_HDM_PIECE, &piece);
}

static bool has_news(const struct range *r, uint64_t ms)
{
	struct pollfd p = {.fd = r->fds[0], .events = POLLPRI};

	return poll(&p, 1, (int)ms) == 1 && p.revents == POLLPRI;
}

static int hold(const char *members, const char *fifo, uint64_t uc)
{
	struct annex_ioc_hdm_range wanted = want("0");
	FILE *lines = fopen(fifo, "r");
	struct range r;
	char line[64];
	int pipes[2];

	if (!lines || pipe(pipes))
		die("%s: %m", fifo);
	wanted.uc = uc;
	join(&r, members, wanted);
	signal(SIGBUS, on_bus);
	printf("holding\n");
	while (fflush(stdout), fgets(line, sizeof(line), lines)) {
		uint64_t at = strtoull(strchr(line, ' ') ? strchr(line, ' ') : "0", NULL, 0);
		struct iovec page = {r.mem + at, PAGE};
		char byte[PAGE];

		if (!strncmp(line, "touch", 5))
			touch(r.mem + at);
		else if (!strncmp(line, "piece", 5))
			printf("piece %ld\n", take_page(&r, at));
		else if (!strncmp(line, "pin", 3))
			printf("pinned %zd\n", vmsplice(pipes[1], &page, 1, 0));
		else if (!strncmp(line, "news", 4))
			printf("news %d\n", has_news(&r, at));
		else if (!strncmp(line, "list", 4))
			printf("listed %u\n", list_poison(&r));
		else if (!strncmp(line, "break", 5))
			printf("broke %d\n", madvise(r.mem + at, PAGE, MADV_HWPOISON));
		else if (!strncmp(line, "clear", 5))
			printf("cleared %ld\n", clear_page(&r, r.offset + at));
		else if (!strncmp(line, "unmap", 5))
			printf("unmapped %d\n", munmap(r.mem, r.cached));
		else if (!strncmp(line, "close", 5))
			printf("closed %d\n", close(r.fds[0]));
		else if (!strncmp(line, "drop", 4))
			printf("dropped %zd\n", read(pipes[0], byte, sizeof(byte)));
		else
			break;
	}
	return 0;
}

static int wait_events(const char *address)
{
	struct annex_hdm_event events[4];
	struct pollfd p = {.fd = open_hdm(address), .events = POLLIN};
	void *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ssize_t got;

	if (read(p.fd, events, 1) >= 0 || errno != EINVAL)
		die("a short read is not EINVAL");
	printf("waiting\n");
	fflush(stdout);
	for (;;) {
		if (poll(&p, 1, 20000) != 1)
			die("no event in 20 s");
		if (p.revents & POLLHUP)
			return 0;
		/* An event that could not be told stays. */
		if (read(p.fd, none, sizeof(events)) >= 0 || errno != EFAULT)
			die("a read into no memory is not EFAULT");
		got = read(p.fd, events, sizeof(events));
		if (got <= 0 || got % (ssize_t)sizeof(events[0]))
			die("read: %zd: %m", got);
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(events[0]); i++)
			printf("event %u seq %llu lost %u\n", events[i].log, events[i].seq,
			       events[i].lost);
		fflush(stdout);
	}
}

static int poison(const char *members)
{
	struct annex_ioc_seg list[64];
	struct annex_ioc_hdm_poison args = {.size = sizeof(args),
					    .flags = ANNEX_POISON_RESCAN,
					    .list = (uintptr_t)list,
					    .count = 64};
	struct range r;

	join(&r, members, want("0"));
	if (call(r.fds[0], ANNEX_IOC_HDM_POISON, &args))
		die("poison: %m");
	for (uint32_t i = 0; i < args.count && i < 64; i++)
		printf("0x%llx 0x%llx\n", list[i].addr, list[i].bytes);
	return 0;
}

static int clear(const char *members, uint64_t at)
{
	struct range r;
	long err;

	join(&r, members, want("0"));
	err = clear_page(&r, at);
	if (err)
		die("clear: %s", strerror((int)-err));
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "info"))
		return info(argv[2]);
	if (!strcmp(what, "fill") && argc == 4)
		return fill(argv[2], argv[3]);
	if (!strcmp(what, "verify") && argc == 4)
		return look(argv[2], argv[3]);
	if (!strcmp(what, "time"))
		return time_open(argv[2]);
	if (!strcmp(what, "pace"))
		return pace(argv[2]);
	if (!strcmp(what, "killed") && argc == 4)
		return killed(argv[2], (unsigned int)strtoul(argv[3], NULL, 0));
	if (!strcmp(what, "crowd") && argc == 4)
		return crowd(argv[2], (unsigned int)strtoul(argv[3], NULL, 0));
	if (!strcmp(what, "direct") && argc >= 4)
		return direct(argv[2], argv[3], argc > 4);
	if (!strcmp(what, "dmabuf") && argc >= 4)
		return dmabuf(argv[2], argv[3], argc > 4);
	if (!strcmp(what, "hold") && argc >= 4)
		return hold(argv[2], argv[3], argc > 4 ? strtoull(argv[4], NULL, 0) : 0);
	if (!strcmp(what, "wait"))
		return wait_events(argv[2]);
	if (!strcmp(what, "poison"))
		return poison(argv[2]);
	if (!strcmp(what, "clear") && argc == 4)
		return clear(argv[2], strtoull(argv[3], NULL, 0));
	die("usage: see the head of hdm.c");
}
