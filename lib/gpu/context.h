/* SPDX-License-Identifier: MIT */
/*
 * The inside of a context, shared by the files of lib/gpu.
 */
#ifndef ANNEX_GPU_CONTEXT_H
#define ANNEX_GPU_CONTEXT_H

#include <annex/cuda.h>
#include <annex/uri.h>
#include "core/fork.h"

struct gpu_dev;

/**
 * struct gpu_queue - A queue pair of a device, and the GPU's copy of it.
 * @dev: the device.
 * @host: the device's own queue pair, idle; a reset makes it again.
 * @sq: the SQ's doorbell as the GPU sees it.
 * @cq: the CQ's doorbell as the GPU sees it.
 * @copy: GPU memory with struct annex_qp, its turns and its requests; behind them the GPU's notes
 *	of each request (struct annex_gpu_queue).
 * @words: bytes of @copy before the notes.
 * @bytes: bytes of @copy.
 * @staging: pinned memory that data passes through; NULL: data goes directly.
 * @staged: bytes of @staging.
 * @staging_addr: its device address.
 */
struct gpu_queue {
	struct gpu_dev *dev;
	struct annex_qp *host;
	struct annex_doorbell sq, cq;
	char *copy;
	size_t words, bytes;
	char *staging;
	size_t staged;
	uint64_t staging_addr;
};

/* struct gpu_page - A page of doorbells, and where the GPU sees it. */
struct gpu_page {
	char *at, *seen;
};

#define GPU_PAGES 256u /* of doorbells: 64 queue pairs with each on a page of its own */

/**
 * struct gpu_dev - A device of a context.
 * @own: the queue pair of host threads.
 * @blocks: number of its blocks.
 * @view: its entry of the context's table of devices.
 * @proxy: the device moves data by this process's threads.
 * @table: of device addresses (struct annex_io_limits), in GPU memory; NULL: there is none.
 * @rings: of the GPU's queue pairs, in GPU memory; NULL: they are in pinned memory.
 */
struct gpu_dev {
	struct annex_gpu_context *ctx;
	struct annex_dev *dev;
	struct annex_qp *own;
	struct gpu_page pages[GPU_PAGES];
	unsigned int npages;
	uint64_t blocks;
	struct annex_gpu_dev view;
	uint64_t *table;
	size_t table_bytes;
	char *rings;
	size_t ring_bytes;
	bool proxy;
};

/**
 * struct annex_gpu_context
 * @devs: the devices, view.ndevs of them.
 * @queues: the queue pairs of GPU threads on all devices, view.nqueues of them.
 * @view: the bytes put into GPU memory at @there; later changes there are not in it.
 * @timeout_ms: the slowest device's.
 * @name: of the devices, for messages.
 */
struct annex_gpu_context {
	struct fork_watch fork; /* a child must not use its copy */
	const struct annex_gpu_memory *memory;
	struct gpu_dev *devs;
	struct gpu_queue *queues;
	struct annex_gpu_cache view;
	struct annex_gpu_cache *there;
	size_t slot_bytes;
	uint32_t timeout_ms;
	char name[ANNEX_URI_MAX + sizeof(" and 4294967295 more")];
};

/* memory.c: whether this process may free memory of the context: a child of fork() has copies of
 * host memory, but no GPU. */
bool gpu_owns(const struct annex_gpu_context *ctx);
/* GPU memory, zeroed; NULL and why. */
void *gpu_alloc(const struct annex_gpu_context *ctx, size_t bytes, const char *what);
void gpu_free(const struct annex_gpu_context *ctx, void *ptr, size_t bytes);
int gpu_put(const struct annex_gpu_context *ctx, void *to, const void *from, size_t bytes);
int gpu_get(const struct annex_gpu_context *ctx, void *to, const void *from, size_t bytes);
size_t gpu_whole_pages(size_t bytes);

/* doorbell.c: where the GPU sees a word of the controller's. */
int gpu_see(struct gpu_dev *d, uint32_t *word, uint32_t **seen);
void gpu_unsee_all(struct gpu_dev *d);

/* queue.c: the queue pairs that each device has for GPU threads */
int gpu_queues_open(struct annex_gpu_context *ctx);
void gpu_queues_close(struct annex_gpu_context *ctx);
/* Copy all queue pairs, as the device has them, into GPU memory; no kernel is running. */
int gpu_queues_put(struct annex_gpu_context *ctx);

/* rings.c: submission and completion entries in GPU memory, if they are to lie there */
int gpu_rings_check(const struct gpu_dev *d, const char *uri, const struct annex_gpu_opts *opts);
int gpu_rings_open(struct gpu_dev *d);
void gpu_rings_close(struct gpu_dev *d);

/* slots.c: lines, their words, their slots */
int gpu_slots_open(struct annex_gpu_context *ctx, const struct annex_gpu_opts *opts);
void gpu_slots_close(struct annex_gpu_context *ctx);
int gpu_slots_recover(struct annex_gpu_context *ctx);

/* io.c: one command of the host's. Return: 0; the errno of its status; -ETIMEDOUT, -EIO, -ENODEV */
int gpu_io(struct gpu_dev *d, const struct annex_io *io, struct annex_result *res);
/* Whether data that the device moves to and from this page of GPU memory arrives there. */
int gpu_prove(struct gpu_dev *d, void *there, uint64_t addr);

/*
 * Frames of the host itself. As with a GPU, nothing may touch addresses that have none, and a fresh
 * one holds anything but zeroes.
 */
extern const struct annex_frames gpu_frames_host;

#endif
