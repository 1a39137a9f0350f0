/* SPDX-License-Identifier: MIT */
/*
 * The cache of a GPU: lines of a device's data in GPU memory, brought in and written back by the
 * GPU's own threads. Programs include annex/gpu.h.
 *
 * Everything here is device code that also compiles for a host, where tests run it.
 */
#ifndef ANNEX_GPU_CACHE_H
#define ANNEX_GPU_CACHE_H

#include <annex/detail/line.h>
#include <annex/queue.h>
#include <annex/warp.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_gpu_queue - A queue pair that GPU threads fill.
 * @qp: the copy of the device's struct annex_qp: itself, its sq_seq, cq_seq and reqs in GPU memory,
 *	its rings, lists and doorbells where the device reads and writes them.
 * @slots: of each command identifier: the slot that it moves, in GPU memory.
 * @staging: one line for each command identifier (depth - 1 of them), where the device and the GPU
 *	both reach it: identifier C moves its data at @staging + C * line. So memory that a lost
 *	command may still write to is set aside with its identifier. Unused with struct
 *	annex_gpu_cache.direct.
 * @staging_addr: its device address.
 */
struct annex_gpu_queue {
	struct annex_qp *qp;
	uint32_t *slots;
	char *staging;
	uint64_t staging_addr;
};

/* State of a slot's command: the low bits of struct annex_gpu_move.state. */
enum annex_gpu_phase {
	ANNEX_MOVE_NONE,
	ANNEX_MOVE_SENT,
	ANNEX_MOVE_TAKEN, /* a thread looks at it, or carries out what its end means */
	ANNEX_MOVE_LOST,  /* given up: the slot waits for the host's recovery */
};

#define ANNEX_MOVE_PHASE(s) ((s)&3u)
#define ANNEX_MOVE_WRITE 4u       /* a write-back, not a read */
#define ANNEX_MOVE_QUEUE_SHIFT 8u /* above it: which queue */

/*
 * struct annex_gpu_move - The command that reads or writes a slot's line.
 * @state: enum annex_gpu_phase, ANNEX_MOVE_WRITE, queue << ANNEX_MOVE_QUEUE_SHIFT.
 *
 * It belongs to the slot and not to the thread that sent it, so whoever needs the line, or a slot,
 * takes the completion, and nobody depends on another thread coming back. All zero: none.
 */
struct annex_gpu_move {
	uint64_t token;
	uint64_t line;
	uint64_t deadline;
	uint32_t state;
	uint32_t rsvd;
};

/**
 * struct annex_gpu_error - The first error, as the host finds it after a kernel.
 * @code: negative errno, 0 for none.
 * @block: the thread block that it happened in.
 * @line: the line that it is about, UINT64_MAX for none.
 */
struct annex_gpu_error {
	int32_t code;
	uint32_t block;
	uint64_t line;
};

/**
 * struct annex_gpu_stats - Counters since creation. Hits are not among them: to count one would
 * cost as much as the hit.
 * @misses: lines that a warp wanted at once and that were not there; one for all of its lanes.
 * @prefetches: lines whose read was started by annex_gpu_prefetch() or annex_gpu_start().
 * @reads: lines that were read.
 * @writes: lines that were written.
 * @evictions: valid lines given up for others.
 * @errors: commands that failed or were given up.
 * @bytes_read: bytes that commands have read; only of those that succeeded.
 * @bytes_written: bytes that commands have written, likewise.
 */
struct annex_gpu_stats {
	uint64_t misses;
	uint64_t prefetches;
	uint64_t reads;
	uint64_t writes;
	uint64_t evictions;
	uint64_t errors;
	uint64_t bytes_read;
	uint64_t bytes_written;
};

/* Rare paths with many callers: one copy each, called. */
#define ANNEX_GPU_COLD __attribute__((noinline, unused))
#define ANNEX_GPU_ALIGNED __attribute__((aligned(128))) /* a line of a GPU's second-level cache */

/**
 * struct annex_gpu_cache - A context as kernels see it, in GPU memory. The host side fills it.
 * @dir: one state word (annex/detail/line.h) a line of the backing data; all zero to begin with.
 * @owner: of each slot: a line, ANNEX_SLOT_FREE to begin with.
 * @moves: of each slot: the command that moves its line; all zero to begin with.
 * @mem: the slots, aligned to 16 bytes.
 * @queues: the queue pairs.
 * @mem_addr: with @direct, the device address of slot 0.
 * @size: bytes of the backing data.
 * @nlines: lines of the backing data; the last may be a part.
 * @timeout_ns: how long a command may take, and how long a thread waits for a slot.
 * @nslots: at least 2, less than 2^ANNEX_LINE_SLOT_BITS.
 * @line_shift: log2 of the bytes of a line; a line fits into one command.
 * @block_shift: log2 of the device's block.
 * @nsid: the namespace.
 * @nqueues: number of queue pairs, at most 65535.
 * @direct: data goes straight to and from the slots, without staging.
 * @error: the first error.
 * @hand: next slot of the clock.
 * @stats: the counters.
 *
 * @error, @hand and @stats change while kernels run. All of it lies in GPU memory, as atomics on
 * host memory do not work over PCIe.
 */
struct annex_gpu_cache {
	uint64_t *dir;
	uint64_t *owner;
	struct annex_gpu_move *moves;
	char *mem;
	struct annex_gpu_queue *queues;
	uint64_t mem_addr;
	uint64_t size;
	uint64_t nlines;
	uint64_t timeout_ns;
	uint32_t nslots;
	uint32_t line_shift;
	uint32_t block_shift;
	uint32_t nsid;
	uint32_t nqueues;
	uint32_t direct;

	ANNEX_GPU_ALIGNED struct annex_gpu_error error;
	ANNEX_GPU_ALIGNED uint32_t hand;
	ANNEX_GPU_ALIGNED struct annex_gpu_stats stats;
};

/**
 * annex_gpu_failed() - The first error of the context, or 0.
 * @c: the context.
 *
 * Kernels that run long may ask, and stop. Until the host has recovered, calls that need the device
 * return this error at once; elements of lines that are there can still be read.
 *
 * Return: the error, a negative errno; 0: none.
 */
static inline ANNEX_HD int annex_gpu_failed(struct annex_gpu_cache *c)
{
	/* Relaxed: the code is all that is read by other threads. */
	return (int)annex_local_load(&c->error.code, ANNEX_RELAXED);
}

/**
 * annex_gpu_fail() - Record an error, if it is the first; a kernel may do so with its own.
 * @c: the context.
 * @err: a negative errno.
 * @line: the line that it is about, UINT64_MAX for none.
 *
 * Return: @err.
 */
static inline ANNEX_HD int annex_gpu_fail(struct annex_gpu_cache *c, int err, uint64_t line)
{
	int32_t none = 0;

	/* Relaxed: the host reads the record when the kernel has ended. */
	if (annex_local_cas(&c->error.code, &none, (int32_t)err, ANNEX_RELAXED)) {
		c->error.block = annex_warp_block();
		c->error.line = line;
	}
	return err;
}

#ifdef __cplusplus
}
#endif
#endif
