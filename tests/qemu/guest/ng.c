// SPDX-License-Identifier: MIT
/*
 * A drive that stays the kernel's, for ng.sh and nghold.sh:
 *
 *   ng agree URI DISK   random commands, and direct I/O on the block device, against a model
 *   ng write URI        write the last block
 *   ng watch URI        write it again and again: says "written" or "refused" when that changes
 *   ng facts URI        say how many namespaces there are, of how many blocks, and the largest
 *                       command
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/log.h>
#include "die.h"
#include "tests/unit/random.h"

#define AREA (4u << 20) /* bytes of the disk that are worked on */
#define ROUNDS 30       /* with ALL=1: ALL_ROUNDS */
#define ALL_ROUNDS 150
#define PAGE 4096u

static uint64_t seed;

/*
 * struct work - A device, and data for it.
 * @data: twice the largest command, at @addr for the device.
 * @model: of the area.
 */
struct work {
	struct annex_dev *dev;
	struct annex_ns ns;
	int disk;
	uint32_t most;
	unsigned char *data;
	uint64_t addr;
	unsigned char *model;
};

static void open_it(struct work *w, const char *uri)
{
	struct annex_dev_opts opts = {.timeout_ms = 20000, .max_transfer = 1 << 20};

	if (annex_dev_open(uri, &opts, &w->dev) || annex_dev_ns(w->dev, 1, &w->ns))
		die("%s", annex_last_error());
	w->most = annex_dev_max_transfer(w->dev);
	w->data = aligned_alloc(PAGE, 2 * w->most);
	w->model = aligned_alloc(PAGE, AREA);
	if (!w->data || !w->model || annex_dev_map(w->dev, w->data, 2 * w->most, &w->addr))
		die("no memory: %s", annex_last_error());
	memset(w->data, 0, 2 * w->most);
}

static void close_it(struct work *w)
{
	annex_dev_unmap(w->dev, w->addr, 2 * w->most);
	annex_dev_close(w->dev);
	free(w->data);
	free(w->model);
}

static void carry_out(struct work *w, const struct annex_io *io)
{
	if (annex_dev_io(w->dev, io, 1, NULL))
		die("opcode %u, %u blocks at %llu: %s", io->opcode, io->nlb,
		    (unsigned long long)io->slba, annex_last_error());
}

static struct annex_io command(uint8_t opcode, uint64_t lba, uint32_t blocks)
{
	return (struct annex_io){.opcode = opcode, .nsid = 1, .slba = lba, .nlb = blocks};
}

/* A transfer of one piece, or of three that lie apart and meet anywhere. */
static void transfer(struct work *w, uint8_t opcode, uint64_t lba, uint32_t blocks, uint64_t skew)
{
	struct annex_io io = command(opcode, lba, blocks);
	struct annex_seg segs[3];
	uint64_t first = skew % (blocks * w->ns.block - 8) + 1;

	io.bytes = blocks * w->ns.block;
	io.addr = w->addr + skew;
	if (random_next(&seed) % 4 == 0)
		io.flags |= opcode == ANNEX_NVM_WRITE ? ANNEX_IO_FUA : 0;
	if (skew & 3)
		io.flags |= ANNEX_IO_SGL;
	if (skew & 1 && io.bytes <= 64u << 10) {
		segs[0] = (struct annex_seg){io.addr, first};
		segs[1] = (struct annex_seg){io.addr + first, 4};
		segs[2] = (struct annex_seg){io.addr + first + 4, io.bytes - first - 4};
		io.nsegs = 3;
		io.segs = segs;
	}
	carry_out(w, &io);
}

static void deallocate(struct work *w, uint64_t lba, uint32_t blocks)
{
	struct annex_io io = command(ANNEX_NVM_DSM, 0, 2);
	struct annex_dsm_range ranges[2] = {{0, blocks / 2, lba},
					    {0, blocks - blocks / 2, lba + blocks / 2}};

	memcpy(w->data, ranges, sizeof(ranges));
	io.bytes = sizeof(ranges);
	io.addr = w->addr;
	carry_out(w, &io);
}

/* Contents of deallocated blocks are not known, so zeroes follow. */
static void zero(struct work *w, uint64_t lba, uint32_t blocks)
{
	struct annex_io io = command(ANNEX_NVM_WRITE_ZEROES, lba, blocks);

	io.flags = random_next(&seed) % 2 ? ANNEX_IO_FUA : 0;
	if (random_next(&seed) % 2)
		deallocate(w, lba, blocks);
	carry_out(w, &io);
	memset(w->model + lba * w->ns.block, 0, blocks * w->ns.block);
}

/* The kernel's own user of the same disk. */
static void by_kernel(struct work *w, uint64_t lba, uint32_t blocks)
{
	const size_t bytes = blocks * w->ns.block;
	const off_t at = (off_t)(lba * w->ns.block);

	if (random_next(&seed) % 2) {
		random_fill(&seed, w->data, bytes);
		memcpy(w->model + at, w->data, bytes);
		if (pwrite(w->disk, w->data, bytes, at) != (ssize_t)bytes)
			die("the kernel cannot write: %m");
	} else {
		if (pread(w->disk, w->data, bytes, at) != (ssize_t)bytes)
			die("the kernel cannot read: %m");
		if (memcmp(w->data, w->model + at, bytes))
			die("the kernel reads other data at block %llu", (unsigned long long)lba);
	}
}

static void one_round(struct work *w)
{
	const uint32_t limit = w->most / w->ns.block;
	const unsigned int kind = (unsigned int)(random_next(&seed) % 8);
	uint64_t skew = random_next(&seed) % PAGE;
	uint32_t blocks, bytes;
	uint64_t lba;

	/* The largest often; most are small. */
	blocks = random_next(&seed) % 8 ? 1 + (uint32_t)(random_next(&seed) % 16) : limit;
	blocks = blocks < limit ? blocks : limit;
	bytes = blocks * w->ns.block;
	lba = random_next(&seed) % (AREA / w->ns.block - blocks + 1);
	switch (kind) {
	case 0:
		zero(w, lba, blocks);
		break;
	case 1:
		carry_out(w, &(struct annex_io){.opcode = ANNEX_NVM_FLUSH, .nsid = 1});
		break;
	case 2:
	case 3:
		by_kernel(w, lba, blocks);
		break;
	case 4:
	case 5:
		random_fill(&seed, w->data + skew, bytes);
		memcpy(w->model + lba * w->ns.block, w->data + skew, bytes);
		transfer(w, ANNEX_NVM_WRITE, lba, blocks, skew);
		transfer(w, ANNEX_NVM_COMPARE, lba, blocks, skew);
		break;
	default:
		memset(w->data + skew, 0xee, bytes);
		transfer(w, ANNEX_NVM_READ, lba, blocks, skew);
		if (memcmp(w->data + skew, w->model + lba * w->ns.block, bytes))
			die("other data at block %llu", (unsigned long long)lba);
		break;
	}
}

static void agree(struct work *w, const char *disk)
{
	struct annex_io large = command(ANNEX_NVM_READ, 0, (w->most + PAGE) / w->ns.block);
	unsigned char *whole = aligned_alloc(PAGE, AREA);
	const char *all = getenv("ALL");
	unsigned int rounds = all && *all == '1' ? ALL_ROUNDS : ROUNDS;

	w->disk = open(disk, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (w->disk < 0 || !whole)
		die("cannot open %s: %m", disk);
	random_fill(&seed, w->model, AREA);
	if (pwrite(w->disk, w->model, AREA, 0) != (ssize_t)AREA)
		die("cannot write to %s: %m", disk);
	for (unsigned int round = 0; round < rounds; round++)
		one_round(w);
	carry_out(w, &(struct annex_io){.opcode = ANNEX_NVM_FLUSH, .nsid = ANNEX_NSID_ALL});
	if (pread(w->disk, whole, AREA, 0) != (ssize_t)AREA || memcmp(whole, w->model, AREA))
		die("%s has other data in the end", disk);
	large.bytes = w->most + PAGE;
	large.addr = w->addr;
	if (annex_dev_io(w->dev, &large, 1, NULL) != -E2BIG)
		die("a command larger than the largest is not refused");
	free(whole);
	close(w->disk);
}

static int write_last(struct work *w)
{
	struct annex_io io = command(ANNEX_NVM_WRITE, w->ns.blocks - 1, 1);

	io.bytes = w->ns.block;
	io.addr = w->addr;
	return annex_dev_io(w->dev, &io, 1, NULL);
}

__attribute__((noreturn)) static void watch(struct work *w)
{
	int last = 1;

	for (;;) {
		int err = write_last(w);

		if (err && err != -EROFS)
			die("%s", annex_last_error());
		if (err != last) {
			printf("%s\n", err ? "refused" : "written");
			fflush(stdout);
		}
		last = err;
	}
}

int main(int argc, char **argv)
{
	struct work w = {.disk = -1};
	unsigned int spaces = 0;
	struct annex_ns ns;

	if (argc < 3)
		return 3;
	open_it(&w, argv[2]);
	if (!strcmp(argv[1], "agree") && argc == 4) {
		seed = random_seed("ng");
		agree(&w, argv[3]);
	} else if (!strcmp(argv[1], "write")) {
		if (write_last(&w))
			die("%s", annex_last_error());
	} else if (!strcmp(argv[1], "watch")) {
		watch(&w);
	} else {
		while (!annex_dev_ns(w.dev, spaces + 1, &ns))
			spaces++;
		printf("%u of %llu x %u, %u\n", spaces, (unsigned long long)w.ns.blocks, w.ns.block,
		       w.most);
	}
	close_it(&w);
	return 0;
}
