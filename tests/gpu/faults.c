// SPDX-License-Identifier: MIT
/*
 * Devices with faults: every kernel ends and reports the error, and after the host's recovery all
 * data is right.
 */
#include <errno.h>
#include <string.h>
#include "rig.h"
#include "tools/common/error.h"

#define SHORT_MS 300u /* what a lost command takes */

static const struct rig_opts some = {.elem = 8, .line = 4096, .slots = 64, .queues = 2};
static const struct rig_opts hasty = {
	.elem = 8, .line = 4096, .slots = 64, .queues = 2, .timeout_ms = SHORT_MS};

/* Whether each operation either succeeded or has an error, and the record has the one wanted. */
static int failed_with(struct rig *g, int recorded, int want)
{
	uint64_t failed = 0;

	for (uint64_t k = 0; k < g->n; k++) {
		if (g->ops[k].err > 0)
			return err_set(-EBADMSG, "an operation was never done");
		failed += g->ops[k].err < 0;
	}
	if (!failed)
		return err_set(-EBADMSG, "no operation has failed");
	if (recorded != want)
		return err_set(-EBADMSG, "the record has error %d, not %d", recorded, want);
	return 0;
}

static int recover(struct rig *g)
{
	int err = annex_gpu_recover(g->ctx);

	return err ? err_lib(err, "cannot recover") : 0;
}

/* Reads under a fault fail with @want; after recovery all data is right. */
static int reads_fail(struct runner *r, const struct rig_opts *opts, const char *fault, int want)
{
	struct rig g;
	int recorded = 0, err = rig_open(&g, r, opts);

	if (!err)
		err = rig_inject(&g, fault);
	if (!err) {
		rig_reads(&g);
		err = rig_run(&g, TEST_KERNEL_ops, &recorded);
	}
	if (!err)
		err = failed_with(&g, recorded, want);
	if (!err)
		err = recover(&g);
	if (!err)
		err = rig_compare(&g);
	return rig_close(&g, err);
}

static const struct rig_opts striped = {
	.elem = 8, .line = 4096, .slots = 64, .queues = 2, .more = 2};
static const struct rig_opts replicas = {
	.elem = 8, .line = 4096, .slots = 64, .queues = 2, .more = 1, .layout = ANNEX_REPLICA};
static const struct rig_opts hasty_replicas = {.elem = 8,
					       .line = 4096,
					       .slots = 64,
					       .queues = 2,
					       .timeout_ms = SHORT_MS,
					       .more = 1,
					       .layout = ANNEX_REPLICA};

GPU_TEST(read_error, reads_fail(r, &some, "error,op=read,after=20", -EIO))
GPU_TEST(stripe_error, reads_fail(r, &striped, "error,op=read,after=20", -EIO))
GPU_TEST(read_lost, reads_fail(r, &hasty, "lose,op=read,after=20", -ETIMEDOUT))

/* Faults that change only time or order, or that another replica makes good, are no errors. */
static int reads_pass(struct runner *r, const struct rig_opts *opts, void (*choose)(struct rig *),
		      const char *fault)
{
	struct rig g;
	int err = rig_open(&g, r, opts);

	if (!err)
		err = rig_inject(&g, fault);
	if (!err) {
		choose(&g);
		err = rig_run(&g, TEST_KERNEL_ops, NULL);
	}
	if (!err)
		err = rig_judge(&g);
	if (!err)
		err = rig_compare(&g);
	return rig_close(&g, err);
}

/* All over the data, so that other commands come after one that is held back. */
GPU_TEST(read_late, reads_pass(r, &some, rig_mix, "delay,op=read,us=20000,after=10,count=5"))
GPU_TEST(out_of_order, reads_pass(r, &some, rig_mix, "reorder,op=read,after=10,count=4"))
GPU_TEST(replica_error, reads_pass(r, &replicas, rig_mix, "error,op=read,after=20,count=0"))
GPU_TEST(replica_lost, reads_pass(r, &hasty_replicas, rig_reads, "lose,op=read,after=20,count=0"))

/* Dirty lines survive a failed write and are written later. */
static int writes_fail(struct runner *r, struct rig_opts all)
{
	struct rig g;
	int err;

	all.slots = 300; /* nothing is written before the flush */
	err = rig_open(&g, r, &all);
	if (!err) {
		rig_mix(&g);
		err = rig_run(&g, TEST_KERNEL_ops, NULL);
	}
	if (!err)
		err = rig_inject(&g, "error,op=write");
	if (!err && annex_gpu_flush(g.ctx, 0, UINT64_MAX) != -EIO)
		err = err_set(-EBADMSG, "the flush did not fail");
	if (!err)
		err = recover(&g);
	if (!err)
		err = rig_flush(&g);
	return rig_close(&g, err);
}

GPU_TEST(write_error, writes_fail(r, some))
GPU_TEST(replica_write_error, writes_fail(r, replicas))

/* A device that is gone: kernels say so, and the host's calls do. */
static int removed(struct runner *r)
{
	struct rig g;
	int recorded = 0, err = rig_open(&g, r, &hasty);

	if (!err)
		err = rig_inject(&g, "remove,op=read,after=20");
	if (!err) {
		rig_reads(&g);
		err = rig_run(&g, TEST_KERNEL_ops, &recorded);
	}
	/* By its GPU queue pairs alone it cannot be told from one that is slow. */
	if (!err && recorded != -ENODEV)
		err = failed_with(&g, recorded, -ETIMEDOUT);
	if (!err && annex_gpu_recover(g.ctx) != -ENODEV)
		err = err_set(-EBADMSG, "a device that is gone was recovered");
	if (!err) {
		rig_reads(&g);
		err = rig_run(&g, TEST_KERNEL_ops, &recorded);
	}
	if (!err)
		err = failed_with(&g, recorded, -ENODEV);
	rig_close(&g, -ENODEV); /* nothing was changed: nothing is lost */
	return err;
}

const struct gpu_test fault_tests[] = {
	{"a read that fails", read_error},
	{"a read that fails on one of three devices", stripe_error},
	{"a read that fails on one of two replicas", replica_error},
	{"reads that one of two replicas loses", replica_lost},
	{"a command that is lost", read_lost},
	{"commands that are late", read_late},
	{"completions out of order", out_of_order},
	{"a write that fails", write_error},
	{"a write that fails on the second replica", replica_write_error},
	{"a device that goes away", removed},
	{NULL, NULL},
};
