// SPDX-License-Identifier: MIT
/*
 * GPU memory as a provider, and as dma-bufs, so that a drive reaches it.
 */
#include <cuda.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "gpu.h"

#define DMABUF_DRIVER 11070 /* CUDA's version that has them */

/*
 * struct cuda_block - An allocation.
 * @next: next in the list.
 * @ptr: its address.
 * @base: address of CUDA's allocation that contains it.
 * @bytes: its size.
 * @fd: its dma-buf.
 */
struct cuda_block {
	struct cuda_block *next;
	char *ptr, *base;
	size_t bytes;
	int fd;
};

static struct cuda_block *block_at(struct cuda_gpu *gpu, const void *ptr)
{
	struct cuda_block *b;

	pthread_mutex_lock(&gpu->lock);
	for (b = gpu->blocks; b && b->ptr != ptr; b = b->next)
		;
	pthread_mutex_unlock(&gpu->lock);
	return b;
}

void *cuda_device_alloc(void *ctx, size_t size, size_t align)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)ctx;
	struct cuda_block *b = (struct cuda_block *)calloc(1, sizeof(*b));
	void *base = NULL;
	int err;

	if (!b || size > SIZE_MAX - align)
		goto fail;
	err = cuda_check(cudaSetDevice(gpu->index), "cannot use the GPU");
	if (!err)
		err = cuda_check(cudaMalloc(&base, size + align), "no memory");
	if (err)
		goto fail;
	b->base = (char *)base;
	b->ptr = (char *)(((uintptr_t)base + align - 1) & ~(uintptr_t)(align - 1));
	b->bytes = size;
	b->fd = -1;
	if (cuda_fill(gpu, b->ptr, 0, size)) {
		cudaFree(base);
		goto fail;
	}
	pthread_mutex_lock(&gpu->lock);
	b->next = gpu->blocks;
	gpu->blocks = b;
	pthread_mutex_unlock(&gpu->lock);
	return b->ptr;
fail:
	free(b);
	return NULL;
}

void cuda_device_free(void *ctx, void *ptr, size_t size)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)ctx;
	struct cuda_block *b = ptr ? block_at(gpu, ptr) : NULL, **at;

	(void)size;
	if (!b)
		return;
	pthread_mutex_lock(&gpu->lock);
	for (at = &gpu->blocks; *at != b; at = &(*at)->next)
		;
	*at = b->next;
	pthread_mutex_unlock(&gpu->lock);
	if (b->fd >= 0)
		close(b->fd);
	cudaSetDevice(gpu->index);
	cudaFree(b->base);
	free(b);
}

/*
 * Whether a running kernel sees writes of others to this GPU's memory in their order. Otherwise a
 * completion might be there before its data.
 */
static bool keeps_order(const struct cuda_gpu *gpu)
{
	int order = cudaGPUDirectRDMAWritesOrderingNone;

	return cudaDeviceGetAttribute(&order, cudaDevAttrGPUDirectRDMAWritesOrdering, gpu->index) ==
		       cudaSuccess &&
	       order >= cudaGPUDirectRDMAWritesOrderingOwner;
}

/* A function of the driver, by way of the runtime: programs need not link with the driver. */
static CUresult export_range(int *fd, CUdeviceptr ptr, size_t bytes)
{
	typedef CUresult (*handle_fn)(void *, CUdeviceptr, size_t, CUmemRangeHandleType,
				      unsigned long long);
	cudaDriverEntryPointQueryResult found;
	void *fn = NULL;

	if (cudaGetDriverEntryPointByVersion("cuMemGetHandleForAddressRange", &fn, DMABUF_DRIVER,
					     cudaEnableDefault, &found) != cudaSuccess ||
	    !fn || found != cudaDriverEntryPointSuccess)
		return CUDA_ERROR_NOT_SUPPORTED;
	return ((handle_fn)fn)(fd, ptr, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
}

int cuda_device_dmabuf(void *ctx, void *ptr, uint64_t *offset)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)ctx;
	struct cuda_block *b = block_at(gpu, ptr);
	CUresult res;

	*offset = 0;
	if (!b)
		return annex_gpu_memory_fail(-EINVAL, "CUDA: a dma-buf of memory of another kind");
	if (b->fd >= 0)
		return b->fd;
	if (cudaSetDevice(gpu->index) != cudaSuccess)
		return annex_gpu_memory_fail(-ENODEV, "CUDA: cannot use the GPU");
	if (!keeps_order(gpu))
		return annex_gpu_memory_fail(-EOPNOTSUPP,
					     "CUDA: this GPU sees what drives write in no order");
	res = export_range(&b->fd, (CUdeviceptr)b->ptr, b->bytes);
	if (res == CUDA_SUCCESS)
		return b->fd;
	b->fd = -1;
	return annex_gpu_memory_fail(res == CUDA_ERROR_NOT_SUPPORTED ? -EOPNOTSUPP : -EIO,
				     "CUDA: the driver makes no dma-buf of GPU memory");
}
