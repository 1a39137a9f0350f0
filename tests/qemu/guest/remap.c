// SPDX-License-Identifier: MIT
/*
 * A program that maps memory for a device, uses it and unmaps it again and again, for remap.sh:
 *
 *   remap URI TIMES      maps 8 MiB so many times, while a thread reads; says "mapped TIMES", stays
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/log.h>

#define BYTES (8u << 20)
#define LIMIT_S 120u

static struct annex_dev *dev;
static struct annex_ns ns;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "%s; %s\n", what, annex_last_error());
	exit(1);
}

static void transfer(uint8_t opcode, uint64_t block, uint64_t addr)
{
	struct annex_io io = {.opcode = opcode,
			      .nsid = 1,
			      .slba = block,
			      .nlb = 1,
			      .bytes = ns.block,
			      .addr = addr};

	if (annex_dev_io(dev, &io, 1, NULL))
		die("a command failed");
}

/* Block 0 is never written. */
static void *read_on(void *arg)
{
	uint64_t addr;
	void *page;

	(void)arg;
	if (annex_dev_alloc(dev, ANNEX_PLACE_PROVIDER, ANNEX_NVME_PAGE, &page, &addr))
		die("no page");
	for (;;)
		transfer(ANNEX_NVM_READ, 0, addr);
}

/* Other bytes each time, written from there and read back to there. */
static void use_once(char *mem, unsigned int round)
{
	uint64_t addr;

	if (annex_dev_map(dev, mem, BYTES, &addr))
		die("cannot map");
	memset(mem, (int)round, ns.block);
	transfer(ANNEX_NVM_WRITE, 1, addr);
	transfer(ANNEX_NVM_READ, 1, addr + BYTES - ANNEX_NVME_PAGE);
	if (memcmp(mem, mem + BYTES - ANNEX_NVME_PAGE, ns.block))
		die("it reads something else");
	if (annex_dev_unmap(dev, addr, BYTES))
		die("cannot unmap");
}

int main(int argc, char **argv)
{
	unsigned int times = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;
	pthread_t thread;

	alarm(LIMIT_S);
	if (!times || annex_dev_open(argv[1], NULL, &dev) || annex_dev_ns(dev, 1, &ns))
		die("cannot open");
	if (pthread_create(&thread, NULL, read_on, NULL))
		die("no thread");
	for (unsigned int i = 0; i < times; i++) {
		char *mem = aligned_alloc(ANNEX_NVME_PAGE, BYTES);

		if (!mem)
			die("out of memory");
		memset(mem, 0xee, BYTES);
		use_once(mem, i);
		free(mem); /* pages that are still pinned stay allocated */
	}
	printf("mapped %u\n", times);
	fflush(stdout);
	for (;;)
		pause();
}
