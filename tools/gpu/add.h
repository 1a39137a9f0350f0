/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * c = a + b by GPU threads, with all three on storage.
 */
#ifndef TOOLS_GPU_ADD_H
#define TOOLS_GPU_ADD_H

#include "runner.h"

enum { ADD_A, ADD_B, ADD_C, ADD_ARRAYS };

/*
 * struct gpu_add - The addition, and its result.
 * @uri: the devices.
 * @first: offset of the first element of each, a multiple of its size.
 * @count: elements that each has, or gets.
 * @cache: bytes of cache for each.
 * @type: enum gpu_type.
 * @seconds: result: time taken.
 * @read: result: bytes read.
 * @written: result: bytes written.
 */
struct gpu_add {
	const char *uri[ADD_ARRAYS];
	uint64_t first[ADD_ARRAYS];
	uint64_t count, cache;
	uint32_t type, line, queues, depth;
	struct annex_gpu_context *ctx[ADD_ARRAYS];
	struct annex_gpu_array array[ADD_ARRAYS];
	double seconds;
	uint64_t read, written;
};

/* Bytes of an element. */
uint32_t gpu_type_size(uint32_t type);

/*
 * gpu_add_open() - Open the devices. gpu_add_run() - Add all, and flush. gpu_add_close() - 0, or
 * the errno of the failed write. All with the line set.
 */
int gpu_add_open(struct runner *r, struct gpu_add *a);
int gpu_add_run(struct runner *r, struct gpu_add *a);
int gpu_add_close(struct gpu_add *a);

#endif
