/* SPDX-License-Identifier: MIT */
/*
 * Memory of a GPU for a space (annex/mem.h): fixed addresses, and frames of memory that are mapped
 * and unmapped there.
 */
#ifndef ANNEX_FRAMES_H
#define ANNEX_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct annex_frames - A GPU's address space, and its memory in frames.
 * @name: for messages.
 * @bytes: bytes of a frame, a power of two, at least 4096.
 * @reserve: reserve addresses for bytes, in whole frames, without memory; sets *base to the first,
 *	aligned to a frame.
 * @ctx: passed to all.
 * @release: free reserved addresses, when no frame is mapped there.
 * @back: map n frames at consecutive addresses from at on. Frame i is the one mapped at from[i],
 *	which may be its own address, or new memory if from[i] is NULL. The contents are undefined.
 *	No access to any of these addresses may be in flight. After an error no frame is mapped at
 *	these addresses or at those in from. The call may wait for running kernels, so these must
 *	not wait for calls on the space.
 * @bare: unmap and free the frame at at. As for @back, no access to it may be in flight, and the
 *	call may wait for running kernels. After an error the frame is still mapped.
 * @idle: note that n frames from at on are unused until @back or @bare names them. It does not
 *	wait. May be NULL.
 * @put: copy to addresses with frames. It returns when the copy is done, and does not wait for
 *	running kernels. Copies in both directions may run at once.
 * @get: copy from addresses with frames, likewise.
 * @zero: set bytes at addresses with frames to 0. It may wait for running kernels, as @back.
 * @mark: record an event after all work in @stream so far; *mark is reused, or (NULL) set to a new
 *	event. With CUDA a stream is a cudaStream_t, which may be NULL. NULL: there are no streams.
 * @await: wait until an event has passed. Return: 0, or the error of the work before it.
 * @between: nanoseconds between two events that have passed.
 * @unmark: free an event, whether it has passed or not.
 * @pin: pin host memory, in whole pages, so that copies from and to it run at full speed.
 * @unpin: undo @pin.
 *
 * Functions return 0 or a negative errno, and give the reason to annex_gpu_memory_fail(). Any
 * thread may call them, several at once for different addresses.
 */
struct annex_frames {
	const char *name;
	size_t bytes;
	int (*reserve)(void *ctx, uint64_t bytes, void **base);
	void (*release)(void *ctx, void *base, uint64_t bytes);
	int (*back)(void *ctx, void *at, uint32_t n, void *const *from);
	int (*bare)(void *ctx, void *at);
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
