// SPDX-License-Identifier: MIT
/*
 * The kernel that writes dirty lines back: a thread a slot.
 */
#include <annex/gpu.h>
#include "gpu.h"

#define THREADS 128u /* of a block */
#define BLOCKS 1024u /* at most: queues are no faster for more */

static __global__ void flush_slots(struct annex_gpu_cache *cache, uint32_t nslots, uint64_t first,
				   uint64_t n)
{
	uint32_t slot = blockIdx.x * blockDim.x + threadIdx.x;

	/* What fails is in the cache's record, and ends all that come after. */
	for (; slot < nslots; slot += gridDim.x * blockDim.x)
		if (annex_gpu_flush_slot(cache, slot, first, n))
			return;
}

int cuda_flush(void *ctx, struct annex_gpu_cache *cache, uint32_t nslots, uint64_t first,
	       uint64_t n)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)ctx;
	uint32_t blocks = (nslots + THREADS - 1) / THREADS;
	void *args[] = {&cache, &nslots, &first, &n};
	cudaError_t err = cudaSetDevice(gpu->index);

	if (err == cudaSuccess)
		err = cudaLaunchKernel((const void *)flush_slots,
				       dim3(blocks < BLOCKS ? blocks : BLOCKS), dim3(THREADS), args,
				       0, gpu->host);
	return cuda_wait(err, gpu->host, "the flush kernel");
}
