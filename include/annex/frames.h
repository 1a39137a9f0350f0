/* SPDX-License-Identifier: MIT */
/*
 * Memory of a GPU for a space (annex/mem.h): addresses that stay, and frames that come and go
 * behind them.
 */
#ifndef ANNEX_FRAMES_H
#define ANNEX_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_frames - A GPU's addresses, and its memory in frames.
 * @name: for messages.
 * @bytes: of a frame, a power of two of at least 4096.
 * @reserve: take bytes of addresses, whole frames, with no memory behind them; *base is the first,
 *	aligned to a frame.
 * @ctx: passed to all.
 * @release: give them back, when none has a frame any more.
 * @back: put n frames behind the neighbouring addresses from at on: frame i is the one behind
 *	from[i], which may be its own address, or (NULL) new memory. Their contents are not known.
 *	Nobody may be using any of these addresses then. After an error neither they nor those in
 *	@from have memory. It may wait for kernels that run, which so must not wait for calls of
 *	the space themselves.
 * @bare: give the memory of n neighbouring frames from at on back. The rules of @back hold.
 * @idle: n frames from at on are not used any more, until @back or @bare names them. NULL: nothing
 *	is done then. It waits for nothing.
 * @put: copy to addresses with frames. It returns when it is done, and waits for no kernel that
 *	runs meanwhile. Copies in both directions go on at once.
 * @get: copy from addresses with frames, likewise.
 * @zero: set bytes there to 0. It may wait for kernels that run, as @back.
 * @mark: put a mark behind all that @stream has so far; *mark is moved there, or (NULL) a new one.
 *	Streams are the GPU's: of CUDA a cudaStream_t, also NULL. NULL: there are no streams.
 * @await: wait until the mark has passed. Return: 0; an error of what went before it.
 * @between: nanoseconds from one mark to another; both have passed.
 * @unmark: give a mark back, whether it has passed or not.
 * @pin: have copies from and to this host memory, of whole pages, go at full speed.
 * @unpin: no longer.
 *
 * Errors are negative errnos, said by annex_gpu_memory_fail(). Any thread may call any of them, and
 * several at once, for different addresses.
 */
struct annex_frames {
	const char *name;
	size_t bytes;
	int (*reserve)(void *ctx, uint64_t bytes, void **base);
	void (*release)(void *ctx, void *base, uint64_t bytes);
	int (*back)(void *ctx, void *at, uint32_t n, void *const *from);
	int (*bare)(void *ctx, void *at, uint32_t n);
	void (*idle)(void *ctx, void *at, uint32_t n);
	int (*put)(void *ctx, void *to, const void *from, size_t bytes);
	int (*get)(void *ctx, void *to, const void *from, size_t bytes);
	int (*zero)(void *ctx, void *at, size_t bytes);
	int (*mark)(void *ctx, void *stream, void **mark);
	int (*await)(void *ctx, void *mark);
	uint64_t (*between)(void *ctx, void *from, void *to);
	void (*unmark)(void *ctx, void *mark);
	int (*pin)(void *ctx, void *ptr, size_t bytes);
	void (*unpin)(void *ctx, void *ptr);
	void *ctx;
};

#ifdef __cplusplus
}
#endif
#endif
