// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <annex/uri.h>
#include "../cli.h"
#include "../error.h"
#include "../mem.h"
#include "../out.h"
#include "../pool.h"
#include "../target.h"
#include "opts.h"
#include "pattern.h"

enum { OPT_OVERWRITE = 512, OPT_BYTES, OPT_SEED, OPT_ORDER };

static const struct argp_option options[] = {
	{"overwrite", OPT_OVERWRITE, NULL, 0, "The data on the device may go", 1},
	{"bytes", OPT_BYTES, "SIZE", 0, "How much of the device, from its beginning (all)", 1},
	{"size", 's', "SIZE", 0, "Bytes of a command (4096)", 2},
	{"depth", 'D', "N", 0, "Commands of each thread in flight (64)", 2},
	{"threads", 't', "N", 0, "Threads that work (one a core)", 2},
	{"queues", 'q', "N", 0, "Queue pairs (one a thread)", 2},
	{"order", OPT_ORDER, "random|sequential", 0, "Order of the commands (random)", 2},
	{"seed", OPT_SEED, "N", 0, "What the data is made of (1)", 2},
	{0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const orders[] = {"random", "sequential", NULL};
	struct block_opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		o->lanes = (struct lanes_opts){
			.threads = pool_default_threads(), .depth = 64, .size = 4096};
		o->seed = 1;
		return 0;
	case OPT_OVERWRITE:
		o->overwrite = true;
		return 0;
	case OPT_BYTES:
		return -cli_size("--bytes", arg, PATTERN_SECTOR, INT64_MAX, &o->bytes);
	case 's':
		return -cli_u32("--size", arg, PATTERN_SECTOR, 1u << 20, &o->lanes.size);
	case 'D':
		return -cli_u32("--depth", arg, 1, 65535, &o->lanes.depth);
	case 't':
		return -cli_u32("--threads", arg, 1, 1024, &o->lanes.threads);
	case 'q':
		return -cli_u32("--queues", arg, 1, 65535, &o->lanes.queues);
	case OPT_ORDER:
		return -cli_choice("--order", arg, orders, &o->order);
	case OPT_SEED:
		return -cli_size("--seed", arg, 0, INT64_MAX, &o->seed);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp block_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

/* What of the device is used. */
static int extent(const struct lanes *ls, const char *uri, uint64_t asked, uint64_t *bytes)
{
	uint64_t has = ls->ns.blocks * ls->ns.block;

	if (asked > has)
		return err_set(-EINVAL, "--bytes %" PRIu64 ": %s has %" PRIu64, asked, uri, has);
	if (asked % ls->ns.block)
		return err_set(-EINVAL, "--bytes %" PRIu64 ": %s has blocks of %u bytes", asked,
			       uri, ls->ns.block);
	*bytes = asked ? asked : has;
	return 0;
}

int block_open(struct lanes *ls, struct target *t, const struct block_opts *o, const char *uri,
	       bool write, uint64_t *bytes)
{
	int err = 0;

	memset(ls, 0, sizeof(*ls));
	memset(t, 0, sizeof(*t));
	/* What is in memory comes and goes with the command, so nobody's data is lost. */
	if (write && !(annex_dev_traits(uri) & ANNEX_TRAIT_VOLATILE)) {
		err = target_init(t, uri, TARGET_BED, o->bytes, o->overwrite);
		if (!err && t->created && !o->bytes && !strstr(uri, "size="))
			err = err_set(-ENOENT, "%s is not there: give --bytes to make it", uri);
		if (!err)
			err = target_room(t, 1);
	}
	if (!err)
		err = lanes_open(ls, t->uri ? t->uri : uri, &o->lanes);
	return err ? err : extent(ls, uri, o->bytes, bytes);
}

void block_close(struct lanes *ls, struct target *t, int err)
{
	lanes_close(ls);
	target_done(t, 1, err);
}

int block_flush(struct lanes *ls)
{
	struct annex_io io = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};
	int err = annex_dev_io(ls->dev, &io, 1, NULL);

	return err ? err_lib(err, "%s: flushing failed", annex_dev_uri(ls->dev)) : 0;
}

void block_report(struct out *out, const struct block_opts *o, const struct lanes *ls)
{
	out_count(out, "block", "block", ls->ns.block);
	out_count(out, "size", "bytes of a command", o->lanes.size);
	out_count(out, "threads", "threads", o->lanes.threads);
	out_count(out, "queues", "queue pairs", ls->queues);
	out_count(out, "depth", "in flight a thread", o->lanes.depth);
	out_count(out, "nap_us", "nap when idle, us", o->lanes.nap_us);
	out_text(out, "order", "order", o->order == BLOCK_RANDOM ? "random" : "sequential");
	out_count(out, "seed", "seed", o->seed);
}
