// SPDX-License-Identifier: MIT
/*
 * Copies, by the GPU's copy engines: a kernel that waits for a proxy may have the whole GPU, so
 * what the proxy does for it must not be a kernel.
 */
#include "gpu.h"

int cuda_copy(void *ctx, void *to, const void *from, size_t bytes)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)ctx;
	cudaError_t err = cudaSetDevice(gpu->index);

	if (err == cudaSuccess)
		err = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu->host);
	return cuda_wait(err, gpu->host, "copy");
}

int cuda_fill(void *ctx, void *ptr, int byte, size_t bytes)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)ctx;
	cudaError_t err = cudaSetDevice(gpu->index);

	if (err == cudaSuccess)
		err = cudaMemsetAsync(ptr, byte, bytes, gpu->host);
	return cuda_wait(err, gpu->host, "fill");
}

/* One wait for all: it costs as much as many copies. */
int cuda_moves(void *ctx, const struct annex_far_move *moves, unsigned int n)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)ctx;
	cudaError_t err = cudaSetDevice(gpu->index); /* of the proxy's thread, whichever it is */

	for (unsigned int i = 0; err == cudaSuccess && i < n; i++) {
		void *far = (void *)(uintptr_t)moves[i].far;

		if (moves[i].to_far)
			err = cudaMemcpyAsync(far, moves[i].near, moves[i].len,
					      cudaMemcpyHostToDevice, gpu->proxy);
		else
			err = cudaMemcpyAsync(moves[i].near, far, moves[i].len,
					      cudaMemcpyDeviceToHost, gpu->proxy);
	}
	return cuda_wait(err, gpu->proxy, "copies of a proxy");
}
