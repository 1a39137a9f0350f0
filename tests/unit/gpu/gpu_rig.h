/* SPDX-License-Identifier: MIT */
/*
 * Devices with random data, a copy of that data, and a context of GPU threads that the twin plays.
 */
#ifndef ANNEX_TESTS_GPU_RIG_H
#define ANNEX_TESTS_GPU_RIG_H

#include <annex/cuda.h>
#include <annex/gpu.h>
#include "tests/unit/random.h"
#include "twin.h"

/**
 * struct gpu_shape - The shape of a rig. Zero means the default.
 * @bytes: backing data. @slots: lines in the cache. @line: bytes of one (4096).
 * @queues (2), @depth (32), @timeout_ms (30000), @direct, @block (512): as for the context.
 * @devs: number of devices (1); devices of odd numbers have blocks of 4096 bytes. @layout: of lines
 *	on them.
 */
struct gpu_shape {
	uint64_t bytes;
	uint32_t slots;
	uint32_t line;
	uint32_t queues;
	uint32_t depth;
	uint32_t timeout_ms;
	uint32_t block;
	bool direct;
	uint32_t devs;
	enum annex_layout layout;
};

/**
 * struct gpu_rig
 * @expect: expected data of the devices, in the end. @back: room to read it.
 * @cache: the context as kernels see it.
 */
struct gpu_rig {
	struct annex_gpu_context *ctx;
	struct annex_gpu_cache *cache;
	char *expect;
	char *back;
	uint64_t bytes;
	uint64_t random;
	uint32_t line;
	uint32_t devs;
	enum annex_layout layout;
	unsigned int wrong; /* counted by kernels */
	int err;            /* some kernel thread's error */
};

void gpu_rig_open(struct gpu_rig *r, const struct gpu_shape *shape, const char *test);

/* gpu_rig_check() - Flush, and compare the devices with @expect. */
void gpu_rig_check(struct gpu_rig *r);

/* gpu_rig_close() - Without a check. @err: what closing should return. */
void gpu_rig_close(struct gpu_rig *r, int err);

/* gpu_rig_array() - All of the data, as elements of @elem bytes. */
struct annex_gpu_array gpu_rig_array(struct gpu_rig *r, uint32_t elem);

/* gpu_rig_run() - Run a kernel with @warps warps. */
void gpu_rig_run(struct gpu_rig *r, unsigned int warps,
		 void (*kernel)(void *arg, unsigned int thread), void *arg);

/* gpu_rig_note() - From a kernel: an error that should not be, or one value that is wrong. */
void gpu_rig_note(struct gpu_rig *r, int err, bool right);

/*
 * gpu_rig_fault_on() - Inject a fault into a device, for commands with @opcode (-1: all).
 * gpu_rig_fault() does that to the last device.
 */
void gpu_rig_fault_on(struct gpu_rig *r, uint32_t dev, enum annex_fault_kind kind, int opcode,
		      uint64_t after, uint64_t count);
void gpu_rig_fault(struct gpu_rig *r, enum annex_fault_kind kind, int opcode, uint64_t after,
		   uint64_t count);

struct annex_gpu_stats gpu_rig_stats(struct gpu_rig *r);
struct annex_gpu_error gpu_rig_error(struct gpu_rig *r);

#endif
