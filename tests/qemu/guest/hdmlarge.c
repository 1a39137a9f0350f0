// SPDX-License-Identifier: MIT
/*
 * A range of many pages, for hdmlarge.sh:
 *
 *   hdmlarge open ADDRESS BYTES   seconds from open() to memory that was stored to
 *   hdmlarge hold ADDRESS         the longest wait of a process to open the device's file, and to
 *                                 close it, in seconds: while nothing happens; while a range of all
 *                                 of its memory is made; while it is closed and a pipe has its last
 *                                 page, for a second; while it is cut
 *
 * Both take the lock that all devices and ranges share, so that is the longest hold of it, and what
 * the machine takes for itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <annex/detail/clock.h>
#include "hdm.h"

#define SECOND 1000000000ull

static const char *address;
static atomic_bool over;
static _Atomic(uint64_t) longest;

static int join(uint64_t bytes, struct annex_ioc_hdm_range *args)
{
	int fd = open_hdm(address);
	long err;

	*args = (struct annex_ioc_hdm_range){.size = sizeof(*args), .bytes = bytes};
	err = call(fd, ANNEX_IOC_HDM_RANGE, args);
	if (err)
		die("%s: range: %s", address, strerror((int)-err));
	return fd;
}

static int time_open(uint64_t bytes)
{
	uint64_t start = annex_now();
	struct annex_ioc_hdm_range args;
	volatile uint64_t *mem = map_at(join(bytes, &args), 0, bytes);

	if (!mem)
		die("mmap: %m");
	*mem = 1;
	printf("%.9f\n", (double)(annex_now() - start) / 1e9);
	return 0;
}

/* With a real-time priority, so that it waits for the lock only. */
static void *wait_often(void *unused)
{
	struct sched_param first = {.sched_priority = 50};

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &first))
		die("no priority");
	while (!atomic_load(&over)) {
		uint64_t from, took;

		usleep(100); /* others run, between two that are measured */
		from = annex_now();
		close(open_node(address));
		took = annex_now() - from;
		if (took > atomic_load(&longest))
			atomic_store(&longest, took);
	}
	return unused;
}

/* Since the last one. */
static void print_longest(void)
{
	printf("%.9f ", (double)atomic_exchange(&longest, 0) / 1e9);
}

static void wait_second(void)
{
	uint64_t end = annex_now() + SECOND;

	while (annex_now() < end)
		;
}

static uint64_t range_bytes(int fd)
{
	struct annex_ioc_hdm_info info;

	if (info_of(fd, &info))
		die("info: %m");
	return info.range_bytes;
}

static int hold(void)
{
	struct annex_ioc_hdm_range args;
	int other = open_hdm(address), fd, pipes[2];
	struct iovec page = {.iov_len = PAGE};
	unsigned char *mem;
	char byte[PAGE];
	pthread_t thread;

	if (pipe(pipes) || pthread_create(&thread, NULL, wait_often, NULL))
		die("thread: %m");
	wait_second();
	print_longest();
	fd = join(0, &args);
	print_longest();
	mem = map_at(fd, 0, args.bytes);
	page.iov_base = mem + args.bytes - PAGE;
	if (!mem || vmsplice(pipes[1], &page, 1, 0) != PAGE || munmap(mem, args.bytes))
		die("the last page: %m");
	atomic_store(&longest, 0);
	close(fd);
	wait_second();
	print_longest();
	if (!range_bytes(other))
		die("the range is gone, and its last page is held");
	if (read(pipes[0], byte, PAGE) != PAGE)
		die("pipe: %m");
	while (range_bytes(other))
		;
	print_longest();
	printf("\n");
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		die("usage: see the head of hdmlarge.c");
	address = argv[2];
	if (argc == 4 && !strcmp(argv[1], "open"))
		return time_open(strtoull(argv[3], NULL, 0));
	return hold();
}
