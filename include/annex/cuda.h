/* SPDX-License-Identifier: MIT */
/*
 * The host's side of annex/gpu.h: contexts, through which GPU threads read and write a device's
 * data.
 *
 * A context opens devices with queue pairs for GPU threads, and has a cache of their lines in GPU
 * memory. This interface is plain C and works with or without a GPU: struct annex_gpu_memory
 * describes the memory and the processor.
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
 * A context belongs to the process that opened it. In a child of fork() calls return -ECHILD,
 * device code on the host gets that error for lines that are not in the cache, and
 * annex_gpu_close() frees the child's copies and writes nothing.
 */
#ifndef ANNEX_CUDA_H
#define ANNEX_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/cache.h>
#include <annex/device.h>
#include <annex/frames.h>
#include <annex/detail/gpu_cache.h>
#include <annex/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_gpu_memory - A GPU's memory, and host functions that access it.
 * @name: for messages.
 * @device: provider of memory for caches and queue state, on which GPU threads can use atomics. The
 *	host need not be able to access it. If it has dmabuf(), drives (pci:) can access it, and GPU
 *	threads see a drive's writes in the order in which the drive made them.
 * @pinned: provider of host memory that GPU threads access at the same addresses.
 * @put: copy to memory of @device. It returns when the copy is done, and works while kernels run.
 * @ctx: passed to all.
 * @get: copy from memory of @device, likewise.
 * @fill: set bytes of memory of @device, likewise.
 * @reach: map existing host memory, in whole pages, for GPU threads; io: these are registers of
 *	hardware. Sets *seen to the address for GPU threads.
 * @unreach: undo @reach.
 * @flush: run annex_gpu_flush_slot() for all nslots slots of the cache, with first and n, and wait
 *	until it has ended. Failures are in the context's error record.
 * @copier: copies data between a proxy (mem:, file:) and memory of @device; NULL: proxies cannot
 *	access that memory.
 * @frames: memory of the GPU for spaces (annex/mem.h) that use it as their device tier. Not NULL.
 *
 * Functions return 0 or a negative errno, and give the reason to annex_gpu_memory_fail(). They are
 * called by one host thread at a time, except functions of @copier and @frames.
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
 * @why: the text for annex_last_error().
 *
 * Return: @err.
 */
int annex_gpu_memory_fail(int err, const char *why);

/**
 * annex_gpu_memory_host() - The host in place of a GPU.
 *
 * Uses ordinary memory, and device code runs on the processor. So device code can be tested without
 * a GPU.
 *
 * Return: the memory; it is static.
 */
const struct annex_gpu_memory *annex_gpu_memory_host(void);

/**
 * annex_cuda_open() - Open a GPU by CUDA; in libannex-cuda (make CUDA=1).
 * @device: the GPU's number, from 0.
 * @out: the GPU; release it with annex_cuda_close().
 *
 * Return: 0; -ENODEV (no such GPU, or no driver); -EOPNOTSUPP (the GPU lacks a feature); -ENOMEM;
 * -EIO. annex_last_error() has the message of CUDA.
 */
int annex_cuda_open(int device, struct annex_gpu_memory **out);

/**
 * annex_cuda_close() - Close a GPU. All contexts on it must be closed.
 * @memory: the GPU; may be NULL.
 */
void annex_cuda_close(struct annex_gpu_memory *memory);

struct annex_gpu_context;
struct annex_gpu_array; /* annex/gpu.h */

/**
 * struct annex_gpu_opts - Options of annex_gpu_open(). Zero means the default.
 * @bytes: GPU memory for cached lines; rounded down to whole lines. Required.
 * @line: bytes of a line, a power of two from the device's block to 1 MiB (default 4096).
 * @queues: queue pairs for GPU threads (default 4; fewer if the controller has fewer).
 * @depth: entries of each queue, 2 to 65536 (default 1024).
 * @nsid: namespace (default 1).
 * @size: bytes of backing data (default: all that the devices have room for), rounded up to the
 *	block.
 * @timeout_ms: time limit of a command, and of a thread's wait, in milliseconds (default 30000).
 * @direct: move data directly to and from GPU memory, by the copier of a proxy or by the drive's
 *	DMA. Otherwise data passes pinned host memory, (@depth - 1) * @line bytes for each queue
 *	pair.
 * @gpu_rings: place submission and completion entries of the GPU's queue pairs in GPU memory, by a
 *	dma-buf of it, so that threads poll without crossing the bus. By default they are in pinned
 *	host memory, as PRP and SGL lists always are. Only for drives (pci:), and only with @direct:
 *	a completion must not arrive before its data, and a drive's writes stay in order only if
 *	they have the same destination. Without an IOMMU each ring must be physically contiguous (64
 *	and 16 bytes an entry).
 * @more: URIs of further devices.
 * @nmore: number of URIs in @more.
 * @layout: placement of lines on several devices. Each device has @queues queue pairs. The write of
 *	a replicated line goes to one device after the other. If a read fails, it goes to the other
 *	replicas before it counts as an error.
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
	const char *const *more;
	uint32_t nmore;
	enum annex_layout layout;
};

/**
 * annex_gpu_open() - Open a device, or several, for the threads of a GPU.
 * @uri: as for annex_dev_open(). A proxy is opened with serve=busy; other modes are rejected,
 *	because a GPU can neither run nor wake their threads.
 * @opts: the options; bytes is required.
 * @memory: the GPU; it must outlive the context.
 * @out: the context; release it with annex_gpu_close().
 *
 * A device that does not open closes the others again.
 *
 * Return: 0; -EINVAL (inconsistent options, annex_last_error() says which); -ERANGE (size exceeds
 * the namespaces); -EOPNOTSUPP (direct or gpu_rings, but the device cannot reach the GPU's memory);
 * -EIO (a test transfer to the GPU's memory did not arrive); -ENOMEM; or as annex_dev_open().
 */
int annex_gpu_open(const char *uri, const struct annex_gpu_opts *opts,
		   const struct annex_gpu_memory *memory, struct annex_gpu_context **out);

/**
 * annex_gpu_close() - Flush, then free everything.
 * @ctx: the context; may be NULL.
 *
 * No kernel and no other host thread may be using the context.
 *
 * Return: 0, or the error of the flush: data that was not written is lost. To keep it in that case,
 * call annex_gpu_flush(), or annex_gpu_recover() and then annex_gpu_flush(), first. 0 in a child of
 * fork().
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
 * annex_gpu_dev() - The first device of a context.
 * @ctx: the context.
 *
 * Only the GPU may use its queue pairs: do not call annex_dev_io(), nor functions that call it
 * (annex_dev_map_dmabuf() with a pointer). With gpu_rings that would be a wild store.
 *
 * Return: the device, owned by the context.
 */
struct annex_dev *annex_gpu_dev(struct annex_gpu_context *ctx);

/**
 * annex_gpu_dev_at() - A device of a context, as annex_gpu_dev().
 * @ctx: the context.
 * @i: number of the device, from 0; annex_gpu_open()'s further devices follow the first.
 *
 * Return: the device, owned by the context; NULL if it has no more.
 */
struct annex_dev *annex_gpu_dev_at(struct annex_gpu_context *ctx, uint32_t i);

/**
 * annex_gpu_name() - The URI of a device, for messages about struct annex_gpu_error.
 * @ctx: the context.
 * @dev: number of the device, or UINT32_MAX for all.
 *
 * Return: its URI; for all, that of the first and the number of the others. Owned by the context.
 */
const char *annex_gpu_name(const struct annex_gpu_context *ctx, uint32_t dev);

/**
 * annex_gpu_array_init() - Make a view to pass to kernels, as annex_array_init() does.
 * @a: the view to fill.
 * @ctx: the context; it must outlive the view.
 * @base: byte offset of element 0, a multiple of @elem.
 * @elem: element size: a power of two that divides the line.
 * @count: number of elements.
 *
 * Return: 0; -EINVAL; -ERANGE (the view exceeds the backing data).
 */
int annex_gpu_array_init(struct annex_gpu_array *a, struct annex_gpu_context *ctx, uint64_t base,
			 uint32_t elem, uint64_t count);

/**
 * annex_gpu_flush() - Make changes durable.
 * @ctx: the context.
 * @offset: first byte of the range.
 * @len: bytes of the range; UINT64_MAX: to the end.
 *
 * Launches a kernel that writes every dirty line of the range, then flushes the devices (NVMe
 * flush). No kernel that writes to the range may be running.
 *
 * Return: 0 if all changes are on the media; -ERANGE; otherwise the context's first error, or the
 * first error of a device's flush. Lines that were not written stay dirty.
 */
int annex_gpu_flush(struct annex_gpu_context *ctx, uint64_t offset, uint64_t len);

/**
 * annex_gpu_get_error() - The first error since the context was opened or recovered.
 * @ctx: the context.
 * @out: the error; its code is 0 if there is none.
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
 * annex_gpu_recover() - Make a context usable again after an error.
 * @ctx: the context.
 *
 * Resets the controllers and ends all outstanding commands. Lines that were being read become
 * absent, and lines that were being written become dirty. Slots of lost commands become usable
 * again, and the error record is cleared. No kernel may be using the context.
 *
 * Return: 0; -ENODEV if a reset failed: kernels that need its device then get that error. Reads of
 * a replica's lines go to other replicas.
 */
int annex_gpu_recover(struct annex_gpu_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
