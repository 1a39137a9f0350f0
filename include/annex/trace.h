/* SPDX-License-Identifier: MIT */
/*
 * Traces: the memory use of one training iteration.
 *
 * A trace is a list of tensors and a list of kernels in execution order. Each kernel has its time
 * on the GPU, with all its data resident, and the tensors that it reads and writes. Global tensors
 * (weights, optimizer state) live across iterations; the others are allocated and freed within one
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

/* Limits of a trace; larger traces are rejected. */
#define ANNEX_TRACE_MAX_TENSORS (1u << 22)
#define ANNEX_TRACE_MAX_KERNELS (1u << 22)
#define ANNEX_TRACE_MAX_USES (1u << 26)
#define ANNEX_TRACE_MAX_BYTES (1ull << 50) /* of all tensors together */
#define ANNEX_TRACE_MAX_NS (1ull << 53)    /* of all kernels together: exact as a double */

/* No kernel: the birth or death of a tensor follows from its uses. */
#define ANNEX_KERNEL_NONE UINT32_MAX

/**
 * enum annex_tensor_role - Purpose of a tensor. Plans do not depend on it, statistics do.
 * @ANNEX_ROLE_NONE: not known.
 * @ANNEX_ROLE_WEIGHT: a weight.
 * @ANNEX_ROLE_GRADIENT: gradient of a weight.
 * @ANNEX_ROLE_OPTIMIZER: state of the optimizer.
 * @ANNEX_ROLE_ACTIVATION: an activation.
 * @ANNEX_ROLE_INPUT: input of the model.
 * @ANNEX_ROLE_WORKSPACE: scratch memory of a kernel.
 * @ANNEX_ROLES: number of roles.
 */
enum annex_tensor_role {
	ANNEX_ROLE_NONE,
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
 * @name: for messages; may be NULL.
 * @bytes: size, at least 1.
 * @birth: kernel before which a tensor that is not global is allocated; ANNEX_KERNEL_NONE: before
 *	its first use (a number equal to the first use is stored as ANNEX_KERNEL_NONE). No use may
 *	be outside of birth and death. A tensor without uses has both or neither.
 * @death: kernel after which it is freed; ANNEX_KERNEL_NONE: after its last use, likewise.
 * @role: enum annex_tensor_role.
 * @global: the tensor lives across iterations.
 */
struct annex_tensor {
	char *name;
	uint64_t bytes;
	uint32_t birth, death;
	uint8_t role;
	bool global;
};

#define ANNEX_USE_READ 1
#define ANNEX_USE_WRITE 2

/**
 * struct annex_use - Use of a tensor by a kernel.
 * @tensor: the tensor.
 * @how: ANNEX_USE_READ, ANNEX_USE_WRITE or both.
 */
struct annex_use {
	uint32_t tensor;
	uint32_t how;
};

/**
 * struct annex_kernel - One kernel; its number is its index.
 * @name: for messages; may be NULL.
 * @ns: nanoseconds with all data resident.
 * @fault_ns: nanoseconds with no data resident, measured over unified memory; 0: not measured.
 * @first: index of its first use; the uses end at the next kernel's @first. Each tensor appears
 *	once.
 */
struct annex_kernel {
	char *name;
	uint64_t ns, fault_ns;
	uint32_t first;
};

/**
 * struct annex_trace - One iteration. Read only for callers.
 * @model: name of the model; may be NULL.
 * @device: name of the GPU; may be NULL.
 * @batch: samples in a batch; 0: not known.
 * @n_tensors: number of tensors.
 * @n_kernels: number of kernels.
 * @n_uses: number of uses.
 * @tensors: the tensors.
 * @kernels: @n_kernels and one more, whose first use is @n_uses.
 * @uses: the uses, in the order of kernels.
 */
struct annex_trace {
	char *model, *device;
	uint64_t batch;
	uint32_t n_tensors, n_kernels, n_uses;
	struct annex_tensor *tensors;
	struct annex_kernel *kernels;
	struct annex_use *uses;
};

/**
 * annex_trace_read() - Read annex-trace/1 from a file.
 * @path: the file; "-" is standard input.
 * @trace: the trace; release it with annex_trace_free().
 *
 * Return: 0; -EINVAL (the format, or an inconsistent trace; annex_last_error() names the kernel or
 * tensor); -E2BIG (beyond ANNEX_TRACE_MAX_*); -ENOMEM; an error of reading.
 */
int annex_trace_read(const char *path, struct annex_trace **trace);

/**
 * annex_trace_parse() - Read annex-trace/1 from memory.
 * @text: the file's contents.
 * @len: number of bytes.
 * @trace: the trace; release it with annex_trace_free().
 *
 * Return: as annex_trace_read().
 */
int annex_trace_parse(const char *text, size_t len, struct annex_trace **trace);

/**
 * annex_trace_write() - Write annex-trace/1, one tensor and one kernel a line.
 * @trace: the trace.
 * @f: the stream to write to.
 *
 * Reading it back gives an equal trace.
 *
 * Return: 0; -ENOMEM; -EIO (writing to @f failed).
 */
int annex_trace_write(const struct annex_trace *trace, FILE *f);

/**
 * annex_trace_create() - Begin a trace in memory.
 * @model: name of the model; copied; NULL is allowed.
 * @device: name of the GPU; copied; NULL is allowed.
 * @batch: samples in a batch; 0: not known.
 * @trace: the trace; release it with annex_trace_free().
 *
 * Return: 0; -EINVAL with the reason in annex_last_error(); -ENOMEM.
 */
int annex_trace_create(const char *model, const char *device, uint64_t batch,
		       struct annex_trace **trace);

/**
 * annex_trace_add_tensor() - Add a tensor.
 * @trace: the trace.
 * @t: the tensor; its name is copied. Birth and death of a global one are ignored.
 *
 * Return: the id of the tensor (at least 0); -EINVAL with the tensor named in annex_last_error();
 * -E2BIG; -ENOMEM. After an error only annex_trace_free() is allowed.
 */
int annex_trace_add_tensor(struct annex_trace *trace, const struct annex_tensor *t);

/**
 * annex_trace_add_kernel() - Add the next kernel.
 * @trace: the trace.
 * @name: its name; copied; NULL is allowed.
 * @ns: nanoseconds with all data resident.
 * @in: ids of tensors that it reads; the tensors may be added later.
 * @n_in: number of ids.
 * @out: ids of tensors that it writes, likewise. A tensor may be in both, and repeated.
 * @n_out: number of ids.
 *
 * Return: 0; else as annex_trace_add_tensor(), with the kernel named.
 */
int annex_trace_add_kernel(struct annex_trace *trace, const char *name, uint64_t ns,
			   const uint32_t *in, unsigned int n_in, const uint32_t *out,
			   unsigned int n_out);

/**
 * annex_trace_set_fault_ns() - Set the time with page faults of the last kernel.
 * @trace: the trace.
 * @ns: nanoseconds with no data resident; at least those with all data resident.
 *
 * Return: 0; else as annex_trace_add_tensor(), with the kernel named.
 */
int annex_trace_set_fault_ns(struct annex_trace *trace, uint64_t ns);

/**
 * annex_trace_finish() - Validate a trace. Afterwards it can be used, but not extended.
 * @trace: the trace.
 *
 * Return: 0; else as annex_trace_add_tensor(), with the kernel or tensor named.
 */
int annex_trace_finish(struct annex_trace *trace);

/**
 * annex_trace_free() - Free a trace.
 * @trace: the trace; NULL is allowed.
 */
void annex_trace_free(struct annex_trace *trace);

/**
 * annex_trace_hash() - 64-bit hash (FNV-1a) of everything that a plan depends on.
 * @trace: the trace.
 *
 * Includes sizes, lifetimes, times and uses, but neither names, nor roles, nor fault_ns.
 *
 * Return: the hash.
 */
uint64_t annex_trace_hash(const struct annex_trace *trace);

/**
 * annex_role_name() - Name of a role, as in files.
 * @role: enum annex_tensor_role.
 *
 * Return: "weight", "gradient", ...; "" for ANNEX_ROLE_NONE.
 */
const char *annex_role_name(unsigned int role);

#ifdef __cplusplus
}
#endif

#endif
