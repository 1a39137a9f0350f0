/* SPDX-License-Identifier: MIT */
/*
 * The few words of CUDA that the checks use, for a clang that has no CUDA headers beside it.
 */
#ifndef ANNEX_TESTS_CUDA_DIALECT_H
#define ANNEX_TESTS_CUDA_DIALECT_H

#if defined(__clang__) && !defined(__CUDA_RUNTIME_H__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

static inline __device__ unsigned int thread_index(void)
{
#ifdef __CUDA_ARCH__
	return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
	       __nvvm_read_ptx_sreg_tid_x();
#else
	return 0;
#endif
}
#else
static inline __device__ unsigned int thread_index(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}
#endif

#endif
