/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernels of the programs, by number, and their arguments.
 *
 * Their bodies are in k_*.h, as functions of one thread that compile for a GPU and for a host;
 * kernels.cu makes GPU kernels of them. Hosts include this file only. Pointers are to GPU memory.
 */
#ifndef TOOLS_GPU_ARGS_H
#define TOOLS_GPU_ARGS_H

#include <stdint.h>
#include <annex/detail/random.h>
#include <annex/gpu.h>
#include <annex/queue.h>

/*
 * A name, its arguments (struct gpu_args_ARGS), and the blocks of GPU_BLOCK threads that a
 * multiprocessor shall be able to hold.
 */
#define GPU_KERNELS(X)                                                                             \
	X(fill, lines, 2)                                                                          \
	X(check, lines, 2)                                                                         \
	X(sum, lines, 4)                                                                           \
	X(gather, gather, 4)                                                                       \
	X(picked, gather, 2)                                                                       \
	X(indices, gather, 2)                                                                      \
	X(plain_fill, plain, 2)                                                                    \
	X(plain_copy, plain, 4)                                                                    \
	X(plain_sum, plain, 4)                                                                     \
	X(plain_gather, gather, 4)                                                                 \
	X(submit, submit, 2)                                                                       \
	X(null, null, 1)                                                                           \
	X(upload, upload, 2)                                                                       \
	X(vadd, vadd, 2)                                                                           \
	X(bfs, bfs, 2)                                                                             \
	X(sweep, sweep, 2)                                                                         \
	X(rank, rank, 2)                                                                           \
	X(scan, scan, 2)

#define GPU_BLOCK 256u
#define GPU_WARP_ALL 0xffffffffu /* all lanes; blocks are of whole warps */

enum gpu_kernel {
#define X(name, args, blocks) GPU_KERNEL_##name,
	GPU_KERNELS(X)
#undef X
		GPU_KERNEL_END
};

/* struct gpu_thread - Which thread of the grid calls, and how many there are. */
struct gpu_thread {
	uint64_t id;
	uint64_t count;
};

/*
 * struct gpu_result - The result of a kernel.
 * @sum: of elements.
 * @wrong: number of wrong elements.
 * @done: how many commands, or edges, it got through.
 */
struct gpu_result {
	uint64_t sum;
	uint64_t wrong;
	uint64_t done;
};

/* Element @i of the data that is written and read back. */
static inline ANNEX_HD uint64_t gpu_pattern(uint64_t seed, uint64_t i)
{
	uint64_t state = seed + i * 0x9e3779b97f4a7c15ull;

	return annex_random(&state);
}

/* fill, check, sum: doublewords of the lines of @a; check and sum: @count of them from @first. */
struct gpu_args_lines {
	struct annex_gpu_array a;
	struct gpu_result *r;
	uint64_t seed;
	uint64_t first;
	uint64_t count;
};

/* gather, plain_gather, indices, picked: out[k] = a[idx[k]]. */
struct gpu_args_gather {
	struct annex_gpu_array a;
	const uint64_t *mem; /* in the place of @a */
	uint64_t *idx;
	uint64_t *out;
	struct gpu_result *r;
	uint64_t n;    /* indices */
	uint64_t span; /* they are below it */
	uint64_t seed;
};

/* plain_fill, plain_copy, plain_sum: @count doublewords, a multiple of 64. */
struct gpu_args_plain {
	uint64_t *to;
	uint64_t *from;
	struct gpu_result *r;
	uint64_t count;
	uint64_t seed;
};

#define GPU_QUEUES 16u

/* submit: each thread puts @each commands that do nothing into a queue, one after the other. */
struct gpu_args_submit {
	struct annex_qp *qp[GPU_QUEUES];
	struct gpu_result *r;
	uint64_t timeout_ns; /* of the whole */
	uint32_t queues;
	uint32_t each;
};

/*
 * struct gpu_null - A queue as the null controller sees it.
 * @commands: number of commands to come.
 */
struct gpu_null {
	struct annex_sqe *sq;
	struct annex_cqe *cq;
	uint32_t *sq_bell;
	uint32_t *cq_bell;
	uint64_t commands;
};

/* null: a controller that posts a completion for each command. A warp serves a queue. */
struct gpu_args_null {
	struct gpu_null queue[GPU_QUEUES];
	struct gpu_result *r;
	uint64_t timeout_ns;
	uint32_t queues;
	uint32_t depth;
};

/* upload: doublewords [@first, @first + @count) of @a, whole lines or up to its end. */
struct gpu_args_upload {
	struct annex_gpu_array a;
	const uint64_t *from; /* the first of them */
	uint64_t first;
	uint64_t count;
};

enum gpu_type { GPU_F64, GPU_F32, GPU_U64, GPU_U32, GPU_I64, GPU_I32 };

/* vadd: arrays of one size in lines of one size, each over a cache of its own. */
struct gpu_args_vadd {
	struct annex_gpu_array a, b, c;
	uint32_t type;
	uint32_t ahead; /* lines that a warp asks for beyond those it works on, at most 32 */
};

/*
 * struct gpu_graph - A graph whose edges are on storage.
 * @edges: ids of 4 or 8 bytes.
 * @offsets: where the edges of each vertex begin, one more than there are vertices.
 */
struct gpu_graph {
	struct annex_gpu_array edges;
	const uint64_t *offsets;
	uint64_t vertices;
};

/* struct gpu_frontier - The vertices of a level, as warps share them. */
struct gpu_frontier {
	uint64_t count;
	uint64_t hand;  /* the next one to be taken */
	uint64_t found; /* of the next level */
	uint64_t edges; /* looked at */
};

/* bfs: one level. */
struct gpu_args_bfs {
	struct gpu_graph g;
	uint32_t *depth;
	uint32_t *parent;
	const uint32_t *now;
	uint32_t *next;
	struct gpu_frontier *f;
	uint32_t level;
};

/*
 * sweep: visit all edges once. With @component, join the components of their ends; without, push
 * the vertices' ranks along them.
 */
struct gpu_args_sweep {
	struct gpu_graph g;
	uint64_t *hand; /* the next vertex to be taken */
	uint32_t *component;
	const uint64_t *rank;
	uint64_t *next;
};

/*
 * rank: the end of an iteration, in which each vertex also gets @share. Result: the sum of changes,
 * and as @done the rank of vertices without edges.
 */
struct gpu_args_rank {
	const uint64_t *offsets;
	uint64_t *rank;
	uint64_t *next;
	struct gpu_result *r;
	uint64_t vertices;
	uint64_t share;
};

#define GPU_COLUMNS 16u

/* union gpu_value - By the type of a column: a double, or an integer with or without a sign. */
union gpu_value {
	double f;
	int64_t i;
	uint64_t u;
};

/* struct gpu_sum - A sum of floats, or of integers: high * 2^32 + low. */
struct gpu_sum {
	double f;
	uint64_t low;
	int64_t high;
};

/*
 * scan: rows whose element of column 0 is in [@low, @high], if not @none; with @negate, the other
 * rows. Each thread adds elements of the other columns to its @columns entries of @sum, and to the
 * result's @done the number of its rows.
 */
struct gpu_args_scan {
	struct annex_gpu_array column[GPU_COLUMNS];
	uint32_t type[GPU_COLUMNS];
	uint32_t columns;
	bool none;
	bool negate;
	union gpu_value low, high;
	struct gpu_sum *sum;
	struct gpu_result *r;
};

#define GPU_FAR 0xffffffffu /* depth and parent of a vertex that was not reached */

#ifdef __cplusplus
extern "C" {
#endif

/* gpu_entries - The kernels that CUDA launches, by enum gpu_kernel. */
extern const void *const gpu_entries[GPU_KERNEL_END];

#ifdef __cplusplus
}
#endif

#endif
