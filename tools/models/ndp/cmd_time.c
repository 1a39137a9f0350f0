// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex ndp time: time a kernel on a model of M2NDP's device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/ndp_time.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/input.h"
#include "tools/common/newfile.h"
#include "tools/common/uri.h"
#include "tools/common/out.h"
#include "operand.h"

#define BASE (1ull << 32)      /* address of the first array */
#define KERNEL_MOST (1u << 20) /* bytes of a kernel's file at most */

struct time_opts {
	struct annex_ndp_time_opts device;
	const char *kernel;
	const char *arg[OPERANDS];
	unsigned int n;
	const char *pool;
	uint64_t pool_bytes;
	uint32_t runs;
	uint64_t seed;
	const char *save, *save_as;
	bool overwrite, json;
};

static int add_argument(void *opts, char *arg)
{
	struct time_opts *o = opts;

	if (!o->kernel) {
		o->kernel = arg;
		return 0;
	}
	if (o->n == OPERANDS)
		return err_set(-EINVAL, "more than %u arguments", OPERANDS);
	o->arg[o->n++] = arg;
	return 0;
}

static int parse_save(void *opts, const char *opt, char *arg)
{
	struct time_opts *o = opts;
	char *path = strchr(arg, '=');

	if (!path || !path[1])
		return err_set(-EINVAL, "%s %s: give N=FILE or pool=FILE", opt, arg);
	*path++ = '\0';
	o->save = arg;
	o->save_as = path;
	return 0;
}

/* An option whose value the device checks. */
#define DEVICE(f) OPT_U32(struct time_opts, device.f, 1, UINT32_MAX)

static const struct cli_option options[] = {
	{"pool", 0, "ARGUMENT", 1, OPT_TEXT(struct time_opts, pool),
	 "Pool region: a new array, or the number of an argument (the first array)"},
	{"pool-bytes", 0, "SIZE", 1, OPT_SIZE(struct time_opts, pool_bytes, 1, UINT64_MAX),
	 "Bytes of the pool region (all)"},
	{"runs", 0, "N", 1, OPT_U32(struct time_opts, runs, 1, 1000000),
	 "Number of launches; reports the last one, with warm L2s (1)"},
	{"seed", 0, "N", 1, OPT_SIZE(struct time_opts, seed, 0, UINT64_MAX),
	 "Seed of random arrays (1)"},
	{"save", 0, "N=FILE", 1, OPT_CALL(parse_save),
	 "Write the array of an argument, or \"pool\", to a file after the launch"},
	{"overwrite", 0, NULL, 1, OPT_FLAG(struct time_opts, overwrite),
	 "Overwrite an existing file"},
	{"budget", 0, "N", 1, OPT_SIZE(struct time_opts, device.budget, 1, UINT64_MAX),
	 "Instruction limit of a launch (4G)"},
	{NULL, 0, NULL, 2, {0}, "The device (Table IV):"},
	{"units", 0, "N", 2, DEVICE(units), "NDP units (32)"},
	{"subcores", 0, "N", 2, DEVICE(subcores), "Sub-cores of a unit (4)"},
	{"slots", 0, "N", 2, DEVICE(slots), "Micro-thread slots of a sub-core (16)"},
	{"mhz", 0, "N", 2, DEVICE(mhz), "Clock of units, caches and network (2000)"},
	{"registers", 0, "SIZE", 2, DEVICE(register_file), "Register file of a unit (48K)"},
	{"l1", 0, "SIZE", 2, DEVICE(l1_bytes), "L1 of a unit, with its scratchpad (128K)"},
	{"l1-ways", 0, "N", 2, DEVICE(l1_ways), "Ways (16)"},
	{"l1-cycles", 0, "N", 2, DEVICE(l1_cycles), "Cycles of a hit (4)"},
	{"tlb", 0, "N", 2, DEVICE(tlb_entries), "Entries of a unit's TLB (256)"},
	{"l2", 0, "SIZE", 2, DEVICE(l2_bytes), "L2 of a channel (128K)"},
	{"l2-ways", 0, "N", 2, DEVICE(l2_ways), "Ways (16)"},
	{"l2-cycles", 0, "N", 2, DEVICE(l2_cycles), "Cycles of a hit (7)"},
	{"channels", 0, "N", 2, DEVICE(channels), "Channels of DRAM, a power of two (32)"},
	{"dram-mhz", 0, "N", 2, DEVICE(dram_mhz), "Command clock; 800 is LPDDR5-6400 (800)"},
	{"link", 0, "NS", 2, DEVICE(link_ns), "Load-to-use latency over CXL (150)"},
	{"vlen", 0, "BITS", 2, DEVICE(vlen),
	 "Bits of a vector register: 128, 256, 512 or 1024 (256)"},
	{"piece", 0, "BYTES", 2, DEVICE(piece),
	 "Bytes of the pool region for a micro-thread: 32 or 64 (32)"},
	CLI_JSON(struct time_opts, json),
	{0}};

static const char doc[] =
	"Run a kernel on a model of M2NDP's device, and report its time, cycles, instructions, and "
	"use of caches and DRAM. docs/m2func.md describes how to write kernels.\n\n"
	"Arguments of the kernel have 8 bytes each: numbers (0x too), or addresses of arrays: "
	"zero:SIZE, random:SIZE, file:PATH. Each array begins at a page of 2 MiB. After --, "
	"numbers "
	"may be negative."
	"\vThe model executes a micro-thread at once when it gets its slot, and then times its\n"
	"work. A micro-thread that waits for another one spins until the budget is used up.\n\n"
	"Examples:\n"
	"  annex ndp time dot.elf random:4M 1048576 zero:8 8 --pool random:4M --save 3=sum\n"
	"  annex ndp time vadd_i32.elf random:4M random:4M zero:4M 1048576 32 \\\n"
	"    --pool 3 --pool-bytes 1M --channels 16 --json";

/*
 * struct timed - A device and a kernel with its arguments.
 * @own: an array for the pool region alone.
 * @pool: the array of the pool region.
 * @saved: the array to write to a file, or NULL.
 */
struct timed {
	struct annex_ndp_time *device;
	struct operand operand[OPERANDS], own;
	const struct operand *pool, *saved;
	unsigned int n;
	char *elf;
	size_t elf_bytes;
	uint64_t args[OPERANDS];
	struct annex_ndp_time_launch launch;
	struct annex_ndp_time_result result;
};

static int read_kernel(struct timed *t, const char *path)
{
	FILE *f = input_file(path);
	int err = 0;

	if (!f)
		return -EINVAL;
	t->elf = malloc(KERNEL_MOST);
	if (!t->elf)
		err = err_set(-ENOMEM, "out of memory");
	else
		t->elf_bytes = fread(t->elf, 1, KERNEL_MOST, f);
	if (!err && ferror(f))
		err = err_sys("%s", path);
	else if (!err && t->elf_bytes == KERNEL_MOST)
		err = err_set(-E2BIG, "%s: more than 1 MiB", path);
	fclose(f);
	return err;
}

/* The array that an option names by its number. */
static int find_array(struct timed *t, const char *opt, const char *arg, const struct operand **out)
{
	uint32_t n = 0;
	int err = cli_u32(opt, arg, 1, OPERANDS, &n);

	if (err)
		return err;
	if (n > t->n || !t->operand[n - 1].memory)
		return err_set(-EINVAL, "%s %u: argument %u is not an array", opt, n, n);
	*out = &t->operand[n - 1];
	return 0;
}

static int choose_pool(struct timed *t, const struct time_opts *o)
{
	if (o->pool && t->own.memory) {
		t->pool = &t->own;
		return 0;
	}
	if (o->pool)
		return find_array(t, "--pool", o->pool, &t->pool);
	for (unsigned int i = t->n; i--;)
		if (t->operand[i].memory)
			t->pool = &t->operand[i];
	return t->pool ? 0
		       : err_set(-EINVAL,
				 "no argument is an array: name the pool region with --pool");
}

/* An array for the pool region alone follows the arrays of the arguments. */
static int make_operands(struct timed *t, const struct time_opts *o)
{
	uint64_t va = BASE, seed = o->seed;
	int err = 0;

	for (; t->n < o->n && !err; t->n++) {
		err = operand_make(&t->operand[t->n], o->arg[t->n], &va, &seed);
		if (!err)
			err = operand_map(&t->operand[t->n], t->device);
	}
	if (!err && o->pool && strchr(o->pool, ':')) {
		err = operand_make(&t->own, o->pool, &va, &seed);
		if (!err)
			err = operand_map(&t->own, t->device);
	}
	return err ? err : choose_pool(t, o);
}

static int prepare(struct timed *t, const struct time_opts *o)
{
	int err = make_operands(t, o);

	if (err)
		return err;
	t->launch.pool = t->pool->value;
	t->launch.pool_bytes = o->pool_bytes ? o->pool_bytes : t->pool->bytes;
	if (t->launch.pool_bytes > t->pool->bytes)
		return err_set(-EINVAL, "--pool-bytes: the pool region has %llu bytes",
			       (ull)t->pool->bytes);
	if (o->save && !strcmp(o->save, "pool"))
		t->saved = t->pool;
	else if (o->save)
		return find_array(t, "--save", o->save, &t->saved);
	return 0;
}

static int run(struct timed *t, const struct time_opts *o)
{
	int err = 0;

	for (unsigned int i = 0; i < t->n; i++)
		t->args[i] = t->operand[i].value;
	t->launch.args = t->args;
	t->launch.nargs = t->n * sizeof(t->args[0]);
	for (uint32_t i = 0; i < o->runs && !err; i++)
		err = annex_ndp_time_run(t->device, t->elf, t->elf_bytes, &t->launch, &t->result);
	return err ? err_lib(err, "%s", o->kernel) : 0;
}

static int save(const struct timed *t, const struct time_opts *o)
{
	struct newfile file;
	int err = newfile_open(&file, o->save_as, o->overwrite);

	if (err)
		return err;
	if (fwrite(t->saved->memory, 1, t->saved->bytes, file.f) != t->saved->bytes)
		err = err_sys("cannot write %s", o->save_as);
	return newfile_close(&file, 1, err);
}

static double share(uint64_t part, uint64_t rest)
{
	return part + rest ? (double)part / (double)(part + rest) : 0;
}

static void report_parts(struct out *out, const struct timed *t)
{
	static const char *const name[ANNEX_NDP_PARTS] = {
		"alu", "sfu", "lsu", "branch", "vector_alu", "vector_sfu", "vector_lsu"};
	const struct annex_ndp_time_result *r = &t->result;
	json_t *parts = json_object();
	struct annex_ndp_time_opts d;

	annex_ndp_time_get_opts(t->device, &d);
	for (unsigned int i = 0; i < ANNEX_NDP_PARTS; i++) {
		double whole = (double)r->cycles * d.units * d.subcores;
		double busy = whole > 0 ? (double)r->busy[i] / whole : 0;
		json_t *one = json_object();

		json_object_set_new(one, "instructions", json_integer((json_int_t)r->issued[i]));
		json_object_set_new(one, "busy", json_real(busy));
		json_object_set_new(parts, name[i], one);
		if (r->issued[i])
			out_row(out, name[i], "%llu instructions, busy %.1f %%", (ull)r->issued[i],
				busy * 100);
	}
	out_json(out, "parts", parts);
}

static int report(const struct timed *t, const struct time_opts *o)
{
	const struct annex_ndp_time_result *r = &t->result;
	struct out out;

	out_init(&out, cli_name(), o->json);
	out_text(&out, "kernel", "kernel", o->kernel);
	out_count(&out, "cycles", "cycles", r->cycles);
	out_seconds(&out, "time_s", "time", r->ns * 1e-9);
	out_seconds(&out, "call_s", "with the link", (r->ns + r->link_ns) * 1e-9);
	out_count(&out, "threads", "micro-threads", r->threads);
	out_count(&out, "slots", "of a sub-core at once", r->slots);
	out_count(&out, "instructions", "instructions", r->instructions);
	report_parts(&out, t);
	out_count(&out, "l1_hits", "L1 hits", r->l1_hits);
	out_count(&out, "l1_misses", "L1 misses", r->l1_misses);
	out_count(&out, "l2_hits", "L2 hits", r->l2_hits);
	out_count(&out, "l2_misses", "L2 misses", r->l2_misses);
	out_count(&out, "tlb_misses", "TLB misses", r->tlb_misses);
	out_bytes(&out, "dram_read_bytes", "read from DRAM", r->dram_read);
	out_bytes(&out, "dram_written_bytes", "written to DRAM", r->dram_written);
	out_rate(&out, "dram_bytes_per_s", "DRAM",
		 (double)(r->dram_read + r->dram_written) / (r->ns * 1e-9), "B");
	out_percent(&out, "row_hit_share", "rows found open", share(r->row_hits, r->row_misses));
	return out_end(&out);
}

static int spares(const struct time_opts *o, const char *operand)
{
	return strncmp(operand, "file:", 5) ? 0 : same_spares(o->save_as, operand + 5);
}

static int check_save(const struct time_opts *o)
{
	int err = newfile_check(o->save_as, o->overwrite);

	if (!err)
		err = same_spares(o->save_as, o->kernel);
	if (!err && o->pool)
		err = spares(o, o->pool);
	for (unsigned int i = 0; i < o->n && !err; i++)
		err = spares(o, o->arg[i]);
	return err;
}

static int open_device(struct timed *t, const struct time_opts *o)
{
	int err = annex_ndp_time_open(&o->device, &t->device);

	return err ? err_lib(err, "cannot make the device") : 0;
}

int ndp_time(int argc, char **argv)
{
	static const struct cli_line line = {options, "KERNEL.elf [ARGUMENT]...", doc,
					     .take = add_argument, .none = "name a kernel"};
	struct time_opts o = {.runs = 1, .seed = 1};
	struct timed t = {.device = NULL};
	int err = cli_parse(&line, argc, argv, &o);

	if (err)
		return err;
	if (o.save)
		err = check_save(&o);
	if (!err)
		err = read_kernel(&t, o.kernel);
	if (!err)
		err = open_device(&t, &o);
	if (!err)
		err = prepare(&t, &o);
	if (!err)
		err = run(&t, &o);
	if (!err && o.save)
		err = save(&t, &o);
	if (!err)
		err = report(&t, &o);
	annex_ndp_time_close(t.device);
	for (unsigned int i = 0; i < t.n; i++)
		operand_free(&t.operand[i]);
	operand_free(&t.own);
	free(t.elf);
	return err;
}
