/* SPDX-License-Identifier: MIT */
/*
 * Streams of the host's frames (frames.c): a thread calls functions one after the other, later than
 * they were put there, as a GPU runs kernels.
 */
#ifndef ANNEX_GPU_STREAM_H
#define ANNEX_GPU_STREAM_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_stream;

/* Return: 0; -ENOMEM; -EAGAIN (no more threads). */
int gpu_stream_open(struct gpu_stream **out);

/* All that was put there runs first, also if it was held back. NULL is allowed. */
void gpu_stream_close(struct gpu_stream *s);

/* Put a function there. Return: 0; -ENOMEM. */
int gpu_stream_put(struct gpu_stream *s, void (*run)(void *arg), void *arg);

/* Hold back work that has not begun, or release it. */
void gpu_stream_hold(struct gpu_stream *s, bool on);

/* As of struct annex_frames; work of no stream (NULL) has passed at once. */
int gpu_stream_mark(void *ctx, void *stream, void **mark);
int gpu_stream_await(void *ctx, void *mark);
uint64_t gpu_stream_between(void *ctx, void *from, void *to);
void gpu_stream_unmark(void *ctx, void *mark);

#endif
