// SPDX-License-Identifier: MIT
/*
 * GPU memory in frames, by CUDA's management of virtual memory. Frames that are not in use wait for
 * the next one who wants some: making one costs the driver more than all the rest.
 */
#include <cuda.h>
#include <errno.h>
#include <stdlib.h>
#include "gpu.h"

#define VMM_DRIVER 11000       /* CUDA's version that has all of it */
#define USUAL_FRAME (2u << 20) /* where the driver cannot say */
#define IDLE 32u               /* frames, at most, that wait: the rest is for others */
#define LANES 4u               /* copies at once: both directions, and two that are prepared */

/* struct frames_lane - A stream that one thread at a time copies by. */
struct frames_lane {
	pthread_mutex_t lock;
	cudaStream_t stream;
};

/**
 * struct cuda_frames - @ops: the first member: what spaces know of it.
 * @lock: of @idle, @n_idle frames that are behind no address.
 * @zeroes: a frame of them, pinned: by copy engines, since a kernel may have all of the GPU.
 */
struct cuda_frames {
	struct annex_frames ops;
	struct cuda_gpu *gpu;
	struct frames_lane lanes[LANES];
	char *zeroes;
	pthread_mutex_t lock;
	CUmemGenericAllocationHandle idle[IDLE];
	size_t n_idle;
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
	/* Others may want the memory. */
	pthread_mutex_lock(&f->lock);
	while (f->n_idle)
		f->release(f->idle[--f->n_idle]);
	pthread_mutex_unlock(&f->lock);
}

/* A frame that is not in use, or a new one. */
static int get_frame(struct cuda_frames *f, CUmemGenericAllocationHandle *frame)
{
	CUmemAllocationProp prop = properties(f);
	bool got;

	pthread_mutex_lock(&f->lock);
	got = f->n_idle;
	if (got)
		*frame = f->idle[--f->n_idle];
	pthread_mutex_unlock(&f->lock);
	return got ? 0 : check(f->create(frame, f->ops.bytes, &prop, 0), "CUDA: no frame is left");
}

static void keep_frame(struct cuda_frames *f, CUmemGenericAllocationHandle frame)
{
	pthread_mutex_lock(&f->lock);
	if (f->n_idle < IDLE)
		f->idle[f->n_idle++] = frame;
	else
		f->release(frame);
	pthread_mutex_unlock(&f->lock);
}

static int back(void *ctx, void *at)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	CUmemGenericAllocationHandle frame = 0;
	CUmemAccessDesc access = {properties(f).location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr ptr = (CUdeviceptr)at;
	on_gpu here(f);
	int err = here.err;

	if (!err)
		err = get_frame(f, &frame);
	if (err)
		return err;
	err = check(f->map(ptr, f->ops.bytes, 0, frame, 0), "CUDA: a frame is not mapped");
	if (!err) {
		err = check(f->access(ptr, f->ops.bytes, &access, 1),
			    "CUDA: a frame cannot be used");
		if (err)
			f->unmap(ptr, f->ops.bytes);
	}
	if (err)
		keep_frame(f, frame);
	else
		f->release(frame); /* the mapping has it */
	return err;
}

static int bare(void *ctx, void *at)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	CUmemGenericAllocationHandle frame;
	on_gpu here(f);
	int err = here.err;

	if (!err)
		err = check(f->retain(&frame, at), "CUDA: no frame is behind an address");
	if (err)
		return err;
	err = check(f->unmap((CUdeviceptr)at, f->ops.bytes), "CUDA: a frame stays mapped");
	if (err)
		f->release(frame);
	else
		keep_frame(f, frame);
	return err;
}

/* A lane that nobody copies by, or the one that is waited for. It is locked. */
static struct frames_lane *take_lane(struct cuda_frames *f)
{
	for (struct frames_lane &lane : f->lanes)
		if (!pthread_mutex_trylock(&lane.lock))
			return &lane;
	pthread_mutex_lock(&f->lanes[0].lock);
	return &f->lanes[0];
}

static int copy(struct cuda_frames *f, void *to, const void *from, size_t bytes,
		enum cudaMemcpyKind kind)
{
	struct frames_lane *lane;
	on_gpu here(f);
	int err = here.err;

	if (err)
		return err;
	lane = take_lane(f);
	err = cuda_wait(cudaMemcpyAsync(to, from, bytes, kind, lane->stream), lane->stream,
			"a copy of a space");
	pthread_mutex_unlock(&lane->lock);
	return err;
}

static int put(void *ctx, void *to, const void *from, size_t bytes)
{
	return copy((struct cuda_frames *)ctx, to, from, bytes, cudaMemcpyHostToDevice);
}

static int get(void *ctx, void *to, const void *from, size_t bytes)
{
	return copy((struct cuda_frames *)ctx, to, from, bytes, cudaMemcpyDeviceToHost);
}

static int zero(void *ctx, void *at, size_t bytes)
{
	struct cuda_frames *f = (struct cuda_frames *)ctx;
	int err = 0;

	for (size_t done = 0, part; !err && done < bytes; done += part) {
		part = bytes - done < f->ops.bytes ? bytes - done : f->ops.bytes;
		err = put(f, (char *)at + done, f->zeroes, part);
	}
	return err;
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
		cudaGetLastError(); /* what comes next is not to blame for it */
		return false;
	}
	*fn = (F)at;
	return at;
}

/* What of it is not there, reserve() says, if somebody asks for it. */
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
	f->ops.pin = pin;
	f->ops.unpin = unpin;
	f->ops.ctx = f;
}

int cuda_frames_open(struct cuda_gpu *gpu)
{
	struct cuda_frames *f = (struct cuda_frames *)calloc(1, sizeof(*f));
	int err = 0;

	if (!f)
		return annex_gpu_memory_fail(-ENOMEM, "CUDA: out of memory");
	gpu->frames = f;
	f->gpu = gpu;
	describe(f);
	pthread_mutex_init(&f->lock, NULL);
	for (struct frames_lane &lane : f->lanes) {
		pthread_mutex_init(&lane.lock, NULL);
		if (!err)
			err = cuda_check(
				cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking),
				"stream");
	}
	if (err)
		return err;
	find_all(f);
	f->zeroes = (char *)cuda_pinned_alloc(gpu, f->ops.bytes, 4096);
	if (!f->zeroes)
		return annex_gpu_memory_fail(-ENOMEM, "CUDA: no pinned memory");
	gpu->memory.frames = &f->ops;
	return 0;
}

void cuda_frames_close(struct cuda_gpu *gpu)
{
	struct cuda_frames *f = gpu->frames;

	if (!f)
		return;
	cuda_pinned_free(gpu, f->zeroes, f->ops.bytes);
	for (struct frames_lane &lane : f->lanes) {
		if (lane.stream)
			cudaStreamDestroy(lane.stream);
		pthread_mutex_destroy(&lane.lock);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}
