// SPDX-License-Identifier: MIT
/*
 * Tensors on a GPU. The space takes the place of PyTorch's caching allocator. Below the cache, or
 * in a pool of it, it would not learn that tensors are freed.
 *
 * Other callers and other threads get the caching allocator's memory.
 */
#ifndef ANNEX_CUDA_HPP
#define ANNEX_CUDA_HPP

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>
#include "allocator.hpp"

namespace
{

using Pluggable = torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator;
using CudaAllocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
using CudaStats = c10::CachingDeviceAllocator::DeviceStats;

/* PyTorch's own allocator. */
std::atomic<CudaAllocator *> cached{nullptr};

void drop_on_gpu(void *ptr)
{
	if (!release(ptr))
		cached.load()->raw_deleter()(ptr);
}

void drop_managed(void *ptr)
{
	cudaFree(ptr);
}

/*
 * The allocator of PyTorch's CUDA tensors. Its base refuses other calls, such as for graphs of
 * CUDA, by an error.
 */
class GpuSpaces final : public Pluggable
{
      public:
	GpuSpaces() : Pluggable({}, {})
	{
	}
	c10::DataPtr allocate(size_t bytes) override
	{
		Block *block = own_block();

		if (block && bytes >= block->smallest && is_current(block->side->device())) {
			c10::DataPtr data = make(block, bytes);

			if (data)
				return data;
		}
		return cached.load()->allocate(bytes);
	}
	c10::DeleterFnPtr raw_deleter() const override
	{
		return &drop_on_gpu;
	}
	void *raw_alloc(size_t bytes) override
	{
		return cached.load()->raw_alloc(bytes);
	}
	void *raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override
	{
		return cached.load()->raw_alloc_with_stream(bytes, stream);
	}
	void raw_delete(void *ptr) override
	{
		cached.load()->raw_delete(ptr);
	}
	void init(int count) override
	{
		cached.load()->init(count);
	}
	bool initialized() override
	{
		return cached.load()->initialized();
	}
	void emptyCache(c10::cuda::MempoolId_t pool) override
	{
		cached.load()->emptyCache(pool);
	}
	void cacheInfo(c10::DeviceIndex device, size_t *largest) override
	{
		cached.load()->cacheInfo(device, largest);
	}
	/* A kernel in any stream holds its tensors of a space. */
	void recordStream(const c10::DataPtr &data, c10::cuda::CUDAStream stream) override
	{
		if (data.get_deleter() != &drop_on_gpu)
			cached.load()->recordStream(data, stream);
	}
	CudaStats getDeviceStats(c10::DeviceIndex device) override
	{
		return cached.load()->getDeviceStats(device);
	}
	void resetAccumulatedStats(c10::DeviceIndex device) override
	{
		cached.load()->resetAccumulatedStats(device);
	}
	void resetPeakStats(c10::DeviceIndex device) override
	{
		cached.load()->resetPeakStats(device);
	}

      private:
	static bool is_current(c10::Device device)
	{
		return device.is_cuda() && device.index() == c10::cuda::current_device();
	}
};

GpuSpaces &gpu_allocator()
{
	static GpuSpaces *spaces = new GpuSpaces;

	return *spaces;
}

class Gpu final : public Side
{
      public:
	explicit Gpu(int number) : index(static_cast<c10::DeviceIndex>(number))
	{
		cached = c10::cuda::CUDACachingAllocator::get();
	}
	c10::Device device() const override
	{
		return c10::Device(c10::DeviceType::CUDA, index);
	}
	bool begin() const override
	{
		c10::cuda::CUDACachingAllocator::allocator.store(&gpu_allocator());
		return true;
	}
	void end() const override
	{
		c10::cuda::CUDACachingAllocator::allocator.store(cached.load());
	}
	/* If the GPU is full, CUDA moves managed memory between it and the host. */
	c10::DataPtr ordinary(size_t bytes) const override
	{
		c10::cuda::CUDAGuard guard(index);
		void *ptr = nullptr;

		try {
			return cached.load()->allocate(bytes);
		} catch (const c10::OutOfMemoryError &) {
			if (cudaMallocManaged(&ptr, bytes) != cudaSuccess) {
				cudaGetLastError(); /* not an error of the next call */
				throw;
			}
		}
		return c10::DataPtr(ptr, ptr, &drop_managed, device());
	}
	c10::DeleterFnPtr ordinary_deleter() const override
	{
		return cached.load()->raw_deleter();
	}
	c10::DeleterFnPtr deleter() const override
	{
		return &drop_on_gpu;
	}
	void *stream() const override
	{
		return c10::cuda::getCurrentCUDAStream(index).stream();
	}
	int copy(void *to, const void *from, size_t bytes) const override
	{
		c10::cuda::CUDAGuard guard(index);

		if (cudaDeviceSynchronize() == cudaSuccess &&
		    cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess &&
		    cudaDeviceSynchronize() == cudaSuccess)
			return 0;
		cudaGetLastError(); /* -EIO reports it */
		return -EIO;
	}

      private:
	c10::DeviceIndex index;
};

} // namespace

#endif
