// SPDX-License-Identifier: MIT
/*
 * The host in the place of a GPU: the bodies of all kernels, run by lanes of warps as they are
 * played in tests/unit/gpu/twin.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "tests/unit/gpu/twin.h"
#include "k_tests.h"
#include "tests.h"
#include "tools/gpu/k_bfs.h"
#include "tools/gpu/k_queue.h"
#include "tools/gpu/k_scan.h"
#include "tools/gpu/k_vadd.h"

#define PER_BLOCK 2u /* warps: more of them than processors would only wait */
#define WARPS 8u

/* A kernel that runs. */
struct play {
	pthread_t thread;
	unsigned int kernel;
	uint64_t threads;
	const void *args;
	uint64_t from, to;
};

static struct play plays[RUNNER_LANES];

#define X(name, args_of, blocks)                                                                   \
	static void play_##name(void *arg, unsigned int thread)                                    \
	{                                                                                          \
		struct play *p = arg;                                                              \
		const struct gpu_args_##args_of *args = p->args;                                   \
		gpu_body_##name(args, (struct gpu_thread){thread, p->threads});                    \
	}
GPU_KERNELS(X)
TEST_KERNELS(X)
#undef X

static void (*const bodies[])(void *arg, unsigned int thread) = {
#define X(name, args_of, blocks) play_##name,
	GPU_KERNELS(X) TEST_KERNELS(X)
#undef X
};

static void *run(void *arg)
{
	struct play *p = arg;
	struct twin_grid grid = {
		.warps = (unsigned int)(p->threads / ANNEX_WARP_LANES),
		.per_block = PER_BLOCK,
		.seed = tests_seed(),
	};

	p->from = annex_now();
	twin_run(&grid, bodies[p->kernel], p);
	p->to = annex_now();
	return NULL;
}

static int start(struct runner *r, unsigned int lane, unsigned int kernel, uint64_t threads,
		 const void *args)
{
	struct play *p = &plays[lane];

	(void)r;
	p->kernel = kernel;
	p->args = args;
	/* Whole warps, and no more of them at once than are played well. */
	p->threads = (threads + ANNEX_WARP_LANES - 1) / ANNEX_WARP_LANES * ANNEX_WARP_LANES;
	if (kernel != GPU_KERNEL_submit && kernel != GPU_KERNEL_null &&
	    p->threads > WARPS * ANNEX_WARP_LANES)
		p->threads = WARPS * ANNEX_WARP_LANES;
	return -pthread_create(&p->thread, NULL, run, p);
}

static int wait(struct runner *r, unsigned int lane, double *seconds)
{
	struct play *p = &plays[lane];
	int err = -pthread_join(p->thread, NULL);

	(void)r;
	*seconds = (double)(p->to - p->from) / 1e9;
	return err;
}

static void close_twin(struct runner *r)
{
	(void)r;
}

int tests_runner(int device, struct runner **out)
{
	static struct runner twin = {
		.name = "host twin",
		.threads = WARPS * ANNEX_WARP_LANES,
		.start = start,
		.wait = wait,
		.close = close_twin,
	};

	(void)device;
	twin.memory = annex_gpu_memory_host();
	*out = &twin;
	return 0;
}
