/* SPDX-License-Identifier: MIT */
/*
 * Atomics and waiting primitives in the three dialects of the hot paths: gcc, clang, CUDA.
 *
 * Shared words are plain fixed-width integers (CUDA does not know _Atomic) and are accessed only
 * through these macros. On a GPU the operations of annex_atomic_*() have system scope, because the
 * other side of a queue may be the CPU or a device on the bus.
 *
 * annex_local_*() are for words that, while kernels run, are accessed either by threads of one GPU
 * only, or by threads of the host only. On a GPU they have device scope, which is cheaper. Order is
 * transitive across scopes: a doorbell, stored with system scope, is ordered after everything that
 * its writer has observed through words of device scope.
 */
#ifndef ANNEX_ATOMIC_H
#define ANNEX_ATOMIC_H

#include <stdint.h>

#if defined(__CUDACC__) && !defined(__clang__)
#define ANNEX_HD __host__ __device__
#elif defined(__CUDA__)
#define ANNEX_HD __attribute__((host)) __attribute__((device))
#else
#define ANNEX_HD
#endif

/* 1 while code for the GPU itself is compiled, without system calls and host functions. */
#ifdef __CUDA_ARCH__
#define ANNEX_ON_GPU 1
#else
#define ANNEX_ON_GPU 0
#endif

#if defined(__CUDACC__) && !defined(__clang__) &&                                                  \
	__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1208
#error "Annex needs the atomics of nvcc 12.8"
#endif

#if defined(__CUDA_ARCH__) && !defined(__clang__)
#define ANNEX_RELAXED __NV_ATOMIC_RELAXED
#define ANNEX_ACQUIRE __NV_ATOMIC_ACQUIRE
#define ANNEX_RELEASE __NV_ATOMIC_RELEASE
#define ANNEX_ACQ_REL __NV_ATOMIC_ACQ_REL
#define ANNEX_SEQ_CST __NV_ATOMIC_SEQ_CST

#define annex_atomic_load(p, o) __nv_atomic_load_n((p), (o), __NV_THREAD_SCOPE_SYSTEM)
#define annex_atomic_store(p, v, o) __nv_atomic_store_n((p), (v), (o), __NV_THREAD_SCOPE_SYSTEM)
#define annex_atomic_add(p, v, o) __nv_atomic_fetch_add((p), (v), (o), __NV_THREAD_SCOPE_SYSTEM)
#define annex_atomic_sub(p, v, o) __nv_atomic_fetch_sub((p), (v), (o), __NV_THREAD_SCOPE_SYSTEM)
#define annex_atomic_or(p, v, o) __nv_atomic_fetch_or((p), (v), (o), __NV_THREAD_SCOPE_SYSTEM)
#define annex_atomic_and(p, v, o) __nv_atomic_fetch_and((p), (v), (o), __NV_THREAD_SCOPE_SYSTEM)
#define annex_atomic_cas(p, e, v, o)                                                               \
	__nv_atomic_compare_exchange_n((p), (e), (v), 0, (o), ANNEX_CAS_FAILED(o),                 \
				       __NV_THREAD_SCOPE_SYSTEM)
#define annex_atomic_fence(o) __nv_atomic_thread_fence((o), __NV_THREAD_SCOPE_SYSTEM)

#define ANNEX_LOCAL_SCOPE __NV_THREAD_SCOPE_DEVICE
#define annex_local_load(p, o) __nv_atomic_load_n((p), (o), ANNEX_LOCAL_SCOPE)
#define annex_local_store(p, v, o) __nv_atomic_store_n((p), (v), (o), ANNEX_LOCAL_SCOPE)
#define annex_local_add(p, v, o) __nv_atomic_fetch_add((p), (v), (o), ANNEX_LOCAL_SCOPE)
#define annex_local_sub(p, v, o) __nv_atomic_fetch_sub((p), (v), (o), ANNEX_LOCAL_SCOPE)
#define annex_local_or(p, v, o) __nv_atomic_fetch_or((p), (v), (o), ANNEX_LOCAL_SCOPE)
#define annex_local_and(p, v, o) __nv_atomic_fetch_and((p), (v), (o), ANNEX_LOCAL_SCOPE)
#define annex_local_cas(p, e, v, o)                                                                \
	__nv_atomic_compare_exchange_n((p), (e), (v), 0, (o), ANNEX_CAS_FAILED(o),                 \
				       ANNEX_LOCAL_SCOPE)
#else
#define ANNEX_RELAXED __ATOMIC_RELAXED
#define ANNEX_ACQUIRE __ATOMIC_ACQUIRE
#define ANNEX_RELEASE __ATOMIC_RELEASE
#define ANNEX_ACQ_REL __ATOMIC_ACQ_REL
#define ANNEX_SEQ_CST __ATOMIC_SEQ_CST

#define annex_atomic_load(p, o) __atomic_load_n((p), (o))
#define annex_atomic_store(p, v, o) __atomic_store_n((p), (v), (o))
#define annex_atomic_add(p, v, o) __atomic_fetch_add((p), (v), (o))
#define annex_atomic_sub(p, v, o) __atomic_fetch_sub((p), (v), (o))
#define annex_atomic_or(p, v, o) __atomic_fetch_or((p), (v), (o))
#define annex_atomic_and(p, v, o) __atomic_fetch_and((p), (v), (o))
#define annex_atomic_cas(p, e, v, o)                                                               \
	__atomic_compare_exchange_n((p), (e), (v), 0, (o), ANNEX_CAS_FAILED(o))
#define annex_atomic_fence(o) __atomic_thread_fence(o)

#define annex_local_load annex_atomic_load
#define annex_local_store annex_atomic_store
#define annex_local_add annex_atomic_add
#define annex_local_sub annex_atomic_sub
#define annex_local_or annex_atomic_or
#define annex_local_and annex_atomic_and
#define annex_local_cas annex_atomic_cas
#endif

/*
 * For functions that read memory which other threads may be writing, and detect that afterwards.
 * The race detector would report such reads.
 */
#if ANNEX_ON_GPU
#define ANNEX_RACY
#elif defined(__clang__) /* no_sanitize would still instrument atomics */
#define ANNEX_RACY __attribute__((disable_sanitizer_instrumentation))
#else
#define ANNEX_RACY __attribute__((no_sanitize("thread")))
#endif

/*
 * annex_atomic_cas() is strong. When it fails, *e is the current value, loaded with acquire order
 * if success has acquire order.
 */
#define ANNEX_CAS_FAILED(o)                                                                        \
	((o) == ANNEX_RELAXED || (o) == ANNEX_RELEASE ? ANNEX_RELAXED : ANNEX_ACQUIRE)

/**
 * annex_pause() - Tell the core that this thread spins.
 */
static inline ANNEX_HD void annex_pause(void)
{
#if defined(__CUDA_ARCH__)
	/* A spinning warp takes issue slots from working warps: sleep briefly. */
	__asm__ volatile("nanosleep.u32 100;");
#elif defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/*
 * Fences between host threads and a device on the bus: for reads, for writes, for both. On Arm,
 * acquire and release order accesses between processors only (inner shareable); like Linux, assume
 * that devices are outer shareable.
 */
#if defined(__aarch64__) && !ANNEX_ON_GPU
#define annex_dma_rmb() __asm__ volatile("dmb oshld" ::: "memory")
#define annex_dma_wmb() __asm__ volatile("dmb oshst" ::: "memory")
#define annex_dma_mb() __asm__ volatile("dmb osh" ::: "memory")
#else
#define annex_dma_rmb() ((void)0)
#define annex_dma_wmb() ((void)0)
#define annex_dma_mb() ((void)0)
#endif

/**
 * annex_mmio_read32() - Read a device register, before everything read after it.
 * @reg: as for annex_mmio_write32().
 */
static inline ANNEX_HD uint32_t annex_mmio_read32(uint32_t *reg)
{
	uint32_t val = annex_atomic_load(reg, ANNEX_ACQUIRE);

	annex_dma_rmb();
	return val;
}

/**
 * annex_mmio_write32() - Write a device register, after everything written before it.
 * @reg: the register, in mapped device memory or in the memory of a proxy.
 * @val: the value.
 *
 * The release order makes commands in queue memory visible to the controller before the doorbell
 * that announces them.
 */
static inline ANNEX_HD void annex_mmio_write32(uint32_t *reg, uint32_t val)
{
	annex_dma_wmb();
	annex_atomic_store(reg, val, ANNEX_RELEASE);
}

#endif
