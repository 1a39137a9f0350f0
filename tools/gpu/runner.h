/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executor of kernels: a GPU, or in tests threads of the host that play one.
 */
#ifndef TOOLS_GPU_RUNNER_H
#define TOOLS_GPU_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/cuda.h>
#include "args.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RUNNER_LANES 2u /* kernels that run side by side */

/*
 * struct runner - A GPU, or a host that plays one. Functions return 0 or -errno, with
 * annex_last_error().
 * @gpu: a real GPU, whose figures mean something.
 * @threads: threads that run at once.
 * @more: the kernels from GPU_KERNEL_END on, which enum gpu_kernel does not name.
 * @start: begin a kernel with @threads threads, rounded up to whole blocks.
 * @wait: wait for its end, with a time limit; it ran for *@seconds.
 */
struct runner {
	const char *name;
	bool gpu;
	uint32_t threads;
	const struct annex_gpu_memory *memory;
	const void *const *more;
	int (*start)(struct runner *r, unsigned int lane, unsigned int kernel, uint64_t threads,
		     const void *args);
	int (*wait)(struct runner *r, unsigned int lane, double *seconds);
	void (*close)(struct runner *r);
};

/*
 * runner_open() - GPU @device (from 0). 0, or -errno with the line set: -EOPNOTSUPP when the
 * program was built without CUDA, -ENODEV without a GPU. runner_close() - @r may be NULL.
 */
int runner_open(int device, struct runner **out);
void runner_close(struct runner *r);

/* runner_cuda_open() - The same by CUDA, in programs that have it (launch.cu). */
int runner_cuda_open(int device, struct runner **out) __attribute__((weak));

/* runner_run() - A kernel from start to end; *@seconds may be NULL. */
int runner_run(struct runner *r, enum gpu_kernel kernel, uint64_t threads, const void *args,
	       double *seconds);

/* runner_failed() - The error in the record of @ctx, with the line set, or 0. */
int runner_failed(struct annex_gpu_context *ctx);

/* runner_check() - The same for kernels on @ctx; also fail on an error in its error record. */
int runner_check(struct runner *r, struct annex_gpu_context *ctx, enum gpu_kernel kernel,
		 uint64_t threads, const void *args, double *seconds);

/* Memory of the GPU, zeroed; NULL with the line set. Copies return 0 or -errno with the line. */
void *runner_alloc(struct runner *r, uint64_t bytes, const char *what);
void runner_free(struct runner *r, void *ptr, uint64_t bytes);
int runner_put(struct runner *r, void *to, const void *from, uint64_t bytes);
int runner_get(struct runner *r, void *to, const void *from, uint64_t bytes);
int runner_zero(struct runner *r, void *ptr, uint64_t bytes);

/*
 * runner_threads() - How many threads go through @slots cached lines: each warp has up to @held of
 * them at once, and half of the cache shall be left to later lines.
 */
uint64_t runner_threads(const struct runner *r, uint64_t slots, uint32_t held);

/* runner_upload() - Write @bytes of host memory to @a, an array of doublewords, and flush. */
int runner_upload(struct runner *r, struct annex_gpu_context *ctx, const struct annex_gpu_array *a,
		  const void *from, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
