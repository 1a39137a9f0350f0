// SPDX-License-Identifier: MIT
/*
 * The cache of a context as it lies in GPU memory: a word for each line, slots, what moves them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "context.h"
#include "core/log.h"

static size_t dir_bytes(const struct annex_gpu_cache *view)
{
	return view->nlines * sizeof(*view->dir);
}

static size_t owner_bytes(const struct annex_gpu_cache *view)
{
	return view->nslots * sizeof(*view->owner);
}

static size_t moves_bytes(const struct annex_gpu_cache *view)
{
	return view->nslots * sizeof(*view->moves);
}

/* Have the device reach the slots themselves, and see whether it does. */
static int map_slots(struct gpu_dev *d)
{
	const struct annex_gpu_context *ctx = d->ctx;
	const struct annex_provider *device = ctx->memory->device;
	char *mem = ctx->view.mem;
	uint64_t offset;
	int fd, err;

	if (d->proxy) {
		err = annex_dev_map_far(d->dev, (uintptr_t)mem, ctx->slot_bytes,
					ctx->memory->copier, &d->view.mem_addr);
	} else {
		fd = device->dmabuf(device->ctx, mem, &offset);
		err = fd < 0 ? fd
			     : annex_dev_map_dmabuf(d->dev, fd, offset, NULL, ctx->slot_bytes,
						    &d->view.mem_addr);
	}
	return err ? err : gpu_prove(d, mem, d->view.mem_addr);
}

static int check_direct(const struct gpu_dev *d)
{
	const struct annex_gpu_memory *memory = d->ctx->memory;

	if (d->proxy ? memory->copier != NULL : memory->device->dmabuf != NULL)
		return 0;
	return annex_fail(-EOPNOTSUPP, "%s: there is no direct way to %s memory",
			  annex_dev_uri(d->dev), memory->device->name);
}

int gpu_slots_open(struct annex_gpu_context *ctx, const struct annex_gpu_opts *opts)
{
	struct annex_gpu_cache *view = &ctx->view;
	uint64_t nslots = opts->bytes >> view->line_shift;
	int err = 0;

	for (uint32_t i = 0; opts->direct && !err && i < view->ndevs; i++)
		err = check_direct(&ctx->devs[i]);
	if (err)
		return err;
	if (nslots < 2 || nslots >> ANNEX_LINE_SLOT_BITS)
		return annex_fail(-EINVAL, "%s: a cache has 2 to 2^%d lines", ctx->name,
				  ANNEX_LINE_SLOT_BITS);
	view->nslots = (uint32_t)nslots;
	ctx->slot_bytes = gpu_whole_pages(nslots << view->line_shift);
	view->dir = gpu_alloc(ctx, dir_bytes(view), "the words of lines");
	view->owner = view->dir ? gpu_alloc(ctx, owner_bytes(view), "owners of slots") : NULL;
	view->moves = view->owner ? gpu_alloc(ctx, moves_bytes(view), "what moves slots") : NULL;
	view->mem = view->moves ? gpu_alloc(ctx, ctx->slot_bytes, "cached lines") : NULL;
	if (!view->mem)
		return -ENOMEM;
	/* ANNEX_SLOT_FREE is all ones. */
	err = ctx->memory->fill(ctx->memory->ctx, view->owner, 0xff, owner_bytes(view));
	for (uint32_t i = 0; opts->direct && !err && i < view->ndevs; i++)
		err = map_slots(&ctx->devs[i]);
	return err;
}

void gpu_slots_close(struct annex_gpu_context *ctx)
{
	struct annex_gpu_cache *view = &ctx->view;

	gpu_free(ctx, view->mem, ctx->slot_bytes);
	gpu_free(ctx, view->moves, moves_bytes(view));
	gpu_free(ctx, view->owner, owner_bytes(view));
	gpu_free(ctx, view->dir, dir_bytes(view));
}

/*
 * Undo a command of the past: its line is absent, or dirty as before, unless it has gone to another
 * slot since.
 */
static int end_move(struct annex_gpu_context *ctx, const struct annex_gpu_move *move, uint32_t slot,
		    uint64_t *owner)
{
	bool write = move->state & ANNEX_MOVE_WRITE;
	uint64_t word, moving = write ? ANNEX_LINE_WRITEBACK : ANNEX_LINE_BUSY;
	int err;

	if (move->line >= ctx->view.nlines)
		return annex_fail(-EIO, "%s: a slot moves line %llu, of %llu", ctx->memory->name,
				  (ull)move->line, (ull)ctx->view.nlines);
	err = gpu_get(ctx, &word, &ctx->view.dir[move->line], sizeof(word));
	if (err)
		return err;
	if (!write)
		*owner = ANNEX_SLOT_FREE;
	if (!(word & moving) || annex_word_slot(word) != slot)
		return 0;
	if (write)
		annex_line_written(&word, 0, false);
	else
		annex_line_absent(&word, 0);
	return gpu_put(ctx, &ctx->view.dir[move->line], &word, sizeof(word));
}

static int end_all(struct annex_gpu_context *ctx, struct annex_gpu_move *moves, uint64_t *owners)
{
	const struct annex_gpu_cache *view = &ctx->view;
	int err = gpu_get(ctx, moves, view->moves, moves_bytes(view));

	if (!err)
		err = gpu_get(ctx, owners, view->owner, owner_bytes(view));
	for (uint32_t i = 0; !err && i < view->nslots; i++) {
		if (ANNEX_MOVE_PHASE(moves[i].state) != ANNEX_MOVE_NONE)
			err = end_move(ctx, &moves[i], i, &owners[i]);
		if (owners[i] == ANNEX_SLOT_TAKEN) /* by a thread that is no more */
			owners[i] = ANNEX_SLOT_FREE;
	}
	if (!err)
		err = gpu_put(ctx, view->owner, owners, owner_bytes(view));
	return err ? err : ctx->memory->fill(ctx->memory->ctx, view->moves, 0, moves_bytes(view));
}

int gpu_slots_recover(struct annex_gpu_context *ctx)
{
	struct annex_gpu_move *moves = malloc(moves_bytes(&ctx->view));
	uint64_t *owners = malloc(owner_bytes(&ctx->view));
	int err = moves && owners ? end_all(ctx, moves, owners)
				  : annex_fail(-ENOMEM, "%s: out of memory", ctx->memory->name);

	free(moves);
	free(owners);
	return err;
}
