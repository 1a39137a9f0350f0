// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex ndp time: how long a kernel would take on M2NDP's device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/ndp_time.h>
#include "../cli.h"
#include "../error.h"
#include "../input.h"
#include "../newfile.h"
#include "../same.h"
#include "../out.h"
#include "ndp.h"
#include "operand.h"

#define BASE (1ull << 32)      /* of the arrays */
#define KERNEL_MOST (1u << 20) /* bytes of a file: images are smaller */

enum {
	OPT_POOL = 256,
	OPT_POOL_BYTES,
	OPT_RUNS,
	OPT_SEED,
	OPT_SAVE,
	OPT_OVERWRITE,
	OPT_BUDGET,
	OPT_DEVICE, /* and as many more as there are */
};

/* Options of the device, which checks them. */
static const struct {
	const char *name;
	size_t at;
} device[] = {
	{"--units", offsetof(struct annex_ndp_time_opts, units)},
	{"--subcores", offsetof(struct annex_ndp_time_opts, subcores)},
	{"--slots", offsetof(struct annex_ndp_time_opts, slots)},
	{"--mhz", offsetof(struct annex_ndp_time_opts, mhz)},
	{"--registers", offsetof(struct annex_ndp_time_opts, register_file)},
	{"--l1", offsetof(struct annex_ndp_time_opts, l1_bytes)},
	{"--l1-ways", offsetof(struct annex_ndp_time_opts, l1_ways)},
	{"--l1-cycles", offsetof(struct annex_ndp_time_opts, l1_cycles)},
	{"--tlb", offsetof(struct annex_ndp_time_opts, tlb_entries)},
	{"--l2", offsetof(struct annex_ndp_time_opts, l2_bytes)},
	{"--l2-ways", offsetof(struct annex_ndp_time_opts, l2_ways)},
	{"--l2-cycles", offsetof(struct annex_ndp_time_opts, l2_cycles)},
	{"--channels", offsetof(struct annex_ndp_time_opts, channels)},
	{"--dram-mhz", offsetof(struct annex_ndp_time_opts, dram_mhz)},
	{"--link", offsetof(struct annex_ndp_time_opts, link_ns)},
	{"--vlen", offsetof(struct annex_ndp_time_opts, vlen)},
	{"--piece", offsetof(struct annex_ndp_time_opts, piece)},
};
#define DEVICE (sizeof(device) / sizeof(device[0]))

static const struct argp_option options[] = {
	{"pool", OPT_POOL, "ARGUMENT", 0,
	 "The pool region: an array of its own, or the number of an argument (the first array)", 1},
	{"pool-bytes", OPT_POOL_BYTES, "SIZE", 0, "Of it, from its beginning (all)", 1},
	{"runs", OPT_RUNS, "N", 0, "Launch it so often, and tell of the last: with warm L2s (1)",
	 1},
	{"seed", OPT_SEED, "N", 0, "Other random numbers (1)", 1},
	{"save", OPT_SAVE, "N=FILE", 0,
	 "Write the array of an argument, or of the pool, as the kernel left it", 1},
	{"overwrite", OPT_OVERWRITE, NULL, 0, "The file may be there already", 1},
	{"budget", OPT_BUDGET, "N", 0, "Instructions of a launch (4G)", 1},
	{NULL, 0, NULL, 0, "The device (Table IV):", 2},
	{"units", OPT_DEVICE, "N", 0, "NDP units (32)", 2},
	{"subcores", OPT_DEVICE + 1, "N", 0, "Sub-cores of a unit (4)", 2},
	{"slots", OPT_DEVICE + 2, "N", 0, "Micro-thread slots of a sub-core (16)", 2},
	{"mhz", OPT_DEVICE + 3, "N", 0, "Clock of units, caches and network (2000)", 2},
	{"registers", OPT_DEVICE + 4, "SIZE", 0, "Register file of a unit (48K)", 2},
	{"l1", OPT_DEVICE + 5, "SIZE", 0, "L1 of a unit, with its scratchpad (128K)", 2},
	{"l1-ways", OPT_DEVICE + 6, "N", 0, "Its ways (16)", 2},
	{"l1-cycles", OPT_DEVICE + 7, "N", 0, "Cycles of a hit (4)", 2},
	{"tlb", OPT_DEVICE + 8, "N", 0, "Entries of a unit's TLB (256)", 2},
	{"l2", OPT_DEVICE + 9, "SIZE", 0, "L2 of a channel (128K)", 2},
	{"l2-ways", OPT_DEVICE + 10, "N", 0, "Its ways (16)", 2},
	{"l2-cycles", OPT_DEVICE + 11, "N", 0, "Cycles of a hit (7)", 2},
	{"channels", OPT_DEVICE + 12, "N", 0, "Of DRAM, a power of two (32)", 2},
	{"dram-mhz", OPT_DEVICE + 13, "N", 0, "Command clock; 800 is LPDDR5-6400 (800)", 2},
	{"link", OPT_DEVICE + 14, "NS", 0, "Load to use over CXL (150)", 2},
	{"vlen", OPT_DEVICE + 15, "BITS", 0, "Of a vector register: 128, 256, 512 or 1024 (256)",
	 2},
	{"piece", OPT_DEVICE + 16, "BYTES", 0,
	 "Of the pool region for a micro-thread: 32 or 64 (32)", 2},
	{0}};

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

static error_t add_argument(struct time_opts *o, const char *arg)
{
	if (!o->kernel) {
		o->kernel = arg;
		return 0;
	}
	if (o->n == OPERANDS)
		return -err_set(-EINVAL, "more than %u arguments", OPERANDS);
	o->arg[o->n++] = arg;
	return 0;
}

static error_t parse_save(struct time_opts *o, char *arg)
{
	char *path = strchr(arg, '=');

	if (!path || !path[1])
		return -err_set(-EINVAL, "--save %s: give N=FILE or pool=FILE", arg);
	*path++ = '\0';
	o->save = arg;
	o->save_as = path;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct time_opts *o = state->input;

	if (key >= OPT_DEVICE && key < OPT_DEVICE + (int)DEVICE)
		return -cli_u32(
			device[key - OPT_DEVICE].name, arg, 1, UINT32_MAX,
			(uint32_t *)(void *)((char *)&o->device + device[key - OPT_DEVICE].at));
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->json;
		return 0;
	case OPT_POOL:
		o->pool = arg;
		return 0;
	case OPT_POOL_BYTES:
		return -cli_size("--pool-bytes", arg, 1, UINT64_MAX, &o->pool_bytes);
	case OPT_RUNS:
		return -cli_u32("--runs", arg, 1, 1000000, &o->runs);
	case OPT_SEED:
		return -cli_size("--seed", arg, 0, UINT64_MAX, &o->seed);
	case OPT_SAVE:
		return parse_save(o, arg);
	case OPT_OVERWRITE:
		o->overwrite = true;
		return 0;
	case OPT_BUDGET:
		return -cli_size("--budget", arg, 1, UINT64_MAX, &o->device.budget);
	case ARGP_KEY_ARG:
		return add_argument(o, arg);
	case ARGP_KEY_END:
		return o->kernel ? 0 : -err_set(-EINVAL, "which kernel?");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};

static const char doc[] =
	"Run a kernel on a model of M2NDP's device, and tell how long it takes there, and why: "
	"cycles, instructions, caches, DRAM. docs/m2func.md says how to write one.\n\n"
	"Arguments are those of the kernel, 8 bytes each: numbers (0x too), or arrays, of which it "
	"gets the address: zero:SIZE, random:SIZE, file:PATH. Each begins a page of 2 MiB. Behind "
	"--, "
	"numbers may be negative."
	"\vExamples, with docs/examples/kernels/dot.c and a kernel of the library:\n"
	"  annex ndp time dot.elf random:4M 1048576 zero:8 8 --pool random:4M --save 3=sum\n"
	"  annex ndp time vadd_i32.elf random:4M random:4M zero:4M 1048576 32 \\\n"
	"    --pool 3 --pool-bytes 1M --channels 16 --json";

/* struct timed - What is open. */
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
		return err_set(-EINVAL, "%s %u: argument %u is no array", opt, n, n);
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
	return t->pool ? 0 : err_set(-EINVAL, "no argument is an array: which is the pool region?");
}

/* The pool region's array is behind those of the arguments, if it is none of them. */
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
		return err_set(-EINVAL, "--pool-bytes: the pool region has %llu",
			       (unsigned long long)t->pool->bytes);
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
			out_row(out, name[i], "%llu instructions, busy %.1f %%",
				(unsigned long long)r->issued[i], busy * 100);
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
	static const struct argp argp = {options, parse, "KERNEL.elf [ARGUMENT]...", doc, children,
					 NULL,    NULL};
	struct time_opts o = {.runs = 1, .seed = 1};
	struct timed t = {.device = NULL};
	int err = cli_parse(&argp, argc, argv, &o);

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
