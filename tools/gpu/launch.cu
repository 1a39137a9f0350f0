// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernels on a real GPU, by CUDA's runtime. Their time is taken by events, on the GPU.
 */
#include <cuda_runtime.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <annex/detail/clock.h>
#include "args.h"
#include "runner.h"

/*
 * How long a kernel may take. Each wait in one is bounded, and ends it; this limit is for bugs,
 * since nothing can stop a kernel from outside.
 */
#define KERNEL_LIMIT_MS (240u * 1000)

/* struct cuda_lane - A stream of kernels, and the moments between which the last one ran. */
struct cuda_lane {
	cudaStream_t stream;
	cudaEvent_t from, to;
};

/* struct cuda_runner - @r: the first member, for callers. */
struct cuda_runner {
	struct runner r;
	struct annex_gpu_memory *memory;
	int device;
	struct cuda_lane lane[RUNNER_LANES];
};

static int check(cudaError_t err, const char *what)
{
	char why[256];

	if (err == cudaSuccess)
		return 0;
	snprintf(why, sizeof(why), "CUDA: %s: %s", what, cudaGetErrorString(err));
	cudaGetLastError(); /* said */
	return annex_gpu_memory_fail(-EIO, why);
}

static int start(struct runner *r, unsigned int lane, unsigned int kernel, uint64_t threads,
		 const void *args)
{
	struct cuda_runner *c = (struct cuda_runner *)r;
	struct cuda_lane *l = &c->lane[lane];
	const void *entry = kernel < GPU_KERNEL_END ? gpu_entries[kernel]
						    : r->more[kernel - GPU_KERNEL_END];
	unsigned int blocks = (unsigned int)((threads + GPU_BLOCK - 1) / GPU_BLOCK);
	void *values[] = {const_cast<void *>(args)};
	int err = check(cudaSetDevice(c->device), "cannot use the GPU");

	if (!err)
		err = check(cudaEventRecord(l->from, l->stream), "event");
	if (!err)
		err = check(cudaLaunchKernel(entry, dim3(blocks), dim3(GPU_BLOCK), values, 0,
					     l->stream),
			    "launch");
	if (!err)
		err = check(cudaEventRecord(l->to, l->stream), "event");
	return err;
}

static int wait(struct runner *r, unsigned int lane, double *seconds)
{
	struct cuda_runner *c = (struct cuda_runner *)r;
	struct cuda_lane *l = &c->lane[lane];
	uint64_t deadline = annex_deadline_ms(KERNEL_LIMIT_MS);
	cudaError_t end;
	float ms = 0;
	int err;

	while ((end = cudaEventQuery(l->to)) == cudaErrorNotReady) {
		if (annex_now() >= deadline)
			return annex_gpu_memory_fail(-ETIMEDOUT, "CUDA: a kernel does not end");
		sched_yield();
	}
	err = check(end, "a kernel failed");
	if (!err)
		err = check(cudaEventElapsedTime(&ms, l->from, l->to), "event");
	*seconds = (double)ms / 1e3;
	return err;
}

static void close_runner(struct runner *r)
{
	struct cuda_runner *c = (struct cuda_runner *)r;

	for (struct cuda_lane &l : c->lane) {
		if (l.from)
			cudaEventDestroy(l.from);
		if (l.to)
			cudaEventDestroy(l.to);
		if (l.stream)
			cudaStreamDestroy(l.stream);
	}
	annex_cuda_close(c->memory);
	free(c);
}

static int open_lane(struct cuda_lane *l)
{
	/* Not the default stream, behind and before which all others wait. */
	int err = check(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), "stream");

	if (!err)
		err = check(cudaEventCreate(&l->from), "event");
	return err ? err : check(cudaEventCreate(&l->to), "event");
}

static int open_runner(struct cuda_runner *c)
{
	int processors = 0, threads = 0, err;

	err = annex_cuda_open(c->device, &c->memory);
	if (!err)
		err = check(cudaSetDevice(c->device), "cannot use the GPU");
	if (!err)
		err = check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
						   c->device),
			    "attributes");
	if (!err)
		err = check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor,
						   c->device),
			    "attributes");
	for (struct cuda_lane &l : c->lane)
		if (!err)
			err = open_lane(&l);
	if (err)
		return err;
	c->r.name = c->memory->name;
	c->r.memory = c->memory;
	c->r.threads = (uint32_t)(processors * threads);
	return 0;
}

int runner_cuda_open(int device, struct runner **out)
{
	struct cuda_runner *c = (struct cuda_runner *)calloc(1, sizeof(*c));
	int err;

	if (!c)
		return annex_gpu_memory_fail(-ENOMEM, "out of memory");
	c->device = device;
	c->r.gpu = true;
	c->r.start = start;
	c->r.wait = wait;
	c->r.close = close_runner;
	err = open_runner(c);
	if (err) {
		close_runner(&c->r);
		return err;
	}
	*out = &c->r;
	return 0;
}
