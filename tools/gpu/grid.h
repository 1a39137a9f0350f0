/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GPU kernels made of bodies, for nvcc; and for a clang that has no CUDA headers beside it, which
 * checks them only.
 */
#ifndef TOOLS_GPU_GRID_H
#define TOOLS_GPU_GRID_H

#include "args.h"

#if defined(__clang__) && !defined(__CUDA_RUNTIME_H__)
#define GPU_GLOBAL(blocks) __attribute__((global))

static inline __attribute__((device)) struct gpu_thread gpu_thread_of_grid(void)
{
	struct gpu_thread t = {0, 0};
#ifdef __CUDA_ARCH__
	t.id = (uint64_t)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
	       __nvvm_read_ptx_sreg_tid_x();
	t.count = (uint64_t)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
#endif
	return t;
}
#else
#define GPU_GLOBAL(blocks) __global__ __launch_bounds__(GPU_BLOCK, blocks)

static inline __device__ struct gpu_thread gpu_thread_of_grid(void)
{
	struct gpu_thread t;

	t.id = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	t.count = (uint64_t)gridDim.x * blockDim.x;
	return t;
}
#endif

#endif
