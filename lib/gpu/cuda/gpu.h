/* SPDX-License-Identifier: MIT */
/*
 * The inside of libannex-cuda: a GPU by CUDA's runtime.
 */
#ifndef ANNEX_GPU_CUDA_GPU_H
#define ANNEX_GPU_CUDA_GPU_H

#include <cuda_runtime.h>
#include <pthread.h>
#include <annex/cuda.h>

struct cuda_block;
struct cuda_frames;

/**
 * struct cuda_gpu - A GPU.
 * @memory: its public part, the first member.
 * @index: CUDA's number of it.
 * @host: the stream of the host's copies and kernels. Neither stream waits for other kernels, or
 *	has them wait.
 * @proxy: the stream of copiers, which are threads of their own.
 * @lock: for @blocks.
 * @blocks: the GPU memory that was given out.
 * @frames: memory for spaces.
 */
struct cuda_gpu {
	struct annex_gpu_memory memory;
	struct annex_provider device, pinned;
	struct annex_copier copier;
	char name[256];
	int index;
	cudaStream_t host, proxy;
	pthread_mutex_t lock;
	struct cuda_block *blocks;
	struct cuda_frames *frames;
};

/* Have annex_last_error() say what CUDA said. Return: an errno for it; 0 for success. */
int cuda_check(cudaError_t err, const char *what);
/* The same for work in a stream, when it has ended. */
int cuda_wait(cudaError_t err, cudaStream_t stream, const char *what);

/* device.cu */
void *cuda_device_alloc(void *ctx, size_t size, size_t align);
void cuda_device_free(void *ctx, void *ptr, size_t size);
int cuda_device_dmabuf(void *ctx, void *ptr, uint64_t *offset);

/* pinned.cu */
void *cuda_pinned_alloc(void *ctx, size_t size, size_t align);
void cuda_pinned_free(void *ctx, void *ptr, size_t size);
int cuda_reach(void *ctx, void *ptr, size_t bytes, bool io, void **seen);
void cuda_unreach(void *ctx, void *ptr);

/* copy.cu */
int cuda_copy(void *ctx, void *to, const void *from, size_t bytes);
int cuda_fill(void *ctx, void *ptr, int byte, size_t bytes);
int cuda_moves(void *ctx, const struct annex_far_move *moves, unsigned int n);

/* frames.cu */
int cuda_frames_open(struct cuda_gpu *gpu);
void cuda_frames_close(struct cuda_gpu *gpu); /* whatever there is of it */

/* flush.cu */
int cuda_flush(void *ctx, struct annex_gpu_cache *cache, uint32_t nslots, uint64_t first,
	       uint64_t n);

#endif
