// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <annex/detail/clock.h>
#include "tools/common/error.h"
#include "tools/common/progress.h"
#include "add.h"

#define HELD 8u /* lines of each cache that a warp has, or has asked for, at least */

uint32_t gpu_type_size(uint32_t type)
{
	return type == GPU_F64 || type == GPU_U64 || type == GPU_I64 ? 8 : 4;
}

int gpu_add_open(struct runner *r, struct gpu_add *a)
{
	struct annex_gpu_opts opts = {
		.bytes = a->cache,
		.line = a->line,
		.queues = a->queues,
		.depth = a->depth,
	};
	int err = 0;

	for (int i = 0; i < ADD_ARRAYS && !err; i++) {
		err = annex_gpu_open(a->uri[i], &opts, r->memory, &a->ctx[i]);
		if (!err)
			err = annex_gpu_array_init(&a->array[i], a->ctx[i], a->first[i],
						   gpu_type_size(a->type), a->count);
		if (err)
			err_lib(err, "cannot open %s for a GPU", a->uri[i]);
	}
	return err;
}

static int count_bytes(struct gpu_add *a)
{
	a->read = a->written = 0;
	for (int i = 0; i < ADD_ARRAYS; i++) {
		struct annex_gpu_stats st = {0};
		int err = annex_gpu_get_stats(a->ctx[i], &st);

		if (err)
			return err_lib(err, "cannot read the counters");
		a->read += st.bytes_read;
		a->written += st.bytes_written;
	}
	return 0;
}

int gpu_add_run(struct runner *r, struct gpu_add *a)
{
	uint64_t slots = a->cache / a->line, threads = runner_threads(r, slots, HELD);
	uint64_t ahead = slots / 4 / (threads / ANNEX_WARP_LANES), start = annex_now();
	struct gpu_args_vadd args = {
		.a = a->array[ADD_A],
		.b = a->array[ADD_B],
		.c = a->array[ADD_C],
		.type = a->type,
		.ahead = ahead > ANNEX_WARP_LANES ? ANNEX_WARP_LANES
						  : (uint32_t)(ahead ? ahead : 1),
	};
	int err;

	progress_begin("adding");
	err = runner_run(r, GPU_KERNEL_vadd, threads, &args, NULL);
	/* The error of each context; inputs have nothing to flush. */
	for (int i = 0; i < ADD_ARRAYS && !err; i++) {
		err = annex_gpu_flush(a->ctx[i], 0, UINT64_MAX);
		if (err)
			err_lib(err, "cannot %s %s", i == ADD_C ? "write" : "read", a->uri[i]);
	}
	progress_end();
	a->seconds = (double)(annex_now() - start) / 1e9;
	return err ? err : count_bytes(a);
}

int gpu_add_close(struct gpu_add *a)
{
	int err = 0;

	for (int i = 0; i < ADD_ARRAYS; i++) {
		int closed = annex_gpu_close(a->ctx[i]);

		if (closed)
			err_lib(closed, "cannot close %s", a->uri[i]);
		err = err ? err : closed;
		a->ctx[i] = NULL;
	}
	return err;
}
