/* SPDX-License-Identifier: MIT */
/*
 * Traces: what one training iteration does to memory.
 *
 * A trace is a list of tensors and a list of kernels in execution order; each kernel names its time
 * on the GPU, with all its data resident, and the tensors it reads and writes. Global tensors
 * (weights, optimizer state) live across iterations; the others are born and die inside one
 * (G10 section 4.2). File format: annex-trace/1, docs/trace-format.md.
 */
#ifndef ANNEX_TRACE_H
#define ANNEX_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a trace may hold; readers refuse more. */
#define ANNEX_TRACE_MAX_TENSORS (1u << 22)
#define ANNEX_TRACE_MAX_KERNELS (1u << 22)
#define ANNEX_TRACE_MAX_USES (1u << 26)
#define ANNEX_TRACE_MAX_BYTES (1ull << 50) /* of all tensors together */
#define ANNEX_TRACE_MAX_NS (1ull << 53)    /* of all kernels together: exact as a double */

/* No kernel; of a tensor whose birth or death follows from its uses. */
#define ANNEX_KERNEL_NONE UINT32_MAX

/**
 * enum annex_tensor_role - What a tensor is for. Plans do not depend on it, statistics do.
 */
enum annex_tensor_role {
	ANNEX_ROLE_NONE, /* not known */
	ANNEX_ROLE_WEIGHT,
	ANNEX_ROLE_GRADIENT,
	ANNEX_ROLE_OPTIMIZER,
	ANNEX_ROLE_ACTIVATION,
	ANNEX_ROLE_INPUT,
	ANNEX_ROLE_WORKSPACE,
	ANNEX_ROLES,
};

/**
 * struct annex_tensor - One tensor; its id is its index.
 * @name: for people; may be NULL.
 * @bytes: size, at least 1.
 * @birth: a tensor that is not global is allocated before this kernel and freed after @death.
 *	Both contain every use; ANNEX_KERNEL_NONE: the first, or the last, use (and what equals
 *	that is made ANNEX_KERNEL_NONE). A tensor that no kernel uses has both or neither.
 */
struct annex_tensor {
	char *name;
	uint64_t bytes;
	uint32_t birth, death;
	uint8_t role; /* enum annex_tensor_role */
	bool global;
};

#define ANNEX_USE_READ 1
#define ANNEX_USE_WRITE 2

/**
 * struct annex_use - A kernel uses a tensor: ANNEX_USE_READ, ANNEX_USE_WRITE or both.
 */
struct annex_use {
	uint32_t tensor;
	uint32_t how;
};

/**
 * struct annex_kernel - One kernel; its number is its index.
 * @ns: time with all data resident.
 * @first: index of its first use; the next kernel's @first ends them. Each tensor appears once.
 */
struct annex_kernel {
	char *name;
	uint64_t ns;
	uint32_t first;
};

/**
 * struct annex_trace - One iteration. Read it, do not write it.
 * @kernels: @n_kernels and one more, whose @first is @n_uses.
 */
struct annex_trace {
	char *model, *device;
	uint64_t batch; /* 0: not known */
	uint32_t n_tensors, n_kernels, n_uses;
	struct annex_tensor *tensors;
	struct annex_kernel *kernels;
	struct annex_use *uses;
};

/**
 * annex_trace_read() - Read annex-trace/1 from a file; "-" is standard input.
 * annex_trace_parse() - Read it from memory.
 * @trace: where the new trace goes; annex_trace_free() it.
 *
 * Return: 0; -EINVAL (not such a file, or it contradicts itself; annex_last_error() names the
 * kernel or tensor); -E2BIG (beyond ANNEX_TRACE_MAX_*); -ENOMEM; an error of reading.
 */
int annex_trace_read(const char *path, struct annex_trace **trace);
int annex_trace_parse(const char *text, size_t len, struct annex_trace **trace);

/**
 * annex_trace_write() - Write annex-trace/1, one tensor and one kernel a line.
 *
 * Reading it back gives an equal trace.
 *
 * Return: 0, -ENOMEM, or -EIO when @f takes no more.
 */
int annex_trace_write(const struct annex_trace *trace, FILE *f);

/**
 * annex_trace_create() - Begin a trace in memory. Strings are copied; NULL is allowed.
 * annex_trace_add_tensor() - Add a tensor as @t describes it (its name is copied).
 *	Birth and death of a global one are ignored.
 * annex_trace_add_kernel() - Add the next kernel, which reads @in and writes @out: ids of tensors,
 *	which may be added later. A tensor may be in both, or twice in one.
 * annex_trace_finish() - Check what was added; the trace may now be used, and no longer grows.
 *
 * Return: annex_trace_add_tensor() the id of the tensor (at least 0), the others 0; -EINVAL with
 * the kernel or tensor named in annex_last_error(); -E2BIG; -ENOMEM. After an error only
 * annex_trace_free() is allowed.
 */
int annex_trace_create(const char *model, const char *device, uint64_t batch,
		       struct annex_trace **trace);
int annex_trace_add_tensor(struct annex_trace *trace, const struct annex_tensor *t);
int annex_trace_add_kernel(struct annex_trace *trace, const char *name, uint64_t ns,
			   const uint32_t *in, unsigned int n_in, const uint32_t *out,
			   unsigned int n_out);
int annex_trace_finish(struct annex_trace *trace);

/**
 * annex_trace_free() - Free a trace; NULL is allowed.
 */
void annex_trace_free(struct annex_trace *trace);

/**
 * annex_trace_hash() - 64 bits (FNV-1a) over sizes, lifetimes, times and uses: what a plan depends
 * on. Names and roles do not count.
 */
uint64_t annex_trace_hash(const struct annex_trace *trace);

/**
 * annex_role_name() - "weight", "gradient", ... as in files; "" for ANNEX_ROLE_NONE.
 */
const char *annex_role_name(unsigned int role);

#ifdef __cplusplus
}
#endif

#endif
