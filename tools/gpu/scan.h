/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of columns on storage over the rows that pass a condition, by GPU threads.
 */
#ifndef TOOLS_GPU_SCAN_H
#define TOOLS_GPU_SCAN_H

#include "runner.h"

/*
 * struct gpu_column - A column, and its sum.
 * @uri: the device.
 * @first: offset of the first element, a multiple of its size.
 * @type: enum gpu_type.
 * @sum_i: result: the sum of integers, exact.
 * @sum_f: result: the sum of the others.
 */
struct gpu_column {
	const char *uri;
	uint64_t first;
	uint32_t type;
	struct annex_gpu_context *ctx;
	__int128 sum_i;
	double sum_f;
};

/*
 * struct gpu_scan - A query: rows whose element of column 0 is in [@low, @high], if not @none; with
 * @negate, the other rows.
 * @cache: bytes of cache for each column.
 * @passed: result: rows that pass.
 * @read: result: bytes read.
 * @seconds: result: time of the kernel.
 */
struct gpu_scan {
	struct gpu_column col[GPU_COLUMNS];
	unsigned int n;
	uint64_t rows, cache;
	uint32_t line, queues, depth;
	bool none, negate;
	union gpu_value low, high;
	uint64_t passed, read;
	double seconds;
};

/*
 * gpu_scan_open() - Open the devices. gpu_scan_run() - The query. gpu_scan_close() - Release all; 0
 * or the errno of a device. All with the line set.
 */
int gpu_scan_open(struct runner *r, struct gpu_scan *s);
int gpu_scan_run(struct runner *r, struct gpu_scan *s);
int gpu_scan_close(struct gpu_scan *s);

#endif
