// SPDX-License-Identifier: MIT
/*
 * GPU memory in frames, by CUDA's management of virtual memory. Copies of each direction have
 * streams of their own, which kernels of the program do not delay; so have zeroes.
 */
#include <cuda.h>
#include <errno.h>
#include <stdlib.h>
#include "gpu.h"

#define VMM_DRIVER 11000       /* CUDA's version that has all of it */
#define USUAL_FRAME (2u << 20) /* where the driver cannot say */
#define LANES 2u               /* copies at once in one direction: one, and one that begins */

enum way { IN, OUT, ZERO, WAYS };

/* struct frames_lane - A stream that one thread at a time copies by. */
struct frames_lane {
	pthread_mutex_t lock;
	cudaStream_t stream;
};

/**
 * struct cuda_frames - @ops: the first member: the part that spaces know.
 * @lanes: streams, by direction.
 */
struct cuda_frames {
	struct annex_frames ops;
	struct cuda_gpu *gpu;
	struct frames_lane lanes[WAYS][LANES];
	decltype(&cuMemGetAllocationGranularity) granularity;
	decltype(&cuMemAddressReserve) reserve;
	decltype(&cuMemAddressFree) free;
	decltype(&cuMemCreate) create;
	decltype(&cuMemRelease) release;
	decltype(&cuMemRetainAllocationHandle) retain;
	decltype(&cuMemMap) map;
	decltype(&cuMemUnmap) unmap;
	decltype(&cuMemSetAccess) access;
};

static int check(CUresult res, const char *what)
{
	switch (res) {
	case CUDA_SUCCESS:
		return 0;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return annex_gpu_memory_fail(-ENOMEM, what);
	case CUDA_ERROR_NOT_SUPPORTED:
		return annex_gpu_memory_fail(-EOPNOTSUPP, what);
	case CUDA_ERROR_INVALID_VALUE:
		return annex_gpu_memory_fail(-EINVAL, what);
	default:
		return annex_gpu_memory_fail(-EIO, what);
	}
}

/* In the scope of one this GPU is the thread's, which may be a program's that uses another one. */
class on_gpu
{
	int before = -1;

      public:
	int err;

	explicit on_gpu(const struct cuda_frames *f)
	{
		cudaGetDevice(&before);
		err = cuda_check(cudaSetDevice(f->gpu->index), "cannot use the GPU");
	}

	~on_gpu()
	{
		if (before >= 0)
			cudaSetDevice(before);
	}
};

static CUmemAllocationProp properties(const struct cuda_frames *f)
{
	CUmemAllocationProp prop = {};

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = f->gpu->index;
	return prop;
}

static int reserve(void *ctx, uint64_t bytes, void **base)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	CUdeviceptr ptr = 0;
	on_gpu here(f);
	int err = here.err;

	if (!err && !f->access)
		err = annex_gpu_memory_fail(-EOPNOTSUPP,
					    "CUDA: the driver maps no memory by frames");
	if (!err)
		err = check(f->reserve(&ptr, bytes, f->ops.bytes, 0, 0),
			    "CUDA: no addresses for a space");
	*base = (void *)ptr;
	return err;
}

static void release(void *ctx, void *base, uint64_t bytes)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;

	on_gpu here(f);

	f->free((CUdeviceptr)base, bytes);
}

/* Put the frame behind @from, or (NULL) a new one, behind @at, which is not in use yet. */
static int move(struct cuda_frames *f, char *at, void *from)
{
	CUmemAllocationProp prop = properties(f);
	CUmemGenericAllocationHandle frame = 0;
	int err;

	if (at == from)
		return 0;
	if (from)
		err = check(f->retain(&frame, from), "CUDA: no frame is behind an address");
	else
		err = check(f->create(&frame, f->ops.bytes, &prop, 0), "CUDA: no frame is left");
	if (err)
		return err;
	if (from)
		err = check(f->unmap((CUdeviceptr)from, f->ops.bytes),
			    "CUDA: a frame stays mapped");
	if (!err)
		err = check(f->map((CUdeviceptr)at, f->ops.bytes, 0, frame, 0),
			    "CUDA: a frame is not mapped");
	f->release(frame); /* the mapping has it */
	return err;
}

static int bare(void *ctx, void *at)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	on_gpu here(f);

	return here.err ? here.err
			: check(f->unmap((CUdeviceptr)at, f->ops.bytes),
				"CUDA: a frame stays mapped");
}

/* Frames that came are made usable all at once: the driver takes as long for one. */
static int back(void *ctx, void *at, uint32_t n, void *const *from)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	CUmemAccessDesc access = {properties(f).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	char *p = (char *)at;
	on_gpu here(f);
	int err = here.err;
	uint32_t done = 0;

	while (!err && done < n) {
		err = move(f, p + done * f->ops.bytes, from[done]);
		done += !err;
	}
	if (!err)
		err = check(f->access((CUdeviceptr)at, n * f->ops.bytes, &access, 1),
			    "CUDA: frames cannot be used");
	/* Then no frame stays, moved or not. */
	for (uint32_t i = 0; err && i < n; i++) {
		void *has = i < done ? p + i * f->ops.bytes : from[i];

		if (has && !here.err)
			f->unmap((CUdeviceptr)has, f->ops.bytes);
	}
	return err;
}

/* An idle lane of that way, or the one to wait for. It is locked. */
static struct frames_lane *take_lane(struct cuda_frames *f, enum way way)
{
	for (struct frames_lane &lane : f->lanes[way])
		if (!pthread_mutex_trylock(&lane.lock))
			return &lane;
	pthread_mutex_lock(&f->lanes[way][0].lock);
	return &f->lanes[way][0];
}

static int copy(struct cuda_frames *f, enum way way, void *to, const void *from, size_t bytes)
{
	enum cudaMemcpyKind kind = way == IN ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
	struct frames_lane *lane;
	on_gpu here(f);
	int err = here.err;

	if (err)
		return err;
	lane = take_lane(f, way);
	err = cuda_wait(cudaMemcpyAsync(to, from, bytes, kind, lane->stream), lane->stream,
			"a copy of a space");
	pthread_mutex_unlock(&lane->lock);
	return err;
}

static int put(void *ctx, void *to, const void *from, size_t bytes)
{
	return copy((struct cuda_frames *)ctx, IN, to, from, bytes);
}

static int get(void *ctx, void *to, const void *from, size_t bytes)
{
	return copy((struct cuda_frames *)ctx, OUT, to, from, bytes);
}

static int zero(void *ctx, void *at, size_t bytes)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	struct frames_lane *lane;
	on_gpu here(f);
	int err = here.err;

	if (err)
		return err;
	lane = take_lane(f, ZERO);
	err = cuda_wait(cudaMemsetAsync(at, 0, bytes, lane->stream), lane->stream,
			"zeroes of a space");
	pthread_mutex_unlock(&lane->lock);
	return err;
}

static int mark(void *ctx, void *stream, void **mark)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	cudaEvent_t event = (cudaEvent_t)*mark;
	on_gpu here(f);
	int err = here.err;

	if (!err && !event)
		err = cuda_check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "event");
	if (!err)
		err = cuda_check(cudaEventRecord(event, (cudaStream_t)stream), "event");
	if (!err)
		*mark = event;
	else if (event && !*mark)
		cudaEventDestroy(event);
	return err;
}

static int await(void *ctx, void *mark)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	on_gpu here(f);

	return here.err ? here.err
			: cuda_check(cudaEventSynchronize((cudaEvent_t)mark), "a kernel");
}

static uint64_t between(void *ctx, void *from, void *to)
{
	float ms = 0;

	(void)ctx;
	cuda_check(cudaEventElapsedTime(&ms, (cudaEvent_t)from, (cudaEvent_t)to), "events");
	return ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
}

static void unmark(void *ctx, void *mark)
{
	(void)ctx;
	cudaEventDestroy((cudaEvent_t)mark);
}

static int pin(void *ctx, void *ptr, size_t bytes)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	on_gpu here(f);
	void *seen;

	return here.err ? here.err : cuda_reach(f->gpu, ptr, bytes, false, &seen);
}

static void unpin(void *ctx, void *ptr)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	on_gpu here(f);

	cuda_unreach(f->gpu, ptr);
}

/* A function of the driver, by way of the runtime: programs need not link with the driver. */
template <typename F> static bool find(F *fn, const char *name)
{
	cudaDriverEntryPointQueryResult found;
	void *at = NULL;

	if (cudaGetDriverEntryPointByVersion(name, &at, VMM_DRIVER, cudaEnableDefault, &found) !=
		    cudaSuccess ||
	    found != cudaDriverEntryPointSuccess) {
		cudaGetLastError(); /* later calls are not to blame for it */
		return false;
	}
	*fn = (F)at;
	return at;
}

/* reserve() reports missing functions, if a caller asks for one. */
static void find_all(struct cuda_frames *f)
{
	CUmemAllocationProp prop = properties(f);
	size_t bytes = 0;

	f->ops.bytes = USUAL_FRAME;
	if (!find(&f->granularity, "cuMemGetAllocationGranularity") ||
	    f->granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
		return;
	f->ops.bytes = bytes;
	if (find(&f->reserve, "cuMemAddressReserve") && find(&f->free, "cuMemAddressFree") &&
	    find(&f->create, "cuMemCreate") && find(&f->release, "cuMemRelease") &&
	    find(&f->retain, "cuMemRetainAllocationHandle") && find(&f->map, "cuMemMap") &&
	    find(&f->unmap, "cuMemUnmap"))
		find(&f->access, "cuMemSetAccess");
}

static void describe(struct cuda_frames *f)
{
	f->ops.name = f->gpu->name;
	f->ops.reserve = reserve;
	f->ops.release = release;
	f->ops.back = back;
	f->ops.bare = bare;
	f->ops.put = put;
	f->ops.get = get;
	f->ops.zero = zero;
	f->ops.mark = mark;
	f->ops.await = await;
	f->ops.between = between;
	f->ops.unmark = unmark;
	f->ops.pin = pin;
	f->ops.unpin = unpin;
	f->ops.ctx = f;
}

/* A kernel of a program may have most of the GPU: zeroes go first as its blocks end. */
static int open_lanes(struct cuda_frames *f)
{
	int least = 0, most = 0, err;

	err = cuda_check(cudaDeviceGetStreamPriorityRange(&least, &most), "streams");
	for (auto &way : f->lanes)
		for (struct frames_lane &lane : way) {
			pthread_mutex_init(&lane.lock, NULL);
			if (!err)
				err = cuda_check(cudaStreamCreateWithPriority(
							 &lane.stream, cudaStreamNonBlocking, most),
						 "stream");
		}
	return err;
}

int cuda_frames_open(struct cuda_gpu *gpu)
{
	struct cuda_frames *f = (struct cuda_frames *)calloc(1, sizeof(*f));
	int err;

	if (!f)
		return annex_gpu_memory_fail(-ENOMEM, "CUDA: out of memory");
	gpu->frames = f;
	f->gpu = gpu;
	describe(f);
	err = open_lanes(f);
	if (err)
		return err;
	find_all(f);
	gpu->memory.frames = &f->ops;
	return 0;
}

void cuda_frames_close(struct cuda_gpu *gpu)
{
	struct cuda_frames *f = gpu->frames;

	if (!f)
		return;
	for (auto &way : f->lanes)
		for (struct frames_lane &lane : way) {
			if (lane.stream)
				cudaStreamDestroy(lane.stream);
			pthread_mutex_destroy(&lane.lock);
		}
	free(f);
}
