// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex vadd: C = A + B, all three on storage (BaM section 5.4). Each thread has the inputs of its
 * next blocks read ahead while it adds; whole lines of the output are not read first, and go back
 * to storage while the inputs of others come.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/array.h>
#include <annex/detail/clock.h>
#include <annex/uri.h>
#include "tools/common/pool.h"
#include "tools/common/cli.h"
#include "tools/common/npy.h"
#include "tools/common/commands.h"
#include "tools/common/device.h"
#include "tools/common/error.h"
#include "tools/gpu/add.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "tools/common/target.h"
enum { A, B, C, VECTORS };

struct vadd {
	struct storage_opts store;
	const char *name[VECTORS];
	bool overwrite, verify, json, on_gpu;
	uint32_t gpu;            /* which, with @on_gpu */
	int type;                /* enum column_type */
	uint64_t first[VECTORS]; /* offset of element 0 */
	uint64_t count;          /* elements */
	uint64_t block;          /* elements of a block */
	struct target target;
	struct storage s[VECTORS];
	struct annex_array v[VECTORS];
};

#define ADD(suffix, ctype)                                                                         \
	static void add_##suffix(void *to, const void *a, const void *b, uint64_t n)               \
	{                                                                                          \
		const ctype *x = a, *y = b;                                                        \
		ctype *z = to;                                                                     \
		for (uint64_t i = 0; i < n; i++)                                                   \
			z[i] = x[i] + y[i];                                                        \
	}

/* Integers are added unsigned: they wrap, whatever their sign. */
ADD(f64, double)
ADD(f32, float)
ADD(64, uint64_t)
ADD(32, uint32_t)

static void (*const adders[])(void *to, const void *a, const void *b, uint64_t n) = {
	[COLUMN_F64] = add_f64, [COLUMN_F32] = add_f32, [COLUMN_I64] = add_64,
	[COLUMN_I32] = add_32,  [COLUMN_U64] = add_64,  [COLUMN_U32] = add_32,
};

static void prefetch(void *ctx, uint64_t block)
{
	struct vadd *o = ctx;
	uint64_t at = block * o->block, n = o->count - at < o->block ? o->count - at : o->block;

	/* A hint: the span reads the lines that it misses. */
	annex_array_prefetch(&o->v[A], at, n);
	annex_array_prefetch(&o->v[B], at, n);
}

/* Add the line of element @i, of at most @n elements; *@done is their number. */
static int add_line(struct vadd *o, uint64_t i, uint64_t n, uint64_t *done)
{
	struct annex_span s[VECTORS];
	int err, have = 0;

	/* An input with a header and the output have line boundaries at different elements. */
	for (err = 0; have < VECTORS; n = s[have++].count) {
		err = annex_array_span(&o->v[have], i, n,
				       have == C ? ANNEX_PIN_WRITE | ANNEX_PIN_NEW : 0, &s[have]);
		if (err) {
			err_lib(err, "cannot %s %s", have == C ? "write" : "read", o->name[have]);
			break;
		}
	}
	if (!err) {
		*done = s[C].count;
		adders[o->type](s[C].data, s[A].data, s[B].data, s[C].count);
	}
	while (have--)
		annex_array_span_end(&o->v[have], &s[have]);
	return err;
}

static int add_block(void *ctx, unsigned int thread, uint64_t block)
{
	struct vadd *o = ctx;
	uint64_t at = block * o->block, end = at + o->block < o->count ? at + o->block : o->count;
	uint64_t n = 0;
	int err = 0;

	(void)thread;
	for (; !err && at < end; at += n)
		err = add_line(o, at, end - at, &n);
	return err;
}

static bool is_uri(const char *name)
{
	const char *colon = strchr(name, ':'), *slash = strchr(name, '/');

	return colon && (!slash || colon < slash);
}

/* The elements of an input, of which the device has @bytes. */
static int measure(struct vadd *o, int i, uint64_t bytes)
{
	struct npy npy = {.type = (enum column_type)o->type};
	const uint32_t size = column_size(o->type);
	int err = 0;

	if (!is_uri(o->name[i]) && npy_is(o->name[i]))
		err = npy_read(o->name[i], &npy);
	else if (bytes % size)
		err = err_set(-EINVAL, "%s: %llu bytes are not whole elements of %u", o->name[i],
			      (ull)bytes, size);
	else
		npy.count = bytes / size;
	if (!err && npy.type != (enum column_type)o->type)
		err = err_set(-EINVAL, "%s has elements of type %s: use --type %s", o->name[i],
			      column_types[npy.type], column_types[npy.type]);
	if (!err && i && npy.count != o->count)
		err = err_set(-EINVAL, "%s has %llu elements, %s has %llu", o->name[A],
			      (ull)o->count, o->name[i], (ull)npy.count);
	o->first[i] = npy.first;
	o->count = npy.count;
	return err;
}

static int open_input(struct vadd *o, int i)
{
	char buf[ANNEX_URI_MAX];
	const char *uri = is_uri(o->name[i]) ? o->name[i] : buf;
	uint64_t bytes;
	int err = uri == buf ? path_uri(buf, "file", o->name[i], "readonly=1") : 0;

	if (!err)
		err = storage_open(&o->s[i], &o->store, &uri, 1, 0, o->store.cache / VECTORS);
	if (!err)
		err = storage_claim_read(&o->s[i]);
	if (err)
		return err;
	err = annex_dev_bytes(o->s[i].devs[0], 1, &bytes);
	return err ? err_lib(err, "%s", o->name[i]) : measure(o, i, bytes);
}

/* The URI of @name, a file or a URI, in @buf. */
static const char *uri_of(const char *name, char *buf)
{
	if (is_uri(name))
		return name;
	return path_uri(buf, "file", name, "") ? NULL : buf;
}

static int check_apart(const struct vadd *o)
{
	char in[ANNEX_URI_MAX], out[ANNEX_URI_MAX];
	const char *to = uri_of(o->name[C], out);

	for (int i = A; i < C; i++) {
		const char *from = uri_of(o->name[i], in);

		if (!from || !to)
			return -ENAMETOOLONG;
		if (same_storage(to, from))
			return err_set(-EINVAL, "%s is an input: write to another file or device",
				       o->name[C]);
	}
	return 0;
}

/* The file or device that the sum goes to, as o->target. */
static int take_target(struct vadd *o)
{
	uint64_t bytes = o->count * column_size(o->type);
	char buf[ANNEX_URI_MAX];
	int err = 0;

	if (!is_uri(o->name[C]))
		err = path_uri(buf, "file", o->name[C], "");
	if (!err)
		err = target_init(&o->target, is_uri(o->name[C]) ? o->name[C] : buf, TARGET_WHOLE,
				  bytes, o->overwrite);
	return err ? err : target_room(&o->target, 1);
}

static int open_output(struct vadd *o)
{
	uint64_t bytes = o->count * column_size(o->type);
	int err = storage_open(&o->s[C], &o->store, (const char **)&o->target.uri, 1, bytes,
			       o->store.cache / VECTORS);

	if (!err)
		err = target_claim(&o->target, o->s[C].devs[0], bytes);
	return err;
}

static int open_all(struct vadd *o)
{
	int err = check_apart(o);

	if (!err)
		err = open_input(o, A);
	if (!err)
		err = open_input(o, B);
	if (!err && !o->target.uri)
		err = take_target(o);
	if (!err)
		err = open_output(o);
	for (int i = 0; i < VECTORS && !err; i++) {
		err = annex_array_init(&o->v[i], o->s[i].cache, o->first[i], column_size(o->type),
				       o->count);
		if (err)
			err_lib(err, "cannot make an array of %s", o->name[i]);
	}
	return err;
}

static int add_all(struct vadd *o, struct pool *pool)
{
	uint64_t line = o->store.line, lines = o->store.cache / VECTORS / line / o->store.threads;
	uint64_t block = line < 128u << 10 ? (128u << 10) / line : 1;
	struct blocks b = {.ctx = o, .prefetch = prefetch, .work = add_block};
	int err;

	/* Half of a thread's share of the cache is for prefetched blocks. */
	while (block > 1 && block * 4 > lines)
		block /= 2;
	b.ahead = lines / 2 / block > BLOCKS_AHEAD ? BLOCKS_AHEAD
						   : (unsigned int)(lines / 2 / block);
	o->block = block * line / column_size(o->type);
	b.count = (o->count + o->block - 1) / o->block;
	progress_begin("adding");
	err = blocks_run(pool, &b);
	if (err)
		return err;
	err = annex_cache_flush(o->s[C].cache, 0, UINT64_MAX);
	return err ? err_lib(err, "cannot write %s", o->name[C]) : 0;
}

/* From storage once more, with empty caches and one element at a time. */
static int verify(struct vadd *o)
{
	uint32_t size = column_size(o->type);

	progress_begin("verifying");
	for (int i = 0; i < VECTORS; i++) {
		if (storage_renew(&o->s[i], &o->store, o->first[i] + o->count * size,
				  o->store.cache / VECTORS))
			return -EIO;
		o->v[i].cache = o->s[i].cache;
	}
	for (uint64_t i = 0; i < o->count; i++) {
		uint64_t x[VECTORS] = {0}, sum = 0;
		int err = 0;

		for (int k = 0; k < VECTORS && !err; k++)
			err = annex_array_get(&o->v[k], i, &x[k]);
		if (err)
			return err_lib(err, "cannot read back");
		adders[o->type](&sum, &x[A], &x[B], 1);
		if (memcmp(&sum, &x[C], size))
			return err_set(-EBADMSG, "the result is wrong: element %llu is not the sum",
				       (ull)i);
		progress_update(i, o->count, "elements");
	}
	return 0;
}

static void report(struct vadd *o, double t, struct out *out)
{
	struct annex_cache_stats st[VECTORS];

	for (int i = 0; i < VECTORS; i++)
		storage_used(&o->s[i], &st[i]);
	out_count(out, "elements", "elements", o->count);
	out_text(out, "type", "type", column_types[o->type]);
	out_count(out, "threads", "threads", o->store.threads);
	out_bytes(out, "cache_bytes", "cache", o->s[A].bytes + o->s[B].bytes + o->s[C].bytes);
	out_bytes(out, "line_bytes", "line", o->store.line);
	out_seconds(out, "time_s", "time", t);
	out_bytes(out, "bytes_read", "bytes read",
		  st[A].bytes_read + st[B].bytes_read + st[C].bytes_read);
	out_bytes(out, "bytes_written", "bytes written", st[C].bytes_written);
	out_rate(out, "read_bytes_per_s", "read", (double)(st[A].bytes_read + st[B].bytes_read) / t,
		 "B");
	out_rate(out, "write_bytes_per_s", "written", (double)st[C].bytes_written / t, "B");
}

static void report_gpu(const struct vadd *o, const struct gpu_add *a, const char *gpu,
		       struct out *out)
{
	out_count(out, "elements", "elements", o->count);
	out_text(out, "type", "type", column_types[o->type]);
	out_text(out, "gpu", "GPU", gpu);
	out_bytes(out, "cache_bytes", "cache", a->cache * VECTORS);
	out_bytes(out, "line_bytes", "line", o->store.line);
	out_seconds(out, "time_s", "time", a->seconds);
	out_bytes(out, "bytes_read", "bytes read", a->read);
	out_bytes(out, "bytes_written", "bytes written", a->written);
	out_rate(out, "read_bytes_per_s", "read", (double)a->read / a->seconds, "B");
	out_rate(out, "write_bytes_per_s", "written", (double)a->written / a->seconds, "B");
}

/* Add on a GPU. Its contexts are closed again: verification opens the devices itself. */
static int add_on_gpu(struct vadd *o, struct runner *r, struct out *out)
{
	static const uint32_t types[] = {
		[COLUMN_F64] = GPU_F64, [COLUMN_F32] = GPU_F32, [COLUMN_I64] = GPU_U64,
		[COLUMN_I32] = GPU_U32, [COLUMN_U64] = GPU_U64, [COLUMN_U32] = GPU_U32,
	};
	char in[C][ANNEX_URI_MAX];
	struct gpu_add a = {
		.count = o->count,
		.first = {o->first[A], o->first[B]},
		.cache = storage_useful(&o->store, o->count * column_size(o->type),
					o->store.cache / VECTORS),
		.type = types[o->type],
		.line = o->store.line,
		.queues = o->store.queues,
		.depth = o->store.depth,
	};
	int err = 0, closed;

	for (int i = A; i < C && !err; i++) {
		a.uri[i] = is_uri(o->name[i]) ? o->name[i] : in[i];
		if (a.uri[i] == in[i])
			err = path_uri(in[i], "file", o->name[i], "readonly=1");
	}
	a.uri[C] = o->target.uri;
	if (!err)
		err = gpu_add_open(r, &a);
	if (!err)
		err = gpu_add_run(r, &a);
	closed = gpu_add_close(&a);
	err = err ? err : closed;
	if (!err)
		report_gpu(o, &a, r->name, out);
	return err;
}

/* The host's devices give the number of elements; then they are closed. */
static int measure_inputs(struct vadd *o)
{
	int err = check_apart(o);

	for (int i = A; i < C && !err; i++)
		err = open_input(o, i);
	for (int i = A; i < C; i++) {
		int closed = o->s[i].ndevs ? storage_close(&o->s[i]) : 0;

		err = err ? err : closed;
	}
	return err ? err : take_target(o);
}

static int run_gpu(struct vadd *o, struct out *out)
{
	struct runner *r = NULL;
	int err = runner_open((int)o->gpu, &r);

	if (!err)
		err = measure_inputs(o);
	if (!err)
		err = add_on_gpu(o, r, out);
	runner_close(r);
	if (!err && o->verify) {
		err = open_all(o);
		if (!err)
			err = verify(o);
		progress_end();
		out_bool(out, "verified", "verified", !err);
	}
	return err;
}

/* Refuse options that do not apply to a GPU, and outputs that end with the command. */
static int check_gpu(const struct vadd *o)
{
	if (o->store.threads_named || o->store.cache_in)
		return err_set(-EINVAL, "--threads and --cache-in apply to the host only: leave "
					"them out with --gpu");
	for (int i = 0; i < VECTORS; i++)
		if (annex_dev_traits(o->name[i]) & ANNEX_TRAIT_VOLATILE)
			return err_set(-EINVAL,
				       "%s: --gpu needs files, or devices that keep their data",
				       o->name[i]);
	return 0;
}

static int run(struct vadd *o, struct out *out)
{
	struct pool *pool = NULL;
	uint64_t start;
	int err = pool_create(o->store.threads, &pool);

	if (!err)
		err = open_all(o);
	start = annex_now();
	if (!err)
		err = add_all(o, pool);
	progress_end();
	if (!err)
		report(o, (double)(annex_now() - start) / 1e9, out);
	if (!err && o->verify) {
		err = verify(o);
		progress_end();
		out_bool(out, "verified", "verified", !err);
	}
	pool_destroy(pool);
	return err;
}

static int set_gpu(void *opts, const char *opt, char *arg)
{
	struct vadd *o = opts;

	o->on_gpu = true;
	return arg ? cli_u32(opt, arg, 0, 1023, &o->gpu) : 0;
}

static const struct cli_option options[] = {
	{"output", 'o', "C", 0, OPT_TEXT(struct vadd, name[C]),
	 "Write the sum to this new file or device"},
	{"type", 0, NULL, 0, OPT_CHOICE(struct vadd, type, column_types),
	 "Type of the elements (f64)"},
	{"overwrite", 0, NULL, 0, OPT_FLAG(struct vadd, overwrite),
	 "Overwrite a file or device that holds data"},
	{"verify", 0, NULL, 0, OPT_FLAG(struct vadd, verify),
	 "Read all three vectors again and check the sum"},
	{"gpu", 0, "N", 0, OPT_CALL_OR_NULL(set_gpu),
	 "Add on GPU N (0), with the caches in its memory; excludes --threads, --cache-in and mem: "
	 "devices"},
	CLI_TABLE(struct vadd, store, storage_cache_options),
	CLI_JSON(struct vadd, json),
	{0}};

static const char doc[] =
	"C = A + B, element by element, with all three on storage. Integers wrap.\n\n"
	"A, B and C are files or device URIs. A and B may be .npy files. The cache is shared "
	"equally among them."
	"\vExamples:\n"
	"  annex vadd gen a.f64 --size 1G\n"
	"  annex vadd gen b.f64 --size 1G --seed 2\n"
	"  annex vadd a.f64 b.f64 -o c.f64 --type f64 --cache 96M --line 64K --verify\n"
	"  annex vadd a.f64 b.f64 -o c.f64 --gpu --cache 3G --verify";

/* Caches before the target: a write-back may come as late as their end. */
static int close_all(struct vadd *o, int err)
{
	for (int i = 0; i < VECTORS; i++) {
		int closed = storage_close(&o->s[i]);

		err = err ? err : closed;
	}
	return target_done(&o->target, 1, err);
}

static const struct cli_command gen[] = {{"gen", vadd_gen, "make an input"}, {NULL, NULL, NULL}};
static const struct cli_list commands = {.arg = "COMMAND", .commands = gen};

static int vadd(int argc, char **argv)
{
	static const struct cli_line line = {options, "A B", doc, CLI_ARG_2(struct vadd, name),
					     .list = &commands};
	struct vadd o = {.type = COLUMN_F64};
	struct out out;
	int err = cli_parse(&line, argc, argv, &o);

	if (!err)
		err = storage_settle(&o.store);
	if (err)
		return err;
	if (!o.name[B] || !o.name[C])
		return err_set(-EINVAL, "name two inputs, and the output with -o");
	if (o.on_gpu)
		err = check_gpu(&o);
	if (err)
		return err;
	if (!o.on_gpu && o.store.cache / VECTORS / o.store.line < 4ull * o.store.threads)
		return err_set(-EINVAL,
			       "--cache is too small: %u threads need %llu bytes with lines of %u",
			       o.store.threads, 4ull * VECTORS * o.store.threads * o.store.line,
			       o.store.line);
	out_init(&out, cli_name(), o.json);
	err = close_all(&o, o.on_gpu ? run_gpu(&o, &out) : run(&o, &out));
	return out_close(&out, err);
}

int cmd_vadd(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "gen"))
		return cli_dispatch(gen, "", argc, argv);
	return vadd(argc, argv);
}
