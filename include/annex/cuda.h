/* SPDX-License-Identifier: MIT */
/*
 * The host's side of annex/gpu.h: contexts, which GPU threads read and write a device's data
 * through.
 *
 * A context opens the device, with queue pairs that GPU threads fill, and has a cache of its lines
 * in GPU memory. Plain C, with or without a GPU: which memory and which processor it works with is
 * one argument, a struct annex_gpu_memory.
 *
 *   struct annex_gpu_memory *gpu;
 *   struct annex_gpu_context *ctx;
 *   struct annex_gpu_array a;
 *   struct annex_gpu_opts opts = {.bytes = 4ull << 30};
 *
 *   annex_cuda_open(0, &gpu);
 *   annex_gpu_open("file:/data/numbers", &opts, gpu, &ctx);
 *   annex_gpu_array_init(&a, ctx, 0, sizeof(float), n);
 *   kernel<<<blocks, threads>>>(a);   ... annex_gpu_get(&a, i, &x) ...
 *   cudaDeviceSynchronize();
 *   err = annex_gpu_flush(ctx, 0, UINT64_MAX);
 *   annex_gpu_close(ctx);
 *   annex_cuda_close(gpu);
 *
 * A context is of the process that opened it. In a child of fork() calls return -ECHILD, device
 * code on the host gets that error for lines that are not in the cache, and annex_gpu_close() frees
 * the child's copies and writes nothing.
 */
#ifndef ANNEX_CUDA_H
#define ANNEX_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/device.h>
#include <annex/frames.h>
#include <annex/detail/gpu_cache.h>
#include <annex/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_gpu_memory - A GPU: its memory, and the host's means to work with it.
 * @name: for messages.
 * @device: where caches and the words of queues come from: memory on which the GPU's threads have
 *	atomics. The host need not reach it. With dmabuf() drives (pci:) can reach it, and what one
 *	writes there, threads see in the order in which it was written.
 * @pinned: host memory that GPU threads read and write, at the same addresses.
 * @put: copy to memory of @device. It returns when it is done, and works while kernels run.
 * @ctx: passed to all.
 * @get: copy from memory of @device, likewise.
 * @fill: set bytes of memory of @device, likewise.
 * @reach: let GPU threads write existing host memory, of whole pages; io: registers of hardware.
 *	*seen is where they see it.
 * @unreach: take back what @reach gave.
 * @flush: run annex_gpu_flush_slot() for all slots of the cache, nslots of them, with first and n,
 *	and wait for its end. The context's error record says what fails there.
 * @copier: how a proxy (mem:, file:) moves data to and from memory of @device; NULL: not at all.
 * @frames: memory of the GPU for spaces (annex/mem.h) that have it as their device tier. Not NULL.
 *
 * Errors are negative errnos, said by annex_gpu_memory_fail(). One host thread calls at a time, but
 * for the copier's and those of @frames.
 */
struct annex_gpu_memory {
	const char *name;
	const struct annex_provider *device;
	const struct annex_provider *pinned;
	int (*put)(void *ctx, void *to, const void *from, size_t bytes);
	int (*get)(void *ctx, void *to, const void *from, size_t bytes);
	int (*fill)(void *ctx, void *ptr, int byte, size_t bytes);
	int (*reach)(void *ctx, void *ptr, size_t bytes, bool io, void **seen);
	void (*unreach)(void *ctx, void *ptr);
	int (*flush)(void *ctx, struct annex_gpu_cache *cache, uint32_t nslots, uint64_t first,
		     uint64_t n);
	const struct annex_copier *copier;
	const struct annex_frames *frames;
	void *ctx;
};

/**
 * annex_gpu_memory_fail() - Set annex_last_error(), for implementers of struct annex_gpu_memory.
 * @err: a negative errno.
 * @why: the line that annex_last_error() has then.
 *
 * Return: @err.
 */
int annex_gpu_memory_fail(int err, const char *why);

/**
 * annex_gpu_memory_host() - The host itself in the place of a GPU.
 *
 * It has ordinary memory, and device code runs on the processor. So device code can be tried
 * without a GPU.
 *
 * Return: the memory; it is static.
 */
const struct annex_gpu_memory *annex_gpu_memory_host(void);

/**
 * annex_cuda_open() - Open a GPU by CUDA; in libannex-cuda (make CUDA=1).
 * @device: the GPU's number, from 0.
 * @out: the GPU, to be given back with annex_cuda_close().
 *
 * Return: 0; -ENODEV (no such GPU, or no driver); -EOPNOTSUPP (it lacks what is needed); -ENOMEM;
 * -EIO. annex_last_error() has CUDA's words.
 */
int annex_cuda_open(int device, struct annex_gpu_memory **out);

/**
 * annex_cuda_close() - Close a GPU, after the last context on it was closed.
 * @memory: the GPU; may be NULL.
 */
void annex_cuda_close(struct annex_gpu_memory *memory);

struct annex_gpu_context;
struct annex_gpu_array; /* annex/gpu.h */

/**
 * struct annex_gpu_opts - How to make a context. Zero means the default.
 * @bytes: GPU memory for cached lines; rounded down to whole lines. Required.
 * @line: bytes of a line, a power of two from the device's block to 1 MiB (default 4096).
 * @queues: queue pairs for GPU threads (default 4; fewer where the controller has fewer).
 * @depth: entries of each, 2 to 65536 (default 1024).
 * @nsid: namespace (default 1).
 * @size: bytes of backing data (default: the whole namespace), a multiple of the block.
 * @timeout_ms: how long a command may take, and a thread wait (default 30000).
 * @direct: data goes straight to and from GPU memory: by the copier of a proxy, or by hardware.
 *	Otherwise by way of pinned host memory, (@depth - 1) * @line bytes for each queue pair.
 * @gpu_rings: submission and completion entries of the GPU's queue pairs lie in GPU memory too, by
 *	a dma-buf of it, so that threads look for completions without going over the bus; by default
 *	they lie in pinned host memory, as lists of addresses always do. For drives (pci:) only, and
 *	with @direct only: a drive's writes arrive in the order in which it made them only along one
 *	way, and a completion must not be there before its data. Without an IOMMU each ring must lie
 *	in one piece (64 and 16 bytes an entry).
 */
struct annex_gpu_opts {
	uint64_t bytes;
	uint32_t line;
	uint32_t queues;
	uint32_t depth;
	uint32_t nsid;
	uint64_t size;
	uint32_t timeout_ms;
	bool direct;
	bool gpu_rings;
};

/**
 * annex_gpu_open() - Open a device for the threads of a GPU.
 * @uri: as for annex_dev_open(). A proxy is opened with serve=busy; others are refused, since
 *	nobody serves, or wakes, them for a GPU.
 * @opts: sizes and ways; its bytes are required.
 * @memory: the GPU; it must outlive the context.
 * @out: the context, to be given back with annex_gpu_close().
 *
 * Return: 0; -EINVAL (options that do not fit together, annex_last_error() says which); -ERANGE
 * (their size is larger than the namespace); -EOPNOTSUPP (direct or gpu_rings, and GPU and device
 * have no way to each other); -EIO (they have, and data moved there gets lost); -ENOMEM; or as
 * annex_dev_open().
 */
int annex_gpu_open(const char *uri, const struct annex_gpu_opts *opts,
		   const struct annex_gpu_memory *memory, struct annex_gpu_context **out);

/**
 * annex_gpu_close() - Flush, then free everything.
 * @ctx: the context; may be NULL.
 *
 * No kernel may be using it, and no other host thread.
 *
 * Return: 0, or the error of the flush: data that was not written is lost. Flush, or recover and
 * flush, before to keep it. 0 in a child of fork().
 */
int annex_gpu_close(struct annex_gpu_context *ctx);

/**
 * annex_gpu_line() - Bytes of a line.
 * @ctx: the context.
 *
 * Return: bytes.
 */
uint32_t annex_gpu_line(const struct annex_gpu_context *ctx);

/**
 * annex_gpu_size() - Bytes of backing data.
 * @ctx: the context.
 *
 * Return: bytes.
 */
uint64_t annex_gpu_size(const struct annex_gpu_context *ctx);

/**
 * annex_gpu_dev() - The device of a context.
 * @ctx: the context.
 *
 * Its queue pairs are the GPU's: do not use annex_dev_io(), nor a call that does
 * (annex_dev_map_dmabuf() with a pointer). With gpu_rings that would be a wild store.
 *
 * Return: the device; it is the context's.
 */
struct annex_dev *annex_gpu_dev(struct annex_gpu_context *ctx);

/**
 * annex_gpu_array_init() - Make a view to pass to kernels; as annex_array_init().
 * @a: the view to fill.
 * @ctx: the context; it must outlive the view.
 * @base: byte offset of element 0, a multiple of @elem.
 * @elem: element size: a power of two that divides the line.
 * @count: number of elements.
 *
 * Return: 0; -EINVAL; -ERANGE (it would end behind the backing data).
 */
int annex_gpu_array_init(struct annex_gpu_array *a, struct annex_gpu_context *ctx, uint64_t base,
			 uint32_t elem, uint64_t count);

/**
 * annex_gpu_flush() - Make changes durable.
 * @ctx: the context.
 * @offset: first byte of the range.
 * @len: bytes of the range; UINT64_MAX: to the end.
 *
 * Writes every dirty line of the range, by a kernel of its own, then flushes the device (NVMe
 * flush). No kernel that writes there may be running.
 *
 * Return: 0 when all is on the medium; -ERANGE; else the context's first error, or that of the
 * device's flush: lines that were not written stay dirty.
 */
int annex_gpu_flush(struct annex_gpu_context *ctx, uint64_t offset, uint64_t len);

/**
 * annex_gpu_get_error() - The first error since the context was opened or recovered.
 * @ctx: the context.
 * @out: the error; code 0: none.
 *
 * Return: 0, or the errno of the copy from GPU memory.
 */
int annex_gpu_get_error(struct annex_gpu_context *ctx, struct annex_gpu_error *out);

/**
 * annex_gpu_get_stats() - Read the counters.
 * @ctx: the context.
 * @out: the counters.
 *
 * Return: as annex_gpu_get_error().
 */
int annex_gpu_get_stats(struct annex_gpu_context *ctx, struct annex_gpu_stats *out);

/**
 * annex_gpu_recover() - After an error: make the context usable again.
 * @ctx: the context.
 *
 * Resets the controller, so that no command is outstanding, ends those that were, makes lines that
 * were being read absent, and those that were being written dirty, and clears the error record.
 * Slots that were lost with their commands are there again. No kernel may be using the context.
 *
 * Return: 0; -ENODEV when the controller could not be brought back: kernels then get that error.
 */
int annex_gpu_recover(struct annex_gpu_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
