// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <annex/uri.h>
#include "tools/common/error.h"
#include "../gpu/search.h"
#include "tools/common/mem.h"
#include "tools/common/uri.h"
#include "run.h"

#define PIECE (32ull << 20) /* of a file that is copied to a mem: device */

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

static void report(const struct run *run, const struct gpu_search *s,
		   const struct annex_gpu_stats *st, const char *gpu, struct out *out)
{
	uint64_t asked = s->edges * run->g.h.id_bytes;

	out_text(out, "file", "graph file", run->file);
	out_count(out, "vertices", "vertices", run->g.h.vertices);
	out_count(out, "edges", "edges", run->g.h.edges);
	out_text(out, "gpu", "GPU", gpu);
	out_bytes(out, "cache_bytes", "cache", run->store.cache);
	out_bytes(out, "line_bytes", "line", run->store.line);
	out_seconds(out, "time_s", "time of the kernels", s->seconds);
	out_count(out, "edges_traversed", "edges traversed", s->edges);
	out_rate(out, "edges_per_s", "speed", (double)s->edges / s->seconds, " edges");
	out_bytes(out, "bytes_asked", "bytes asked", asked);
	out_bytes(out, "bytes_read", "bytes read", st->bytes_read);
	out_ratio(out, "read_amplification", "read amplification",
		  (double)st->bytes_read / (double)asked, "x");
}

static int search(struct run *run, struct runner *r, struct annex_gpu_context *ctx, struct out *out)
{
	struct annex_gpu_stats before = {0}, after = {0};
	struct bfs *b = &run->r.bfs;
	struct gpu_search s = {
		.offsets = run->g.offsets,
		.vertices = b->vertices,
		.source = run->source,
		.depth = b->depth,
		.parent = b->parent,
	};
	struct annex_gpu_array edges;
	int err = annex_gpu_array_init(&edges, ctx, run->g.h.section[CSR_EDGES].offset,
				       run->g.h.id_bytes, run->g.h.edges);

	if (!err)
		err = annex_gpu_get_stats(ctx, &before);
	if (err)
		return err_lib(err, "cannot make an array of the edges of %s", run->file);
	err = gpu_search_run(r, ctx, run->store.cache / run->store.line, &edges, &s);
	if (!err && annex_gpu_get_stats(ctx, &after))
		err = err_set(-EIO, "cannot read the counters");
	if (err)
		return err;
	b->reached = s.reached;
	b->levels = s.levels;
	after.bytes_read -= before.bytes_read;
	report(run, &s, &after, r->name, out);
	return 0;
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

static int search_on(struct run *run, struct runner *r, struct out *out)
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
		err = search(run, r, ctx, out);
	closed = annex_gpu_close(ctx);
	if (!err && closed)
		err = err_lib(closed, "cannot close device %s", uri);
	return err;
}

int gpu_search(struct run *run, struct out *out)
{
	struct bfs *b = &run->r.bfs;
	struct runner *r = NULL;
	int err = runner_open((int)run->gpu, &r);

	memset(b, 0, sizeof(*b));
	if (err)
		return err;
	run->store.cache = storage_useful(&run->store, run->g.size, run->store.cache);
	b->vertices = run->g.h.vertices;
	b->depth = mem_alloc(b->vertices, sizeof(*b->depth), "depths");
	b->parent = mem_alloc(b->vertices, sizeof(*b->parent), "parents");
	err = b->depth && b->parent ? search_on(run, r, out) : -ENOMEM;
	runner_close(r);
	return err;
}
