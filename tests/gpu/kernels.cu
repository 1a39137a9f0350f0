// SPDX-License-Identifier: MIT
/*
 * The device tests' kernels: a thread of the grid calls the body.
 */
#include "tools/gpu/grid.h"
#include "k_tests.h"

#define X(name, args, blocks)                                                                      \
	static GPU_GLOBAL(blocks) void test_##name(struct gpu_args_##args a)                       \
	{                                                                                          \
		gpu_body_##name(&a, gpu_thread_of_grid());                                         \
	}
TEST_KERNELS(X)
#undef X

extern "C" const void *const test_entries[];

const void *const test_entries[] = {
#define X(name, args, blocks) (const void *)test_##name,
	TEST_KERNELS(X)
#undef X
};
