// SPDX-License-Identifier: MIT
/*
 * Opening and closing a context, and views of its data.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/gpu.h>
#include <annex/uri.h>
#include "context.h"
#include "core/log.h"

#define DEFAULT_LINE 4096u
#define MAX_LINE (1u << 20)
#define DEFAULT_QUEUES 4u

/* Rings must be where both sides reach them: in the provider's memory, or the GPU's. */
static int check_place(const struct annex_uri *uri, const char *key,
		       const struct annex_gpu_opts *opts)
{
	const char *place = annex_uri_get(uri, key);

	if (!place || (!opts->gpu_rings && !strcmp(place, "provider")))
		return 0;
	return annex_fail(-EINVAL, "%s: %s=%.32s: a GPU's queues lie in %s memory", uri->scheme,
			  key, place, opts->gpu_rings ? "its own" : "pinned (provider)");
}

/* A proxy that needs no wake-ups: GPU threads only store to doorbells. */
static int check_serve(const struct annex_uri *uri, const char **more)
{
	const char *serve = annex_uri_get(uri, "serve");

	*more = serve ? "" : uri->nparams ? "&serve=busy" : "?serve=busy";
	if (!serve || !strcmp(serve, "busy"))
		return 0;
	return annex_fail(-EINVAL, "%s: serve=%.32s: GPU threads cannot wake it: use serve=busy",
			  uri->scheme, serve);
}

static int choose_uri(struct gpu_dev *d, const char *uri, const struct annex_gpu_opts *opts,
		      char *out, size_t size)
{
	struct annex_uri *parsed = malloc(sizeof(*parsed));
	const char *more = "";
	int err = parsed ? annex_uri_parse(uri, parsed)
			 : annex_fail(-ENOMEM, "%.64s: out of memory", uri);

	if (!err) {
		d->proxy = annex_dev_traits(uri) & ANNEX_TRAIT_SERVED;
		err = d->proxy ? check_serve(parsed, &more) : check_place(parsed, "sq", opts);
		if (!err && !d->proxy)
			err = check_place(parsed, "cq", opts);
		snprintf(out, size, "%s%s", uri, more);
	}
	free(parsed);
	return err;
}

static int open_dev(struct gpu_dev *d, const char *uri, const struct annex_gpu_opts *opts)
{
	char served[ANNEX_URI_MAX + sizeof("&serve=busy")];
	struct annex_dev_opts o = {
		.queues = (opts->queues ? opts->queues : DEFAULT_QUEUES) + 1, /* the host's own */
		.depth = opts->depth,
		.max_transfer = opts->line > ANNEX_NVME_PAGE ? opts->line : ANNEX_NVME_PAGE,
		.timeout_ms = opts->timeout_ms,
		.provider = d->ctx->memory->pinned,
		/* The host's own queue pair lies anywhere, and the GPU's until they are moved. */
		.sq = opts->gpu_rings ? ANNEX_PLACE_ANY : ANNEX_PLACE_PROVIDER,
		.cq = opts->gpu_rings ? ANNEX_PLACE_ANY : ANNEX_PLACE_PROVIDER,
	};
	int err;

	if (opts->queues > UINT16_MAX)
		return annex_fail(-EINVAL, "%.64s: so many queue pairs no controller has", uri);
	err = choose_uri(d, uri, opts, served, sizeof(served));
	if (!err)
		err = gpu_rings_check(d, uri, opts);
	return err ? err : annex_dev_open(served, &o, &d->dev);
}

/* The last queue pair of each device is the host's. */
static int take_queues(struct annex_gpu_context *ctx)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < ctx->view.ndevs; i++) {
		struct gpu_dev *d = &ctx->devs[i];
		uint32_t n = 0;

		while (annex_dev_qp_at(d->dev, n))
			d->own = annex_dev_qp_at(d->dev, n++);
		if (n < 2)
			return annex_fail(-ENODEV, "%s: it has one queue pair, and two are needed",
					  annex_dev_uri(d->dev));
		d->view.first = all;
		d->view.nqueues = n - 1;
		all += n - 1;
	}
	if (all > UINT16_MAX)
		return annex_fail(-EINVAL, "%s: %u queue pairs together, at most %u", ctx->name,
				  all, UINT16_MAX);
	return 0;
}

/* What one device has, and whether it takes lines. */
static int measure_dev(struct gpu_dev *d, const struct annex_gpu_opts *opts)
{
	const char *uri = annex_dev_uri(d->dev);
	struct annex_ns ns;
	int err = annex_dev_ns(d->dev, opts->nsid, &ns);

	if (err)
		return err;
	if (opts->line & (opts->line - 1) || opts->line < ns.block || opts->line > MAX_LINE)
		return annex_fail(-EINVAL, "%s: a line has 2^n bytes, from %u to %u", uri, ns.block,
				  MAX_LINE);
	if (opts->line > annex_dev_max_transfer(d->dev))
		return annex_fail(-EINVAL, "%s: a line of %u bytes is more than one command moves",
				  uri, opts->line);
	d->blocks = ns.blocks;
	d->view.block_shift = (uint32_t)__builtin_ctz(ns.block);
	return 0;
}

static uint64_t bytes_of(const struct gpu_dev *d)
{
	return d->blocks << d->view.block_shift;
}

/* The size of the data, in whole blocks of all devices. */
static int set_size(struct annex_gpu_context *ctx, uint64_t size)
{
	struct annex_gpu_cache *view = &ctx->view;
	uint64_t least = bytes_of(ctx->devs), block = 1;

	for (uint32_t i = 0; i < view->ndevs; i++) {
		const struct gpu_dev *d = &ctx->devs[i];

		if (least > bytes_of(d))
			least = bytes_of(d);
		if (block >> d->view.block_shift == 0)
			block = 1ull << d->view.block_shift;
	}
	view->size = annex_stripe_capacity(view->stripes, view->line_shift, least) & -block;
	if (size > view->size && view->ndevs > 1)
		return annex_fail(-ERANGE, "%s: they have room for %llu bytes of data", ctx->name,
				  (ull)view->size);
	if (size > view->size)
		return annex_fail(-ERANGE, "%s: namespace %u has %llu bytes", ctx->name, view->nsid,
				  (ull)view->size);
	if (size)
		view->size = (size + block - 1) & -block;
	return 0;
}

/* Fill in the view's description of the data, and its sizes. */
static int measure(struct annex_gpu_context *ctx, const struct annex_gpu_opts *opts)
{
	struct annex_gpu_cache *view = &ctx->view;
	int err = 0;

	for (uint32_t i = 0; !err && i < view->ndevs; i++)
		err = measure_dev(&ctx->devs[i], opts);
	if (err)
		return err;
	view->nsid = opts->nsid;
	view->line_shift = (uint32_t)__builtin_ctz(opts->line);
	view->stripes = opts->layout == ANNEX_STRIPE ? view->ndevs : 1;
	err = set_size(ctx, opts->size);
	if (err)
		return err;
	view->nlines = (view->size + opts->line - 1) >> view->line_shift;
	view->timeout_ns = ctx->timeout_ms * ANNEX_NSEC_PER_MSEC;
	view->patience_ns = (view->ndevs / view->stripes + 1) * view->timeout_ns;
	view->direct = opts->direct;
	return 0;
}

/* The devices as kernels see them. */
static int put_devs(struct annex_gpu_context *ctx)
{
	struct annex_gpu_cache *view = &ctx->view;
	int err = 0;

	view->devs = gpu_alloc(ctx, view->ndevs * sizeof(*view->devs), "devices");
	if (!view->devs)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < view->ndevs; i++)
		err = gpu_put(ctx, &view->devs[i], &ctx->devs[i].view, sizeof(*view->devs));
	return err;
}

static int build(struct annex_gpu_context *ctx, const struct annex_gpu_opts *opts)
{
	int err = measure(ctx, opts);

	if (!err)
		err = take_queues(ctx);
	if (!err)
		err = gpu_slots_open(ctx, opts);
	for (uint32_t i = 0; opts->gpu_rings && !err && i < ctx->view.ndevs; i++)
		err = gpu_rings_open(&ctx->devs[i]);
	if (!err)
		err = gpu_queues_open(ctx);
	if (!err)
		err = put_devs(ctx);
	if (err)
		return err;
	ctx->there = gpu_alloc(ctx, sizeof(ctx->view), "the context");
	return ctx->there ? gpu_put(ctx, ctx->there, &ctx->view, sizeof(ctx->view)) : -ENOMEM;
}

/* The devices first: memory that they read and write is freed after them, or never (-EBUSY). */
static void take_down(struct annex_gpu_context *ctx)
{
	KEEP_LAST_ERROR(true);
	struct annex_gpu_cache *view = &ctx->view;
	int busy = 0;

	fork_forget(&ctx->fork);
	for (uint32_t i = 0; i < view->ndevs; i++) {
		if (!ctx->fork.child)
			gpu_unsee_all(&ctx->devs[i]);
		busy |= annex_dev_close(ctx->devs[i].dev);
	}
	if (busy)
		return;
	gpu_free(ctx, ctx->there, sizeof(*view));
	gpu_free(ctx, view->devs, view->ndevs * sizeof(*view->devs));
	gpu_queues_close(ctx);
	for (uint32_t i = 0; i < view->ndevs; i++)
		gpu_rings_close(&ctx->devs[i]);
	gpu_slots_close(ctx);
	free(ctx->devs);
	free(ctx);
}

/* Device code that a child runs on the host finds an error; there is no other GPU in a child. */
static void in_child(struct fork_watch *w)
{
	struct annex_gpu_context *ctx =
		(struct annex_gpu_context *)(void *)((char *)w -
						     offsetof(struct annex_gpu_context, fork));

	if (gpu_owns(ctx))
		ctx->there->error.code = -ECHILD;
}

static int open_all(struct annex_gpu_context *ctx, const char *uri,
		    const struct annex_gpu_opts *opts)
{
	int err = 0;

	if (opts->layout != ANNEX_STRIPE && opts->layout != ANNEX_REPLICA)
		return annex_fail(-EINVAL, "%.64s: unknown layout %d", uri, (int)opts->layout);
	if (opts->nmore >= UINT16_MAX)
		return annex_fail(-EINVAL, "%.64s: %u more devices", uri, opts->nmore);
	ctx->devs = calloc(opts->nmore + 1ull, sizeof(*ctx->devs));
	if (!ctx->devs)
		return annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	for (; !err && ctx->view.ndevs <= opts->nmore; ctx->view.ndevs++) {
		struct gpu_dev *d = &ctx->devs[ctx->view.ndevs];

		d->ctx = ctx;
		err = open_dev(d, ctx->view.ndevs ? opts->more[ctx->view.ndevs - 1] : uri, opts);
		if (!err && annex_dev_timeout_ms(d->dev) > ctx->timeout_ms)
			ctx->timeout_ms = annex_dev_timeout_ms(d->dev);
	}
	if (err)
		return err;
	snprintf(ctx->name, sizeof(ctx->name), opts->nmore ? "%s and %u more" : "%s",
		 annex_dev_uri(ctx->devs->dev), opts->nmore);
	return build(ctx, opts);
}

int annex_gpu_open(const char *uri, const struct annex_gpu_opts *opts,
		   const struct annex_gpu_memory *memory, struct annex_gpu_context **out)
{
	struct annex_gpu_context *ctx = calloc(1, sizeof(*ctx));
	struct annex_gpu_opts o = *opts;
	int err;

	if (!ctx)
		return annex_fail(-ENOMEM, "%.64s: out of memory", uri);
	ctx->memory = memory;
	o.line = o.line ? o.line : DEFAULT_LINE;
	o.nsid = o.nsid ? o.nsid : 1;
	err = open_all(ctx, uri, &o);
	if (err) {
		take_down(ctx);
		return err;
	}
	ctx->fork.in_child = in_child;
	fork_watch(&ctx->fork);
	*out = ctx;
	return 0;
}

int annex_gpu_close(struct annex_gpu_context *ctx)
{
	int err = 0;

	if (!ctx)
		return 0;
	if (!ctx->fork.child)
		err = annex_gpu_flush(ctx, 0, UINT64_MAX);
	take_down(ctx);
	return err;
}

uint32_t annex_gpu_line(const struct annex_gpu_context *ctx)
{
	return 1u << ctx->view.line_shift;
}

uint64_t annex_gpu_size(const struct annex_gpu_context *ctx)
{
	return ctx->view.size;
}

struct annex_dev *annex_gpu_dev(struct annex_gpu_context *ctx)
{
	return ctx->devs->dev;
}

struct annex_dev *annex_gpu_dev_at(struct annex_gpu_context *ctx, uint32_t i)
{
	return i < ctx->view.ndevs ? ctx->devs[i].dev : NULL;
}

int annex_gpu_array_init(struct annex_gpu_array *a, struct annex_gpu_context *ctx, uint64_t base,
			 uint32_t elem, uint64_t count)
{
	const struct annex_gpu_cache *view = &ctx->view;

	if (ctx->fork.child)
		return fork_refuse(ctx->name);
	if (!elem || elem & (elem - 1) || elem > annex_gpu_line(ctx))
		return annex_fail(-EINVAL, "array: an element of %u bytes does not divide the line",
				  elem);
	if (base % elem)
		return annex_fail(-EINVAL, "array: element 0 is not at a multiple of its size");
	if (base > view->size || count > (view->size - base) / elem)
		return annex_fail(-ERANGE, "array: it would end behind the %llu bytes of data",
				  (ull)view->size);
	*a = (struct annex_gpu_array){.cache = ctx->there,
				      .dir = view->dir,
				      .mem = view->mem,
				      .base = base,
				      .count = count,
				      .elem_shift = (uint32_t)__builtin_ctz(elem),
				      .line_shift = view->line_shift};
	return 0;
}
