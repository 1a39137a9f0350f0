// SPDX-License-Identifier: MIT
/*
 * The host's work on a context after kernels: flush, look for errors, recover.
 */
#include <errno.h>
#include <string.h>
#include "context.h"
#include "core/log.h"

int annex_gpu_get_error(struct annex_gpu_context *ctx, struct annex_gpu_error *out)
{
	if (ctx->fork.child)
		return fork_refuse(ctx->name);
	return gpu_get(ctx, out, &ctx->there->error, sizeof(*out));
}

int annex_gpu_get_stats(struct annex_gpu_context *ctx, struct annex_gpu_stats *out)
{
	if (ctx->fork.child)
		return fork_refuse(ctx->name);
	return gpu_get(ctx, out, &ctx->there->stats, sizeof(*out));
}

const char *annex_gpu_name(const struct annex_gpu_context *ctx, uint32_t dev)
{
	return dev < ctx->view.ndevs ? annex_dev_uri(ctx->devs[dev].dev) : ctx->name;
}

static int recorded(struct annex_gpu_context *ctx)
{
	struct annex_gpu_error e;
	int err = annex_gpu_get_error(ctx, &e);
	const char *name;

	if (err || !e.code)
		return err;
	name = annex_gpu_name(ctx, e.dev);
	if (e.line == UINT64_MAX)
		return annex_fail(e.code, "%s: a kernel failed in block %u: %s", name, e.block,
				  strerror(-e.code));
	return annex_fail(e.code, "%s: a kernel failed in block %u, at line %llu: %s", name,
			  e.block, (ull)e.line, strerror(-e.code));
}

/* All devices are flushed, also after one that fails. Return: the first error. */
static int flush_devices(struct annex_gpu_context *ctx)
{
	struct annex_io io = {.opcode = ANNEX_NVM_FLUSH, .nsid = ctx->view.nsid};
	int first = 0;

	for (uint32_t i = 0; i < ctx->view.ndevs; i++) {
		KEEP_LAST_ERROR(first);
		struct annex_result res = {0};
		int err = gpu_io(&ctx->devs[i], &io, &res);

		first = first ? first : err;
	}
	return first;
}

int annex_gpu_flush(struct annex_gpu_context *ctx, uint64_t offset, uint64_t len)
{
	const struct annex_gpu_memory *memory = ctx->memory;
	uint64_t first = offset >> ctx->view.line_shift, end, mask;
	int err;

	if (ctx->fork.child)
		return fork_refuse(ctx->name);
	if (offset > ctx->view.size || (len != UINT64_MAX && len > ctx->view.size - offset))
		return annex_fail(-ERANGE, "flush: a range behind the %llu bytes of data",
				  (ull)ctx->view.size);
	end = len == UINT64_MAX ? ctx->view.size : offset + len;
	mask = (1ull << ctx->view.line_shift) - 1;
	end = (end + mask) >> ctx->view.line_shift;
	err = recorded(ctx); /* of a kernel before; it would also end this one */
	if (!err)
		err = memory->flush(memory->ctx, ctx->there, ctx->view.nslots, first, end - first);
	if (!err)
		err = recorded(ctx);
	return err ? err : flush_devices(ctx);
}

int annex_gpu_recover(struct annex_gpu_context *ctx)
{
	static const struct annex_gpu_error none;
	int dead = 0, err;

	if (ctx->fork.child)
		return fork_refuse(ctx->name);
	for (uint32_t i = 0; i < ctx->view.ndevs; i++) {
		KEEP_LAST_ERROR(dead);
		struct gpu_dev *d = &ctx->devs[i];

		/* A queue that is broken is mended by a reset, which ends the commands of all. */
		annex_qp_break(d->own);
		err = annex_dev_recover(d->dev, d->own, UINT64_MAX);
		dead = dead ? dead : err;
	}
	err = gpu_queues_put(ctx); /* dead ones too, so that kernels find them dead */
	if (!err)
		err = gpu_slots_recover(ctx);
	if (!err)
		err = gpu_put(ctx, &ctx->there->error, &none, sizeof(none));
	return dead ? dead : err;
}
