// SPDX-License-Identifier: MIT
/*
 * Parts of memory that has pages of hugetlbfs between small ones are mapped for a controller, and
 * data goes from there to the disk and back:
 *
 *   huge URI
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <annex/device.h>
#include <annex/log.h>
#include "die.h"
#include "tests/unit/random.h"

#define PAGE 4096u
#define SMALL (16 * PAGE) /* bytes on either side */
#define HUGE (2u << 20)
#define HUGES 3u
#define ALL (SMALL + HUGES * HUGE + SMALL)
#define MOST (64u << 10) /* bytes moved in a round */
#define ROUNDS 60

static uint64_t seed;

static unsigned char *memory_at(unsigned char *at, size_t bytes, int flags)
{
	unsigned char *mem = mmap(at, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (mem == MAP_FAILED)
		die("no %zu bytes of memory: %m", bytes);
	return mem;
}

/* The huge pages begin at a multiple of their size. */
static unsigned char *memory(void)
{
	unsigned char *mem = memory_at(NULL, ALL + HUGE, 0);

	mem += -((uintptr_t)mem + SMALL) % HUGE;
	memory_at(mem + SMALL, HUGES * HUGE, MAP_FIXED | MAP_HUGETLB);
	return mem;
}

static void transfer(struct annex_dev *dev, const struct annex_ns *ns, uint8_t opcode,
		     uint64_t addr, uint32_t bytes)
{
	struct annex_io io = {.opcode = opcode,
			      .nsid = 1,
			      .nlb = bytes / ns->block,
			      .bytes = bytes,
			      .addr = addr};

	if (annex_dev_io(dev, &io, 1, NULL))
		die("opcode %u: %s", opcode, annex_last_error());
}

/* Write from a place in the part, read into the same, of which nothing else changes. */
static void one_round(struct annex_dev *dev, const struct annex_ns *ns, unsigned char *mem)
{
	static unsigned char before[ALL];
	const uint64_t first = random_next(&seed) % (ALL / PAGE);
	const uint64_t pages = 1 + random_next(&seed) % (ALL / PAGE - first);
	const uint64_t most = pages * PAGE < MOST ? pages * PAGE : MOST;
	const uint32_t bytes = (uint32_t)(1 + random_next(&seed) % (most / PAGE)) * PAGE;
	const uint64_t skew = random_next(&seed) % (pages - bytes / PAGE + 1) * PAGE;
	unsigned char *part = mem + first * PAGE;
	uint64_t addr;

	random_fill(&seed, mem, ALL);
	memcpy(before, mem, ALL);
	if (annex_dev_map(dev, part, pages * PAGE, &addr))
		die("%s", annex_last_error());
	transfer(dev, ns, ANNEX_NVM_WRITE, addr + skew, bytes);
	memset(part + skew, 0xee, bytes);
	transfer(dev, ns, ANNEX_NVM_READ, addr + skew, bytes);
	if (memcmp(mem, before, ALL))
		die("other data: %llu pages from %llu on", (unsigned long long)pages,
		    (unsigned long long)first);
	annex_dev_unmap(dev, addr, pages * PAGE);
}

/* What /proc/vmstat says of pins. */
static long long pins(void)
{
	FILE *stat = fopen("/proc/sys/vm/stat_refresh", "w");
	char name[64];
	long long n = -1, value;

	if (!stat || fputs("1", stat) < 0 || fclose(stat))
		die("cannot refresh counters: %m");
	stat = fopen("/proc/vmstat", "r");
	while (stat && fscanf(stat, "%63s %lld", name, &value) == 2)
		if (!strcmp(name, "nr_foll_pin_acquired"))
			n = value;
	if (!stat || n < 0)
		die("no counter of pins");
	fclose(stat);
	return n;
}

int main(int argc, char **argv)
{
	struct annex_dev_opts opts = {.queues = 1, .timeout_ms = 10000};
	unsigned char *mem = memory();
	struct annex_dev *dev;
	struct annex_ns ns;
	uint64_t addr;
	long long before;

	seed = random_seed("huge");
	if (argc != 2 || annex_dev_open(argv[1], &opts, &dev) || annex_dev_ns(dev, 1, &ns))
		die("%s", annex_last_error());
	for (unsigned int round = 0; round < ROUNDS; round++)
		one_round(dev, &ns, mem);
	before = pins();
	if (annex_dev_map(dev, mem + SMALL, HUGES * HUGE, &addr))
		die("%s", annex_last_error());
	if (pins() - before > HUGES)
		die("%lld pins of %u huge pages", pins() - before, HUGES);
	annex_dev_unmap(dev, addr, HUGES * HUGE);
	annex_dev_close(dev);
	return 0;
}
