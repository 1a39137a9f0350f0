// SPDX-License-Identifier: MIT
/*
 * Replicas that fail: another one serves the read, and only a line that no replica can deliver is
 * an error.
 */
#include <errno.h>
#include <string.h>
#include "gpu_rig.h"
#include "tests/unit/unit.h"

#define WARPS 4u
#define ROUNDS (UNIT_SANITIZED ? 4u : 8u)
#define LINE 4096u
#define TIMEOUT_MS (UNIT_SANITIZED ? 2400u : 800u)

struct work {
	struct gpu_rig rig;
	struct annex_gpu_array a;
	uint64_t seed;
	bool down;      /* the last device's queues go down in the middle */
	uint32_t bad;   /* threads that got an error, */
	uint32_t other; /* and one that is not the recorded one */
};

/* Direct reads that are lost take their slots with them, so there are more slots than commands. */
static struct gpu_shape shape_of(uint32_t devs, bool direct)
{
	struct gpu_shape shape = {.bytes = 1 << 20,
				  .slots = direct ? 40 : 12,
				  .depth = direct ? 6 : 32,
				  .direct = direct,
				  .devs = devs,
				  .layout = ANNEX_REPLICA};

	return shape;
}

static void setup(struct work *w, const struct gpu_shape *shape, const char *test)
{
	memset(w, 0, sizeof(*w));
	gpu_rig_open(&w->rig, shape, test);
	w->a = gpu_rig_array(&w->rig, 8);
	w->seed = random_next(&w->rig.random);
}

static void break_dev(struct work *w, uint32_t dev)
{
	const struct annex_gpu_cache *c = w->rig.cache;
	const struct annex_gpu_dev *d = &c->devs[dev];

	for (uint32_t q = 0; q < d->nqueues; q++)
		annex_qp_break(c->queues[d->first + q].qp);
}

static void note(struct work *w, int err, bool right)
{
	gpu_rig_note(&w->rig, 0, err || right);
	if (!err)
		return;
	annex_atomic_add(&w->bad, 1, ANNEX_RELAXED);
	if (err != annex_gpu_failed(w->a.cache))
		annex_atomic_add(&w->other, 1, ANNEX_RELAXED);
}

static void read_any(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t random = w->seed + thread;

	for (unsigned int r = 0; r < ROUNDS; r++) {
		uint64_t i = random_next(&random) % w->a.count, found = 0;
		int err;

		if (w->down && !thread && r == ROUNDS / 2)
			break_dev(w, w->rig.devs - 1);
		err = annex_gpu_get(&w->a, i, &found);
		note(w, err, !memcmp(&found, w->rig.expect + i * 8, 8));
	}
}

/* Each thread changes elements of its own, so that lines are written while others are read. */
static void write_any(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t rows = w->a.count / (WARPS * ANNEX_WARP_LANES), random = w->seed + thread;

	for (unsigned int r = 0; r < ROUNDS; r++) {
		uint64_t i = random_next(&random) % rows * WARPS * ANNEX_WARP_LANES + thread;
		uint64_t val = random_next(&random);
		int err = annex_gpu_set(&w->a, i, &val);

		if (!err)
			memcpy(w->rig.expect + i * 8, &val, 8);
		note(w, err, true);
	}
}

/* Run. Return: stats.errors since the context was opened. */
static uint64_t run(struct work *w, void (*kernel)(void *, unsigned int), int code)
{
	w->bad = 0;
	w->seed = random_next(&w->rig.random);
	gpu_rig_run(&w->rig, WARPS, kernel, w);
	CU_ASSERT_EQUAL(w->bad != 0, code != 0);
	CU_ASSERT_EQUAL(w->other, 0);
	CU_ASSERT_EQUAL(w->rig.wrong, 0);
	CU_ASSERT_EQUAL(gpu_rig_error(&w->rig).code, code);
	return gpu_rig_stats(&w->rig).errors;
}

/* After an error: the context works again, and nothing is lost. */
static void recover(struct work *w)
{
	CU_ASSERT_EQUAL(annex_gpu_recover(w->rig.ctx), 0);
	run(w, read_any, 0);
	run(w, write_any, 0);
	gpu_rig_check(&w->rig);
	gpu_rig_close(&w->rig, 0);
}

/* Each error costs one more command, of another replica. */
static void errors_test(void)
{
	for (unsigned int k = 0; k < 4; k++) {
		struct gpu_shape shape = shape_of(2 + k / 2, k % 2);
		uint64_t after, count;
		struct work w;

		setup(&w, &shape, "replica errors");
		after = random_next(&w.rig.random) % 16;
		count = 1 + random_next(&w.rig.random) % 16;
		gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, after, count);
		CU_ASSERT_EQUAL(run(&w, read_any, 0), count);
		gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, after, count);
		CU_ASSERT_EQUAL(run(&w, write_any, 0), 2 * count);
		gpu_rig_check(&w.rig);
		/* From here on, no read of that replica succeeds. */
		gpu_rig_fault(&w.rig, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, 0, 0);
		CU_ASSERT(run(&w, read_any, 0) > 2 * count);
		gpu_rig_close(&w.rig, 0);
	}
}

/* With one command at a time on each device, a failed read waits for an identifier of the next. */
static void shallow_test(void)
{
	struct gpu_shape shape = shape_of(3, false);
	struct work w;

	shape.depth = 2;
	shape.queues = 1;
	shape.slots = 4;
	setup(&w, &shape, "shallow replicas");
	gpu_rig_fault_on(&w.rig, 0, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, 0, 0);
	gpu_rig_fault_on(&w.rig, 1, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, 0, 0);
	CU_ASSERT(run(&w, read_any, 0) > 0);
	CU_ASSERT(run(&w, write_any, 0) > 0);
	gpu_rig_close(&w.rig, 0);
}

static void read_one(void *arg, unsigned int thread)
{
	struct work *w = arg;
	uint64_t i = w->seed % w->a.count, found = 0;
	int err;

	if (thread)
		return;
	err = annex_gpu_get(&w->a, i, &found);
	note(w, err, !memcmp(&found, w->rig.expect + i * 8, 8));
}

/* No replica has the line: each is tried once, and the last one's error is the record. */
static void all_test(void)
{
	for (uint32_t devs = 2; devs <= 3; devs++) {
		struct gpu_shape shape = shape_of(devs, false);
		struct annex_gpu_error e;
		struct work w;

		setup(&w, &shape, "all replicas");
		for (uint32_t i = 0; i < devs; i++)
			gpu_rig_fault_on(&w.rig, i, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, 0, 1);
		CU_ASSERT_EQUAL(run(&w, read_one, -EIO), devs);
		e = gpu_rig_error(&w.rig);
		CU_ASSERT_EQUAL(e.line, w.seed % w.a.count * 8 / LINE);
		CU_ASSERT_EQUAL(e.dev, devs - 1);
		CU_ASSERT_EQUAL(w.bad, 1);
		recover(&w);

		setup(&w, &shape, "all replicas");
		for (uint32_t i = 0; i < devs; i++)
			gpu_rig_fault_on(&w.rig, i, ANNEX_FAULT_ERROR, ANNEX_NVM_READ, 20, 40);
		run(&w, read_any, -EIO);
		gpu_rig_close(&w.rig, -EIO);
	}
}

/* The queues of a replica go down, with commands in flight. Writes need that replica. */
static void down_test(void)
{
	for (unsigned int k = 0; k < 2; k++) {
		struct gpu_shape shape = shape_of(3 - k, k);
		struct work w;

		setup(&w, &shape, "replica down");
		w.down = true;
		run(&w, read_any, 0);
		w.down = false;
		run(&w, read_any, 0);
		gpu_rig_run(&w.rig, WARPS, write_any, &w);
		CU_ASSERT_EQUAL(annex_gpu_flush(w.rig.ctx, 0, UINT64_MAX), -EIO);
		CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).dev, shape.devs - 1);
		CU_ASSERT_EQUAL(w.rig.wrong, 0);
		recover(&w);
	}
}

/* The queues of all replicas are down: no command fails, and no device is to blame. */
static void all_down_test(void)
{
	struct gpu_shape shape = shape_of(3, false);
	struct work w;

	setup(&w, &shape, "all replicas down");
	for (uint32_t i = 0; i < 3; i++)
		break_dev(&w, i);
	CU_ASSERT_EQUAL(run(&w, read_one, -EIO), 0);
	CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).dev, UINT32_MAX);
	recover(&w);
}

/* Reads of a replica are lost: it is not asked again before the recovery. */
static void lost_test(void)
{
	for (unsigned int k = 0; k < 2; k++) {
		struct gpu_shape shape = shape_of(2, k);
		uint64_t start, errors;
		struct work w;

		shape.timeout_ms = TIMEOUT_MS;
		setup(&w, &shape, "replica lost");
		gpu_rig_fault(&w.rig, ANNEX_FAULT_LOSE, ANNEX_NVM_READ, 20, 1);
		start = annex_now();
		errors = run(&w, read_any, 0);
		CU_ASSERT(errors > 0);
		CU_ASSERT(annex_now() - start >= TIMEOUT_MS * ANNEX_NSEC_PER_MSEC);
		CU_ASSERT_EQUAL(run(&w, read_any, 0), errors);
		/* Nothing is dirty, and a flush does not wait for the lost reads. */
		start = annex_now();
		CU_ASSERT_EQUAL(annex_gpu_flush(w.rig.ctx, 0, UINT64_MAX), 0);
		CU_ASSERT(annex_now() - start < TIMEOUT_MS * ANNEX_NSEC_PER_MSEC);
		recover(&w);
	}
}

static void all_lost_test(void)
{
	for (unsigned int k = 0; k < 2; k++) {
		struct gpu_shape shape = shape_of(2, k);
		struct work w;

		shape.timeout_ms = TIMEOUT_MS;
		setup(&w, &shape, "all replicas lost");
		for (uint32_t i = 0; i < 2; i++)
			gpu_rig_fault_on(&w.rig, i, ANNEX_FAULT_LOSE, ANNEX_NVM_READ, 0, 1);
		CU_ASSERT_EQUAL(run(&w, read_one, -ETIMEDOUT), 2);
		CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).dev, 1);
		recover(&w);
	}
}

/* A replica that is gone: readers do not miss it, not even after the host has found out. */
static void gone_test(void)
{
	struct gpu_shape shape = shape_of(2, false);
	struct work w;

	shape.timeout_ms = TIMEOUT_MS;
	setup(&w, &shape, "replica gone");
	gpu_rig_fault(&w.rig, ANNEX_FAULT_REMOVE, ANNEX_NVM_READ, 20, 1);
	CU_ASSERT(run(&w, read_any, 0) > 0);
	CU_ASSERT_EQUAL(annex_gpu_recover(w.rig.ctx), -ENODEV);
	run(&w, read_any, 0);
	gpu_rig_run(&w.rig, WARPS, write_any, &w);
	CU_ASSERT_EQUAL(annex_gpu_flush(w.rig.ctx, 0, UINT64_MAX), -ENODEV);
	CU_ASSERT_EQUAL(gpu_rig_error(&w.rig).dev, 1);
	CU_ASSERT_EQUAL(w.rig.wrong, 0);
	gpu_rig_close(&w.rig, -ENODEV);
}

UNIT_SUITE(gpu_replicas, {"failed reads go to another replica", errors_test},
	   {"they wait for its queue", shallow_test}, {"lines that no replica has", all_test},
	   {"a replica whose queues are down", down_test},
	   {"all replicas' queues are down", all_down_test},
	   {"a replica that loses reads", lost_test},
	   {"replicas that all lose reads", all_lost_test}, {"a replica that is gone", gone_test})
