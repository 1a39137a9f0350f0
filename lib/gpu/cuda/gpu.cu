// SPDX-License-Identifier: MIT
/*
 * Opening a GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "gpu.h"

#define OLDEST 70 /* compute capability times ten: atomics of system scope, lanes by themselves */

int cuda_check(cudaError_t err, const char *what)
{
	char why[256];

	if (err == cudaSuccess)
		return 0;
	snprintf(why, sizeof(why), "CUDA: %s: %s", what, cudaGetErrorString(err));
	cudaGetLastError(); /* reported; later calls are not to blame for it */
	switch (err) {
	case cudaErrorNoDevice:
	case cudaErrorInsufficientDriver:
	case cudaErrorInvalidDevice:
	case cudaErrorSystemDriverMismatch:
	case cudaErrorStubLibrary:
		return annex_gpu_memory_fail(-ENODEV, why);
	case cudaErrorMemoryAllocation:
		return annex_gpu_memory_fail(-ENOMEM, why);
	case cudaErrorNotSupported:
		return annex_gpu_memory_fail(-EOPNOTSUPP, why);
	case cudaErrorInvalidValue:
		return annex_gpu_memory_fail(-EINVAL, why);
	default:
		return annex_gpu_memory_fail(-EIO, why);
	}
}

int cuda_wait(cudaError_t err, cudaStream_t stream, const char *what)
{
	/* Also after an error: earlier copies of the stream still move memory. */
	cudaError_t end = cudaStreamSynchronize(stream);

	return cuda_check(err != cudaSuccess ? err : end, what);
}

/* Host pointers are the GPU's pointers, for all memory, or structures could not be shared. */
static int check_gpu(struct cuda_gpu *gpu)
{
	struct cudaDeviceProp prop;
	int same = 0, err = cuda_check(cudaGetDeviceProperties(&prop, gpu->index), "properties");

	if (!err)
		err = cuda_check(
			cudaDeviceGetAttribute(&same, cudaDevAttrCanUseHostPointerForRegisteredMem,
					       gpu->index),
			"attributes");
	if (err)
		return err;
	snprintf(gpu->name, sizeof(gpu->name), "%s", prop.name);
	if (prop.major * 10 + prop.minor < OLDEST)
		return annex_gpu_memory_fail(-EOPNOTSUPP, "CUDA: the GPU is older than sm_70");
	if (!prop.unifiedAddressing || !same)
		return annex_gpu_memory_fail(
			-EOPNOTSUPP, "CUDA: the GPU has addresses of its own for host memory");
	return 0;
}

static int start(struct cuda_gpu *gpu, int index)
{
	int count = 0, err = cuda_check(cudaGetDeviceCount(&count), "no GPU");

	if (err)
		return err;
	if (index < 0 || index >= count)
		return annex_gpu_memory_fail(-ENODEV, "CUDA: no GPU of that number");
	gpu->index = index;
	err = cuda_check(cudaSetDevice(index), "cannot use the GPU");
	if (!err)
		err = check_gpu(gpu);
	if (!err)
		err = cuda_check(cudaStreamCreateWithFlags(&gpu->host, cudaStreamNonBlocking),
				 "stream");
	if (!err)
		err = cuda_check(cudaStreamCreateWithFlags(&gpu->proxy, cudaStreamNonBlocking),
				 "stream");
	return err ? err : cuda_frames_open(gpu);
}

static void describe(struct cuda_gpu *gpu)
{
	struct annex_gpu_memory *m = &gpu->memory;

	gpu->device.name = gpu->name;
	gpu->device.alloc = cuda_device_alloc;
	gpu->device.free = cuda_device_free;
	gpu->device.dmabuf = cuda_device_dmabuf;
	gpu->device.ctx = gpu;
	gpu->pinned.name = "pinned";
	gpu->pinned.alloc = cuda_pinned_alloc;
	gpu->pinned.free = cuda_pinned_free;
	gpu->pinned.ctx = gpu;
	gpu->copier.name = gpu->name;
	gpu->copier.copy = cuda_moves;
	gpu->copier.provider = &gpu->pinned;
	gpu->copier.ctx = gpu;
	m->name = gpu->name;
	m->device = &gpu->device;
	m->pinned = &gpu->pinned;
	m->put = m->get = cuda_copy;
	m->fill = cuda_fill;
	m->reach = cuda_reach;
	m->unreach = cuda_unreach;
	m->flush = cuda_flush;
	m->copier = &gpu->copier;
	m->ctx = gpu;
}

int annex_cuda_open(int device, struct annex_gpu_memory **out)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)calloc(1, sizeof(*gpu));
	int err;

	if (!gpu)
		return annex_gpu_memory_fail(-ENOMEM, "CUDA: out of memory");
	pthread_mutex_init(&gpu->lock, NULL);
	describe(gpu);
	err = start(gpu, device);
	if (err) {
		annex_cuda_close(&gpu->memory);
		return err;
	}
	*out = &gpu->memory;
	return 0;
}

void annex_cuda_close(struct annex_gpu_memory *memory)
{
	struct cuda_gpu *gpu = (struct cuda_gpu *)memory;

	if (!gpu)
		return;
	cuda_frames_close(gpu);
	if (gpu->host)
		cudaStreamDestroy(gpu->host);
	if (gpu->proxy)
		cudaStreamDestroy(gpu->proxy);
	pthread_mutex_destroy(&gpu->lock);
	free(gpu);
}
