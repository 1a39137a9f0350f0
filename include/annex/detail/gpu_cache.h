/* SPDX-License-Identifier: MIT */
/*
 * The cache of a GPU: lines of a device's data in GPU memory, read and written back by the GPU's
 * own threads. Programs include annex/gpu.h.
 *
 * This is device code, which also compiles for a host, where tests run it.
 */
#ifndef ANNEX_GPU_CACHE_H
#define ANNEX_GPU_CACHE_H

#include <annex/detail/line.h>
#include <annex/detail/stripe.h>
#include <annex/queue.h>
#include <annex/warp.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_gpu_queue - A queue pair for GPU threads.
 * @qp: a copy of the device's struct annex_qp in GPU memory, with its sq_seq, cq_seq and reqs;
 *	rings, lists and doorbells are in memory that the device can access.
 * @slots: slot that the command of each identifier moves, in GPU memory.
 * @staging: one line for each command identifier (depth - 1 of them), in memory that both the
 *	device and the GPU can access: identifier C moves its data at @staging + C * line. So memory
 *	that a lost command may still write to stays reserved with its identifier. Unused with
 *	struct annex_gpu_cache.direct.
 * @staging_addr: device address of @staging.
 * @dev: number of its device.
 * @rsvd: padding.
 */
struct annex_gpu_queue {
	struct annex_qp *qp;
	uint32_t *slots;
	char *staging;
	uint64_t staging_addr;
	uint32_t dev;
	uint32_t rsvd;
};

/**
 * struct annex_gpu_dev - A device of a context.
 * @mem_addr: with struct annex_gpu_cache.direct, the device address of slot 0.
 * @first: number of its first queue pair.
 * @nqueues: number of its queue pairs, at least 1.
 * @block_shift: log2 of its block.
 * @rsvd: padding.
 */
struct annex_gpu_dev {
	uint64_t mem_addr;
	uint32_t first;
	uint32_t nqueues;
	uint32_t block_shift;
	uint32_t rsvd;
};

/* State of a slot's command: the low bits of struct annex_gpu_move.state. */
enum annex_gpu_phase {
	ANNEX_MOVE_NONE,
	ANNEX_MOVE_SENT,
	ANNEX_MOVE_TAKEN, /* a thread polls it, or handles its end */
	ANNEX_MOVE_LOST,  /* given up: the slot waits for the host's recovery */
	ANNEX_MOVE_NEXT,  /* the command of a replica has ended, that of the next can begin */
};

#define ANNEX_MOVE_PHASE(s) ((s)&7u)
#define ANNEX_MOVE_WRITE 8u       /* a write-back, not a read */
#define ANNEX_MOVE_QUEUE_SHIFT 8u /* number of the queue */

/*
 * struct annex_gpu_move - The command that reads or writes a slot's line.
 * @token: the command.
 * @line: the line.
 * @deadline: time at which the command is given up.
 * @state: enum annex_gpu_phase, ANNEX_MOVE_WRITE, queue << ANNEX_MOVE_QUEUE_SHIFT.
 * @left: of a read, replicas that it can still go to if it fails.
 *
 * It belongs to the slot and not to the thread that sent the command: any thread that needs the
 * line, or a slot, takes the completion, so that no thread depends on another. All zero: no
 * command.
 */
struct annex_gpu_move {
	uint64_t token;
	uint64_t line;
	uint64_t deadline;
	uint32_t state;
	uint32_t left;
};

/**
 * struct annex_gpu_error - The first error, for the host after a kernel.
 * @code: negative errno, 0 for none.
 * @block: the thread block in which it occurred.
 * @line: the line in question, UINT64_MAX for none.
 * @dev: number of the device whose command failed, UINT32_MAX for none.
 * @rsvd: padding.
 */
struct annex_gpu_error {
	int32_t code;
	uint32_t block;
	uint64_t line;
	uint32_t dev;
	uint32_t rsvd;
};

/**
 * struct annex_gpu_stats - Counters since creation. Hits are not counted, because counting costs as
 * much as a hit.
 * @misses: requested lines that were not cached; one for all lanes of a warp that request the line.
 * @prefetches: lines whose read was started by annex_gpu_prefetch() or annex_gpu_start().
 * @reads: lines that were read.
 * @writes: lines that were written.
 * @evictions: valid lines evicted.
 * @errors: commands that failed or were given up, also if another replica served the read.
 * @bytes_read: bytes that successful commands have read.
 * @bytes_written: bytes that successful commands have written, to all replicas.
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

/* Rare paths with many callers: not inlined. */
#define ANNEX_GPU_COLD __attribute__((noinline, unused))
#define ANNEX_GPU_ALIGNED __attribute__((aligned(128))) /* a line of a GPU's second-level cache */

/**
 * struct annex_gpu_cache - A context for kernels, in GPU memory. The host fills it.
 * @dir: state word (annex/detail/line.h) of each line of the backing data; initially zero.
 * @owner: line in each slot; initially ANNEX_SLOT_FREE.
 * @moves: command that moves the line of each slot; initially zero.
 * @mem: the slots, aligned to 16 bytes.
 * @queues: the queue pairs, those of one device in a row.
 * @devs: the devices.
 * @size: bytes of the backing data.
 * @nlines: lines of the backing data; the last may be partial.
 * @timeout_ns: time limit of a command, in nanoseconds.
 * @patience_ns: time limit of a wait for a line or slot, in nanoseconds: of a command, and of a
 *	write of a line before it.
 * @nslots: at least 2, less than 2^ANNEX_LINE_SLOT_BITS.
 * @line_shift: log2 of the bytes of a line; a line fits into one command.
 * @nsid: the namespace.
 * @nqueues: number of queue pairs, at most 65535.
 * @ndevs: number of devices.
 * @stripes: number of devices that lines are striped over; 1 with replicas.
 * @direct: the devices access the slots directly, without staging.
 * @error: the first error.
 * @hand: next slot of the clock.
 * @rotor: spreads reads over replicas.
 * @stats: the counters.
 *
 * @error, @hand, @rotor and @stats change while kernels run. The whole structure is in GPU memory,
 * because atomics on host memory do not work over PCIe.
 */
struct annex_gpu_cache {
	uint64_t *dir;
	uint64_t *owner;
	struct annex_gpu_move *moves;
	char *mem;
	struct annex_gpu_queue *queues;
	struct annex_gpu_dev *devs;
	uint64_t size;
	uint64_t nlines;
	uint64_t timeout_ns;
	uint64_t patience_ns;
	uint32_t nslots;
	uint32_t line_shift;
	uint32_t nsid;
	uint32_t nqueues;
	uint32_t ndevs;
	uint32_t stripes;
	uint32_t direct;

	ANNEX_GPU_ALIGNED struct annex_gpu_error error;
	ANNEX_GPU_ALIGNED uint32_t hand;
	ANNEX_GPU_ALIGNED uint32_t rotor;
	ANNEX_GPU_ALIGNED struct annex_gpu_stats stats;
};

/**
 * annex_gpu_failed() - The first error of the context, or 0.
 * @c: the context.
 *
 * Long kernels can check this, and stop. Until the host has recovered the context, calls that need
 * the device return this error at once; elements of cached lines can still be read.
 *
 * Return: the error, a negative errno; 0: none.
 */
static inline ANNEX_HD int annex_gpu_failed(struct annex_gpu_cache *c)
{
	/* Relaxed: the code is all that is read by other threads. */
	return (int)annex_local_load(&c->error.code, ANNEX_RELAXED);
}

/* annex_gpu_fail_on() - annex_gpu_fail() for a command of device @dev. */
static inline ANNEX_HD int annex_gpu_fail_on(struct annex_gpu_cache *c, int err, uint64_t line,
					     uint32_t dev)
{
	int32_t none = 0;

	/* Relaxed: the host reads the record when the kernel has ended. */
	if (annex_local_cas(&c->error.code, &none, (int32_t)err, ANNEX_RELAXED)) {
		c->error.block = annex_warp_block();
		c->error.line = line;
		c->error.dev = dev;
	}
	return err;
}

/**
 * annex_gpu_fail() - Record an error if it is the first. Kernels may record errors of their own.
 * @c: the context.
 * @err: a negative errno.
 * @line: the line in question, UINT64_MAX for none.
 *
 * Return: @err.
 */
static inline ANNEX_HD int annex_gpu_fail(struct annex_gpu_cache *c, int err, uint64_t line)
{
	return annex_gpu_fail_on(c, err, line, UINT32_MAX);
}

#ifdef __cplusplus
}
#endif
#endif
