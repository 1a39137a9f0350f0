/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the library: their images, and functions that launch them.
 */
#ifndef ANNEX_NDP_KERNELS_KERNELS_H
#define ANNEX_NDP_KERNELS_KERNELS_H

#include <annex/kernels.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Each is lib/ndp/kernels/NAME.S. */
/* clang-format off */
#define K_LIST(k) \
	k(vadd_i32) k(vadd_f32) k(memset) k(copy) \
	k(sum_i32) k(sum_i64) k(sum_f32) k(histogram) \
	k(filter_i32) k(filter_i64) k(filter_prefix) k(bitmap_and) k(bitmap_or) \
	k(kv_get) k(kv_set) \
	k(spmv) k(pagerank) k(sssp) \
	k(sls) k(gemv_f32) k(gemv_f16) k(softmax) k(layernorm)
/* clang-format on */

enum k_kernel {
#define K_ENUM(name) K_##name,
	K_LIST(K_ENUM)
#undef K_ENUM
		K_KERNELS,
};

/* struct k_image - The ELF file of a kernel, embedded in the library. */
struct k_image {
	const char *name;
	const char *elf, *end;
};
extern const struct k_image k_image[K_KERNELS];

/**
 * struct k_way - Function that runs kernels: M2func, or an emulator for comparison.
 * @run: as annex_m2_run().
 * @ctx: passed to @run.
 */
struct k_way {
	int (*run)(void *ctx, enum k_kernel kernel, const void *pool, uint64_t bytes,
		   const void *args, size_t nargs);
	void *ctx;
};

/**
 * struct annex_kernels - The near-data kernels of a device.
 * @hdm: range for kernels and temporary data.
 * @way: function that runs kernels.
 * @piece: bytes of the pool for one micro-thread.
 * @threads: micro-thread slots of the device.
 * @coherent: the device is coherent with the host's caches.
 * @m2: the device.
 * @lock: held to load a kernel.
 * @kernel: each kernel; NULL until it is first needed.
 */
struct annex_kernels {
	struct annex_hdm *hdm;
	struct k_way way;
	uint32_t piece;
	uint32_t threads;
	bool coherent;
	struct annex_m2 *m2;
	pthread_mutex_t lock;
	struct annex_m2_kernel *kernel[K_KERNELS];
};

/* kernels_init() - A handle without a device: @way runs kernels. */
void kernels_init(struct annex_kernels *k, struct annex_hdm *hdm, const struct k_way *way,
		  uint32_t piece, uint32_t threads);

/*
 * k_run() - Run a kernel, with one micro-thread for each of @pieces of the pool at @pool. Arguments
 * have 8 bytes each. With 0 pieces it does nothing.
 */
int k_run(struct annex_kernels *k, enum k_kernel kernel, const void *pool, uint64_t pieces,
	  const void *args, size_t nargs);

/* k_flush() - Flush the host's caches before a kernel reads or writes memory. */
int k_flush(struct annex_kernels *k, const void *addr, size_t bytes);

/* k_aligned() - -EINVAL for an array of @what that is not aligned; otherwise 0. */
int k_aligned(const void *addr, const char *what);

/**
 * struct k_shared - The first arguments of kernels whose threads share an array
 * (kernels/share.inc).
 */
struct k_shared {
	uint64_t data, n, threads, shift;
};

/*
 * k_share() - Share @n elements of @size bytes, with a pool of @pool bytes, among as many threads
 * as the device runs at once, or fewer if there is less work.
 */
struct k_shared k_share(const struct annex_kernels *k, const void *data, uint64_t n,
			unsigned int size, uint64_t pool);

/* As an argument of a kernel. */
static inline uint64_t k_at(const void *addr)
{
	return (uint64_t)(uintptr_t)addr;
}

static inline uint64_t k_parts(uint64_t n, uint64_t of)
{
	return n / of + (n % of != 0);
}

#endif
