// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "tools/common/error.h"
#include "runner.h"

#define PIECE (64ull << 20) /* of an upload */

int runner_open(int device, struct runner **out)
{
	int err;

	if (!runner_cuda_open)
		return err_set(-EOPNOTSUPP, "this annex was built without CUDA: build it with make "
					    "CUDA=1, which needs nvcc");
	err = runner_cuda_open(device, out);
	return err ? err_lib(err, "cannot use GPU %d", device) : 0;
}

void runner_close(struct runner *r)
{
	if (r)
		r->close(r);
}

int runner_run(struct runner *r, enum gpu_kernel kernel, uint64_t threads, const void *args,
	       double *seconds)
{
	double s = 0;
	int err = r->start(r, 0, kernel, threads, args);

	if (!err)
		err = r->wait(r, 0, &s);
	if (seconds)
		*seconds = s;
	return err ? err_lib(err, "a kernel did not run") : 0;
}

int runner_failed(struct annex_gpu_context *ctx)
{
	struct annex_gpu_error e = {0};
	int err = annex_gpu_get_error(ctx, &e);

	if (err)
		return err_lib(err, "cannot read the error record");
	if (!e.code)
		return 0;
	if (e.line == UINT64_MAX)
		return err_set(e.code, "%s: a kernel failed: %s", annex_gpu_name(ctx, e.dev),
			       strerror(-e.code));
	return err_set(e.code, "%s: a kernel failed at byte %" PRIu64 ": %s",
		       annex_gpu_name(ctx, e.dev), e.line * annex_gpu_line(ctx), strerror(-e.code));
}

int runner_check(struct runner *r, struct annex_gpu_context *ctx, enum gpu_kernel kernel,
		 uint64_t threads, const void *args, double *seconds)
{
	int err = runner_run(r, kernel, threads, args, seconds);

	return err ? err : runner_failed(ctx);
}

void *runner_alloc(struct runner *r, uint64_t bytes, const char *what)
{
	const struct annex_provider *p = r->memory->device;
	void *ptr = p->alloc(p->ctx, bytes, 4096);

	if (!ptr)
		err_set(-ENOMEM, "cannot allocate %llu bytes of GPU memory for %s", (ull)bytes,
			what);
	return ptr;
}

void runner_free(struct runner *r, void *ptr, uint64_t bytes)
{
	const struct annex_provider *p = r->memory->device;

	if (ptr)
		p->free(p->ctx, ptr, bytes);
}

int runner_put(struct runner *r, void *to, const void *from, uint64_t bytes)
{
	int err = r->memory->put(r->memory->ctx, to, from, bytes);

	return err ? err_lib(err, "cannot copy to GPU memory") : 0;
}

int runner_get(struct runner *r, void *to, const void *from, uint64_t bytes)
{
	int err = r->memory->get(r->memory->ctx, to, from, bytes);

	return err ? err_lib(err, "cannot copy from GPU memory") : 0;
}

int runner_zero(struct runner *r, void *ptr, uint64_t bytes)
{
	int err = r->memory->fill(r->memory->ctx, ptr, 0, bytes);

	return err ? err_lib(err, "cannot fill GPU memory") : 0;
}

uint64_t runner_threads(const struct runner *r, uint64_t slots, uint32_t held)
{
	uint64_t warps = slots / 2 / held, most = r->threads / ANNEX_WARP_LANES;

	if (warps > most)
		warps = most;
	return (warps ? warps : 1) * ANNEX_WARP_LANES;
}

static int upload_all(struct runner *r, struct annex_gpu_context *ctx, struct gpu_args_upload *args,
		      uint64_t *piece, const char *from, uint64_t bytes)
{
	int err = 0;

	for (uint64_t at = 0; !err && at < bytes; at += PIECE) {
		uint64_t n = bytes - at < PIECE ? bytes - at : PIECE;

		args->first = at / 8;
		args->count = n / 8;
		err = runner_put(r, piece, from + at, n);
		if (!err)
			err = runner_check(r, ctx, GPU_KERNEL_upload, GPU_BLOCK, args, NULL);
	}
	return err;
}

int runner_upload(struct runner *r, struct annex_gpu_context *ctx, const struct annex_gpu_array *a,
		  const void *from, uint64_t bytes)
{
	uint64_t room = bytes < PIECE ? bytes : PIECE;
	uint64_t *piece = runner_alloc(r, room, "an upload");
	struct gpu_args_upload args = {.a = *a, .from = piece};
	int err = piece ? upload_all(r, ctx, &args, piece, from, bytes) : -ENOMEM;

	runner_free(r, piece, room);
	if (err)
		return err;
	err = annex_gpu_flush(ctx, 0, UINT64_MAX);
	return err ? err_lib(err, "cannot write the data") : 0;
}
