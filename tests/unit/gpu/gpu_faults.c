// SPDX-License-Identifier: MIT
/*
 * What becomes of kernels when the device fails: they end, with the right error, and nothing that
 * was on the device or in the cache is damaged; after recovery all goes on.
 */
#include <errno.h>
#include <string.h>
#include "gpu_rig.h"
#include "tests/unit/unit.h"

#define WARPS 4u
#define LINE 4096u
#define PATIENCE_MS (UNIT_SANITIZED ? 2400u : 800u)

struct work {
	struct gpu_rig rig;
	struct annex_gpu_array a;
	uint64_t seed;
	uint32_t bad;   /* threads that got an error, */
	uint32_t other; /* and one that is not the recorded one */
	int code;
};

static void setup(struct work *w, const struct gpu_shape *shape, const char *test)
{
	memset(w, 0, sizeof(*w));
	gpu_rig_open(&w->rig, shape, test);
	w->a = gpu_rig_array(&w->rig, 8);
	w->seed = random_next(&w->rig.random);
}

/* Reads until an error comes, which is the same for all. */
static void read_until(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t random = w->seed + thread;

	for (unsigned int r = 0; r < 8; r++) {
		uint64_t i = random_next(&random) % w->a.count, found = 0;
		int err = annex_gpu_get(&w->a, i, &found);

		if (!err) {
			gpu_rig_note(&w->rig, 0, !memcmp(&found, w->rig.expect + i * 8, 8));
			continue;
		}
		annex_atomic_add(&w->bad, 1, ANNEX_RELAXED);
		if (err != annex_gpu_failed(w->a.cache))
			annex_atomic_add(&w->other, 1, ANNEX_RELAXED);
		return;
	}
}

/* Each thread changes elements of its own, and stops at an error. Successful changes remain. */
static void write_until(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t rows = w->a.count / (WARPS * ANNEX_WARP_LANES), random = w->seed + thread;

	for (unsigned int r = 0; r < 8; r++) {
		uint64_t i = random_next(&random) % rows * WARPS * ANNEX_WARP_LANES + thread;
		uint64_t val = random_next(&random);
		int err = annex_gpu_set(&w->a, i, &val);

		if (err) {
			annex_atomic_add(&w->bad, 1, ANNEX_RELAXED);
			if (err != annex_gpu_failed(w->a.cache))
				annex_atomic_add(&w->other, 1, ANNEX_RELAXED);
			return;
		}
		memcpy(w->rig.expect + i * 8, &val, 8);
	}
}

/* Run, expect that error; recover, and see that nothing is lost and all works again. */
static void fail_and_recover(struct work *w, void (*kernel)(void *, unsigned int), int code)
{
	struct annex_gpu_error e;
	uint64_t line = 0, val;

	gpu_rig_run(&w->rig, WARPS, kernel, w);
	/* No thread may have waited for a lost write-back: then a flush does. */
	if (kernel == write_until && !w->bad)
		CU_ASSERT_EQUAL(annex_gpu_flush(w->rig.ctx, 0, UINT64_MAX), code)
	else
		CU_ASSERT(w->bad > 0);
	CU_ASSERT_EQUAL(w->other, 0);
	e = gpu_rig_error(&w->rig);
	CU_ASSERT_EQUAL(e.code, code);
	CU_ASSERT(e.block < WARPS);
	CU_ASSERT(e.line < w->rig.cache->nlines);
	CU_ASSERT_EQUAL(e.dev, w->rig.devs - 1);
	CU_ASSERT_EQUAL(annex_gpu_flush(w->rig.ctx, 0, UINT64_MAX), code);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		annex_last_error(), annex_dev_uri(annex_gpu_dev_at(w->rig.ctx, w->rig.devs - 1))));
	CU_ASSERT(gpu_rig_stats(&w->rig).errors > 0);
	/* Calls that need the device fail at once. */
	while (w->rig.cache->dir[line] & ANNEX_LINE_VALID)
		line++;
	CU_ASSERT_EQUAL(annex_gpu_get(&w->a, line * (LINE / 8), &val), code);
	CU_ASSERT_EQUAL(annex_gpu_recover(w->rig.ctx), 0);
	CU_ASSERT_EQUAL(gpu_rig_error(&w->rig).code, 0);
	w->bad = 0;
	gpu_rig_run(&w->rig, WARPS, kernel, w);
	CU_ASSERT_EQUAL(w->bad, 0);
	gpu_rig_check(&w->rig);
	gpu_rig_close(&w->rig, 0);
}

static void error_test(void)
{
	static const struct gpu_shape few = {.bytes = 1 << 20, .slots = 40};
	static const struct gpu_shape direct = {.bytes = 1 << 20, .slots = 40, .direct = true};
	struct work w;

	setup(&w, &few, "read error");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, 30, 1);
	fail_and_recover(&w, read_until, -EIO);
	setup(&w, &few, "write error");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_WRITE, 30, 1);
	fail_and_recover(&w, write_until, -EIO);
	setup(&w, &direct, "write error");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_WRITE, 30, 1);
	fail_and_recover(&w, write_until, -EIO);
}

static void lose_test(void)
{
	static const struct gpu_shape few = {
		.bytes = 1 << 20, .slots = 40, .timeout_ms = PATIENCE_MS};
	static const struct gpu_shape direct = {
		.bytes = 1 << 20, .slots = 40, .timeout_ms = PATIENCE_MS, .direct = true};
	uint64_t start;
	struct work w;

	setup(&w, &few, "lost read");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_LOSE, ANNEX_NVM_READ, 30, 1);
	start = annex_now();
	fail_and_recover(&w, read_until, -ETIMEDOUT);
	CU_ASSERT(annex_now() - start >= PATIENCE_MS * ANNEX_NSEC_PER_MSEC);
	setup(&w, &few, "lost write");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_LOSE, ANNEX_NVM_WRITE, 30, 1);
	fail_and_recover(&w, write_until, -ETIMEDOUT);
	setup(&w, &direct, "lost write");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_LOSE, ANNEX_NVM_WRITE, 30, 1);
	fail_and_recover(&w, write_until, -ETIMEDOUT);
	setup(&w, &direct, "all reads lost");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_LOSE, ANNEX_NVM_READ, 0, 3);
	fail_and_recover(&w, read_until, -ETIMEDOUT);
}

/* One of several devices fails: the error names it. */
static void devices_test(void)
{
	for (uint32_t devs = 2; devs <= 3; devs++) {
		struct gpu_shape few = {
			.bytes = 1 << 20, .slots = 40, .timeout_ms = PATIENCE_MS, .devs = devs};
		struct work w;

		for (int replicas = 0; replicas < 2; replicas++) {
			few.layout = replicas ? ANNEX_REPLICA : ANNEX_STRIPE;
			if (!replicas) { /* gpu_replicas.c has the others */
				setup(&w, &few, "read error of one");
				gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, 20, 1);
				fail_and_recover(&w, read_until, -EIO);
			}
			setup(&w, &few, "write error of one");
			gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_WRITE, 20, 1);
			fail_and_recover(&w, write_until, -EIO);
		}
		setup(&w, &few, "lost write of one");
		gpu_rig_fault(&w.rig, ANNEX_FAULT_LOSE, ANNEX_NVM_WRITE, 20, 1);
		fail_and_recover(&w, write_until, -ETIMEDOUT);
	}
}

/* A controller that stops altogether. */
static void fatal_test(void)
{
	static const struct gpu_shape few = {
		.bytes = 1 << 20, .slots = 40, .timeout_ms = PATIENCE_MS};
	struct work w;

	setup(&w, &few, "fatal");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_FATAL, -1, 30, 1);
	fail_and_recover(&w, write_until, -ETIMEDOUT);
}

/* Late and out of order, but all there: no error. */
static void slow_test(void)
{
	static const struct gpu_shape few = {.bytes = 512 << 10, .slots = 40};
	struct work w;

	setup(&w, &few, "slow");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_DELAY, ANNEX_NVM_READ, 5, 20);
	gpu_rig_fault(&w.rig, ANNEX_FAULT_REORDER, -1, 10, 20);
	gpu_rig_run(&w.rig, WARPS, write_until, &w);
	gpu_rig_run(&w.rig, WARPS, read_until, &w);
	CU_ASSERT_EQUAL(w.bad, 0);
	gpu_rig_check(&w.rig);
	gpu_rig_close(&w.rig, 0);
}

/* A controller that is gone: kernels end, and know it after the host has found out. */
static void remove_test(void)
{
	static const struct gpu_shape few = {
		.bytes = 1 << 20, .slots = 40, .timeout_ms = PATIENCE_MS};
	struct work w;

	setup(&w, &few, "remove");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_REMOVE, -1, 30, 1);
	gpu_rig_run(&w.rig, WARPS, read_until, &w);
	CU_ASSERT(w.bad > 0);
	CU_ASSERT_EQUAL(w.other, 0);
	CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).code, -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_gpu_recover(w.rig.ctx), -ENODEV);
	w.bad = 0;
	gpu_rig_run(&w.rig, WARPS, read_until, &w);
	CU_ASSERT(w.bad > 0);
	CU_ASSERT_EQUAL(w.other, 0);
	CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).code, -ENODEV);
	CU_ASSERT_EQUAL(w.rig.wrong, 0);
	gpu_rig_close(&w.rig, -ENODEV);
}

/* All slots are held: requests for other lines wait and fail in the end; hits succeed. */
static void hold_all(void *arg, unsigned int thread)
{
	struct work *w = arg;
	struct annex_gpu_span spans[4];
	uint64_t found = 0;
	int err;

	(void)thread;
	for (unsigned int k = 0; k < 4; k++)
		gpu_rig_note(
			&w->rig,
			annex_gpu_span(&w->a, annex_warp_active(), k * (LINE / 8), 0, 0, &spans[k]),
			true);
	w->code = annex_gpu_get(&w->a, 4 * (LINE / 8), &found);
	err = annex_gpu_get(&w->a, 1, &found);
	gpu_rig_note(&w->rig, err, !memcmp(&found, w->rig.expect + 8, 8));
	for (unsigned int k = 0; k < 4; k++)
		annex_gpu_span_end(&w->a, &spans[k]);
}

static void one_lane(void *arg, unsigned int thread)
{
	if (thread == 0)
		hold_all(arg, thread);
}

static void busy_test(void)
{
	static const struct gpu_shape four = {.bytes = 256 << 10, .slots = 4, .timeout_ms = 50};
	uint64_t found = 0;
	struct work w;

	setup(&w, &four, "busy");
	gpu_rig_run(&w.rig, 1, one_lane, &w);
	CU_ASSERT_EQUAL(w.code, -EBUSY);
	CU_ASSERT_EQUAL(w.rig.err, 0);
	CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).code, -EBUSY);
	CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).line, 4);
	CU_ASSERT_EQUAL(annex_gpu_recover(w.rig.ctx), 0);
	CU_ASSERT_EQUAL(annex_gpu_get(&w.a, 4 * (LINE / 8), &found), 0);
	CU_ASSERT_EQUAL(memcmp(&found, w.rig.expect + 4 * LINE, 8), 0);
	gpu_rig_check(&w.rig);
	gpu_rig_close(&w.rig, 0);
}

UNIT_SUITE(gpu_faults, {"commands that fail", error_test}, {"completions that are lost", lose_test},
	   {"one of several devices", devices_test}, {"a controller that stops", fatal_test},
	   {"late, and out of order", slow_test}, {"a controller that is gone", remove_test},
	   {"all slots held", busy_test})
