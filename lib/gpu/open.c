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

static int choose_uri(struct annex_gpu_context *ctx, const char *uri,
		      const struct annex_gpu_opts *opts, char *out, size_t size)
{
	struct annex_uri *parsed = malloc(sizeof(*parsed));
	const char *more = "";
	int err = parsed ? annex_uri_parse(uri, parsed)
			 : annex_fail(-ENOMEM, "%.64s: out of memory", uri);

	if (!err) {
		ctx->proxy = annex_dev_traits(uri) & ANNEX_TRAIT_SERVED;
		err = ctx->proxy ? check_serve(parsed, &more) : check_place(parsed, "sq", opts);
		if (!err && !ctx->proxy)
			err = check_place(parsed, "cq", opts);
		snprintf(out, size, "%s%s", uri, more);
	}
	free(parsed);
	return err;
}

static int open_dev(struct annex_gpu_context *ctx, const char *uri,
		    const struct annex_gpu_opts *opts)
{
	char served[ANNEX_URI_MAX + sizeof("&serve=busy")];
	struct annex_dev_opts o = {
		.queues = (opts->queues ? opts->queues : DEFAULT_QUEUES) + 1, /* the host's own */
		.depth = opts->depth,
		.max_transfer = opts->line > ANNEX_NVME_PAGE ? opts->line : ANNEX_NVME_PAGE,
		.timeout_ms = opts->timeout_ms,
		.provider = ctx->memory->pinned,
		/* The host's own queue pair lies anywhere, and the GPU's until they are moved. */
		.sq = opts->gpu_rings ? ANNEX_PLACE_ANY : ANNEX_PLACE_PROVIDER,
		.cq = opts->gpu_rings ? ANNEX_PLACE_ANY : ANNEX_PLACE_PROVIDER,
	};
	int err;

	if (opts->queues > UINT16_MAX)
		return annex_fail(-EINVAL, "%.64s: so many queue pairs no controller has", uri);
	err = choose_uri(ctx, uri, opts, served, sizeof(served));
	if (!err)
		err = gpu_rings_check(ctx, uri, opts);
	if (!err)
		err = annex_dev_open(served, &o, &ctx->dev);
	if (!err)
		ctx->timeout_ms = annex_dev_timeout_ms(ctx->dev);
	return err;
}

/* Fill in the view's description of the data, and its sizes. */
static int measure(struct annex_gpu_context *ctx, const struct annex_gpu_opts *opts)
{
	const char *uri = annex_dev_uri(ctx->dev);
	struct annex_gpu_cache *view = &ctx->view;
	struct annex_ns ns;
	uint64_t bytes;
	int err = annex_dev_ns(ctx->dev, opts->nsid, &ns);

	if (err)
		return err;
	if (opts->line & (opts->line - 1) || opts->line < ns.block || opts->line > MAX_LINE)
		return annex_fail(-EINVAL, "%s: a line has 2^n bytes, from %u to %u", uri, ns.block,
				  MAX_LINE);
	if (opts->line > annex_dev_max_transfer(ctx->dev))
		return annex_fail(-EINVAL, "%s: a line of %u bytes is more than one command moves",
				  uri, opts->line);
	bytes = ns.blocks * ns.block;
	if (opts->size > bytes)
		return annex_fail(-ERANGE, "%s: namespace %u has %llu bytes", uri, ns.nsid,
				  (ull)bytes);
	view->size = opts->size ? (opts->size + ns.block - 1) & -(uint64_t)ns.block : bytes;
	view->line_shift = (uint32_t)__builtin_ctz(opts->line);
	view->block_shift = (uint32_t)__builtin_ctz(ns.block);
	view->nlines = (view->size + opts->line - 1) >> view->line_shift;
	view->nsid = ns.nsid;
	view->timeout_ns = ctx->timeout_ms * ANNEX_NSEC_PER_MSEC;
	view->direct = opts->direct;
	return 0;
}

/* The last queue pair is the host's. Return: how many are left. */
static uint32_t take_own(struct annex_gpu_context *ctx)
{
	uint32_t n = 0;

	while (annex_dev_qp_at(ctx->dev, n))
		ctx->own = annex_dev_qp_at(ctx->dev, n++);
	return n - 1;
}

static int build(struct annex_gpu_context *ctx, const struct annex_gpu_opts *opts)
{
	uint32_t nqueues;
	int err = measure(ctx, opts);

	if (err)
		return err;
	nqueues = take_own(ctx);
	if (!nqueues)
		return annex_fail(-ENODEV, "%s: it has one queue pair, and two are needed",
				  annex_dev_uri(ctx->dev));
	err = gpu_slots_open(ctx, opts);
	if (!err && opts->gpu_rings)
		err = gpu_rings_open(ctx, nqueues);
	if (!err)
		err = gpu_queues_open(ctx, nqueues);
	if (err)
		return err;
	ctx->there = gpu_alloc(ctx, sizeof(ctx->view), "the context");
	return ctx->there ? gpu_put(ctx, ctx->there, &ctx->view, sizeof(ctx->view)) : -ENOMEM;
}

/* The device first: memory that it reads and writes is freed after it, or never (-EBUSY). */
static void take_down(struct annex_gpu_context *ctx)
{
	KEEP_LAST_ERROR(true);

	fork_forget(&ctx->fork);
	if (!ctx->fork.child)
		gpu_unsee_all(ctx);
	if (annex_dev_close(ctx->dev))
		return;
	gpu_free(ctx, ctx->there, sizeof(ctx->view));
	gpu_queues_close(ctx);
	gpu_rings_close(ctx);
	gpu_slots_close(ctx);
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
	err = open_dev(ctx, uri, &o);
	if (!err)
		err = build(ctx, &o);
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
	return ctx->dev;
}

int annex_gpu_array_init(struct annex_gpu_array *a, struct annex_gpu_context *ctx, uint64_t base,
			 uint32_t elem, uint64_t count)
{
	const struct annex_gpu_cache *view = &ctx->view;

	if (ctx->fork.child)
		return fork_refuse(annex_dev_uri(ctx->dev));
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
