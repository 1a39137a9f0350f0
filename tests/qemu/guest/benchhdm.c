// SPDX-License-Identifier: MIT
/*
 * What CXL memory behind annex.ko costs, for benchhdm.sh; CXL and NVME are PCI addresses:
 *
 *   benchhdm open CXL             seconds from nothing to a range that was stored to
 *   benchhdm direct CXL NVME S    the controller reads into the range, for S seconds of reading
 *   benchhdm copy CXL NVME S      it reads into host memory, which is then copied into the range
 *
 * The last two print bytes a second, the processors' seconds for each byte, and of how many of its
 * bytes pages of the range were in this process's page tables when the data was there: the pages
 * that its processors have touched. Before that there were none, and only afterwards the data is
 * read: each block has its number in each of its words.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include <annex/log.h>

#define PAGE 4096u
#define IO (64u << 10)
#define IOS 32u
#define BATCH ((size_t)IO * IOS)
#define BATCHES 16u /* on the disk */
#define PRESENT (1ull << 63)

/* struct bench - @host: also memory of the process, where the data comes by. */
struct bench {
	struct annex_hdm *h;
	struct annex_dev *dev;
	struct annex_ns ns;
	unsigned char *to, *host;
	uint64_t to_addr, host_addr;
	uint64_t bytes, touched;
	double seconds, busy;
};

__attribute__((noreturn)) static void die(const char *words, int err)
{
	fprintf(stderr, "%s: %s: %s\n", words, strerror(-err), annex_last_error());
	exit(1);
}

static struct annex_hdm *open_range(const char *address)
{
	struct annex_hdm *h;
	char uri[64];
	int err;

	snprintf(uri, sizeof(uri), "pci:%s?format=1", address);
	err = annex_hdm_open(uri, NULL, &h);
	if (err)
		die(uri, err);
	return h;
}

static int time_open(const char *address)
{
	uint64_t start = annex_now();
	struct annex_hdm *h = open_range(address);
	struct annex_hdm_info info;
	volatile uint64_t *piece;
	void *ptr;
	int err = annex_hdm_alloc(h, PAGE, PAGE, NULL, &ptr);

	if (err)
		die("alloc", err);
	piece = ptr;
	*piece = 1;
	annex_hdm_get_info(h, &info);
	printf("%.9f %llu\n", (double)(annex_now() - start) / 1e9, (unsigned long long)info.bytes);
	annex_hdm_close(h);
	return 0;
}

/* Bytes of the range's memory that are in page tables. */
static uint64_t touched(const struct bench *b)
{
	static uint64_t entries[BATCH / PAGE];
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	off_t at = (off_t)((uintptr_t)b->to / PAGE * sizeof(entries[0]));
	uint64_t n = 0;

	if (fd < 0 || pread(fd, entries, sizeof(entries), at) != sizeof(entries))
		die("pagemap", -errno);
	close(fd);
	for (size_t i = 0; i < BATCH / PAGE; i++)
		n += !!(entries[i] & PRESENT);
	return n * PAGE;
}

/* Remove the pages from the page tables; the memory keeps its data. */
static void forget(struct bench *b)
{
	if (madvise(b->to, BATCH, MADV_DONTNEED))
		die("madvise", -errno);
	if (touched(b))
		die("pages were touched early", -EIO);
}

static uint64_t word_of(const struct bench *b, uint64_t batch, uint64_t at)
{
	return (batch * BATCH + at) / b->ns.block * 0x9e3779b97f4a7c15ull + 1;
}

static int transfer(struct bench *b, uint8_t opcode, uint64_t addr, uint64_t batch)
{
	struct annex_io ios[IOS];

	for (unsigned int i = 0; i < IOS; i++)
		ios[i] = (struct annex_io){.opcode = opcode,
					   .nsid = 1,
					   .slba = (batch * BATCH + i * IO) / b->ns.block,
					   .nlb = IO / b->ns.block,
					   .bytes = IO,
					   .addr = addr + i * IO};
	return annex_dev_io(b->dev, ios, IOS, NULL);
}

static void write_disk(struct bench *b)
{
	for (uint64_t batch = 0; batch < BATCHES; batch++) {
		int err;

		for (size_t at = 0; at < BATCH; at += 8)
			*(uint64_t *)(void *)(b->host + at) = word_of(b, batch, at);
		err = transfer(b, ANNEX_NVM_WRITE, b->host_addr, batch);
		if (err)
			die("write", err);
	}
}

static void verify(const struct bench *b, uint64_t batch)
{
	for (size_t at = 0; at < BATCH; at += 8)
		if (*(uint64_t *)(void *)(b->to + at) != word_of(b, batch, at))
			die("wrong data", -EBADMSG);
}

static double busy_s(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void read_batch(struct bench *b, uint64_t batch, bool copy)
{
	uint64_t start;
	double busy;
	int err;

	forget(b);
	start = annex_now();
	busy = busy_s();
	err = transfer(b, ANNEX_NVM_READ, copy ? b->host_addr : b->to_addr, batch);
	if (err)
		die("read", err);
	if (copy)
		memcpy(b->to, b->host, BATCH);
	b->seconds += (double)(annex_now() - start) / 1e9;
	b->busy += busy_s() - busy;
	b->touched += touched(b);
	b->bytes += BATCH;
	verify(b, batch);
}

static void get_memory(struct bench *b)
{
	const struct annex_provider *pages = annex_provider_pages();
	void *to;
	int err = annex_dev_alloc(b->dev, ANNEX_PLACE_PROVIDER, BATCH, &to, &b->to_addr);

	/* Else a page fault beside it may map a huge page of which it is a part. */
	if (!err && madvise(to, BATCH, MADV_NOHUGEPAGE))
		err = -errno;
	b->to = to;
	b->host = pages->alloc(pages->ctx, BATCH, PAGE);
	if (!err)
		err = b->host ? annex_dev_map(b->dev, b->host, BATCH, &b->host_addr) : -ENOMEM;
	if (err)
		die("memory", err);
}

static int run(const char *cxl, const char *nvme, double seconds, bool copy)
{
	struct bench b = {.h = open_range(cxl)};
	struct annex_dev_opts opts = {
		.queues = 1, .depth = 64, .provider = annex_hdm_provider(b.h)};
	char uri[64];
	int err;

	snprintf(uri, sizeof(uri), "pci:%s", nvme);
	err = annex_dev_open(uri, &opts, &b.dev);
	if (!err)
		err = annex_dev_ns(b.dev, 1, &b.ns);
	if (err)
		die(uri, err);
	get_memory(&b);
	write_disk(&b);
	for (uint64_t batch = 0; b.seconds < seconds; batch++)
		read_batch(&b, batch % BATCHES, copy);
	printf("%.9g %.9g %.9g\n", (double)b.bytes / b.seconds, b.busy / (double)b.bytes,
	       (double)b.touched / (double)b.bytes);
	annex_dev_close(b.dev);
	annex_hdm_close(b.h);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "open"))
		return time_open(argv[2]);
	if (argc == 5 && (!strcmp(argv[1], "direct") || !strcmp(argv[1], "copy")))
		return run(argv[2], argv[3], strtod(argv[4], NULL), argv[1][0] == 'c');
	return 2;
}
