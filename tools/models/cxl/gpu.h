/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thirteen workloads of CXL-GPU, each a sequence of kernels. lane_ops() counts arithmetic on
 * data and comparisons, as if loops were unrolled; an operation on a pair of floats counts once.
 */
#ifndef TOOLS_CXL_GPU_H
#define TOOLS_CXL_GPU_H

#include <string.h>
#include "lane.h"
#include "work.h"

extern const struct work_kind work_rsum, work_stencil, work_sort;
extern const struct work_kind work_gemm, work_vadd, work_saxpy, work_conv3, work_path;
extern const struct work_kind work_cfd, work_gauss, work_bfs;
extern const struct work_kind work_gnn, work_mri;

#define GPU_PLAN_BYTES 128
#define GPU_BYTES (8u << 20) /* data of a kernel at scale 1 */

/*
 * struct gpu_kernel - A kernel. Its plan locates its arrays in the data.
 * @plan: fill the plan, of at most GPU_PLAN_BYTES; allocate arrays from *@end on.
 * @fill: write the input; *@seed is a state of annex_random().
 * @run: run lane @id of @lanes, between barriers of all lanes.
 * @check: check the results in @data, for the input @first.
 */
struct gpu_kernel {
	void (*plan)(void *plan, double scale, uint64_t *end);
	void (*fill)(const void *plan, char *data, uint64_t *seed);
	void (*run)(const void *plan, struct lane *l, unsigned int id, unsigned int lanes);
	bool (*check)(const void *plan, const char *first, const char *data);
};

/* GPU_KERNEL() - Define the kernel whose functions and plan begin with @_name. */
#define GPU_KERNEL(_name)                                                                          \
	_Static_assert(sizeof(struct _name##_plan) <= GPU_PLAN_BYTES, "the plan is too large");    \
	const struct gpu_kernel gpu_##_name = {                                                    \
		.plan = _name##_plan,                                                              \
		.fill = _name##_fill,                                                              \
		.run = _name##_run,                                                                \
		.check = _name##_check,                                                            \
	}

extern const struct gpu_kernel gpu_rsum, gpu_vadd, gpu_saxpy;
extern const struct gpu_kernel gpu_stencil, gpu_conv3;
extern const struct gpu_kernel gpu_gemm, gpu_gauss;
extern const struct gpu_kernel gpu_sort, gpu_path, gpu_bfs, gpu_cfd;

/* gpu_scaled() - Scale @n, to at least @least. */
static inline uint64_t gpu_scaled(double scale, uint64_t n, uint64_t least)
{
	uint64_t scaled = (uint64_t)(scale * (double)n);

	return scaled < least ? least : scaled;
}

/* gpu_array() - Allocate an array of @bytes, aligned like cudaMalloc(). */
static inline uint64_t gpu_array(uint64_t *end, uint64_t bytes)
{
	uint64_t at = (*end + 255) / 256 * 256;

	*end = at + bytes;
	return at;
}

#define GPU_THREADS 8u /* threads of a core */

/*
 * struct gpu_part - Work items of a lane. A core has neighbouring items, and so have its threads at
 * any time.
 * @begin: first item.
 * @end: end of the items.
 * @step: distance of items.
 */
struct gpu_part {
	uint64_t begin, end, step;
};

/* gpu_part() - The part of lane @id of @lanes, of @n items in all. */
static inline struct gpu_part gpu_part(uint64_t n, unsigned int id, unsigned int lanes)
{
	const unsigned int core = id / GPU_THREADS, left = lanes - core * GPU_THREADS;
	const unsigned int cores = (lanes + GPU_THREADS - 1) / GPU_THREADS;

	return (struct gpu_part){
		.begin = n * core / cores + id % GPU_THREADS,
		.end = n * (core + 1) / cores,
		.step = left < GPU_THREADS ? left : GPU_THREADS,
	};
}

/* gpu_random() - A number from -1 up to 1. */
static inline float gpu_random(uint64_t *seed)
{
	return (float)(int32_t)(annex_random(seed) >> 40) / 8388608.0f - 1.0f;
}

/* gpu_fill(), gpu_fill_double() - Write @n random numbers at @at. */
static inline void gpu_fill(char *data, uint64_t at, uint64_t n, uint64_t *seed)
{
	float *v = (float *)(data + at);

	for (uint64_t i = 0; i < n; i++)
		v[i] = gpu_random(seed);
}

static inline void gpu_fill_double(char *data, uint64_t at, uint64_t n, uint64_t *seed)
{
	double *v = (double *)(data + at);

	for (uint64_t i = 0; i < n; i++)
		v[i] = gpu_random(seed);
}

/* gpu_mul() - A rounded product, which a compiler cannot fuse with a sum. */
static inline float gpu_mul(float a, float b)
{
	float product = a * b;

	__asm__("" : "+m"(product));
	return product;
}

/* gpu_same() - Whether @v and the number at @at have the same bits. */
static inline bool gpu_same(float v, const char *at)
{
	uint32_t a, b;

	memcpy(&a, &v, sizeof(a));
	memcpy(&b, at, sizeof(b));
	return a == b;
}

static inline bool gpu_same_double(double v, const char *at)
{
	uint64_t a, b;

	memcpy(&a, &v, sizeof(a));
	memcpy(&b, at, sizeof(b));
	return a == b;
}

/* Two floats in one access of 64 bits, as CUDA's float2. */
struct gpu_pair {
	float x;
	float y;
};

static inline struct gpu_pair gpu_load_pair(struct lane *l, uint64_t at)
{
	uint64_t bits = lane_load64(l, at);
	struct gpu_pair p;

	memcpy(&p, &bits, sizeof(p));
	return p;
}

static inline void gpu_store_pair(struct lane *l, uint64_t at, float x, float y)
{
	struct gpu_pair p = {x, y};
	uint64_t bits;

	memcpy(&bits, &p, sizeof(bits));
	lane_store64(l, at, bits);
}

static inline double gpu_load_double(struct lane *l, uint64_t at)
{
	uint64_t bits = lane_load64(l, at);
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static inline void gpu_store_double(struct lane *l, uint64_t at, double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	lane_store64(l, at, bits);
}

#endif
