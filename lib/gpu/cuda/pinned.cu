// SPDX-License-Identifier: MIT
/*
 * Host memory that GPU threads reach, at the host's addresses (gpu.cu has checked that).
 */
#include "gpu.h"

static cudaError_t pin(struct cuda_gpu *gpu, void *ptr, size_t bytes, unsigned int flags)
{
	cudaError_t err = cudaSetDevice(gpu->index);

	return err != cudaSuccess ? err
				  : cudaHostRegister(ptr, bytes,
						     cudaHostRegisterMapped |
							     cudaHostRegisterPortable | flags);
}

void *cuda_pinned_alloc(void *ctx, size_t size, size_t align)
{
	const struct annex_provider *pages = annex_provider_pages();
	void *ptr = pages->alloc(pages->ctx, size, align);

	if (ptr && cuda_check(pin((struct cuda_gpu *)ctx, ptr, size, 0), "cannot pin memory")) {
		pages->free(pages->ctx, ptr, size);
		return NULL;
	}
	return ptr;
}

void cuda_pinned_free(void *ctx, void *ptr, size_t size)
{
	const struct annex_provider *pages = annex_provider_pages();

	if (!ptr)
		return;
	cuda_unreach(ctx, ptr);
	pages->free(pages->ctx, ptr, size);
}

int cuda_reach(void *ctx, void *ptr, size_t bytes, bool io, void **seen)
{
	int err = cuda_check(
		pin((struct cuda_gpu *)ctx, ptr, bytes, io ? cudaHostRegisterIoMemory : 0),
		"memory that the GPU cannot reach");

	if (err)
		return err;
	err = cuda_check(cudaHostGetDevicePointer(seen, ptr, 0), "where the GPU sees it");
	if (err)
		cudaHostUnregister(ptr);
	return err;
}

void cuda_unreach(void *ctx, void *ptr)
{
	cudaSetDevice(((struct cuda_gpu *)ctx)->index); /* whichever thread this is */
	cudaHostUnregister(ptr);
}
