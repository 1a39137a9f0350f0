/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue pairs all of which lies in GPU memory, for a controller that is a kernel.
 */
#ifndef TOOLS_GPU_QUEUES_H
#define TOOLS_GPU_QUEUES_H

#include "bench.h"

/*
 * struct queues - Pieces of GPU memory of @bytes each.
 * @null: what their controller needs.
 */
struct queues {
	unsigned int n;
	char *mem[GPU_QUEUES];
	uint64_t bytes;
	struct gpu_null null[GPU_QUEUES];
};

/* queues_threads() - Threads that submit, in whole blocks. queues_depth() - Room for all. */
uint64_t queues_threads(const struct gpu_bench *b);
uint32_t queues_depth(const struct gpu_bench *b);

/* queues_make() - 0 or -errno with the line set. */
int queues_make(struct gpu_bench *b, struct queues *q);
void queues_free(struct gpu_bench *b, struct queues *q);

/* queues_args() - Fill the arguments of the kernels that submit and that play the controller. */
void queues_args(const struct gpu_bench *b, const struct queues *q, struct gpu_args_submit *submit,
		 struct gpu_args_null *null);

#endif
