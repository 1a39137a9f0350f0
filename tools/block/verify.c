// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex verify: does a device give back what was written to it, and where?
 */
#include <errno.h>
#include <annex/detail/clock.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/target.h"
#include "tools/common/uri.h"
#include "opts.h"
#include "stamp.h"

#define MOST_DEVICES 16
#define NAP_US 50u /* verify reports no latency */

struct verify {
	struct block_opts block;
	bool read_only;
	const char *uris[MOST_DEVICES];
	unsigned int n;
	uint64_t bytes;
	double write_s, read_s;
};

static double seconds_since(uint64_t start)
{
	return (double)(annex_now() - start) / 1e9;
}

static int passes(struct verify *v, struct lanes *ls, struct pool *pool, uint64_t bytes)
{
	bool sequential = v->block.order == BLOCK_SEQUENTIAL;
	uint64_t start = annex_now(), seed = v->block.seed;
	int err = 0;

	if (!v->read_only) {
		err = stamp_pass(ls, pool, bytes, seed, sequential ? ORDER_UP : ORDER_RANDOM, true);
		v->write_s += seconds_since(start);
	}
	if (err)
		return err;
	start = annex_now();
	err = stamp_pass(ls, pool, bytes, seed, sequential ? ORDER_DOWN : ORDER_RANDOM, false);
	v->read_s += seconds_since(start);
	v->bytes += bytes;
	return err;
}

static void report(const struct verify *v, const struct lanes *ls, struct out *out)
{
	double bytes = (double)v->bytes;

	out_init(out, cli_name(), v->block.json);
	out_text(out, "device", "device", v->uris[0]);
	if (v->n > 1)
		out_count(out, "devices", "devices", v->n);
	out_bytes(out, "bytes", "verified", v->bytes);
	block_report(out, &v->block, ls);
	if (!v->read_only) {
		out_seconds(out, "write_s", "time to write", v->write_s);
		out_rate(out, "write_bytes_per_s", "writing", bytes / v->write_s, "B");
	}
	out_seconds(out, "read_s", "time to read", v->read_s);
	out_rate(out, "read_bytes_per_s", "reading", bytes / v->read_s, "B");
}

static int one(struct verify *v, const char *uri, struct pool *pool, struct out *out)
{
	struct target t;
	struct lanes ls;
	uint64_t bytes = 0;
	int err = block_open(&ls, &t, &v->block, uri, !v->read_only, v->read_only, &bytes);

	if (!err)
		err = passes(v, &ls, pool, bytes);
	if (!err && uri == v->uris[v->n - 1])
		report(v, &ls, out);
	block_close(&ls, &t, err);
	return err;
}

static const struct cli_option options[] = {
	{"read-only", 0, NULL, 1, OPT_FLAG(struct verify, read_only),
	 "Write nothing: check the data that an earlier run with the same --seed wrote"},
	CLI_TABLE(struct verify, block, block_options),
	{0}};

static const char doc[] =
	"Write a pattern to all of a device, read it back in another order and check every bit. "
	"Each 512 bytes carry their place and the seed, which tells misplaced, stale, torn and "
	"corrupt data apart. ALL DATA ON THE DEVICE IS LOST, which --overwrite allows."
	"\vExamples:\n"
	"  annex verify file:/dev/nvme1n1 --overwrite\n"
	"  annex verify pci:0000:00:04.0 --overwrite --threads 8 --size 64K\n"
	"  annex verify file:new.img --bytes 1G --seed 7\n"
	"  annex verify file:new.img --bytes 1G --seed 7 --read-only   # after a power cut";

int cmd_verify(int argc, char **argv)
{
	static const struct cli_line line = {options,
					     "DEVICE...",
					     doc,
					     .list = &uri_devices,
					     CLI_ARGS(struct verify, uris, n, MOST_DEVICES),
					     .none = "name the device, as file:/dev/nvme0n1",
					     .many = "more than 16 devices"};
	struct verify v = {.block = BLOCK_OPTS};
	struct pool *pool = NULL;
	struct out out;
	int err = cli_parse(&line, argc, argv, &v);

	if (!err && v.read_only && v.block.overwrite)
		err = err_set(-EINVAL, "--read-only writes nothing: leave out --overwrite");
	if (err)
		return err;
	v.block.lanes.nap_us = NAP_US;
	err = pool_create(v.block.lanes.threads, &pool);
	for (unsigned int i = 0; i < v.n && !err; i++)
		err = one(&v, v.uris[i], pool, &out);
	pool_destroy(pool);
	return err ? err : out_end(&out);
}
