// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The workloads as sequences of kernels.
 */
#include "gpu.h"

#include <errno.h>
#include <stdlib.h>
#include "tools/common/error.h"

#define STEPS 3

/* struct recipe - The kernels of a workload, and the share of its data that each one has. */
struct recipe {
	const struct work_kind *kind;
	struct {
		const struct gpu_kernel *kernel;
		double part;
	} steps[STEPS];
};

static const struct recipe recipes[] = {
	{&work_rsum, {{&gpu_rsum, 1}}},
	{&work_stencil, {{&gpu_stencil, 1}}},
	{&work_sort, {{&gpu_sort, 1}}},
	{&work_gemm, {{&gpu_gemm, 1}}},
	{&work_vadd, {{&gpu_vadd, 1}}},
	{&work_saxpy, {{&gpu_saxpy, 1}}},
	{&work_conv3, {{&gpu_conv3, 1}}},
	{&work_path, {{&gpu_path, 1}}},
	{&work_cfd, {{&gpu_cfd, 1}}},
	{&work_gauss, {{&gpu_gauss, 1}}},
	{&work_bfs, {{&gpu_bfs, 1}}},
	{&work_gnn, {{&gpu_bfs, 0.5}, {&gpu_vadd, 0.25}, {&gpu_gemm, 0.25}}},
	{&work_mri, {{&gpu_sort, 0.5}, {&gpu_conv3, 0.5}}},
};

/* struct step - A kernel of a workload, and its plan. */
struct step {
	const struct gpu_kernel *kernel;
	uint64_t plan[GPU_PLAN_BYTES / sizeof(uint64_t)];
};

/* plan_steps() - Plan all kernels. Return: bytes of data. */
static uint64_t plan_steps(const struct work *w, struct step *steps)
{
	const struct recipe *r = recipes;
	uint64_t end = 0;

	while (r->kind != w->kind)
		r++;
	for (unsigned int i = 0; i < STEPS && r->steps[i].kernel; i++) {
		steps[i].kernel = r->steps[i].kernel;
		steps[i].kernel->plan(steps[i].plan, w->scale * r->steps[i].part, &end);
	}
	return end;
}

static int gpu_make(struct work *w)
{
	struct step *steps = calloc(STEPS, sizeof(*steps));
	uint64_t seed = w->seed;
	int err;

	if (!steps)
		return err_set(-ENOMEM, "%s: out of memory", w->kind->name);
	w->bytes = plan_steps(w, steps);
	err = work_alloc(w, w->bytes);
	if (err) {
		free(steps);
		return err;
	}
	for (unsigned int i = 0; i < STEPS && steps[i].kernel; i++)
		steps[i].kernel->fill(steps[i].plan, w->data, &seed);
	w->own = steps;
	return 0;
}

static void gpu_run(struct work *w, struct lane *l, unsigned int id)
{
	const struct step *steps = w->own;

	for (unsigned int i = 0; i < STEPS && steps[i].kernel; i++) {
		if (i)
			lane_barrier(l);
		steps[i].kernel->run(steps[i].plan, l, id, w->lanes);
	}
}

static bool gpu_check(const struct work *w)
{
	const struct step *steps = w->own;

	for (unsigned int i = 0; i < STEPS && steps[i].kernel; i++)
		if (!steps[i].kernel->check(steps[i].plan, w->first, w->data))
			return false;
	return true;
}

#define GPU_KIND(_name, _group, _compute, _load, _summary)                                         \
	const struct work_kind work_##_name = {                                                    \
		.name = #_name,                                                                    \
		.summary = _summary,                                                               \
		.set = "cxl-gpu",                                                                  \
		.group = _group,                                                                   \
		.compute = _compute,                                                               \
		.load = _load,                                                                     \
		.make = gpu_make,                                                                  \
		.run = gpu_run,                                                                    \
		.check = gpu_check,                                                                \
	}

GPU_KIND(rsum, "compute", 31.4, 53.3, "sum of a vector by partial sums and a tree");
GPU_KIND(stencil, "compute", 37.5, 72.5, "5-point stencil on a grid");
GPU_KIND(sort, "compute", 38.1, 98.7, "last merge of a merge sort, by binary search");
GPU_KIND(gemm, "load", 11.6, 99.9, "band of a product of matrices");
GPU_KIND(vadd, "load", 15.6, 69.1, "sum of two vectors");
GPU_KIND(saxpy, "load", 16.2, 69.2, "vector plus a multiple of a vector");
GPU_KIND(conv3, "load", 21.8, 78.6, "convolution of an image with 3 x 3 weights");
GPU_KIND(path, "load", 27.0, 92.7, "shortest paths in a layered graph");
GPU_KIND(cfd, "store", 20.9, 42.6, "step of a flow solver on an unstructured mesh");
GPU_KIND(gauss, "store", 23.5, 48.5, "Gaussian elimination with neighbour pivoting");
GPU_KIND(bfs, "store", 29.3, 43.2, "breadth-first search of a random graph");
GPU_KIND(gnn, "real", 27.4, 73.8, "graph neural network: bfs, vadd, gemm");
GPU_KIND(mri, "real", 29.2, 53.3, "image reconstruction: sort, conv3");
