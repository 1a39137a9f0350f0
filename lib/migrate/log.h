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
 * struct log_tensor - A tensor of the record. They are numbered in the order of their first use.
 * @serial: serial number of the space's tensor.
 * @bytes: its size.
 * @ptr: where it begins.
 * @any: its bytes were anything when it was made.
 * @global: it lived before the iteration.
 * @stays: it was made in the iteration, and lived when that ended.
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
 * @ns: nanoseconds that it took.
 * @usual: those that it takes if nothing disturbs it, as far as iterations have shown.
 * @other: while it takes another time: the one that is nearest to @usual.
 * @strikes: how often in a row it has taken longer, or (negative) less.
 * @seen: iterations, up to 2, that @usual is of.
 * @first: its first use; they end where the uses of the next one begin.
 * @faulted: it ran into faults.
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
 * @slots: numbers of tensors, from 1, hashed by serial.
 * @open: the last kernel may use more tensors.
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
/* The next kernel. And what it uses: one that it uses already is used in both ways. -ENOMEM. */
int annex_log_kernel(struct iteration_log *log, const char *name);
int annex_log_use(struct iteration_log *log, uint32_t tensor, uint32_t how);
/* The last kernel does not use this tensor. */
void annex_log_drop(struct iteration_log *log, uint32_t tensor);

/* Whether kernel @k of both uses the same tensors in the same way; all kernels. Of a kernel of @a
 * that is open, the uses so far are compared. */
bool annex_log_alike(const struct iteration_log *a, const struct iteration_log *b, uint32_t k);
bool annex_log_same(const struct iteration_log *a, const struct iteration_log *b);

/*
 * The iteration comes after @before, which was of its kind (NULL: none was): usual times of kernels
 * are of both. One changes when a kernel has taken @drift times as long, or as little, in three
 * iterations.
 */
void annex_log_follow(struct iteration_log *log, const struct iteration_log *before, double drift);

/* -ENOMEM: there is no copy. */
int annex_log_copy(struct iteration_log *to, const struct iteration_log *from);

/* A trace of it, with the usual times of kernels or its own. -EINVAL, -ENOMEM. */
int annex_log_trace(const struct iteration_log *log, bool usual, struct annex_trace **trace);

#endif
