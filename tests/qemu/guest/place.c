// SPDX-License-Identifier: MIT
/*
 * Data goes to a controller and back, verified, wherever queues and data lie:
 *
 *   place URI QUEUES DATA   where each is any, provider (of dma-bufs), pages (the provider of
 *                           process memory), host or cmb
 *
 * Exit status 2: the device says that it has no such memory (-EOPNOTSUPP).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/device.h>
#include <annex/log.h>
#include "tests/unit/random.h"

#define MOST (128u << 10) /* bytes of data memory, twice */
#define ROUNDS 40

static uint64_t seed;

static unsigned char written[MOST]; /* the written data, in memory that no device sees */

/* struct work - A device, and memory of it for data to write and for data read. */
struct work {
	struct annex_dev *dev;
	struct annex_ns ns;
	unsigned char *out, *in;
	uint64_t out_addr, in_addr;
	uint32_t most;
};

static int transfer(const struct work *w, uint8_t opcode, uint64_t lba, uint32_t blocks,
		    uint64_t addr)
{
	struct annex_io io = {.opcode = opcode,
			      .nsid = 1,
			      .slba = lba,
			      .nlb = blocks,
			      .bytes = blocks * w->ns.block,
			      .addr = addr};

	return annex_dev_io(w->dev, &io, 1, NULL);
}

static int flush(const struct work *w)
{
	struct annex_io io = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};

	return annex_dev_io(w->dev, &io, 1, NULL);
}

/* Write blocks, and flush; read them into other memory, compare here and by the controller. */
static int one_round(const struct work *w)
{
	uint32_t blocks = 1 + (uint32_t)(random_next(&seed) % (w->most / w->ns.block));
	uint64_t lba = random_next(&seed) % (w->ns.blocks - blocks + 1);
	uint32_t bytes = blocks * w->ns.block;
	/* Also from the middle of a page. */
	uint64_t skew = bytes + 512 <= w->most ? random_next(&seed) % 2 * 512 : 0;
	int err;

	random_fill(&seed, written, bytes);
	memcpy(w->out + skew, written, bytes);
	memset(w->in, 0, bytes);
	err = transfer(w, ANNEX_NVM_WRITE, lba, blocks, w->out_addr + skew);
	if (!err)
		err = flush(w);
	if (!err)
		err = transfer(w, ANNEX_NVM_READ, lba, blocks, w->in_addr);
	if (!err)
		err = transfer(w, ANNEX_NVM_COMPARE, lba, blocks, w->out_addr + skew);
	if (!err && memcmp(w->in, written, bytes)) {
		printf("%u blocks from %llu on are wrong\n", blocks, (unsigned long long)lba);
		err = -EILSEQ;
	}
	return err;
}

static enum annex_place place_of(const char *name)
{
	if (!strcmp(name, "host"))
		return ANNEX_PLACE_HOST;
	if (!strcmp(name, "cmb"))
		return ANNEX_PLACE_CMB;
	return strcmp(name, "any") ? ANNEX_PLACE_PROVIDER : ANNEX_PLACE_ANY;
}

static int work(struct work *w, enum annex_place data)
{
	void *out, *in = NULL;
	int err = annex_dev_ns(w->dev, 1, &w->ns);

	if (!err)
		err = annex_dev_alloc(w->dev, data, MOST, &out, &w->out_addr);
	if (err)
		return err;
	err = annex_dev_alloc(w->dev, data, MOST, &in, &w->in_addr);
	w->out = out;
	w->in = in;
	w->most = annex_dev_max_transfer(w->dev);
	w->most = w->most < MOST ? w->most : MOST;
	/* Longer than the queues are deep, so that they wrap. */
	for (unsigned int round = 0; round < ROUNDS && !err; round++)
		err = one_round(w);
	if (in)
		annex_dev_free(w->dev, data, in, MOST, w->in_addr);
	annex_dev_free(w->dev, data, out, MOST, w->out_addr);
	return err;
}

int main(int argc, char **argv)
{
	struct annex_dev_opts opts = {.queues = 1, .depth = 32, .timeout_ms = 10000};
	struct work w = {.dev = NULL};
	int err;

	if (argc != 4) {
		fprintf(stderr, "usage: place URI QUEUES DATA\n");
		return 1;
	}
	seed = random_seed("place");
	opts.sq = opts.cq = place_of(argv[2]);
	if (!strcmp(argv[2], "provider") || !strcmp(argv[3], "provider"))
		opts.provider = annex_provider_udmabuf();
	if (opts.sq == ANNEX_PLACE_CMB) /* most controllers have submission queues there only */
		opts.cq = ANNEX_PLACE_ANY;
	err = annex_dev_open(argv[1], &opts, &w.dev);
	if (!err)
		err = work(&w, place_of(argv[3]));
	if (err && err != -EILSEQ)
		printf("%s\n", annex_last_error());
	annex_dev_close(w.dev);
	return err == -EOPNOTSUPP ? 2 : err ? 1 : 0;
}
