/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A training run: what was asked for, and how each iteration went.
 */
#ifndef TOOLS_TRAIN_TRAIN_H
#define TOOLS_TRAIN_TRAIN_H

#include "model.h"

/*
 * struct train_opts - The options of annex train.
 * @device: bytes of the device tier; 0: as many as all tensors want.
 * @rate: learning rate.
 * @plain: tensors in plain memory.
 */
struct train_opts {
	struct shape shape;
	const char *text, *plot, *pages;
	const char *stores[ANNEX_MAX_SSDS];
	unsigned int n_stores;
	uint64_t device, host, link_rate, seed;
	const char *policy;
	uint32_t steps, threads;
	double rate;
	bool checksum, plain, overwrite, json;
};

/*
 * struct train_step - The figures of an iteration. Bytes are those between its halves, when there
 * are most.
 * @device: bytes in the device tier.
 * @host: bytes in the host tier.
 * @stored: bytes on devices.
 * @resident: resident memory of the process.
 */
struct train_step {
	double loss;
	uint64_t ns, stall_ns;
	uint64_t device, host, stored, resident;
	bool planned;
};

/*
 * struct train - A training run.
 * @done: iterations that have ended.
 * @first: the first iteration that is reported: that of the second half, when every run is as it
 *	will go on; 0 if none of that half has ended.
 * @base: resident memory of the process before there was any tensor.
 * @resident: its peak.
 * @before: counters of the space when @first began.
 * @stats: counters of the space at the end.
 * @user_ns: user time of all threads since @first.
 * @kernel_ns: system time of all threads since @first.
 * @predicted: the simulator's seconds of an iteration with its plan; 0: there is no plan.
 * @times: times of the kernels since @first.
 * @left: 0, or the errno with which a file of the run's own could not be removed.
 */
struct train {
	const struct train_opts *opts;
	struct train_step *steps;
	uint32_t done, first;
	uint64_t text_bytes, params, tensors, base, resident;
	struct annex_space_stats before, stats;
	uint64_t user_ns, kernel_ns;
	struct annex_exec_stats exec;
	double predicted;
	struct model_time times[MODEL_KERNELS];
	int left;
};

/*
 * train_run() - Do it. 0 or -errno with the line set; after -EDOM, a loss that is no number,
 * there is something to report as well. train_free() - Forget it.
 */
int train_run(struct train *t, const struct train_opts *o);
void train_free(struct train *t);

/* train_report() - Tell of it. train_plot() - Draw losses and memory. */
int train_report(const struct train *t);
int train_plot(const struct train *t);

#endif
