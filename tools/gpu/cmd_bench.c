// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex bench cuda: queue pairs and the cache in GPU memory, used by GPU threads.
 */
#include <errno.h>
#include <string.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "tools/common/out.h"
#include "bench.h"

struct bench {
	struct gpu_bench b;
	uint32_t device;
	const char *only; /* NULL: all */
	bool json;
};

static const struct bench_part {
	const char *name, *summary;
	int (*run)(struct gpu_bench *b);
} parts[] = {
	{"queues",
	 "commands without data, through a controller on the host and one in a GPU kernel",
	 bench_queues},
	{"cold", "misses of lines of 512 bytes, 4 and 8 KiB, compared with copies by the host",
	 bench_cold},
	{"hot",
	 "hits of lines and of random elements, compared with a plain copy and plain "
	 "gathers",
	 bench_hot},
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static const char *part_at(unsigned int i, char *summary)
{
	if (i >= PARTS)
		return NULL;
	strcpy(summary, parts[i].summary);
	return parts[i].name;
}

static const struct cli_list part_list = {.arg = "PART", .at = part_at};

static int parse_part(void *opts, char *arg)
{
	struct bench *o = opts;
	char names[CLI_SUMMARY];

	if (o->only)
		return err_set(-EINVAL, "\"%s\" is one argument too many", arg);
	for (unsigned int i = 0; i < PARTS; i++)
		if (!strcmp(arg, parts[i].name))
			o->only = arg;
	return o->only ? 0
		       : err_set(-EINVAL, "\"%s\" is none of %s", arg,
				 cli_names(&part_list, names, sizeof(names)));
}

/* Whole lines of the largest size, and of what a warp of the plain kernels takes. */
static int parse_bytes(void *member, const char *opt, char *arg)
{
	uint64_t *bytes = member;
	int err = cli_size(opt, arg, 1u << 20, mem_limit(), bytes);

	*bytes &= ~(uint64_t)8191;
	return err;
}

static const struct cli_option options[] = {
	{"gpu", 0, "N", 0, OPT_U32(struct bench, device, 0, 1023), "Number of the GPU (0)"},
	{"bytes", 'b', "SIZE", 0, OPT_CALL_AT(struct bench, b.bytes, parse_bytes),
	 "Bytes that hits read (4G)"},
	{"cold", 0, "SIZE", 0, OPT_CALL_AT(struct bench, b.cold, parse_bytes),
	 "Bytes that misses read, for each line size (512M)"},
	{"gathers", 0, "N", 0, OPT_SIZE(struct bench, b.gathers, 1024, 1ull << 32),
	 "Elements to gather (64M)"},
	{"threads", 't', "N", 0, OPT_U32(struct bench, b.threads, 32, 1u << 20),
	 "GPU threads that submit commands (64K)"},
	{"commands", 0, "N", 0, OPT_U32(struct bench, b.each, 1, 1u << 20),
	 "Commands per GPU thread (16)"},
	{"queues", 'q', "N", 0, OPT_U32(struct bench, b.queues, 1, GPU_QUEUES),
	 "Queue pairs, up to 16 (8)"},
	{"depth", 'D', "N", 0, OPT_U32(struct bench, b.depth, 2, 65536),
	 "Entries of each queue that moves data (1024)"},
	CLI_JSON(struct bench, json),
	{0}};

static const char doc[] =
	"Measure queue pairs and the cache in GPU memory, used by GPU threads, over mem: devices. "
	"All data read is verified."
	"\vExamples:\n"
	"  annex bench cuda\n"
	"  annex bench cuda hot --bytes 16G --json\n"
	"  annex bench cuda queues --threads 16K --queues 4";

static void report(const struct bench *o, const struct runner *r, struct out *out)
{
	out_text(out, "gpu", "GPU", r->name);
	for (unsigned int i = 0; i < o->b.n; i++) {
		const struct figure *f = &o->b.figure[i];

		if (!strcmp(f->unit, "x"))
			out_ratio(out, f->key, f->label, f->value, "x");
		else
			out_rate(out, f->key, f->label, f->value,
				 !strcmp(f->unit, "B/s") ? "B" : "");
	}
	out_bool(out, "verified", "verified", true);
}

int bench_cuda(int argc, char **argv)
{
	static const struct cli_line line = {options, "[PART]", doc, .list = &part_list,
					     .take = parse_part};
	struct bench o = {.b = {BENCH_SIZES, .seed = 1}};
	struct runner *r = NULL;
	struct out out;
	int err = cli_parse(&line, argc, argv, &o);

	if (!err && o.b.threads / o.b.queues >= 32768)
		err = err_set(-EINVAL,
			      "--threads %u on --queues %u: each queue pair takes fewer "
			      "than 32K threads",
			      o.b.threads, o.b.queues);
	if (!err)
		err = runner_open((int)o.device, &r);
	if (err)
		return err;
	o.b.r = r;
	for (unsigned int i = 0; i < PARTS && !err; i++)
		if (!o.only || !strcmp(o.only, parts[i].name))
			err = parts[i].run(&o.b);
	if (!err) {
		out_init(&out, cli_name(), o.json);
		report(&o, r, &out);
		err = out_end(&out);
	}
	runner_close(r);
	return err;
}
