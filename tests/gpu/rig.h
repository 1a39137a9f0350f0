/* SPDX-License-Identifier: MIT */
/*
 * An array on a mem: device, and its expected contents.
 */
#ifndef ANNEX_TESTS_GPU_RIG_H
#define ANNEX_TESTS_GPU_RIG_H

#include "k_tests.h"
#include "tests.h"

/*
 * struct rig_opts - An array, its cache and its device.
 * @elem: bytes of an element
 * @line: bytes of a line
 * @slots: lines of the cache
 * @queues: queue pairs of the GPU
 * @depth: their entries; 0: the default
 * @timeout_ms: of a command; 0: the default
 * @direct: data goes straight to GPU memory
 * @gpu_rings: rings lie in GPU memory
 * @fault: of the device from the start, or NULL
 * @drive: URI of the device, of which RIG_BYTES are used; NULL: mem:
 * @more: further mem: devices
 * @layout: of lines on several devices
 */
struct rig_opts {
	uint32_t elem, line, slots, queues, depth, timeout_ms;
	bool direct, gpu_rings;
	const char *fault;
	const char *drive;
	uint32_t more;
	enum annex_layout layout;
};

#define RIG_BYTES (1ull << 20) /* of data */

struct rig {
	struct runner *r;
	struct annex_gpu_context *ctx;
	struct annex_gpu_array a;
	char *ref; /* what the array should hold */
	struct test_op *ops, *there;
	uint64_t n, room; /* operations, and how many fit */
	uint32_t more;
	uint64_t random;
	uint32_t slots;
};

/* Open, with random data on the device; 0 or -errno with the line set. Close in any case. */
int rig_open(struct rig *g, struct runner *r, const struct rig_opts *opts);
int rig_close(struct rig *g, int err);

/* Have the last device do something wrong from now on (struct annex_fault). */
int rig_inject(struct rig *g, const char *fault);

/* Random operations, as many as the runner takes well; such that the result is only one. */
void rig_mix(struct rig *g);

/* Reads of all elements. */
void rig_reads(struct rig *g);

/* Run the operations; what the context's record says is in *@recorded, if that is not NULL. */
int rig_run(struct rig *g, enum test_kernel kernel, int *recorded);

/* 0 if all operations succeeded and read the expected values. */
int rig_judge(struct rig *g);

/* Read all elements, and compare. rig_flush() - Flush before that. */
int rig_compare(struct rig *g);
int rig_flush(struct rig *g);

/* All elements of any array, of 4 or 8 bytes, through a kernel that reads them one by one. */
int rig_read_all(struct runner *r, struct annex_gpu_context *ctx, const struct annex_gpu_array *a,
		 char *to);

#endif
