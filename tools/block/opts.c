// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <annex/uri.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "tools/common/out.h"
#include "tools/common/pool.h"
#include "tools/common/progress.h"
#include "tools/common/target.h"
#include "opts.h"
#include "pattern.h"

static const char *const orders[] = {"random", "sequential", NULL};

const struct cli_option block_options[] = {
	{"overwrite", 0, NULL, 1, OPT_FLAG(struct block_opts, overwrite),
	 "Overwrite the data on the device"},
	{"bytes", 0, "SIZE", 1, OPT_SIZE(struct block_opts, bytes, PATTERN_SECTOR, INT64_MAX),
	 "Bytes of the device to use, from its start (all)"},
	{"size", 's', "SIZE", 2, OPT_U32(struct block_opts, lanes.size, PATTERN_SECTOR, 1u << 20),
	 "Bytes per command (4096)"},
	{"depth", 'D', "N", 2, OPT_U32(struct block_opts, lanes.depth, 1, 65535),
	 "Commands in flight per thread (64)"},
	{"threads", 't', "N", 2, OPT_U32(struct block_opts, lanes.threads, 1, 1024),
	 "Worker threads (one per core)"},
	{"queues", 'q', "N", 2, OPT_U32(struct block_opts, lanes.queues, 1, 65535),
	 "Queue pairs (one per thread)"},
	{"order", 0, NULL, 2, OPT_CHOICE(struct block_opts, order, orders),
	 "Order of the commands (random)"},
	{"seed", 0, "N", 2, OPT_SIZE(struct block_opts, seed, 0, INT64_MAX),
	 "Seed of the pattern (1)"},
	CLI_JSON(struct block_opts, json),
	{0}};

/*
 * The part of the device that is used: no block that a file ends in, because data behind the end
 * is not stored. With @tells the rest is told.
 */
static int extent(const struct lanes *ls, const char *uri, uint64_t asked, bool tells,
		  uint64_t *bytes)
{
	char line[ANNEX_URI_MAX + 80];
	uint64_t has, rest;
	int err = annex_dev_bytes(ls->dev, 1, &has);

	if (err)
		return err_lib(err, "%s", uri);
	rest = has % ls->ns.block;
	has -= rest;
	if (!has)
		return err_set(-EINVAL, "%s has %" PRIu64 " bytes, less than a block of %u", uri,
			       rest, ls->ns.block);
	if (asked > has)
		return err_set(-EINVAL, "--bytes %" PRIu64 ": %s has %" PRIu64, asked, uri, has);
	if (asked % ls->ns.block)
		return err_set(-EINVAL, "--bytes %" PRIu64 ": %s has blocks of %u bytes", asked,
			       uri, ls->ns.block);
	*bytes = asked ? asked : has;
	if (rest && !asked && tells) {
		snprintf(line, sizeof(line),
			 "%s: its last %" PRIu64 " bytes are left out: they are less than a block "
			 "of %u",
			 uri, rest, ls->ns.block);
		warn_say(line);
	}
	return 0;
}

int block_open(struct lanes *ls, struct target *t, const struct block_opts *o, const char *uri,
	       bool write, bool checks, uint64_t *bytes)
{
	int err = 0;

	memset(ls, 0, sizeof(*ls));
	memset(t, 0, sizeof(*t));
	/* A device in memory lasts as long as the command, so no data is lost. */
	if (write && !(annex_dev_traits(uri) & ANNEX_TRAIT_VOLATILE)) {
		err = target_init(t, uri, TARGET_BED, o->bytes, o->overwrite);
		if (!err && t->created && !o->bytes && !strstr(uri, "size="))
			err = err_set(-ENOENT, "%s does not exist: give --bytes to create it", uri);
		if (!err)
			err = target_room(t, 1);
	}
	if (!err)
		err = lanes_open(ls, t->uri ? t->uri : uri, &o->lanes);
	if (!err)
		err = extent(ls, uri, o->bytes, write || checks, bytes);
	if (!err && checks) {
		err = annex_dev_claim_shared(ls->dev, 1, 0, *bytes / ls->ns.block);
		if (err)
			err_lib(err, "cannot read %s", uri);
	}
	return err ? err : target_claim(t, ls->dev, *bytes);
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
	out_count(out, "size", "bytes per command", o->lanes.size);
	out_count(out, "threads", "threads", o->lanes.threads);
	out_count(out, "queues", "queue pairs", ls->queues);
	out_count(out, "depth", "in flight per thread", o->lanes.depth);
	out_count(out, "nap_us", "sleep when idle, us", o->lanes.nap_us);
	out_text(out, "order", "order", o->order == BLOCK_RANDOM ? "random" : "sequential");
	out_count(out, "seed", "seed", o->seed);
}
