/* SPDX-License-Identifier: MIT */
/*
 * The record of an iteration.
 */
#ifndef ANNEX_MIGRATE_LOG_H
#define ANNEX_MIGRATE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/trace.h>

/**
 * struct log_tensor - A tensor of the record. Tensors are numbered in the order of their first use.
 * @serial: serial number of the space's tensor.
 * @bytes: its size.
 * @ptr: its address.
 * @any: it was allocated with undefined contents.
 * @global: it was allocated before the iteration.
 * @stays: it was allocated in the iteration, and was alive at its end.
 */
struct log_tensor {
	uint64_t serial, bytes;
	void *ptr;
	bool any, global, stays;
};

struct log_use {
	uint32_t tensor, how;
};

/**
 * struct log_kernel - A kernel of the record.
 * @name: its name, or NULL.
 * @ns: its time in nanoseconds.
 * @usual: its time without disturbance, estimated from several iterations.
 * @other: while its time differs from @usual: the time nearest to @usual.
 * @first: its first use; its uses end at the next kernel's first use.
 * @strikes: number of consecutive iterations in which it took longer, or (negative) less.
 * @seen: number of iterations, up to 2, that @usual is from.
 * @faulted: it had page faults.
 */
struct log_kernel {
	char *name;
	uint64_t ns, usual, other;
	uint32_t first;
	int8_t strikes;
	uint8_t seen;
	bool faulted;
};

/**
 * struct iteration_log - One iteration.
 * @tensors: its tensors.
 * @uses: uses of tensors, in the order of kernels.
 * @kernels: its kernels.
 * @slots: numbers of tensors, from 1, hashed by serial.
 * @n_tensors: number of @tensors.
 * @n_uses: number of @uses.
 * @n_kernels: number of @kernels.
 * @tensor_room: capacity of @tensors.
 * @use_room: capacity of @uses.
 * @kernel_room: capacity of @kernels.
 * @slot_room: capacity of @slots.
 * @open: the last kernel may get more uses.
 */
struct iteration_log {
	struct log_tensor *tensors;
	struct log_use *uses;
	struct log_kernel *kernels;
	uint32_t *slots;
	uint32_t n_tensors, n_uses, n_kernels;
	uint32_t tensor_room, use_room, kernel_room, slot_room;
	bool open;
};

void annex_log_clear(struct iteration_log *log);

/* The number of a tensor, which may be new; or -ENOMEM. */
int64_t annex_log_tensor(struct iteration_log *log, const struct log_tensor *t);
/* Add a kernel; add a use by the last kernel, merged with a use of the same tensor. -ENOMEM. */
int annex_log_kernel(struct iteration_log *log, const char *name);
int annex_log_use(struct iteration_log *log, uint32_t tensor, uint32_t how);
/* Remove the last kernel's use of a tensor. */
void annex_log_drop(struct iteration_log *log, uint32_t tensor);

/* Whether kernel @k of both uses the same tensors in the same way; whether all kernels do. For an
 * open kernel of @a the uses so far are compared. */
bool annex_log_alike(const struct iteration_log *a, const struct iteration_log *b, uint32_t k);
bool annex_log_same(const struct iteration_log *a, const struct iteration_log *b);

/*
 * Update the usual times of kernels from @before, the previous iteration of this kind (NULL: none).
 * A usual time changes when the kernel has taken more than @drift times as long, or less than
 * 1/@drift, in three consecutive iterations.
 */
void annex_log_follow(struct iteration_log *log, const struct iteration_log *before, double drift);

/* Copy a log. -ENOMEM. */
int annex_log_copy(struct iteration_log *to, const struct iteration_log *from);

/* Make a record from a trace. Its tensors have no addresses. -ENOMEM. */
int annex_log_from_trace(struct iteration_log *to, const struct annex_trace *trace);

/* Make a trace, with the usual times of kernels or those of this iteration. -EINVAL, -ENOMEM. */
int annex_log_trace(const struct iteration_log *log, bool usual, struct annex_trace **trace);

#endif
