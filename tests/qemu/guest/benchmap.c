// SPDX-License-Identifier: MIT
/*
 * The time to map memory for a controller, and to unmap it, for benchmap.sh:
 *
 *   benchmap ADDRESS MIB ROUNDS
 *
 * Prints a line for pages of 4 KiB (small), for transparent huge pages (huge) and, if there are
 * enough, for pages of hugetlbfs (hugetlb): MIB, the medians of both times in microseconds, and the
 * number of runs of device addresses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <uapi/annex.h>

#define MIB (1ull << 20)
#define HUGE (2 * MIB)
#define MOST 99

static int fd;
static struct annex_ioc_seg *segs;
static uint64_t bytes;
static uint32_t rounds, room;

static void fail(const char *what)
{
	fprintf(stderr, "benchmap: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, rounds, sizeof(*v), compare);
	return v[rounds / 2];
}

static void measure(const char *name, char *mem)
{
	double maps[MOST], unmaps[MOST];
	uint32_t nsegs = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		struct annex_ioc_map map = {.size = sizeof(map),
					    .kind = ANNEX_MAP_USER,
					    .addr = (uintptr_t)mem,
					    .bytes = bytes,
					    .segs = (uintptr_t)segs,
					    .nsegs = room,
					    .fd = -1};
		struct annex_ioc_unmap unmap = {.size = sizeof(unmap)};
		double from = now_us(), to;

		if (ioctl(fd, ANNEX_IOC_MAP, &map))
			fail("map");
		to = now_us();
		maps[i] = to - from;
		nsegs = map.nsegs;
		unmap.id = map.id;
		from = now_us();
		if (ioctl(fd, ANNEX_IOC_UNMAP, &unmap))
			fail("unmap");
		unmaps[i] = now_us() - from;
	}
	printf("%s %llu %.0f %.0f %u\n", name, bytes / MIB, median(maps), median(unmaps), nsegs);
}

/* Memory at an address that is a multiple of a huge page's size. */
static char *memory(int advice)
{
	char *mem = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	if (mem == MAP_FAILED)
		fail("mmap");
	mem += -(uintptr_t)mem % HUGE;
	if (madvise(mem, bytes, advice))
		fail("madvise");
	memset(mem, 1, bytes);
	return mem;
}

int main(int argc, char **argv)
{
	struct annex_ioc_info info = {.size = sizeof(info), .abi = ANNEX_ABI};
	char path[64], *mem;

	if (argc != 4)
		return 2;
	snprintf(path, sizeof(path), "/dev/annex/%s", argv[1]);
	bytes = strtoull(argv[2], NULL, 10) * MIB;
	rounds = (uint32_t)strtoul(argv[3], NULL, 10);
	room = (uint32_t)(bytes / 4096);
	segs = malloc(room * sizeof(*segs));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (!segs || !rounds || rounds > MOST || fd < 0 || ioctl(fd, ANNEX_IOC_INFO, &info))
		fail(path);
	mem = memory(MADV_NOHUGEPAGE);
	measure("small", mem);
	munmap(mem, bytes);
	mem = memory(MADV_HUGEPAGE);
	measure("huge", mem);
	munmap(mem, bytes);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
		   -1, 0);
	if (mem != MAP_FAILED) {
		memset(mem, 1, bytes);
		measure("hugetlb", mem);
	}
	return 0;
}
