// SPDX-License-Identifier: MIT
/*
 * The calls of annex.ko on CXL memory with one field wrong at a time, for hdmcalls.sh: hdmcalls
 * ADDRESS NODE, where NODE is a file of another kind. Reports to file 3.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <annex/detail/clock.h>
#include "hdm.h"

#define PART (2 * MIB)

static const char *address;

static long try_mmap(int fd, uint64_t offset, uint64_t bytes, int prot, int flags)
{
	void *at = mmap(NULL, bytes, prot, flags, fd, (off_t)offset);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, bytes);
	return 0;
}

static long try_rw(int fd, uint64_t offset, uint64_t bytes)
{
	return try_mmap(fd, offset, bytes, PROT_READ | PROT_WRITE, MAP_SHARED);
}

static struct annex_ioc_hdm_range whole(void)
{
	return (struct annex_ioc_hdm_range){.size = sizeof(struct annex_ioc_hdm_range)};
}

static void no_range(int fd, long want, struct annex_ioc_hdm_range args, const char *words)
{
	char text[120];

	snprintf(text, sizeof(text), "range: %s", words);
	expect(want, call(fd, ANNEX_IOC_HDM_RANGE, &args), text);
}

static void handshake(void)
{
	struct annex_ioc_hdm_range range = whole();
	struct annex_ioc_hdm_info info = {.size = sizeof(info), .abi = ANNEX_ABI + 1};
	struct annex_ioc_hdm_clear clear = {.size = sizeof(clear), .bytes = PAGE};
	int fd = open_node(address);

	expect(-EPROTO, call(fd, ANNEX_IOC_HDM_RANGE, &range), "a call before the handshake");
	expect(-EPROTONOSUPPORT, call(fd, ANNEX_IOC_HDM_INFO, &info), "another version");
	expect(ANNEX_ABI, info.abi, "the module's version is told");
	info.size--;
	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_INFO, &info), "another size");
	expect(-ENOTTY, call(fd, ANNEX_IOC_RESET, NULL), "a call of controllers");
	expect(-ENOTTY, call(fd, _IO(ANNEX_IOC_TYPE, 0x20), NULL), "a call without arguments");
	expect(-EFAULT, call(fd, ANNEX_IOC_HDM_INFO, NULL), "no arguments");
	expect(0, info_of(fd, &info), "the handshake");
	expect(-ENXIO, try_rw(fd, 0, PAGE), "mmap without a range");
	expect(-ENXIO, call(fd, ANNEX_IOC_HDM_CLEAR, &clear), "clear: without a range");
	close(fd);
}

static void wrong_ranges(int fd, int other)
{
	struct annex_ioc_hdm_range args;
	int fds[ANNEX_HDM_MEMBERS] = {fd, fd, -1, other};
	char path[64];

#define WRONG(want, words, ...)                                                                    \
	do {                                                                                       \
		args = whole();                                                                    \
		__VA_ARGS__;                                                                       \
		no_range(fd, want, args, words);                                                   \
	} while (0)
	WRONG(-EINVAL, "another kind", args.kind = 2);
	WRONG(-EINVAL, "half a granule", args.bytes = GRANULE / 2);
	WRONG(-ENOSPC, "more than there is", args.bytes = 1ull << 40);
	WRONG(-ENOSPC, "all that 64 bits have", args.bytes = ~0ull - GRANULE + 1);
	WRONG(-EINVAL, "uncached bytes that are no unit", args.uc = PAGE);
	WRONG(-EINVAL, "parts that are more than all", args.uc = GRANULE; args.wc = GRANULE * 64);
	WRONG(-EINVAL, "parts whose sum wraps", args.uc = 0 - PART; args.wc = PART);
	WRONG(-EINVAL, "granularity 128", args.granularity = 128);
	WRONG(-EINVAL, "granularity 3000", args.granularity = 3000);
	WRONG(-EINVAL, "granularity 32768", args.granularity = 32768);
	WRONG(-EINVAL, "three members", args.nmembers = 3; args.members = (uintptr_t)fds);
	WRONG(-EINVAL, "64 members", args.nmembers = 64; args.members = (uintptr_t)fds);
	WRONG(-EINVAL, "no list of members", args.nmembers = 1);
	WRONG(-EFAULT, "members in no memory", args.nmembers = 1; args.members = 8);
	WRONG(-EINVAL, "a member twice", args.nmembers = 2; args.members = (uintptr_t)fds);
	snprintf(path, sizeof(path), "/dev/annex/%s", address);
	fds[0] = open(path, O_RDONLY | O_CLOEXEC);
	WRONG(-EBADF, "a member opened for reading", args.nmembers = 1;
	      args.members = (uintptr_t)fds);
	close(fds[0]);
	fds[0] = fd;
	WRONG(-EBADF, "a descriptor of nothing", args.nmembers = 1;
	      args.members = (uintptr_t)(fds + 2));
	WRONG(-EINVAL, "a file of another kind", args.nmembers = 1;
	      args.members = (uintptr_t)(fds + 3));
#undef WRONG
}

/* Whether the kernel knows of these addresses as write-combining. */
static bool is_combining(uint64_t base)
{
	FILE *file = fopen("/sys/kernel/debug/x86/pat_memtype_list", "r");
	char line[160], want[40];
	bool found = false;

	snprintf(want, sizeof(want), "0x%016llx", (unsigned long long)base);
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, want) && strstr(line, "write-combining");
	if (file)
		fclose(file);
	return found;
}

/* Host addresses are for those with rights: a user joins a range, and gets 0. */
static void user_joins(struct annex_ioc_hdm_range args)
{
	int fd = open_hdm(address), status;
	pid_t pid = fork();

	if (!pid) {
		if (setuid(65534) || call(fd, ANNEX_IOC_HDM_RANGE, &args))
			_exit(2);
		_exit(args.base != 0);
	}
	waitpid(pid, &status, 0);
	expect(0, status, "range: a user is not told where it is");
	close(fd);
}

static void parts(int fd)
{
	struct annex_ioc_hdm_range args = whole();
	uint64_t cached = GRANULE - 2 * PART;
	struct annex_ioc_hdm_info info;
	volatile uint64_t *wc;

	args.wc = PART;
	args.uc = PART;
	expect(0, call(fd, ANNEX_IOC_HDM_RANGE, &args),
	       "range: with uncached and combining memory");
	expect(true, args.base != 0, "range: root is told where it is");
	user_joins(args);
	expect(true, is_combining(args.base + cached), "the kernel knows the combining part");
	expect(0, info_of(fd, &info), "the handshake again");
	expect((long)GRANULE, (long)info.range_bytes, "the range is told");
	no_range(fd, -EBUSY, args, "a second time");
	expect(0, try_rw(fd, 0, cached), "mmap: all that is cached");
	expect(0, try_rw(fd, cached, PART), "mmap: write-combining memory");
	expect(-EINVAL, try_rw(fd, cached - PAGE, 2 * PAGE), "mmap: two parts");
	expect(-EINVAL, try_rw(fd, GRANULE, PAGE), "mmap: beyond the end");
	expect(-EINVAL, try_rw(fd, 1ull << 50, PAGE), "mmap: far beyond");
	expect(-EACCES, try_rw(fd, cached + PART, PAGE), "mmap: uncached memory without a piece");
	expect(-EINVAL, try_mmap(fd, 0, PAGE, PROT_READ, MAP_PRIVATE), "mmap: private");
	expect(-EINVAL, try_mmap(fd, 0, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED),
	       "mmap: to execute");
	wc = map_at(fd, cached, PART);
	wc[5] = 0x1234567;
	__sync_synchronize();
	expect(0x1234567, (long)wc[5], "write-combining memory keeps stored data");
}

static void other_files(void)
{
	struct annex_ioc_hdm_range args = whole();
	int fd = open_hdm(address);

	no_range(fd, -EBUSY, args, "joined with other numbers");
	args.wc = PART;
	args.uc = PART;
	args.kind = ANNEX_HDM_PERSISTENT;
	no_range(fd, -EBUSY, args, "joined as another kind");
	args.kind = ANNEX_HDM_VOLATILE;
	no_range(fd, 0, args, "joined with the same");
	close(fd);
}

static void dmabufs(int fd)
{
	struct annex_ioc_dmabuf args = {.size = sizeof(args), .bytes = PAGE, .offset = 1};

	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_DMABUF, &args), "dma-buf: not a page");
	args.offset = GRANULE - 2 * PART;
	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_DMABUF, &args), "dma-buf: of uncached memory");
	args.offset = ~0ull << 12;
	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_DMABUF, &args), "dma-buf: that wraps");
	args.offset = 0;
	args.bytes = 0;
	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_DMABUF, &args), "dma-buf: of nothing");
	args.bytes = PAGE;
	expect(0, call(fd, ANNEX_IOC_HDM_DMABUF, &args), "dma-buf: of a page");
	close(args.fd);
}

/* A file that was opened for reading is told things, and changes none. */
static void reading(void)
{
	struct annex_ioc_dmabuf buf = {.size = sizeof(buf), .bytes = PAGE};
	struct annex_ioc_hdm_piece piece = {.size = sizeof(piece), .bytes = PAGE};
	struct annex_ioc_hdm_clear clear = {.size = sizeof(clear), .bytes = PAGE};
	struct annex_ioc_hdm_range range = whole();
	struct annex_ioc_hdm_info info;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/annex/%s", address);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	expect(0, info_of(fd, &info), "reading: the device is told of");
	range.wc = PART;
	range.uc = PART;
	no_range(fd, -EBADF, range, "opened for reading");
	expect(-EBADF, call(fd, ANNEX_IOC_HDM_DMABUF, &buf), "dma-buf: opened for reading");
	expect(-EBADF, call(fd, ANNEX_IOC_HDM_PIECE, &piece), "piece: opened for reading");
	expect(-EBADF, call(fd, ANNEX_IOC_HDM_CLEAR, &clear), "clear: opened for reading");
	expect(-EACCES, try_rw(fd, 0, PAGE), "mmap: opened for reading");
	close(fd);
}

static void clear(int fd)
{
	static const struct {
		const char *words;
		uint64_t offset, bytes;
		uint32_t rsvd;
	} wrong[] = {{"no bytes", 0, 0, 0},
		     {"a part of a page", 0, PAGE / 2, 0},
		     {"from the middle of a page", 64, PAGE, 0},
		     {"beyond the end", GRANULE, PAGE, 0},
		     {"more than there is", PAGE, GRANULE, 0},
		     {"that wraps", ~0ull << 12, 2 * PAGE, 0},
		     {"with a reserved field", 0, PAGE, 1}};
	struct annex_ioc_hdm_clear args = {.size = sizeof(args)};
	uint64_t longer[4] = {[3] = 1};

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[64];

		args.offset = wrong[i].offset;
		args.bytes = wrong[i].bytes;
		args.rsvd = wrong[i].rsvd;
		snprintf(text, sizeof(text), "clear: %s", wrong[i].words);
		expect(-EINVAL, call(fd, ANNEX_IOC_HDM_CLEAR, &args), text);
	}
	args = (struct annex_ioc_hdm_clear){.size = sizeof(args) - 8, .bytes = PAGE};
	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_CLEAR, &args), "clear: another size");
	expect(-EINVAL, call(fd, _IOW(ANNEX_IOC_TYPE, 0x25, uint64_t[2]), &args), "clear: short");
	memcpy(longer, &args, sizeof(args));
	expect(-E2BIG, call(fd, _IOW(ANNEX_IOC_TYPE, 0x25, longer), longer),
	       "clear: with members that the module does not know");
	expect(-EFAULT, call(fd, ANNEX_IOC_HDM_CLEAR, NULL), "clear: no arguments");
	args = (struct annex_ioc_hdm_clear){.size = sizeof(args), .bytes = GRANULE};
	expect(0, call(fd, ANNEX_IOC_HDM_CLEAR, &args), "clear: a range without poison");
}

static void poison(int fd)
{
	struct annex_ioc_seg list[4];
	struct annex_ioc_hdm_poison args = {
		.size = sizeof(args), .list = (uintptr_t)list, .count = 4, .flags = 8};

	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_POISON, &args), "poison: an unknown flag");
	args.flags = ANNEX_POISON_RESCAN;
	args.count = 1u << 30;
	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_POISON, &args), "poison: too much room");
	args.count = 4;
	expect(0, call(fd, ANNEX_IOC_HDM_POISON, &args), "poison: read anew");
}

static bool has(uint64_t *piece)
{
	return *piece == 0x4d324e4450;
}

/* Another process with the same file takes a large piece, and maps it; no second one is left. */
static long child_asks(int fd)
{
	struct annex_ioc_hdm_piece more = {.size = sizeof(more), .bytes = PART / 2};
	pid_t pid = fork();
	int status;

	if (!pid) {
		long err = call(fd, ANNEX_IOC_HDM_PIECE, &more);

		if (!err)
			err = map_at(more.fd, 0, PART / 2) ? 0 : -errno;
		if (!err && call(fd, ANNEX_IOC_HDM_PIECE, &more) != -ENOSPC)
			err = -EEXIST;
		_exit((int)-err);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* A process has no more than its share, over all of its files; another has the rest. */
static void share(int fd, int other)
{
	struct annex_ioc_hdm_piece more = {.size = sizeof(more)};
	int fds[ANNEX_M2FUNC_PIECES];

	more.bytes = PART - 9 * PAGE; /* one is the filter's */
	expect(-EMFILE, call(other, ANNEX_IOC_HDM_PIECE, &more), "m2func: all the rest");
	more.bytes = PAGE;
	for (unsigned int i = 2; i < ANNEX_M2FUNC_PIECES; i++) {
		expect(0, call(other, ANNEX_IOC_HDM_PIECE, &more), "m2func: so many pieces");
		fds[i] = more.fd;
	}
	expect(-EMFILE, call(other, ANNEX_IOC_HDM_PIECE, &more), "m2func: and not one more");
	expect(-EMFILE, call(fd, ANNEX_IOC_HDM_PIECE, &more), "m2func: nor by another file");
	expect(0, child_asks(other), "m2func: another process has its own share");
	more.bytes = PART / 2;
	/* Not -ENOSPC: there is room. */
	expect(-EMFILE, call(other, ANNEX_IOC_HDM_PIECE, &more),
	       "m2func: which is free when it ends, though the file is open");
	for (unsigned int i = 2; i < ANNEX_M2FUNC_PIECES; i++)
		close(fds[i]);
	close(other);
}

static void set_shared(char to)
{
	int fd = open("/sys/module/annex/parameters/shared", O_WRONLY | O_CLOEXEC);

	expect(1, write(fd, &to, 1), "the parameter shared can be set");
	close(fd);
}

/* A private piece, and its mapping; @fd: the device's file. */
struct piece {
	struct annex_ioc_hdm_piece args;
	uint64_t *at;
};

static void take(struct piece *p, int fd, unsigned int part, uint64_t bytes)
{
	p->args =
		(struct annex_ioc_hdm_piece){.size = sizeof(p->args), .part = part, .bytes = bytes};
	expect(0, call(fd, ANNEX_IOC_HDM_PIECE, &p->args), "private: a piece");
	p->at = map_at(p->args.fd, 0, bytes);
	for (uint64_t i = 0; i < bytes / 8; i++)
		if (p->at[i])
			die("private: word %llu is 0x%llx", (unsigned long long)i,
			    (unsigned long long)p->at[i]);
	memset(p->at, 0x5a, bytes);
}

static void give(struct piece *p)
{
	munmap(p->at, p->args.bytes);
	close(p->args.fd);
}

static long try_dmabuf(int fd, uint64_t offset, uint64_t bytes)
{
	struct annex_ioc_dmabuf args = {.size = sizeof(args), .offset = offset, .bytes = bytes};
	long err = call(fd, ANNEX_IOC_HDM_DMABUF, &args);

	return err ? err : args.fd;
}

static long try_piece(int fd, uint64_t part, uint64_t bytes)
{
	struct annex_ioc_hdm_piece args = {.size = sizeof(args), .part = part, .bytes = bytes};
	long err = call(fd, ANNEX_IOC_HDM_PIECE, &args);

	return err ? err : args.fd;
}

/* Another process has the files, and none of the memory. */
static void child_is_kept_out(int fd, const struct piece *p)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(try_rw(p->args.fd, 0, PAGE) != -EACCES ||
		      try_rw(fd, p->args.offset, PAGE) != -EACCES ||
		      try_dmabuf(fd, p->args.offset, PAGE) != -EACCES);
	waitpid(pid, &status, 0);
	expect(0, status, "private: another process can neither map nor export it");
	pid = fork();
	if (!pid)
		_exit(p->at[0] == 0);
	waitpid(pid, &status, 0);
	expect(true, WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
	       "private: a child that is forked does not have it");
}

/* No piece gets a page that a pipe holds with the data of its owner. */
static void held_pages(int fd)
{
	struct piece p;
	struct iovec page;
	uint64_t words[PAGE / 8];
	int pipes[2];

	take(&p, fd, ANNEX_PART_CACHED, 4 * PAGE);
	expect(0, (long)p.args.offset, "private: the first piece is at the beginning");
	page = (struct iovec){p.at + PAGE / 8, PAGE};
	expect(0, pipe(pipes), "a pipe");
	expect(PAGE, vmsplice(pipes[1], &page, 1, 0), "private: a pipe has a page of it");
	give(&p);
	take(&p, fd, ANNEX_PART_CACHED, 4 * PAGE);
	expect(2 * PAGE, (long)p.args.offset, "private: the next piece is behind that page");
	expect(PAGE, read(pipes[0], words, PAGE), "private: the pipe is read");
	expect(0x5a5a5a5a5a5a5a5a, (long)words[9], "private: it has the data");
	give(&p);
	close(pipes[0]);
	close(pipes[1]);
}

/* A dma-buf keeps its piece. */
static void exported(int fd)
{
	struct piece p, other;
	long buf;

	take(&p, fd, ANNEX_PART_CACHED, 4 * PAGE);
	expect(0, (long)p.args.offset, "private: no page is held any more");
	child_is_kept_out(fd, &p);
	expect(-EACCES, try_dmabuf(fd, 0, 5 * PAGE), "private: a dma-buf of more than the piece");
	expect(-EACCES, try_dmabuf(fd, 4 * PAGE, PAGE), "private: a dma-buf behind it");
	buf = try_dmabuf(fd, PAGE, 3 * PAGE);
	expect(true, buf >= 0, "private: a dma-buf of a part of it");
	give(&p);
	take(&other, fd, ANNEX_PART_CACHED, PAGE);
	expect(4 * PAGE, (long)other.args.offset, "private: the dma-buf keeps the piece");
	give(&other);
	close((int)buf);
	take(&other, fd, ANNEX_PART_CACHED, 8 * PAGE);
	expect(0, (long)other.args.offset, "private: and not for longer");
	give(&other);
}

/* Nanoseconds that a child takes for a piece, or until an alarm kills it. */
static uint64_t time_child(int fd, uint64_t bytes, uint64_t alarm_us)
{
	struct itimerval alarm = {.it_value.tv_usec = (suseconds_t)alarm_us};
	uint64_t start = annex_now();
	int status;
	pid_t pid = fork();

	if (!pid) {
		setitimer(ITIMER_REAL, &alarm, NULL);
		_exit(try_piece(fd, ANNEX_PART_CACHED, bytes) < 0);
	}
	waitpid(pid, &status, 0);
	if (alarm_us && !WIFSIGNALED(status))
		die("private: the alarm came too late");
	return annex_now() - start;
}

/* A piece is zeroed page by page. Other processes may delay some of the children. */
static void killed(int fd, uint64_t bytes)
{
	uint64_t whole = time_child(fd, bytes, 0), least = whole;

	for (unsigned int i = 0; i < 10 && least > whole / 2; i++) {
		uint64_t took = time_child(fd, bytes, whole / 10 / 1000);

		least = took < least ? took : least;
	}
	expect(true, least <= whole / 2, "private: a process dies while its piece is zeroed");
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* Faults until all pages but number @except were read. */
static long faults_of(const struct piece *p, unsigned int except)
{
	const volatile uint64_t *at = p->at;
	long before = faults();

	for (unsigned int i = 0; i < p->args.bytes / PAGE; i++)
		if (i != except)
			(void)at[i * PAGE / 8];
	return faults() - before;
}

/* Reads alone: in an emulator, stores to this memory are slow. */
static void take_untouched(struct piece *p, int fd, unsigned int part, uint64_t bytes)
{
	p->args =
		(struct annex_ioc_hdm_piece){.size = sizeof(p->args), .part = part, .bytes = bytes};
	expect(0, call(fd, ANNEX_IOC_HDM_PIECE, &p->args), "huge: a piece");
	p->at = map_at(p->args.fd, 0, bytes);
}

static bool since(unsigned int major, unsigned int minor)
{
	struct utsname name;
	unsigned int a = 0, b = 0;

	uname(&name);
	(void)sscanf(name.release, "%u.%u", &a, &b);
	return a > major || (a == major && b >= minor);
}

/* Kernels differ in the memory that they map by 2 MiB: kernel/compat.h. */
static void huge(int fd)
{
	struct annex_ioc_hdm_clear clear = {.size = sizeof(clear), .bytes = PAGE};
	struct piece small, p;

	take(&small, fd, ANNEX_PART_CACHED, PAGE);
	take_untouched(&p, fd, ANNEX_PART_CACHED, 2 * PART);
	expect(0, (long)(p.args.offset % PART), "huge: a large piece begins at 2 MiB");
	expect(0, (long)((uintptr_t)p.at % PART), "huge: and so does its mapping");
	expect(since(6, 6) && !since(6, 17) ? 2 : 2 * 512, faults_of(&p, UINT_MAX),
	       "huge: faults of 4 MiB");
	expect(0, madvise((char *)p.at + 3 * PAGE, PAGE, MADV_HWPOISON), "huge: a bad page");
	expect(since(6, 6) && !since(6, 17) ? 511 : 0, faults_of(&p, 3),
	       "huge: the pages around it are mapped one by one");
	clear.offset = p.args.offset + 3 * PAGE;
	expect(0, call(fd, ANNEX_IOC_HDM_CLEAR, &clear), "huge: it is cleared");
	expect(1, faults_of(&p, UINT_MAX), "huge: and mapped");
	give(&p);
	give(&small);
	take_untouched(&p, fd, ANNEX_PART_COMBINING, PART);
	expect(since(6, 12) ? 1 : 512, faults_of(&p, UINT_MAX),
	       "huge: faults of 2 MiB of write-combining memory");
	give(&p);
}

static void private_range(void)
{
	struct annex_ioc_hdm_range args = whole();
	uint64_t cached = GRANULE - 2 * PART;
	struct piece p;
	int fd = open_hdm(address);

	set_shared('0');
	args.kind = ANNEX_HDM_PERSISTENT;
	no_range(fd, -EPERM, args, "persistent memory that is not shared");
	args = whole();
	args.wc = PART;
	args.uc = PART;
	expect(0, call(fd, ANNEX_IOC_HDM_RANGE, &args), "range: a private one");
	set_shared('1');
	expect(0, (long)args.flags, "private: which is told");
	expect(-EACCES, try_rw(fd, 0, PAGE), "private: no mmap of cacheable memory");
	expect(-EACCES, try_rw(fd, cached, PAGE), "private: nor of write-combining memory");
	expect(-EACCES, try_dmabuf(fd, 0, PAGE), "private: nor a dma-buf");
	expect(-EINVAL, try_piece(fd, 3, PAGE), "private: an unknown part");
	expect(-EINVAL, try_piece(fd, 1ull << 32, PAGE), "private: a part of 33 bits");
	expect(-EINVAL, try_piece(fd, ANNEX_PART_CACHED, 0), "private: a piece of nothing");
	expect(-ENOSPC, try_piece(fd, ANNEX_PART_CACHED, cached + PAGE), "private: too much");
	expect(-ENOSPC, try_piece(fd, ANNEX_PART_CACHED, ~0ull << 12), "private: all of 64 bits");
	expect(-ENOSPC, try_piece(fd, ANNEX_PART_COMBINING, PART + PAGE),
	       "private: too much of wc");
	killed(fd, 4 * MIB);
	huge(fd);
	held_pages(fd);
	exported(fd);
	for (unsigned int i = 0; i < 2; i++) {
		take(&p, fd, ANNEX_PART_COMBINING, 4 * PAGE);
		expect((long)cached, (long)p.args.offset, "private: a write-combining piece");
		expect(-ENOSPC, try_piece(fd, ANNEX_PART_COMBINING, PART), "private: and the rest");
		give(&p);
	}
	close(fd);
}

/* Two files in two processes, as two users of M2func would be. */
static void pieces(int fd)
{
	struct annex_ioc_hdm_piece mine = {.size = sizeof(mine), .bytes = 4 * PAGE}, theirs = mine;
	struct annex_ioc_hdm_range args = whole();
	uint64_t *piece;
	int other = open_hdm(address), status;
	pid_t pid;

	args.wc = PART;
	args.uc = PART;
	no_range(other, 0, args, "joined by another file");
	expect(-EINVAL, try_piece(fd, ANNEX_PART_CACHED, PAGE),
	       "a private piece of a shared range");
	mine.bytes = 1;
	expect(-EINVAL, call(fd, ANNEX_IOC_HDM_PIECE, &mine), "m2func: not a page");
	mine.bytes = 2 * PART;
	expect(-ENOSPC, call(fd, ANNEX_IOC_HDM_PIECE, &mine), "m2func: more than there is");
	mine.bytes = ~0ull << 12;
	expect(-ENOSPC, call(fd, ANNEX_IOC_HDM_PIECE, &mine), "m2func: all that 64 bits have");
	mine.bytes = 4 * PAGE;
	expect(0, call(fd, ANNEX_IOC_HDM_PIECE, &mine), "m2func: a piece");
	expect(0, call(other, ANNEX_IOC_HDM_PIECE, &theirs), "m2func: one for another file");
	expect(0, try_rw(mine.fd, 0, 4 * PAGE), "it can be mapped");
	expect(0, try_rw(mine.fd, 3 * PAGE, PAGE), "or a part of it");
	expect(-EACCES, try_rw(fd, mine.offset, PAGE), "not by the device's file");
	expect(-EINVAL, try_rw(mine.fd, 0, 5 * PAGE), "nor more than the piece");
	expect(-EINVAL, try_rw(mine.fd, 4 * PAGE, PAGE), "nor behind it");
	expect(FD_CLOEXEC, fcntl(mine.fd, F_GETFD), "it is closed on exec");
	piece = map_at(theirs.fd, 0, 4 * PAGE);
	*piece = 0x4d324e4450;
	munmap(piece, 4 * PAGE);
	piece = map_at(mine.fd, 0, 4 * PAGE);
	*piece = 0x4d324e4450;
	expect(true, has(piece), "it keeps stored data");
	pid = fork();
	if (!pid)
		_exit(has(piece));
	waitpid(pid, &status, 0);
	expect(true, WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
	       "a child that is forked does not have it");
	pid = fork();
	if (!pid)
		_exit(try_rw(mine.fd, 0, PAGE) != -EACCES);
	waitpid(pid, &status, 0);
	expect(0, status, "nor can it map it by the file that it has as well");
	expect(0, try_rw(mine.fd, 0, PAGE), "which leaves it its owner's");
	share(fd, other);
	close(theirs.fd);
	theirs.bytes = PART / 2 - 4 * PAGE;
	expect(0, call(fd, ANNEX_IOC_HDM_PIECE, &theirs), "a piece that is closed is free");
	piece = map_at(theirs.fd, 0, 4 * PAGE);
	expect(0, (long)*piece, "without the data of its previous owner");
	expect(-EACCES, try_rw(fd, GRANULE - PART, PAGE), "the filter cannot be mapped");
}

int main(int argc, char **argv)
{
	int fd, other;

	if (argc != 3)
		die("usage: hdmcalls ADDRESS NODE");
	address = argv[1];
	other = open(argv[2], O_RDWR);
	handshake();
	private_range();
	fd = open_hdm(address);
	wrong_ranges(fd, other);
	parts(fd);
	other_files();
	dmabufs(fd);
	reading();
	poison(fd);
	clear(fd);
	pieces(fd);
	return failures > 0;
}
