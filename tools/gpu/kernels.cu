// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs' kernels: a thread of the grid calls the body.
 */
#include "args.h"
#include "grid.h"
#include "k_bfs.h"
#include "k_queue.h"
#include "k_scan.h"
#include "k_vadd.h"

#define X(name, args, blocks)                                                                      \
	static GPU_GLOBAL(blocks) void kernel_##name(struct gpu_args_##args a)                     \
	{                                                                                          \
		gpu_body_##name(&a, gpu_thread_of_grid());                                         \
	}
GPU_KERNELS(X)
#undef X

const void *const gpu_entries[GPU_KERNEL_END] = {
#define X(name, args, blocks) (const void *)kernel_##name,
	GPU_KERNELS(X)
#undef X
};
