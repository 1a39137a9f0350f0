// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <annex/uri.h>
#include "tools/common/error.h"
#include "tools/common/mem.h"
#include "tools/common/uri.h"
#include "run.h"

#define PIECE (32ull << 20) /* of a file that is copied to a mem: device */

static int set_gpu(void *o, const char *opt, char *arg)
{
	struct run *run = o;

	run->on_gpu = true;
	return arg ? cli_u32(opt, arg, 0, 1023, &run->gpu) : 0;
}

const struct cli_option run_gpu_options[] = {
	{"gpu", 0, "N", 0, OPT_CALL_OR_NULL(set_gpu),
	 "Compute on GPU N (0), with the cache in its memory; excludes --threads, --cache-in, "
	 "--access, --cold, --warm and --mechanisms"},
	{0}};

int gpu_check(const struct run *run)
{
	bool empty;

	if (run->edges.access != EDGES_ARRAY || run->edges.cold)
		return err_set(-EINVAL, "--gpu reads the edges through an array: leave out "
					"--access and --cold");
	if (run->store.threads_named)
		return err_set(-EINVAL, "--threads applies to the host only: leave it out with "
					"--gpu");
	if (run->store.cache_in)
		return err_set(-EINVAL, "--gpu has its cache in GPU memory: leave out --cache-in");
	return storage_check_image(&run->store, &empty);
}

/* An image of the graph file on a mem: device, which is empty when it is opened. */
static int fill(struct run *run, struct runner *r, struct annex_gpu_context *ctx)
{
	char *buf = mem_alloc(PIECE, 1, "a piece of the graph");
	int err = buf ? 0 : -ENOMEM;

	for (uint64_t at = 0; !err && at < run->g.size; at += PIECE) {
		uint64_t n = run->g.size - at < PIECE ? run->g.size - at : PIECE;
		struct annex_gpu_array words;
		ssize_t got = pread(run->g.fd, buf, n, (off_t)at);

		if (got != (ssize_t)n) {
			err = err_set(-EIO, "cannot read %s", run->file);
			break;
		}
		err = annex_gpu_array_init(&words, ctx, at, 8, (n + 7) / 8);
		err = err ? err_lib(err, "the devices are smaller than %s", run->file)
			  : runner_upload(r, ctx, &words, buf, (n + 7) / 8 * 8);
	}
	mem_free(buf, PIECE, 1);
	return err;
}

static void report(const struct run *run, const struct gpu_whole *w, uint64_t edges,
		   uint64_t bytes_read, struct out *out)
{
	uint64_t asked = edges * run->g.h.id_bytes;

	out_text(out, "file", "graph file", run->file);
	out_count(out, "vertices", "vertices", run->g.h.vertices);
	out_count(out, "edges", "edges", run->g.h.edges);
	out_text(out, "gpu", "GPU", w->r->name);
	out_bytes(out, "cache_bytes", "cache", run->store.cache);
	out_bytes(out, "line_bytes", "line", run->store.line);
	out_seconds(out, "time_s", "time of the kernels", w->seconds);
	out_count(out, "edges_traversed", "edges traversed", edges);
	out_rate(out, "edges_per_s", "speed", (double)edges / w->seconds, " edges");
	out_bytes(out, "bytes_asked", "bytes asked", asked);
	out_bytes(out, "bytes_read", "bytes read", bytes_read);
	out_ratio(out, "read_amplification", "read amplification",
		  (double)bytes_read / (double)asked, "x");
}

static int search(struct run *run, const struct algorithm *a, struct runner *r,
		  struct annex_gpu_context *ctx, struct out *out)
{
	struct annex_gpu_stats before = {0}, after = {0};
	struct gpu_whole w = {
		.r = r,
		.ctx = ctx,
		.slots = run->store.cache / run->store.line,
		.offsets = run->g.offsets,
		.vertices = run->g.h.vertices,
	};
	uint64_t edges = 0;
	int err = annex_gpu_array_init(&w.edges, ctx, run->g.h.section[CSR_EDGES].offset,
				       run->g.h.id_bytes, run->g.h.edges);

	if (!err)
		err = annex_gpu_get_stats(ctx, &before);
	if (err)
		return err_lib(err, "cannot make an array of the edges of %s", run->file);
	err = a->on_gpu(run, &w, &edges);
	if (!err && annex_gpu_get_stats(ctx, &after))
		err = err_set(-EIO, "cannot read the counters");
	if (!err)
		report(run, &w, edges, after.bytes_read - before.bytes_read, out);
	return err;
}

static int keep_writers_out(struct annex_gpu_context *ctx)
{
	struct annex_dev *dev;

	for (uint32_t i = 0; (dev = annex_gpu_dev_at(ctx, i)); i++) {
		struct annex_ns ns;
		int err = annex_dev_ns(dev, 1, &ns);

		if (!err)
			err = annex_dev_claim_shared(dev, 1, 0, ns.blocks);
		if (err)
			return err_lib(err, "cannot read %s", annex_dev_uri(dev));
	}
	return 0;
}

static int search_on(struct run *run, const struct algorithm *a, struct runner *r, struct out *out)
{
	struct annex_gpu_opts opts = {
		.bytes = run->store.cache,
		.line = run->store.line,
		.queues = run->store.queues,
		.depth = run->store.depth,
		.size = run->g.size,
		.more = run->store.uris + 1,
		.nmore = run->store.nuris ? run->store.nuris - 1 : 0,
		.layout = run->store.layout ? ANNEX_REPLICA : ANNEX_STRIPE,
	};
	char self[ANNEX_URI_MAX];
	const char *uri = run->store.nuris ? run->store.uris[0] : self;
	struct annex_gpu_context *ctx = NULL;
	int err = uri == self ? path_uri(self, "file", run->file, "readonly=1") : 0, closed;

	if (err)
		return err;
	err = annex_gpu_open(uri, &opts, r->memory, &ctx);
	if (err)
		return err_lib(err, "cannot open device %s for a GPU", uri);
	err = keep_writers_out(ctx);
	/* Then all are, by gpu_check(). */
	if (!err && annex_dev_traits(uri) & ANNEX_TRAIT_VOLATILE)
		err = fill(run, r, ctx);
	if (!err)
		err = search(run, a, r, ctx, out);
	closed = annex_gpu_close(ctx);
	if (!err && closed)
		err = err_lib(closed, "cannot close device %s", uri);
	return err;
}

int gpu_run(struct run *run, const struct algorithm *a, struct out *out)
{
	struct runner *r = NULL;
	int err;

	/* a->free() also frees results that were not made. */
	memset(&run->r, 0, sizeof(run->r));
	err = runner_open((int)run->gpu, &r);
	if (err)
		return err;
	run->store.cache = storage_useful(&run->store, run->g.size, run->store.cache);
	err = search_on(run, a, r, out);
	runner_close(r);
	return err;
}
