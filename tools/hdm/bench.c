// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex bench hdm: the cost of loads, stores, copies and pieces in a memory range and in ordinary
 * memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/detail/random.h>
#include <annex/provider.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "access.h"

#define HELD 64u
#define CLOCK_EVERY 256u /* pairs between two looks at the clock */

/* struct pairs - Pieces that the threads take and give back. */
struct pairs {
	struct annex_hdm *h;
	uint64_t end, done;
};

/* struct held - A piece, and its first word. */
struct held {
	uint64_t *p;
	uint64_t mark;
};

static int pairs_free(struct annex_hdm *h, struct held *x)
{
	int err = 0;

	if (x->p && *x->p != x->mark)
		return err_set(-EBADMSG, "a piece was given to two threads");
	if (h)
		err = annex_hdm_free(h, x->p);
	else
		free(x->p);
	x->p = NULL;
	return err ? err_lib(err, "a piece could not be freed") : 0;
}

static int pairs_alloc(struct annex_hdm *h, struct held *x, size_t bytes, uint64_t mark)
{
	void *p = NULL;
	int err;

	if (h)
		err = annex_hdm_alloc(h, bytes, 0, NULL, &p);
	else
		err = (p = malloc(bytes)) ? 0 : -ENOMEM;
	if (err)
		return h ? err_lib(err, "cannot allocate %zu bytes", bytes)
			 : err_set(err, "out of memory");
	x->p = p;
	x->mark = *x->p = mark;
	return 0;
}

static int pairs_work(void *ctx, unsigned int id, unsigned int n)
{
	struct pairs *j = ctx;
	struct held held[HELD] = {{NULL, 0}};
	uint64_t rng = id + 1, pairs = 0;
	int err = 0;

	(void)n;
	do {
		for (unsigned int i = 0; i < CLOCK_EVERY && !err; i++) {
			uint64_t r = annex_random(&rng);
			struct held *x = &held[r % HELD];

			err = pairs_free(j->h, x);
			if (!err)
				err = pairs_alloc(j->h, x, 64 + (r >> 8) % 1024, r);
		}
		pairs += CLOCK_EVERY;
	} while (!err && annex_now() < j->end);
	for (unsigned int i = 0; i < HELD; i++) {
		int last = pairs_free(j->h, &held[i]);

		err = err ? err : last;
	}
	annex_atomic_add(&j->done, pairs, ANNEX_RELAXED);
	return err;
}

/*
 * Pieces of 64 to 1087 bytes, some of which each thread holds, taken from @h, or by malloc() if it
 * is NULL, and given back: *@rate pairs a second of all threads. -EBADMSG, with the line, when two
 * threads have the same piece.
 */
static int pairs_run(struct annex_hdm *h, struct pool *pool, double seconds, double *rate)
{
	uint64_t start = annex_now();
	struct pairs j = {.h = h, .end = start + (uint64_t)(seconds * 1e9)};
	int err = pool_run(pool, pairs_work, &j);

	*rate = (double)j.done * 1e9 / (double)(annex_now() - start);
	return err;
}

#define DEFAULT_BYTES (64ull << 20)
#define LEAST (64u << 10)
#define MOST (64ull << 30)

struct bench {
	const char *uri;
	uint64_t bytes;
	uint32_t threads;
	double seconds;
	bool json;
};

/* struct result - [0]: the range, [1]: ordinary memory. */
struct result {
	struct annex_hdm_info info;
	struct access access[2];
	struct persist persist;
	double pairs[2];
};

static const struct cli_option options[] = {
	{"bytes", 0, "SIZE", 1, OPT_SIZE(struct bench, bytes, LEAST, MOST),
	 "Bytes of the range to use, and of ordinary memory (64M, or half of the free bytes)"},
	{"threads", 't', "N", 1, OPT_U32(struct bench, threads, 1, 1024),
	 "Worker threads (one per core)"},
	{"seconds", 0, "S", 1, OPT_DOUBLE(struct bench, seconds, 0.001, 3600),
	 "Shortest time of each measurement (0.3)"},
	CLI_JSON(struct bench, json),
	{0}};

/* Range and ordinary memory are measured in turns. */
static int measure(const struct bench *b, struct annex_hdm *h, struct pool *pool, char *dram,
		   char *range, struct result *r)
{
	const struct memory m[2] = {{range, b->bytes, b->uri}, {dram, b->bytes, "ordinary memory"}};
	int err = 0;

	for (unsigned int i = 0; i < 2 && !err; i++) {
		progress_begin(i ? "ordinary memory" : "the range");
		err = access_run(&m[i], pool, b->seconds, &r->access[i]);
	}
	if (!err && r->info.persistent)
		err = access_persist(&m[0], h, b->seconds, &r->persist);
	for (unsigned int i = 0; i < 2 && !err; i++)
		err = pairs_run(i ? NULL : h, pool, b->seconds, &r->pairs[i]);
	progress_end();
	return err;
}

/* A figure of both, and their ratio. */
static void both(struct out *out, const char *key, const char *label, double mine, double theirs,
		 const char *(*show)(double value, char buf[OUT_SIZE]))
{
	char theirs_key[64], a[OUT_SIZE], c[OUT_SIZE];

	snprintf(theirs_key, sizeof(theirs_key), "memory_%s", key);
	out_json(out, key, json_real(mine));
	out_json(out, theirs_key, json_real(theirs));
	out_row(out, label, "%s (memory: %s, %.2fx)", show(mine, a), show(theirs, c),
		mine / theirs);
}

static const char *show_rate(double value, char buf[OUT_SIZE])
{
	char size[OUT_SIZE];

	snprintf(buf, OUT_SIZE, "%.12s/s", out_size(value, size));
	return buf;
}

static const char *show_millions(double value, char buf[OUT_SIZE])
{
	snprintf(buf, OUT_SIZE, "%.2f M/s", value / 1e6);
	return buf;
}

static const char *show_ns(double value, char buf[OUT_SIZE])
{
	snprintf(buf, OUT_SIZE, "%.1f ns", value * 1e9);
	return buf;
}

static void report_persist(struct out *out, const struct result *r)
{
	char buf[OUT_SIZE];

	out_bool(out, "persistent", "persistent", r->info.persistent);
	out_text(out, "flush", "persisted by", r->info.flush);
	if (!r->info.persistent)
		return;
	out_json(out, "persist_line_s", json_real(r->persist.line));
	out_row(out, "store and persist 64 bytes", "%s", show_ns(r->persist.line, buf));
	out_json(out, "persist_bytes_per_s", json_real(r->persist.rate));
	out_row(out, "store and persist 4 KiB", "%s", show_rate(r->persist.rate, buf));
}

static int report(const struct bench *b, const struct result *r)
{
	const struct access *x = r->access;
	struct out out;

	out_init(&out, cli_name(), b->json);
	out_text(&out, "range", "range", b->uri);
	out_bytes(&out, "range_bytes", "its size", r->info.bytes);
	out_json(&out, "node", json_integer(r->info.node));
	if (r->info.node >= 0)
		out_row(&out, "NUMA node", "%d", r->info.node);
	out_bytes(&out, "bytes", "measured on", b->bytes);
	out_count(&out, "threads", "threads", b->threads);
	both(&out, "load_bytes_per_s", "load", x[0].load, x[1].load, show_rate);
	both(&out, "store_bytes_per_s", "store", x[0].store, x[1].store, show_rate);
	both(&out, "copy_bytes_per_s", "copy", x[0].copy, x[1].copy, show_rate);
	both(&out, "random_loads_per_s", "random loads", x[0].random, x[1].random, show_millions);
	both(&out, "latency_s", "latency", x[0].latency, x[1].latency, show_ns);
	if (b->threads > 1)
		both(&out, "loaded_latency_s", "latency under load", x[0].loaded, x[1].loaded,
		     show_ns);
	report_persist(&out, r);
	both(&out, "pairs_per_s", "allocate and free pairs", r->pairs[0], r->pairs[1],
	     show_millions);
	out_bool(&out, "verified", "verified", true);
	return out_end(&out);
}

/* Half of the room is left to the pieces. */
static int size_up(struct bench *b, struct annex_hdm *h)
{
	struct annex_hdm_usage u;
	int err = annex_hdm_get_usage(h, &u);

	if (err)
		return err_lib(err, "%s", b->uri);
	if (!b->bytes)
		b->bytes = u.largest / 2 < DEFAULT_BYTES ? u.largest / 2 / LEAST * LEAST
							 : DEFAULT_BYTES;
	if (b->bytes / 2 / LEAST < b->threads)
		return err_set(-ENOSPC,
			       "%s: %" PRIu64 " bytes, of %" PRIu64
			       " that are free: too few for %u threads",
			       b->uri, b->bytes, u.free, b->threads);
	return 0;
}

static int run(struct bench *b, struct annex_hdm *h, struct pool *pool)
{
	const struct annex_provider *prov = annex_provider_pages();
	struct result r = {.pairs = {0, 0}};
	void *range, *dram;
	int err = size_up(b, h);

	if (err)
		return err;
	annex_hdm_get_info(h, &r.info);
	err = annex_hdm_alloc(h, b->bytes, 4096, NULL, &range);
	if (err)
		return err_lib(err, "%s", b->uri);
	dram = prov->alloc(prov->ctx, b->bytes, 4096);
	err = dram ? measure(b, h, pool, dram, range, &r)
		   : err_set(-ENOMEM, "no memory for %" PRIu64 " bytes", b->bytes);
	prov->free(prov->ctx, dram, b->bytes);
	annex_hdm_free(h, range);
	return err ? err : report(b, &r);
}

static const char doc[] =
	"Measure a memory range: loads, stores and copies by all threads, random loads, the "
	"latency of dependent loads (alone, and while other threads load), persisting, and "
	"allocating and freeing pieces of 64 to 1087 bytes. Ordinary memory and malloc() are "
	"measured for comparison. All data read is checked."
	"\vExamples:\n"
	"  annex bench hdm 'shm:/dev/shm/range?size=256M'\n"
	"  annex bench hdm 'numa:1?size=1G' --bytes 512M --json\n"
	"  annex bench hdm dax:/dev/dax0.0 --threads 8";

int bench_hdm(int argc, char **argv)
{
	static const struct cli_line line = {
		options,
		"RANGE",
		doc,
		.list = &uri_ranges,
		CLI_ARG(struct bench, uri),
		.none = "name the range, as shm:/dev/shm/range?size=256M",
		.many = "\"%s\" is one range too many"};
	struct bench b = {.threads = pool_default_threads(), .seconds = 0.3};
	struct annex_hdm *h = NULL;
	struct pool *pool = NULL;
	int err = cli_parse(&line, argc, argv, &b);

	if (err)
		return err;
	err = annex_hdm_open(b.uri, NULL, &h);
	err = err ? err_lib(err, "cannot open the range %s", b.uri) : pool_create(b.threads, &pool);
	if (!err)
		err = run(&b, h, pool);
	pool_destroy(pool);
	annex_hdm_close(h);
	return err;
}
